"""One run of the paper's protocol: a pure function of its task, the seconds apart."""

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray, NotPositiveDefiniteError
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.posterior.kernels import Kernel
from tuner.core.posterior.rows import Hyper
from tuner.core.space.space import Space
from tuner.lab.bench.protocol import box_space, judge_rng, start_points, to_box
from tuner.lab.judges.scripted import ExactJudge
from tuner.lab.paper.rivals import paper_optimizer
from tuner.lab.paper.tasks import METHODS, START, Task, problem_of
from tuner.problems import Problem, get_problem

# the paper's fixed hyper-parameters: lengthscale 0.35 in units of x, kernel variance 50 times the noise variance
LENGTHSCALE = 0.35
VARIANCE = 50.0
_INSTEAD = 4  # stream of random numbers


@dataclass(frozen=True)
class Record:
    """A finished run.

    Attributes:
        task: What was run.
        regret: The champion's true cost above the known minimum, after the start and after each asked trial.
        scrap: Non-valid trials among those asked for.
        failed: Proposals that could not be computed (the numbers did not converge); a uniform setting took their place.
        seconds: Processor time of all proposals; not part of the result that a task determines.
        made_by: Versions of what computed it.
    """

    task: Task
    regret: tuple[float, ...]
    scrap: int
    failed: int
    seconds: float = field(compare=False)
    made_by: str = field(compare=False, default="")

    def to_json(self) -> dict[str, Any]:
        """Return plain data; an infinite regret (no champion) is null."""
        task = self.task
        return {
            "key": task.key,
            "figure": task.figure,
            "problem": task.problem,
            "method": task.method,
            "seed": task.seed,
            "asked": task.asked,
            "regret": [value if math.isfinite(value) else None for value in self.regret],
            "scrap": self.scrap,
            "failed": self.failed,
            "seconds": self.seconds,
            "made_by": self.made_by,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Record":
        """Return the record that `to_json` made."""
        task = Task(data["figure"], data["problem"], data["method"], data["seed"], data["asked"])
        regret = tuple(math.inf if value is None else float(value) for value in data["regret"])
        return cls(task, regret, data["scrap"], data["failed"], data["seconds"], data["made_by"])


def run_task(task: Task) -> Record:
    """Do one run."""
    problem = problem_of(task.problem)
    space = box_space(problem)
    optimizer = _optimizer(task, problem, space)
    bench = _Bench(problem, optimizer, judge_rng(task.seed))
    for point in to_box(problem, start_points(problem, task.seed, START)):
        champion = optimizer.champion
        bench.make(optimizer.add(dict(zip(space.names, point.tolist(), strict=True))), point, champion)
    instead = np.random.default_rng([task.seed, _INSTEAD])
    regret, seconds, scrap, failed = [bench.regret()], 0.0, 0, 0
    for _ in range(task.asked):
        champion = optimizer.champion
        begin = time.process_time()
        try:
            proposal = optimizer.ask()
            number, setting, champion = proposal.number, proposal.setting, proposal.opponent
        except (ArithmeticError, NotPositiveDefiniteError):
            failed += 1
            setting = dict(zip(space.names, to_box(problem, instead.random(problem.d)).tolist(), strict=True))
            number = optimizer.add(setting)
        seconds += time.process_time() - begin
        point = np.array([float(value) for value in setting.values()])
        bench.make(number, point, champion)
        scrap += not get_problem(problem.name.removesuffix("_penalised")).is_valid(point)[0]
        regret.append(bench.regret())
    return Record(task, tuple(regret), scrap, failed, seconds, versions())


def _optimizer(task: Task, problem: Problem, space: Space) -> Optimizer:
    method = METHODS[task.method]
    if method.model is None:
        return Optimizer(space, seed=task.seed, budget=START + task.asked)
    hyper = None
    if task.figure == 5:
        hyper = Hyper(Kernel(LENGTHSCALE / np.ptp(problem.bounds, axis=1), VARIANCE), np.ones(1), 0.5)
    return paper_optimizer(space, method.model, method.acquisition, seed=task.seed, hyper=hyper, mixed=method.mixed)


@dataclass
class _Bench:
    """Makes the parts and has each valid one judged exactly against the champion's."""

    problem: Problem
    optimizer: Optimizer
    rng: np.random.Generator
    costs: dict[int, float] = field(default_factory=dict)

    def make(self, number: int, point: FloatArray, opponent: int | None) -> None:
        """Run a trial, tell its outcome and its duel."""
        valid = bool(self.problem.is_valid(point)[0])
        self.optimizer.tell_outcome(number, valid)
        if not valid:
            return
        self.costs[number] = float(self.problem.evaluate(point)[0])
        if opponent is not None:
            wins = ExactJudge().prefers_new(self.costs[number], self.costs[opponent], self.rng)
            winner, loser = (number, opponent) if wins else (opponent, number)
            self.optimizer.tell_judgment(winner, loser)

    def regret(self) -> float:
        """Return the champion's true cost above the known minimum."""
        champion = self.optimizer.champion
        return math.inf if champion is None else max(self.costs[champion] - self.problem.minimum, 0.0)


def versions() -> str:
    """Return what computes here, in one line."""
    import platform
    from importlib.metadata import version

    import scipy

    from tuner.core.posterior.bouncing import compiled

    loop = "compiled" if compiled() else "numpy"
    return (
        f"process-tuner {version('process-tuner')} ({loop} trajectories), Python {platform.python_version()}, "
        f"numpy {np.__version__}, scipy {scipy.__version__}, {platform.machine()}"
    )
