"""The demo's loop: propose, apply, run, judge, tell; on the simulated machine, through the contract of adapters."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np

from tuner.adapter import Adapter
from tuner.bench.judges import ExactJudge
from tuner.config import Campaign, load_config
from tuner.config.parameters import parameter_info
from tuner.config.to_space import campaign_space
from tuner.core.optimizer import Optimizer
from tuner.core.parameters import Value
from tuner.errors import ConfigError
from tuner.plugins import load_adapter
from tuner.problems import Problem, get_problem

SIMULATED = "simulated"
DEADLINE_S = 3600.0
SAMPLE = "configs/sasena.toml"
SHARED = "share/process-tuner"
KNOWN_GOOD = "The known-good setting of the configuration."


@dataclass(frozen=True)
class Step:
    """One trial of the demo, with what the spectator may know and the optimiser may not."""

    number: int
    setting: Mapping[str, Value]
    reason: str
    valid: bool | None = None
    wins: bool = False
    measured: float | None = None

    @property
    def outcome(self) -> str:
        """What came of it, in a few words."""
        if self.valid is None:
            return "running"
        if not self.valid:
            return "scrap"
        return "new champion" if self.wins else "not better"


@dataclass
class Session:
    """A demo under way."""

    campaign: Campaign
    problem: Problem
    adapter: Adapter[Any]
    optimizer: Optimizer
    trials: int
    steps: list[Step] = field(default_factory=list)
    seconds: float = 0.0

    @classmethod
    def from_file(cls, path: Path, *, trials: int | None, seed: int) -> "Session":
        """Build it from the first campaign of a configuration.

        Raises:
            ConfigError: The file is wrong, or its machine is not a simulated one: a real one needs the daemon's gate.
        """
        campaign = load_config(path).campaigns[0]
        if campaign.adapter.name != SIMULATED:
            raise ConfigError(
                f"{path}: campaign {campaign.name}: the demo runs on the adapter {SIMULATED!r} only, "
                f"not on {campaign.adapter.name!r}"
            )
        settings: Any = campaign.adapter.settings
        space = campaign_space(campaign)
        count = campaign.budget.trials if trials is None else trials
        optimizer = Optimizer(space, seed=seed, budget=count, scrap_budget=campaign.budget.scrap)
        adapter = load_adapter(SIMULATED)(settings, [parameter_info(p) for p in campaign.parameters])
        return cls(campaign, get_problem(settings.problem), adapter, optimizer, count)

    @property
    def scrap(self) -> int:
        """How many trials made no part."""
        return sum(step.valid is False for step in self.steps)

    @property
    def champion(self) -> Step | None:
        """The best trial so far."""
        champion = self.optimizer.champion
        return None if champion is None else self.steps[champion - 1]

    @property
    def ended(self) -> bool:
        """Whether the trials or the scrap of the budget are used up."""
        scrap = self.campaign.budget.scrap
        return len(self.steps) >= self.trials or (scrap is not None and self.scrap >= max(scrap, 1))

    def true_cost(self, setting: Mapping[str, Value]) -> float | None:
        """Return what a setting costs without noise, or None where no part is made: only a simulation knows this."""
        point = np.array([[float(setting[name]) for name in self.optimizer.space.names]])
        return float(self.problem.evaluate(point)[0]) if self.problem.is_valid(point)[0] else None

    def run(self, update: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> bool:
        """Tune until the budget is used up; return whether an interrupt ended it before.

        Whatever happens, the machine is brought back to its known-good setting and let go.
        """
        begin = clock()
        self.adapter.open(DEADLINE_S)
        try:
            while not self.ended:
                self._trial(update)
        except KeyboardInterrupt:
            return True
        finally:
            self.seconds = clock() - begin
            self.adapter.go_to(self.campaign.known_good, DEADLINE_S)
            self.adapter.close()
        return False

    def _trial(self, update: Callable[[], None]) -> None:
        opponent_id = None
        if not self.steps:
            setting: Mapping[str, Value] = self.campaign.known_good
            number, reason = self.optimizer.add(setting), KNOWN_GOOD
        else:
            proposal = self.optimizer.ask()
            number, setting, reason = proposal.trial_id, proposal.setting, proposal.reason
            opponent_id = proposal.champion_id
        step = Step(number, setting, reason)
        self.steps.append(step)
        update()
        self.adapter.apply(setting, DEADLINE_S)
        outcome = self.adapter.run_trial(f"{self.campaign.name}-{number}", DEADLINE_S)
        self.optimizer.tell_outcome(number, outcome.valid, outcome.reason or None)
        step = replace(step, valid=outcome.valid, measured=outcome.measurements.get("objective"))
        if step.valid and opponent_id is not None:
            self._duel(step, self.steps[opponent_id - 1])
        self.steps[-1] = replace(step, wins=self.optimizer.champion == number)
        update()

    def _duel(self, new: Step, champion: Step) -> None:
        """Ask the scripted judge and tell the answer."""
        if new.measured is None or champion.measured is None:
            raise ValueError("a valid part of the simulated machine has the measurement 'objective'")
        wins = ExactJudge().prefers_new(new.measured, champion.measured, np.random.default_rng(0))
        pair = (new.number, champion.number)
        self.optimizer.tell_judgment(*(pair if wins else pair[::-1]), operator="scripted")


def sample_config() -> Path:
    """Return the configuration of the simulated machine: the checkout's, or the one installed with the package.

    Raises:
        ConfigError: It is in none of these places.
    """
    for path in _sample_places():
        if path.is_file():
            return path
    raise ConfigError(f"{SAMPLE} was not installed with tuner; give a configuration with --config")


def _sample_places() -> Iterator[Path]:
    root = Path(__file__).parents[2]
    yield root / SAMPLE
    yield root / SHARED / SAMPLE  # where `pip install --target` puts it
    try:
        installed = files("process-tuner") or []
    except PackageNotFoundError:
        return
    for file in installed:
        if file.as_posix().endswith(f"{SHARED}/{SAMPLE}"):
            yield Path(str(file.locate()))
