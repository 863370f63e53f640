"""The settings that machines of registers and of nodes have in common: where values are, and what they mean."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from pydantic import Field, field_validator

from tuner.adapter import AdapterSettings, ParameterInfo
from tuner.basics.text import listed, nearest

Raw = bool | int | float | str


class Place(AdapterSettings):
    """Where the machine keeps a value; the subclass says how it is addressed."""


class Measurement(Place):
    """A number: value = number in the machine * scale + offset."""

    scale: float = Field(1.0, description="value = number in the machine * scale + offset")
    offset: float = Field(0.0, description="value = number in the machine * scale + offset")

    @field_validator("scale")
    @classmethod
    def _not_zero(cls, scale: float) -> float:
        if scale == 0:
            raise ValueError("must not be 0")
        return scale


class Parameter(Measurement):
    """A number or a choice that tuner writes, and reads back from the same place unless there is another."""

    codes: Mapping[str, bool | int | str] = Field(default_factory=dict, description="choice = the machine's code")

    @property
    def source(self) -> "Parameter":
        """Where it is read back."""
        return self


class Signal(Place):
    """A yes or no of the machine."""

    on: bool | int | str = Field(True, description="the value that means yes; any other means no")


class Command(Signal):
    """A yes or no that tuner writes."""

    off: bool | int | str = Field(False, description="the value that means no")


class Done(Command):
    """The machine's word that the part is finished."""

    clear: bool = Field(False, description="whether tuner writes off before each trial, if the machine does not")


class Code(Place):
    """A number, a text or a bit of the machine that tells what is wrong."""

    ok: bool | int | str | None = Field(None, description='the value that means nothing is wrong; none: 0, false or ""')
    codes: Mapping[str, str] = Field(default_factory=dict, description="sentences for the operator, by code")


B = TypeVar("B", bound=Place)  # what a part is begun with
D = TypeVar("D", bound=Done)
S = TypeVar("S", bound=Signal)
C = TypeVar("C", bound=Code)
T = TypeVar("T", bound=Place)  # a text
M = TypeVar("M", bound=Measurement)
P = TypeVar("P", bound=Parameter)


class Trial(AdapterSettings, Generic[B, D, S, C, T]):
    """How a part is made."""

    start: B = Field(description="what tuner writes or calls to start a part")
    done: D = Field(description="what the machine shows when the part is finished")
    valid: S | None = Field(None, description="whether the part can be judged; none: every part without alarm can")
    reason: C | None = Field(None, description="why a part is not valid")
    busy: S | None = Field(None, description="whether the machine is making a part")
    tag: T | None = Field(None, description="where the tag of the part to be made is written")
    made: T | None = Field(None, description="where the machine shows the tag of the part it has finished")


class State(AdapterSettings, Generic[S, C]):
    """How the machine is."""

    alarm: C | None = Field(None, description="ends a trial as non-valid, and forbids the next one")
    ready: S | None = Field(None, description="whether the machine takes orders; none: always")


class HandshakeSettings(AdapterSettings, Generic[B, D, S, C, T, M, P]):
    """What the machine's kind of places is filled in for: the places of its map."""

    poll_interval_s: float = Field(0.2, gt=0, le=60, description="seconds between two looks at done")
    timeout_s: float = Field(2.0, gt=0, le=60, description="seconds until one request counts as unanswered")
    parameters: Mapping[str, P] = Field(description="one entry for every parameter, by its name")
    trial: Trial[B, D, S, C, T] = Field(description="how a part is made")
    state: State[S, C] = Field(default_factory=lambda: State(), description="alarm and readiness")
    measurements: Mapping[str, M] = Field(default_factory=dict, description="numbers of a valid part")
    interlocks: Mapping[str, S] = Field(default_factory=dict, description="what must be yes to send a setting")


AnySettings = HandshakeSettings[Any, Any, Any, Any, Any, Any, Any]


def map_complaints(settings: AnySettings, parameters: Sequence[ParameterInfo], *, codes: bool) -> list[str]:
    """Entries that lack or are too many, and choices that have no code where the machine needs `codes`."""
    names = [info.name for info in parameters]
    missing = [name for name in names if name not in settings.parameters]
    found = [f"parameters.{name} is missing: where the machine keeps it" for name in missing]
    for name, entry in settings.parameters.items():
        if name not in names:
            found.append(f"parameters.{name} is no parameter of the campaign{nearest(name, names)}")
            continue
        info = parameters[names.index(name)]
        if info.kind != "choice":
            found += [f"parameters.{name} is a number, it has no codes"] if entry.codes else []
            continue
        lacking = [choice for choice in info.choices if choice not in entry.codes]
        if lacking and (codes or entry.codes):
            found.append(f"parameters.{name}.codes lacks {listed(lacking)}")
        unknown = [choice for choice in entry.codes if choice not in info.choices]
        if unknown:
            found.append(f"parameters.{name}.codes has {listed(unknown)}, which cannot be chosen")
        if len(set(entry.codes.values())) < len(entry.codes):
            found.append(f"parameters.{name}.codes has the same code twice")
    if settings.trial.made and not settings.trial.tag:
        found.append("trial.made needs trial.tag: the machine cannot show a tag that it was not given")
    return found
