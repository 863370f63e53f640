"""A machine that is not there: any test problem by name, with the validity the problem has, and faults on request."""

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from pydantic import Field, field_validator

from adapters.simulated.picture import pixels, plate, shares, svg, ugliness
from tuner.adapter import (
    Adapter,
    AdapterSettings,
    DeadlineError,
    Health,
    LinkError,
    Outcome,
    ParameterInfo,
    RefusedError,
    Setting,
    Value,
    check_setting,
)
from tuner.basics.address import file_address
from tuner.basics.files import whole_file
from tuner.basics.sentences import say
from tuner.basics.text import counted
from tuner.errors import TunerError
from tuner.problems import UnknownProblemError, get_problem

CRASH_EXIT_CODE = 70
_HANG_S = 3600.0  # on top of the deadline: whoever waits has to end the process
_FAULT_STREAM = 1  # faults are drawn apart from the noise, so that they do not change what is measured


class SimulatedSettings(AdapterSettings):
    """The table `[campaign.adapter.settings]` of a simulated machine; a probability is that of each call."""

    problem: str = Field("sasena", description="name of the test problem")
    seconds_per_trial: float = Field(0.0, ge=0, le=86_400, description="how long a trial takes")
    noise: float = Field(0.0, ge=0, description="standard deviation of the measured objective")
    seed: int = Field(0, ge=0, description="noise and faults are the same for the same seed")
    drift: float = Field(0.0, description="what each part made adds to the objective of the next ones")
    non_valid_probability: float = Field(0.0, ge=0, le=1, description="of scrap at a setting that would make a part")
    dropout_probability: float = Field(0.0, ge=0, le=1, description="that the link fails")
    hang_probability: float = Field(0.0, ge=0, le=1, description="that a call does not return by its deadline")
    garbage_probability: float = Field(0.0, ge=0, le=1, description="that the answer is nonsense")
    crash_probability: float = Field(0.0, ge=0, le=1, description="that the adapter's process dies")
    read_back_error: float = Field(0.0, description="added to every number read back")
    scan_s: float = Field(0.0, ge=0, le=3600, description="how long after it was sent a setting is read back")
    not_ready_s: float = Field(0.0, ge=0, le=86_400, description="how long the machine is not ready after each part")
    guard_open_s: float = Field(0.0, ge=0, le=86_400, description="how long the guard is open after each part")
    link_away_s: float = Field(0.0, ge=0, le=86_400, description="how long the link is away, before a part is told")
    open_guard_every: int = Field(0, ge=0, description="every n-th health report has an open guard; 0: none")
    memory: Path | None = Field(
        None,
        description="file that keeps setting and parts when the process ends; none: the machine forgets",
    )
    pictures: Path | None = Field(
        None, description="folder for a picture of each part, to judge by instead of the objective; none: none"
    )

    @field_validator("problem")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            return get_problem(name).name
        except UnknownProblemError as error:
            raise ValueError(str(error)) from error


class SimulatedAdapter(Adapter[SimulatedSettings]):
    """Makes "parts" whose quality is a test problem's function; the i-th parameter is the problem's i-th variable."""

    Settings: ClassVar[type[AdapterSettings]] = SimulatedSettings

    def __init__(
        self,
        settings: SimulatedSettings,
        parameters: Sequence[ParameterInfo],
        sleep: Callable[[float], None] = time.sleep,
        crash: Callable[[int], object] = os._exit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """See `Adapter`; `sleep`, `crash` and `clock` are passed in so that tests need neither wait nor die."""
        super().__init__(settings, parameters)
        self._names = [parameter.name for parameter in parameters]
        self._problem = get_problem(settings.problem)
        self._rng = np.random.default_rng(settings.seed)
        self._sleep = sleep
        self._crash = crash
        self._clock = clock
        self._sent_s = self._made_s = -math.inf
        self._before: dict[str, Value] = {}
        self._open = False
        self._setting: dict[str, Value] = {p.name: p.start for p in parameters}  # as a machine that runs already
        self._parts: dict[str, Outcome] = {}
        self._calls = 0
        self._health_reports = 0

    @classmethod
    def complaints(cls, settings: SimulatedSettings, parameters: Sequence[ParameterInfo]) -> Sequence[str]:
        """The problem must have as many variables as the campaign has parameters."""
        problem = get_problem(settings.problem)
        if problem.d == len(parameters):
            return ()
        variables, given = counted(problem.d, "variable"), counted(len(parameters), "parameter")
        return (f"the problem {problem.name} has {variables}, the campaign {given}",)

    @classmethod
    def takes(cls, settings: SimulatedSettings, parameter: str) -> bool:
        """Every parameter is a variable of the problem, whoever changes it."""
        return True

    @classmethod
    def occupies(cls, settings: SimulatedSettings) -> Sequence[str]:
        """The file that is the machine's memory; without one each campaign has a machine of its own."""
        return () if settings.memory is None else (file_address(settings.memory),)

    def open(self, deadline_s: float) -> None:
        """Switch the machine on."""
        self._open = True
        self._remember()

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Take a setting if it is complete and made of finite numbers and known choices."""
        self._fault(deadline_s)
        taken = check_setting(setting, self.parameters)
        if trouble := self._trouble():
            raise RefusedError(say("machine.no_setting_taken", why=trouble))
        self._before, self._sent_s = self._shown(), self._clock()
        self._setting = taken
        self._note()

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """The setting applied last; before the first one the known-good one."""
        garbage = self._fault(deadline_s)
        error = self.settings.read_back_error
        answer: dict[str, Value] = self._shown()
        for parameter in self.parameters if error else ():
            if parameter.choices:
                continue
            off = round(error) if parameter.kind == "integer" else error
            answer[parameter.name] = cast("float", answer[parameter.name]) + off
        if garbage:
            nonsense: tuple[Any, ...] = (math.nan, None, "?", [1.0])
            answer[self._names[0]] = nonsense[self._calls % len(nonsense)]
        return answer

    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Evaluate the problem; the measurement `objective` is to be minimised. A tag's part is made once."""
        garbage = self._fault(deadline_s, makes_a_part=True)
        outcome = self._parts.get(tag)
        if outcome is None:
            if trouble := self._trouble():
                raise RefusedError(say("machine.no_part", why=trouble))
            outcome = self._make_part(tag, deadline_s)
            self._made_s = self._clock()
            self._check_link()
        if self._happens("crash", self.settings.crash_probability):
            self._crash(CRASH_EXIT_CODE)  # after the part was made: the worst moment
        return cast("Outcome", {"valid": "perhaps"}) if garbage else outcome

    def health(self, deadline_s: float) -> Health:
        """A simulated machine is well when it is switched on."""
        self._check_link()
        self._health_reports += 1
        every = self.settings.open_guard_every
        interlocks = {"guard closed": self._health_reports % every != 0} if every else {}
        if self.settings.guard_open_s:
            interlocks["guard closed"] = not self._since_part(self.settings.guard_open_s)
        trouble = self._trouble() if self._open else say("simulated.off")
        return Health(not trouble, trouble or say("simulated.well"), interlocks)

    def close(self) -> None:
        """Switch the machine off."""
        self._open = False

    def _shown(self) -> dict[str, Value]:
        """What a controller shows that copies a setting only in its next scan."""
        return dict(self._setting if self._clock() - self._sent_s >= self.settings.scan_s else self._before)

    def _since_part(self, seconds: float) -> bool:
        return self._clock() - self._made_s < seconds

    def _trouble(self) -> str:
        return say("simulated.not_ready") if self._since_part(self.settings.not_ready_s) else ""

    def _check_link(self) -> None:
        if self._since_part(self.settings.link_away_s):
            raise LinkError(say("simulated.away"))

    def _make_part(self, tag: str, deadline_s: float) -> Outcome:
        if self.settings.seconds_per_trial > deadline_s:
            self._sleep(deadline_s)
            raise DeadlineError(say("simulated.slow", seconds=self.settings.seconds_per_trial, deadline=deadline_s))
        self._sleep(self.settings.seconds_per_trial)
        values = [(self._setting[parameter.name], parameter.choices) for parameter in self.parameters]
        point = np.array([[self._problem.variable(place, *value) for place, value in enumerate(values)]])
        if not self._problem.is_valid(point)[0]:
            outcome = Outcome(valid=False, reason=say("simulated.no_part"))
        elif self._happens("scrap", self.settings.non_valid_probability):
            outcome = Outcome(valid=False, reason=say("simulated.scrap"))
        else:
            objective = float(self._problem.evaluate(point)[0] + self.settings.noise * self._rng.standard_normal())
            objective += self.settings.drift * len(self._parts)
            photo = self._picture(tag, point, objective)
            outcome = Outcome(True, "", {} if photo else {"objective": objective}, photo)
        self._parts[tag] = outcome
        self._note()
        return outcome

    def _picture(self, tag: str, point: np.ndarray[Any, np.dtype[np.float64]], objective: float) -> str | None:
        """Where the part's picture is."""
        folder = self.settings.pictures
        if folder is None:
            return None
        bounds = self._problem.bounds
        places = (point[0] - bounds[:, 0]) / np.ptp(bounds, axis=1)
        seed = self.settings.seed + len(self._parts)
        part = plate(ugliness(self._problem, objective), shares([float(place) for place in places]), seed)
        path = folder / f"{''.join(letter for letter in tag if letter.isalnum()) or 'part'}.svg"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for place, content in ((path.with_suffix(".ppm"), pixels(part)), (path, svg(part).encode())):
                with whole_file(place) as file:
                    file.write(content)
        except (OSError, TunerError) as error:
            raise LinkError(say("simulated.picture", tag=tag, why=str(error))) from error
        return str(path)

    def _fault(self, deadline_s: float, *, makes_a_part: bool = False) -> bool:
        """Fail as the settings and the seed want it; the answer is whether the reply shall be nonsense."""
        if not self._open:
            raise LinkError(say("simulated.switched_off"))
        self._check_link()
        self._calls += 1
        self._note()
        if not makes_a_part and self._happens("crash", self.settings.crash_probability):
            self._crash(CRASH_EXIT_CODE)
        if self._happens("hang", self.settings.hang_probability):
            self._sleep(deadline_s + _HANG_S)
            raise DeadlineError(say("simulated.hung"))
        if self._happens("dropout", self.settings.dropout_probability):
            raise LinkError(say("simulated.dropped_out"))
        return self._happens("garbage", self.settings.garbage_probability)

    def _happens(self, kind: str, probability: float) -> bool:
        """Drawn from the seed, the number of the call and the kind of fault only."""
        key = [self.settings.seed, _FAULT_STREAM, self._calls, *kind.encode()]
        return probability > 0 and float(np.random.default_rng(key).random()) < probability

    def _remember(self) -> None:
        """Know again what an earlier process has done; the calls go on too, so that a crash does not repeat itself."""
        if self.settings.memory is None or not self.settings.memory.exists():
            return
        try:
            noted = json.loads(self.settings.memory.read_text("utf-8"))
            self._setting = dict(noted["setting"])
            self._parts = {tag: Outcome(**outcome) for tag, outcome in noted["parts"].items()}
            self._calls = int(noted["calls"])
            self._rng = np.random.default_rng(self.settings.seed)
            self._rng.standard_normal(sum(part.valid for part in self._parts.values()))  # the noise goes on as well
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise LinkError(say("simulated.memory_broken", file=str(self.settings.memory), why=str(error))) from error

    def _note(self) -> None:
        if self.settings.memory is None:
            return
        parts = {tag: asdict(outcome) for tag, outcome in self._parts.items()}
        noted = {"setting": self._setting, "parts": parts, "calls": self._calls}
        written = self.settings.memory.with_name(self.settings.memory.name + ".new")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(written, flags, 0o600), "w", encoding="utf-8") as file:
                json.dump(noted, file)
            written.replace(self.settings.memory)  # a crash leaves the old memory or the new one
        except OSError as error:
            raise LinkError(say("simulated.memory_unwritable", why=str(error))) from error
