"""The contract between tuner and a machine: subclass `Adapter`, register it as entry point in `tuner.adapters`."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from tuner.errors import TunerError

API_VERSION = 1

Value = float | int | str
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
class Outcome:
    """What came out of a trial: a valid part, or a reason why there is none."""

    valid: bool
    reason: str = ""
    measurements: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.valid and not self.reason:
            raise ValueError("a non-valid outcome needs a reason")
        if not all(math.isfinite(value) for value in self.measurements.values()):
            raise ValueError("measurements must be finite numbers")


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the machine can take a trial now, in a sentence for the operator."""

    ok: bool
    text: str = ""


S = TypeVar("S", bound=AdapterSettings)


class Adapter(ABC, Generic[S]):
    """One machine. Methods block; the host process ends an adapter that outlives its deadline.

    Args:
        settings: the validated table of the configuration.
        parameters: names of the campaign's parameters, in their order.
    """

    api_version: ClassVar[int] = API_VERSION
    Settings: ClassVar[type[AdapterSettings]] = AdapterSettings

    def __init__(self, settings: S, parameters: Sequence[str]) -> None:
        self.settings = settings
        self.parameters = tuple(parameters)

    @classmethod
    def complaints(cls, settings: S, parameters: Sequence[str]) -> Sequence[str]:
        """Sentences on why these settings do not fit these parameters; asked when a configuration is checked."""
        return ()

    @abstractmethod
    def open(self, deadline_s: float) -> None:
        """Connect; nothing on the machine changes."""

    @abstractmethod
    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Send a setting; returning means the machine has accepted it."""

    @abstractmethod
    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """The setting the machine says it has now."""

    @abstractmethod
    def run_trial(self, deadline_s: float) -> Outcome:
        """Make a part with the present setting."""

    @abstractmethod
    def health(self, deadline_s: float) -> Health:
        """Ask the machine how it is."""

    def go_to(self, known_good: Setting, deadline_s: float) -> None:
        """Return to the known-good setting; override it if the machine has a special way home."""
        self.apply(known_good, deadline_s)

    @abstractmethod
    def close(self) -> None:
        """Let go of the machine; may be called twice and after a failure."""
