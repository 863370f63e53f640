"""A machine that is not there: any test problem by name, with the validity the problem has."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field, field_validator

from tuner.adapter import (
    Adapter,
    AdapterSettings,
    DeadlineError,
    Health,
    LinkError,
    Outcome,
    RefusedError,
    Setting,
    Value,
)
from tuner.problems import UnknownProblemError, get_problem
from tuner.text import counted


class SimulatedSettings(AdapterSettings):
    """The table `[campaign.adapter.settings]` of a simulated machine."""

    problem: str = Field("sasena", description="name of the test problem")
    seconds_per_trial: float = Field(0.0, ge=0, le=86_400, description="how long a trial takes")
    noise: float = Field(0.0, ge=0, description="standard deviation of the measured objective")
    seed: int = Field(0, ge=0, description="the noise is the same for the same seed")

    @field_validator("problem")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            return get_problem(name).name
        except UnknownProblemError as error:
            raise ValueError(str(error)) from error


class SimulatedAdapter(Adapter[SimulatedSettings]):
    """Makes "parts" whose quality is the problem's function; the i-th parameter is the problem's i-th variable."""

    Settings: ClassVar[type[AdapterSettings]] = SimulatedSettings

    def __init__(
        self, settings: SimulatedSettings, parameters: Sequence[str], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """See `Adapter`; `sleep` is passed in so that tests need not wait."""
        super().__init__(settings, parameters)
        self._problem = get_problem(settings.problem)
        self._rng = np.random.default_rng(settings.seed)
        self._sleep = sleep
        self._open = False
        self._setting: dict[str, Value] = {}

    @classmethod
    def complaints(cls, settings: SimulatedSettings, parameters: Sequence[str]) -> Sequence[str]:
        """The problem must have as many variables as the campaign has parameters."""
        problem = get_problem(settings.problem)
        if problem.d == len(parameters):
            return ()
        variables, given = counted(problem.d, "variable"), counted(len(parameters), "parameter")
        return (f"the problem {problem.name} has {variables}, the campaign {given}",)

    def open(self, deadline_s: float) -> None:
        """Switch the machine on."""
        self._open = True

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Take a setting if it is complete and made of finite numbers."""
        self._require_open()
        if set(setting) != set(self.parameters):
            raise RefusedError(f"the machine needs values for exactly {', '.join(self.parameters)}")
        for name, value in setting.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
                raise RefusedError(f"{name} must be a finite number, not {value!r}")
        self._setting = dict(setting)

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """The setting applied last; empty before the first."""
        self._require_open()
        return dict(self._setting)

    def run_trial(self, deadline_s: float) -> Outcome:
        """Evaluate the problem; the measurement `objective` is to be minimised."""
        self._require_open()
        if not self._setting:
            raise RefusedError("no setting has been applied yet")
        if self.settings.seconds_per_trial > deadline_s:
            self._sleep(deadline_s)
            raise DeadlineError(f"the trial takes {self.settings.seconds_per_trial} s, the deadline was {deadline_s} s")
        self._sleep(self.settings.seconds_per_trial)
        point = np.array([[float(self._setting[name]) for name in self.parameters]])
        if not self._problem.is_valid(point)[0]:
            return Outcome(valid=False, reason="the machine made no part at this setting")
        objective = float(self._problem.evaluate(point)[0] + self.settings.noise * self._rng.standard_normal())
        return Outcome(valid=True, measurements={"objective": objective})

    def health(self, deadline_s: float) -> Health:
        """A simulated machine is well when it is switched on."""
        return Health(self._open, "simulated machine" if self._open else "switched off")

    def close(self) -> None:
        """Switch the machine off."""
        self._open = False

    def _require_open(self) -> None:
        if not self._open:
            raise LinkError("the simulated machine is switched off")
