"""The settings that machines of registers, nodes and data blocks have in common: where values are, what they mean."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from pydantic import Field, field_validator

from tuner.adapter import AdapterSettings, ParameterInfo
from tuner.basics.text import listed, nearest

Raw = bool | int | float | str


class Place(AdapterSettings):
    """Where the machine keeps a value; the subclass says how it is addressed.

    One that is a word may have a field `bit`: the value is that bit then, and its neighbours stay as they are.
    """


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

    codes: Mapping[str, bool | int | str] = Field(
        default_factory=dict, description="choice = the machine's code", examples=[{"round": 1, "flat": 2}]
    )

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
    codes: Mapping[str, str] = Field(
        default_factory=dict, description="sentences for the operator, by code", examples=[{"1": "too hot"}]
    )


B = TypeVar("B", bound=Place)  # what a part is begun with
K = TypeVar("K", bound=Command)
D = TypeVar("D", bound=Done)
S = TypeVar("S", bound=Signal)
C = TypeVar("C", bound=Code)
T = TypeVar("T", bound=Place)  # a tag, as text or as number
M = TypeVar("M", bound=Measurement)
P = TypeVar("P", bound=Parameter)


class Recipe(AdapterSettings, Generic[K, S, C]):
    """How the machine learns that all values of a setting are there."""

    valid: K = Field(description="tuner writes off before the values, and on after the last of them")
    taken: S | None = Field(None, description="what the machine shows when it has them; tuner writes valid = off then")
    clears: bool = Field(False, description="whether the machine itself writes valid = off when it has them")
    refused: C | None = Field(None, description="why the machine does not take them")


class Trial(AdapterSettings, Generic[B, D, S, C, T, M]):
    """How a part is made."""

    start: B = Field(description="what tuner writes or calls to start a part")
    done: D | None = Field(None, description="what the machine shows when the part is finished; or made, or count")
    valid: S | None = Field(None, description="whether the part can be judged; none: every part without alarm can")
    reason: C | None = Field(None, description="why a part is not valid")
    busy: S | None = Field(None, description="whether the machine is making a part")
    tag: T | None = Field(None, description="where the tag of the part to be made is written, as text or number")
    made: T | None = Field(None, description="where the machine shows the tag of the part it has finished")
    count: M | None = Field(None, description="where the machine counts the parts it has finished")


class State(AdapterSettings, Generic[S, C]):
    """How the machine is."""

    alarm: C | None = Field(None, description="ends a trial as non-valid, and forbids the next one")
    ready: S | None = Field(None, description="whether the machine takes orders; none: always")


class Heartbeat(AdapterSettings, Generic[K, S]):
    """How each side knows that the other one lives."""

    write: K | None = Field(None, description="what tuner turns on and off as long as it lives")
    every_s: float = Field(0.5, gt=0, le=60, description="seconds between two beats of tuner's, and two looks at watch")
    watch: S | None = Field(None, description="what the machine's program keeps changing: a bit or a counter")
    silent_s: float = Field(5.0, gt=0, le=600, description="a machine that did not change it for so long has stopped")


class HandshakeSettings(AdapterSettings, Generic[B, K, D, S, C, T, M, P]):
    """What the machine's kind of places is filled in for: the places of its map."""

    poll_interval_s: float = Field(0.2, gt=0, le=60, description="seconds between two looks at done")
    off_s: float = Field(
        0.5, ge=0, le=60, description="how long start, or recipe.valid, is off before it goes on, if no answer tells it"
    )
    timeout_s: float = Field(2.0, gt=0, le=60, description="seconds until one request counts as unanswered")
    parameters: Mapping[str, P] = Field(description="one entry for every parameter, by its name")
    recipe: Recipe[K, S, C] | None = Field(None, description="a sign after all values; none: each counts at once")
    trial: Trial[B, D, S, C, T, M] = Field(description="how a part is made")
    state: State[S, C] = Field(default_factory=lambda: State(), description="alarm and readiness")
    heartbeat: Heartbeat[K, S] | None = Field(None, description="signs of life")
    measurements: Mapping[str, M] = Field(default_factory=dict, description="numbers of a valid part")
    interlocks: Mapping[str, S] = Field(default_factory=dict, description="what must be yes to send a setting")


AnySettings = HandshakeSettings[Any, Any, Any, Any, Any, Any, Any, Any]


def written_places(settings: AnySettings) -> Iterator[tuple[str, Place]]:
    """All that tuner writes, by the keys of the settings."""
    trial = settings.trial
    for name, entry in settings.parameters.items():
        yield f"parameters.{name}", entry
    if settings.recipe is not None:
        yield "recipe.valid", settings.recipe.valid
    yield "trial.start", trial.start
    if trial.done is not None and trial.done.clear:
        yield "trial.done", trial.done
    if trial.tag is not None:
        yield "trial.tag", trial.tag
    if settings.heartbeat is not None and settings.heartbeat.write is not None:
        yield "heartbeat.write", settings.heartbeat.write


def map_complaints(
    settings: AnySettings, parameters: Sequence[ParameterInfo], needs_codes: Callable[[Any], bool]
) -> list[str]:
    """All that is wrong with a map; `needs_codes` says whether a choice's place can hold numbers only."""
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
        if lacking and (entry.codes or needs_codes(entry)):
            found.append(f"parameters.{name}.codes lacks {listed(lacking)}")
        unknown = [choice for choice in entry.codes if choice not in info.choices]
        if unknown:
            found.append(f"parameters.{name}.codes has {listed(unknown)}, which cannot be chosen")
        if len(set(entry.codes.values())) < len(entry.codes):
            found.append(f"parameters.{name}.codes has the same code twice")
    return [*found, *_handshake(settings)]


def _handshake(settings: AnySettings) -> Iterator[str]:
    """What is wrong with how parts are made, recipes handed over and signs of life given."""
    trial, recipe, heartbeat = settings.trial, settings.recipe, settings.heartbeat
    if trial.made and not trial.tag and not getattr(trial.start, "pass_tag", False):
        yield "trial.made needs trial.tag: the machine cannot show a tag that it was not given"
    if not (trial.done or trial.made or trial.count):
        yield "trial needs done, made or count: else nobody knows when a part is finished"
    if recipe and recipe.clears and recipe.taken:
        yield "recipe has taken and clears: it is one or the other that says that the machine has the values"
    if heartbeat and not (heartbeat.write or heartbeat.watch):
        yield "heartbeat needs write, watch or both"
    if heartbeat and heartbeat.watch and heartbeat.silent_s < 2 * heartbeat.every_s:
        yield "heartbeat.silent_s must be at least twice every_s"
