"""Finds adapters by their entry points; only the one that is asked for is imported."""

import functools
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from tuner.adapter import API_VERSION, Adapter
from tuner.basics.text import listed, nearest, shown
from tuner.errors import TunerError

GROUP = "tuner.adapters"


class AdapterNotFoundError(TunerError):
    """No usable adapter has this name; the text says why and what there is."""


def adapter_names() -> tuple[str, ...]:
    """Names of all installed adapters; none is imported."""
    return tuple(sorted({point.name for point in _points()}))


def _points() -> tuple[EntryPoint, ...]:
    """All adapters; every package is looked at once, and again when something was installed."""
    return _found(entry_points, tuple((place, _changed_ns(place)) for place in sys.path))


def _changed_ns(place: str) -> int:
    try:
        return Path(place or ".").stat().st_mtime_ns
    except OSError:
        return 0


@functools.lru_cache(maxsize=1)
def _found(find: Callable[..., Iterable[EntryPoint]], places: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    return tuple(find(group=GROUP))


def _missing(error: ModuleNotFoundError) -> str:
    """A module that is not there; one that was installed by pip's -e after this process began is not seen by it."""
    return f"{error}; install it, or start the daemon again if `pip install -e` did so while it ran"


def load_adapter(name: str) -> type[Adapter[Any]]:
    """Import one adapter class."""
    found = tuple(point for point in _points() if point.name == name)
    if not found:
        installed = adapter_names()
        hint = nearest(name, installed)
        raise AdapterNotFoundError(f"no adapter {shown(name)} is installed{hint or ','} installed: {listed(installed)}")
    try:
        loaded = found[0].load()
    except ModuleNotFoundError as error:
        raise AdapterNotFoundError(f"the adapter {shown(name)} cannot be imported: {_missing(error)}") from error
    except Exception as error:  # a third party's module may fail in any way
        raise AdapterNotFoundError(f"the adapter {shown(name)} cannot be imported: {error}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, Adapter)):
        raise AdapterNotFoundError(f"the adapter {shown(name)} is not a subclass of tuner.adapter.Adapter")
    if loaded.api_version != API_VERSION:
        raise AdapterNotFoundError(
            f"the adapter {shown(name)} is written for version {loaded.api_version} of the adapter contract, "
            f"this tuner has version {API_VERSION}"
        )
    return loaded
