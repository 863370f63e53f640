"""The contract between tuner and a machine: subclass `Adapter`, register it as entry point in `tuner.adapters`.

Methods block and are called one at a time, in a process of the adapter's own; one that outlives its deadline is ended
together with that process, and the adapter is made anew.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from tuner.basics.sentences import say
from tuner.basics.vocabulary import MOST_MEASUREMENTS
from tuner.core.space.values import GRID_ERROR, Domain, Kind, Value
from tuner.errors import TunerError

__all__ = [
    "API_VERSION",
    "GRID_ERROR",
    "MOST_MEASUREMENTS",
    "Adapter",
    "AdapterError",
    "AdapterSettings",
    "DeadlineError",
    "Domain",
    "Health",
    "Inspected",
    "LinkError",
    "NotReadyError",
    "Offered",
    "Outcome",
    "ParameterInfo",
    "RefusedError",
    "Setting",
    "Value",
    "check_setting",
]

API_VERSION = 1

Setting = Mapping[str, Value]


class AdapterError(TunerError):
    """Something went wrong between tuner and the machine; `retry` says whether trying again can help."""

    retry: ClassVar[bool] = False


class LinkError(AdapterError):
    """The machine does not answer, or answers nonsense."""

    retry = True


class DeadlineError(AdapterError):
    """The machine did not finish in time."""

    retry = True


class NotReadyError(AdapterError):
    """The machine cannot do it now and will by itself: not ready yet, a door open, an alarm that may clear."""

    retry = True


class RefusedError(AdapterError):
    """The machine understood and said no: the same request would be refused again.

    Where `health` says that the machine is not ready, it is asked again as soon as it is.
    """


class AdapterSettings(BaseModel):
    """Base of an adapter's own settings, the table `[campaign.adapter.settings]`; sequences are tuples."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """What an adapter may know of a parameter; bounds and grid are enforced before a setting reaches it.

    Attributes:
        name: Its name, the key of a setting.
        kind: continuous and stepped values are float, integer ones int, choices str.
        start: The known-good value.
        low: Lowest value; None for a choice.
        high: Highest value; None for a choice.
        step: Distance between neighbouring values of a stepped parameter.
        choices: What a choice is made from.
        unit: For people.
        tolerance: How far the value read back may be off.
        label: What people call it; empty: its name.
        resolution: A continuous value is a multiple of this; 0: any number.
    """

    name: str
    kind: Kind
    start: Value
    low: float | None = None
    high: float | None = None
    step: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    tolerance: float = 0.0
    label: str = ""
    resolution: float = 0.0

    @property
    def domain(self) -> Domain:
        """The values it may have: says whether one is legal, and why not."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return Domain(self.name, self.kind, low, high, self.step or 0.0, self.choices, self.resolution)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of a trial: a valid part, or a reason why there is none.

    Attributes:
        valid: Whether a part was made that can be judged.
        reason: Why not; needed if it was not.
        measurements: What the machine measured, for the record and the screen; the model does not use them. At most
            `MOST_MEASUREMENTS`.
        photo: Path or address of a picture of the part.
    """

    valid: bool
    reason: str = ""
    measurements: Mapping[str, float] = field(default_factory=dict)
    photo: str | None = None

    def __post_init__(self) -> None:
        if not self.valid and not self.reason:
            raise ValueError("a non-valid outcome needs a reason")
        if not all(math.isfinite(value) for value in self.measurements.values()):
            raise ValueError("measurements must be finite numbers")
        if len(self.measurements) > MOST_MEASUREMENTS:
            raise ValueError(f"an outcome has at most {MOST_MEASUREMENTS} measurements, not {len(self.measurements)}")


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the machine can take a setting now.

    Attributes:
        ok: Whether it can.
        text: A sentence for the operator.
        interlocks: Conditions that must all hold before a setting is sent, by name; one that is False forbids it.
    """

    ok: bool
    text: str = ""
    interlocks: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inspected:
    """What was found at one place of the machine that a setting or a part needs.

    Attributes:
        name: The key of the settings, such as trial.start.
        where: The place in the machine, as its manual calls it.
        text: Type, access and value; or what is wrong there and what to do.
        ok: Whether it can be used.
        took_s: How long the machine took to answer.
    """

    name: str
    where: str
    text: str
    ok: bool = True
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Offered:
    """Something that a machine offers to be used in a configuration.

    Attributes:
        where: How it is written in the settings: a node id, a register, a topic, a path.
        name: What the machine calls it.
        kind: Its type, in the machine's words; empty if the protocol does not tell.
        access: Some of read, write, call; empty if the protocol does not tell.
        value: What it is now, as text.
        looked_at: False for a stretch where there may be more, because the time was over; `value` says so.
    """

    where: str
    name: str = ""
    kind: str = ""
    access: str = ""
    value: str = ""
    looked_at: bool = True


S = TypeVar("S", bound=AdapterSettings)


class Adapter(ABC, Generic[S]):
    """One machine.

    Args:
        settings: The validated table of the configuration.
        parameters: The campaign's parameters, in their order.

    Attributes:
        starts_programs: Whether the settings say which program is run; such a campaign comes from a file of the
            daemon's host only, never over the wire.
        Connection: The part of the settings that says how the machine is reached, a base class of `Settings`; None if
            `browse` cannot be asked.
    """

    api_version: ClassVar[int] = API_VERSION
    starts_programs: ClassVar[bool] = False
    Settings: ClassVar[type[AdapterSettings]] = AdapterSettings
    Connection: ClassVar[type[AdapterSettings] | None] = None

    def __init__(self, settings: S, parameters: Sequence[ParameterInfo]) -> None:
        self.settings = settings
        self.parameters = tuple(parameters)

    @classmethod
    def complaints(cls, settings: S, parameters: Sequence[ParameterInfo]) -> Sequence[str]:
        """Sentences on why these settings do not fit these parameters; asked when a configuration is checked."""
        return ()

    @classmethod
    def occupies(cls, settings: S) -> Sequence[str]:
        """Addresses of the machine, as tuner.basics.address writes: two campaigns that share one do not run at once.

        It is told from the settings alone, without asking the machine. None: the machine's name has to do.
        """
        return ()

    @classmethod
    def takes(cls, settings: S, parameter: str) -> bool:
        """Whether the machine is told of a parameter that people change by hand: only if it has a place for it."""
        return False

    @classmethod
    def finest(cls, settings: S, parameter: str) -> float:
        """The smallest difference of a number that its place in the machine can hold; 0: not known, or any."""
        return 0.0

    @classmethod
    def of_this_host(cls, settings: S) -> Sequence[str]:
        """Keys whose values name files, devices or variables of the daemon's host; none of them comes over the wire.

        Paths are found here; an adapter adds what it has as text.
        """
        return tuple(_paths(settings, ""))

    @classmethod
    def browse(cls, connection: Any, deadline_s: float) -> Sequence[Offered]:
        """What a machine offers to pick from, in the machine's order; nothing on it changes.

        Args:
            connection: An instance of `Connection`, or the whole settings.
            deadline_s: How long it may take; where things are only heard by waiting, it listens for most of it.
        """
        return ()

    @classmethod
    def introduce(cls, settings: S, deadline_s: float) -> Sequence[str]:
        """Make what a first contact needs, such as certificates, and take the machine's: sentences on what was done."""
        return ()

    @abstractmethod
    def open(self, deadline_s: float) -> None:
        """Connect; nothing on the machine changes."""

    @abstractmethod
    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Send a setting, a value for every parameter; returning means the machine has accepted it."""

    @abstractmethod
    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """The setting the machine says it has now."""

    @abstractmethod
    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Make a part with the present setting and say what came of it.

        Args:
            tag: Names the part. The same tag again, after a crash, means the same part: a machine that can tell
                whether it has made it must not make it twice.
            deadline_s: How long it may take.
        """

    @abstractmethod
    def health(self, deadline_s: float) -> Health:
        """Ask the machine how it is."""

    def inspect(self, deadline_s: float) -> Sequence[Inspected]:
        """Look at every place that a setting or a part needs, whether it is there and can be used; nothing is moved.

        What is wrong at one place is told and does not keep from the next. Without places there is nothing to tell.
        """
        return ()

    def go_to(self, known_good: Setting, deadline_s: float) -> None:
        """Return to the known-good setting; override it if the machine has a special way home."""
        self.apply(known_good, deadline_s)

    @abstractmethod
    def close(self) -> None:
        """Let go of the machine; may be called twice and after a failure."""


def check_setting(setting: Setting, parameters: Sequence[ParameterInfo]) -> dict[str, Value]:
    """The setting in the types of its parameters; one that is incomplete or has a value of the wrong kind is refused.

    Limits and grids are the gate's: on its way a machine may be sent what people have set by hand.
    """
    names = [parameter.name for parameter in parameters]
    if set(setting) != set(names):
        raise RefusedError(say("machine.needs_values", names=names))
    for parameter in parameters:
        if why := parameter.domain.problem(setting[parameter.name], anywhere=True):
            raise RefusedError(say("value.wrong", name=parameter.name, why=why))
    return {parameter.name: parameter.domain.plain(setting[parameter.name]) for parameter in parameters}


def _paths(value: object, key: str) -> Iterator[str]:
    if isinstance(value, Path):
        yield key
    entries: Iterator[tuple[object, object]] = iter(())
    if isinstance(value, BaseModel | Mapping):
        entries = iter(value) if isinstance(value, BaseModel) else iter(value.items())
    elif isinstance(value, Sequence | frozenset | set) and not isinstance(value, str | bytes):
        entries = ((index, one) for index, one in enumerate(value, 1))
    for name, one in entries:
        yield from _paths(one, f"{key}.{name}" if key else str(name))
