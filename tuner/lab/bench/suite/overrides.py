"""Numbers of the optimiser given by name, as `islands=0.3` or `asking.most_looks=5`, so that two can be compared."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar

from tuner.basics.text import nearest, shown
from tuner.core.optimizer.optimizer import ACQUISITIONS, VALIDITIES
from tuner.core.optimizer.strategy import Strategy
from tuner.errors import TunerError


class OverrideError(TunerError):
    """No number of the optimiser has this name, or it cannot have this value."""

    exit_code: ClassVar[int] = 2


@dataclass(frozen=True)
class Overrides:
    """An optimiser that differs from the default.

    Attributes:
        strategy: The numbers.
        options: Of the optimiser: acquisition, validity, scrap_budget.
    """

    strategy: Strategy
    options: dict[str, Any]


_OPTIONS = {"acquisition": ACQUISITIONS, "validity": VALIDITIES, "scrap_budget": None}


def parsed(words: Iterable[str]) -> Overrides:
    """Return the optimiser of these words.

    Raises:
        OverrideError: A word has no name that is known, or no value that fits.
    """
    strategy, options = Strategy(), dict[str, Any]()
    named = set[str]()
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise OverrideError(f"{shown(word)} is not a name and a value, such as islands=0.3")
        if name in named:
            raise OverrideError(f"{name} is given twice")
        named.add(name)
        if name in _OPTIONS:
            options[name] = _option(name, text)
        else:
            strategy = _changed(strategy, name.split("."), text, name)
    return Overrides(strategy, options)


def _option(name: str, text: str) -> str | int:
    known = _OPTIONS[name]
    if known is None:
        return int(_number(text, 0, name))
    if text not in known and not (name == "acquisition" and text.startswith("eiig-")):
        raise OverrideError(f"{name} is one of {', '.join(known)}, not {shown(text)}")
    return text


def _changed(holder: Any, path: list[str], text: str, whole: str) -> Any:
    names = [one.name for one in fields(holder)]
    if path[0] not in names:
        raise OverrideError(
            f"the strategy has no number {shown(whole)}{nearest(path[0], names) or ','} here are {', '.join(names)}"
        )
    now = getattr(holder, path[0])
    if is_dataclass(now) != (len(path) > 1):
        inner = ", ".join(f"{path[0]}.{one.name}" for one in fields(now)) if is_dataclass(now) else path[0]
        raise OverrideError(f"{whole} is no number; there is {inner}")
    value = _changed(now, path[1:], text, whole) if len(path) > 1 else _value(text, now, whole)
    try:
        return replace(holder, **{path[0]: value})
    except ValueError as error:
        raise OverrideError(f"{whole} cannot be {shown(text)}: {error}") from None


def _value(text: str, now: Any, name: str) -> Any:
    if isinstance(now, bool):
        if text not in ("true", "false"):
            raise OverrideError(f"{name} is true or false, not {shown(text)}")
        return text == "true"
    if isinstance(now, tuple):
        words = text.split(",")
        if len(words) != len(now):
            raise OverrideError(f"{name} has {len(now)} numbers, comma separated, not {shown(text)}")
        return tuple(_number(word, one, name) for word, one in zip(words, now, strict=True))
    return text if isinstance(now, str) else _number(text, now, name)


def _number(text: str, now: Any, name: str) -> float:
    kind = int if isinstance(now, int) else float
    try:
        number = kind(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise OverrideError(f"{name} is {'a whole' if kind is int else 'a'} number, not {shown(text)}")
    return number
