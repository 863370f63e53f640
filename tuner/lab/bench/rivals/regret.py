"""The common protocol for rivals, paired seed by seed with the optimiser's own runs.

All begin at the same uniform settings and are judged by the same judge. A rival that knows no validity gets the
penalty: a trial that is not valid loses its duel, and between two of those the champion is kept.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.lab.bench.protocol import Options, Run, judge_rng, run_protocol, start_points, to_box
from tuner.lab.bench.ratios import Ratio, paired_ratio
from tuner.lab.bench.rivals.all_rivals import get_rival, warm_up
from tuner.lab.bench.rivals.rival import Duel, Propose
from tuner.lab.bench.workers import run_all
from tuner.lab.judges.scripted import Judge
from tuner.problems import Problem, get_problem

LEAST_REGRET = 1e-10  # the known minima have about so many digits
OURS = "tuner"  # as a side beside the rivals' names
_PEER = 3  # stream of random numbers


@dataclass(frozen=True)
class Comparison:
    """One rival on one problem over all seeds, both sides in order of seed."""

    rival: str
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
            "rival": self.rival,
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


def run_peer(name: str, seed: int, options: Options, propose: Propose) -> Run:
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
    """Makes the parts and has each one judged against the champion's; a non-valid one costs infinitely much."""

    def __init__(self, problem: Problem, judge: Judge, rng: np.random.Generator) -> None:
        self.problem, self.judge, self.rng = problem, judge, rng
        self.points: list[FloatArray] = []
        self.costs: list[float] = []
        self.duels: list[Duel] = []
        self.champion = 0

    @property
    def present(self) -> Problem:
        """The problem as it is after the trials so far: some drift."""
        return self.problem.at_trial(len(self.points) - 1)

    def make(self, point: FloatArray) -> bool:
        """Run a trial and its duel, and return whether it was valid."""
        self.points.append(point)
        problem, setting = self.present, to_box(self.problem, point[None, :])
        valid = bool(problem.is_valid(setting)[0])
        # as for the optimiser: problems without noise draw nothing
        costs = problem.part_costs(setting, self.rng) if valid and problem.noise else problem.evaluate(setting)
        self.costs.append(float(costs[0]) if valid else math.inf)
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
        """Return the true cost of the champion's setting above the known minimum, both as they are now."""
        if math.isinf(self.costs[self.champion]):
            return math.inf
        setting = to_box(self.problem, self.points[self.champion][None, :])
        return max(float(self.present.evaluate(setting)[0]) - self.problem.minimum, 0.0)


def measure_regret(
    rivals: Sequence[str],
    problems: Sequence[str],
    seeds: Sequence[int],
    options: Options,
    jobs: int,
    done: Callable[[], None],
) -> list[Comparison]:
    """Do every run of every side and return a comparison per rival and problem; `done` is called after each run.

    Our runs are done once: every rival is compared with the same ones.
    """
    sides = (OURS, *rivals)
    tasks = [(side, problem, seed, options) for problem in problems for seed in seeds for side in sides]
    found: dict[object, Run] = {}
    for task, run in run_all(run_side, tasks, jobs):
        found[task] = run
        done()

    def runs(side: str, problem: str) -> tuple[Run, ...]:
        return tuple(found[side, problem, seed, options] for seed in seeds)

    return [
        Comparison(rival, problem, runs(OURS, problem), runs(rival, problem))
        for rival in rivals
        for problem in problems
    ]


def run_side(side: str, problem: str, seed: int, options: Options) -> Run:
    """Do one run of ours or of a rival's, which has been imported and compiled before its time is taken."""
    if side == OURS:
        return run_protocol(problem, seed, options)
    warm_up(side)
    return run_peer(problem, seed, options, get_rival(side).start())


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
