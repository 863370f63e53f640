"""The contract between tuner and a machine: subclass `Adapter`, register it as entry point in `tuner.adapters`.

Methods block and are called one at a time, in a process of the adapter's own; one that outlives its deadline is ended
together with that process, and the adapter is made anew.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from tuner.core.space.values import GRID_ERROR, Domain, Kind, Value
from tuner.errors import TunerError

__all__ = [
    "API_VERSION",
    "GRID_ERROR",
    "Adapter",
    "AdapterError",
    "AdapterSettings",
    "DeadlineError",
    "Domain",
    "Health",
    "LinkError",
    "Outcome",
    "ParameterInfo",
    "RefusedError",
    "Setting",
    "Value",
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


class RefusedError(AdapterError):
    """The machine understood and said no: the same request would be refused again."""


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

    @property
    def domain(self) -> Domain:
        """The values it may have: says whether one is legal, and why not."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return Domain(self.name, self.kind, low, high, self.step or 0.0, self.choices)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of a trial: a valid part, or a reason why there is none.

    Attributes:
        valid: Whether a part was made that can be judged.
        reason: Why not; needed if it was not.
        measurements: What the machine measured, for the record and the screen; the model does not use them.
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


S = TypeVar("S", bound=AdapterSettings)


class Adapter(ABC, Generic[S]):
    """One machine.

    Args:
        settings: The validated table of the configuration.
        parameters: The campaign's parameters, in their order.

    Attributes:
        starts_programs: Whether the settings say which program is run; such a campaign comes from a file of the
            daemon's host only, never over the wire.
    """

    api_version: ClassVar[int] = API_VERSION
    starts_programs: ClassVar[bool] = False
    Settings: ClassVar[type[AdapterSettings]] = AdapterSettings

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
    def of_this_host(cls, settings: S) -> Sequence[str]:
        """Keys whose values name files, devices or variables of the daemon's host; none of them comes over the wire.

        Paths are found here; an adapter adds what it has as text.
        """
        return tuple(_paths(settings, ""))

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

    def go_to(self, known_good: Setting, deadline_s: float) -> None:
        """Return to the known-good setting; override it if the machine has a special way home."""
        self.apply(known_good, deadline_s)

    @abstractmethod
    def close(self) -> None:
        """Let go of the machine; may be called twice and after a failure."""


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
