"""The common protocol for a rival, paired seed by seed with the optimiser's own runs.

Both begin at the same uniform settings and are judged by the same judge. A rival that knows no validity gets the
penalty: a trial that is not valid loses its duel, and between two of those the champion is kept.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tuner.bench.judges import Judge
from tuner.bench.peers import Duel, Propose, propose_botorch
from tuner.bench.pool import run_all
from tuner.bench.protocol import Options, Run, judge_rng, run_protocol, start_points, to_box
from tuner.bench.ratios import Ratio, paired_ratio
from tuner.core.linalg import FloatArray
from tuner.problems import Problem, get_problem

LEAST_REGRET = 1e-10  # the known minima have about so many digits
_PEER = 3  # stream of random numbers


@dataclass(frozen=True)
class Comparison:
    """One problem over all seeds, both sides in order of seed."""

    problem: str
    ours: tuple[Run, ...]
    theirs: tuple[Run, ...]

    @property
    def regret(self) -> Ratio:
        """The geometric mean over the seeds of our last regret over the rival's."""
        ours, theirs = ([run.regret[-1] for run in runs] for runs in (self.ours, self.theirs))
        return paired_ratio(ours, theirs, centre="geometric mean", least=LEAST_REGRET)

    @property
    def seconds(self) -> Ratio:
        """The geometric mean over the seeds of our seconds a proposal over the rival's."""
        ours, theirs = ([float(np.mean(run.seconds)) for run in runs] for runs in (self.ours, self.theirs))
        return paired_ratio(ours, theirs, centre="geometric mean")

    @property
    def better(self) -> int:
        """On how many seeds our regret is the smaller one."""
        return sum(a.regret[-1] < b.regret[-1] for a, b in zip(self.ours, self.theirs, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return plain data; an infinite regret (no champion) is null."""
        return {
            "problem": self.problem,
            "ours": summary(self.ours),
            "theirs": summary(self.theirs),
            "regret_ratio": self.regret.to_json(),
            "seconds_ratio": self.seconds.to_json(),
            "better": self.better,
            "runs": [
                {"seed": a.seed, "ours": _plain(a.regret[-1]), "theirs": _plain(b.regret[-1])}
                for a, b in zip(self.ours, self.theirs, strict=True)
            ],
        }


def summary(runs: Sequence[Run]) -> dict[str, float | None]:
    """Return one side's numbers over the seeds."""
    return {
        "median": _plain(float(np.median([run.regret[-1] for run in runs]))),
        "mean": _plain(float(np.mean([run.regret[-1] for run in runs]))),
        "scrap": float(np.mean([run.scrap for run in runs])),
        "seconds": float(np.mean([second for run in runs for second in run.seconds])),
    }


def run_peer(name: str, seed: int, options: Options, propose: Propose = propose_botorch) -> Run:
    """Do one run of the common protocol with a rival.

    Raises:
        UnknownProblemError: No problem has this name.
    """
    problem = get_problem(name)
    rng = np.random.default_rng([seed, _PEER])
    bench = _Bench(problem, options.judge, judge_rng(seed))
    for point in start_points(problem, seed, options.start):
        bench.make(point)
    regret, seconds, scrap = [], [], 0
    for _ in range(options.trials):
        step_seed = int(rng.integers(2**31))
        begin = time.process_time()
        if bench.duels:
            point = propose(np.array(bench.points), bench.duels, bench.champion, step_seed)
        else:
            point = rng.random(problem.d)
        seconds.append(time.process_time() - begin)
        scrap += not bench.make(point)
        regret.append(bench.regret())
    return Run(name, seed, tuple(regret), scrap, tuple(seconds))


class _Bench:
    """Makes the parts and has each one judged against the champion's; the true cost of a non-valid one is infinite."""

    def __init__(self, problem: Problem, judge: Judge, rng: np.random.Generator) -> None:
        self.problem, self.judge, self.rng = problem, judge, rng
        self.points: list[FloatArray] = []
        self.costs: list[float] = []
        self.duels: list[Duel] = []
        self.champion = 0

    def make(self, point: FloatArray) -> bool:
        """Run a trial and its duel, and return whether it was valid."""
        setting = to_box(self.problem, point[None, :])
        valid = bool(self.problem.is_valid(setting)[0])
        self.points.append(point)
        self.costs.append(float(self.problem.evaluate(setting)[0]) if valid else math.inf)
        new = len(self.points) - 1
        if new:
            duel = (new, self.champion) if self._wins(new) else (self.champion, new)
            self.duels.append(duel)
            self.champion = duel[0]
        return valid

    def _wins(self, new: int) -> bool:
        cost, champion = self.costs[new], self.costs[self.champion]
        if math.isinf(cost) or math.isinf(champion):
            return cost < champion
        return self.judge.prefers_new(cost, champion, self.rng)

    def regret(self) -> float:
        """Return the champion's true cost above the known minimum."""
        return max(self.costs[self.champion] - self.problem.minimum, 0.0)


def measure_regret(
    problems: Sequence[str], seeds: Sequence[int], options: Options, jobs: int, done: Callable[[], None]
) -> list[Comparison]:
    """Do every run of both sides and return a comparison per problem; `done` is called after each run."""
    tasks = [(side, problem, seed, options) for problem in problems for seed in seeds for side in ("ours", "theirs")]
    found: dict[object, Run] = {}
    for task, run in run_all(_run_side, tasks, jobs):
        found[task] = run
        done()
    return [
        Comparison(
            problem,
            tuple(found["ours", problem, seed, options] for seed in seeds),
            tuple(found["theirs", problem, seed, options] for seed in seeds),
        )
        for problem in problems
    ]


def _run_side(side: str, problem: str, seed: int, options: Options) -> Run:
    return run_protocol(problem, seed, options) if side == "ours" else run_peer(problem, seed, options)


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
