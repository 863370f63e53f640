"""Looks at every place of a machine's map, and says of each whether it can be used as the configuration wants."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tuner.adapter import AdapterError, Inspected, LinkError, ParameterInfo, RefusedError, Value
from tuner.basics.text import shown
from tuner.handshake.convert import bit_of, check_kept, to_number, to_raw, to_value
from tuner.handshake.places import (
    AnySettings,
    Code,
    Command,
    Done,
    Heartbeat,
    Measurement,
    Parameter,
    Place,
    Raw,
    Signal,
)

SAMPLE_TAG = "abcdef-A1000"  # as long as the tag of a thousandth part: six letters of the campaign, and the part's own


class Described(Protocol):
    """Type and access of a place."""

    def __call__(self, name: str, place: Place, *, written: bool) -> str:
        """What the protocol tells of it, or `RefusedError`."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What an adapter can be asked about a place."""

    address: Callable[[Place], str]
    described: Described
    get: Callable[[Mapping[str, Place]], dict[str, Raw]]
    kept: Callable[[str, Place, Raw], Raw]
    told: Callable[[str, Place, str], Raw]
    wait: Callable[[float], None]


def inspected(settings: AnySettings, parameters: Sequence[ParameterInfo], looks: Looks) -> list[Inspected]:
    """One row for each place; what is wrong at one does not keep from the next."""
    return [_row(name, place, written, check, looks) for name, place, written, check in _places(settings, parameters)]


Check = Callable[[str, Place, Raw, Looks], str]
Entry = tuple[str, Place, bool, Check]


def _row(name: str, place: Place, written: bool, check: Check, looks: Looks) -> Inspected:
    began_s = time.monotonic()
    where = looks.address(place)
    try:
        text = looks.described(name, place, written=written)
        if callable_only(place):
            return Inspected(name, where, text, took_s=time.monotonic() - began_s)
        raw = looks.get({name: place})[name]
        took_s = time.monotonic() - began_s
        now = check(name, place, raw, looks)
    except AdapterError as error:
        return Inspected(name, where, str(error), ok=False, took_s=time.monotonic() - began_s)
    return Inspected(name, where, f"{text}, now {now or shown(raw)}", took_s=took_s)


def callable_only(place: Place) -> bool:
    """Whether a place is called and not read."""
    return getattr(place, "method", None) is not None


def _places(settings: AnySettings, parameters: Sequence[ParameterInfo]) -> Iterator[Entry]:
    infos = {info.name: info for info in parameters}
    for name, entry in settings.parameters.items():
        info = infos[name]
        same = entry.source == entry
        yield f"parameters.{name}", entry, True, _parameter(info, reads=same)
        if not same:
            yield f"parameters.{name} read back", entry.source, False, _read_back(info)
    recipe, trial, state = settings.recipe, settings.trial, settings.state
    named: dict[str, Place | None] = {
        "recipe.valid": recipe.valid if recipe else None, "recipe.taken": recipe.taken if recipe else None,
        "recipe.refused": recipe.refused if recipe else None, "trial.start": trial.start, "trial.done": trial.done,
        "trial.valid": trial.valid, "trial.reason": trial.reason, "trial.busy": trial.busy,
        "trial.count": trial.count, "state.alarm": state.alarm, "state.ready": state.ready,
        **{f"interlocks.{name}": lock for name, lock in settings.interlocks.items()},
        **{f"measurements.{name}": place for name, place in settings.measurements.items()},
    }  # fmt: skip
    for name, place in named.items():
        if place is not None:
            written = isinstance(place, Command) and (not isinstance(place, Done) or place.clear)
            yield name, place, written, _measured if isinstance(place, Measurement) else _meant
    for name, tag, written in (("trial.tag", trial.tag, True), ("trial.made", trial.made, False)):
        if tag is not None:
            yield name, tag, written, _tag
    if settings.heartbeat is not None:
        yield from _heart(settings.heartbeat)


def _heart(heartbeat: Heartbeat[Command, Signal]) -> Iterator[Entry]:
    if heartbeat.write is not None:
        yield "heartbeat.write", heartbeat.write, True, _meant
    if heartbeat.watch is not None:
        silent_s = heartbeat.silent_s

        def changes(name: str, place: Place, raw: Raw, looks: Looks) -> str:
            for _ in range(20):
                looks.wait(silent_s / 20)
                if (now := looks.get({name: place})[name]) != raw:
                    return f"{shown(raw)}, then {shown(now)}"
            raise LinkError(f"stays {shown(raw)} for {silent_s:g} s: the machine's program does not change it")

        yield "heartbeat.watch", heartbeat.watch, False, changes


def _parameter(info: ParameterInfo, *, reads: bool) -> Check:
    """All its values fit; what is there now makes sense if it is read back from the same place."""

    def check(name: str, place: Place, raw: Raw, looks: Looks) -> str:
        entry = _as_parameter(place)
        values: list[Value] = list(info.choices)
        if info.kind != "choice":
            values = [info.start, *(limit for limit in (info.low, info.high) if limit is not None)]
        for value in values:
            kept = (
                to_raw(entry, value)
                if bit_of(place) is not None
                else looks.kept(info.name, place, to_raw(entry, value))
            )
            if info.kind != "choice":
                check_kept(info, float(value), to_number(info.name, entry, kept))
        return _amount(info, entry, raw) if reads else ""

    return check


def _read_back(info: ParameterInfo) -> Check:
    return lambda name, place, raw, looks: _amount(info, _as_parameter(place), raw)


def _amount(info: ParameterInfo, entry: Parameter, raw: Raw) -> str:
    return f"{shown(to_value(info, entry, raw))}{f' {info.unit}' if info.unit else ''}"


def _as_parameter(place: Place) -> Parameter:
    if not isinstance(place, Parameter):
        raise TypeError(f"{place!r} is not a parameter's place")
    return place


def _measured(name: str, place: Place, raw: Raw, looks: Looks) -> str:
    return shown(to_number(name, place, raw)) if isinstance(place, Measurement) else ""


def _meant(name: str, place: Place, raw: Raw, looks: Looks) -> str:
    """A signal can be what it is compared with; a command can be written both ways."""
    if isinstance(place, Code):
        return f"{shown(raw)}{_meaning(place, raw)}"
    if isinstance(place, Signal):
        if isinstance(raw, str) != isinstance(place.on, str) or (isinstance(raw, bool) and place.on not in (0, 1)):
            raise RefusedError(f"reads {shown(raw)}, and can never be {shown(place.on)}: write the right value into on")
        if isinstance(place, Command) and bit_of(place) is None and (not isinstance(place, Done) or place.clear):
            for value in (place.on, place.off):
                looks.kept(name, place, value)
    return ""


def _meaning(code: Code, raw: Raw) -> str:
    fine = not raw if code.ok is None else raw == code.ok
    return f" ({code.codes[str(raw)]})" if not fine and str(raw) in code.codes else ""


def _tag(name: str, place: Place, raw: Raw, looks: Looks) -> str:
    """A tag of the usual length has room, as text or as number."""
    told = looks.told(name, place, SAMPLE_TAG)
    if isinstance(told, str) != isinstance(raw, str):
        raise RefusedError(f"reads {shown(raw)}, which is neither a text nor a whole number: a tag needs one of them")
    looks.kept(name, place, told)
    return ""
