"""The table of problems: the common protocol over many seeds, beside what peers published and our goals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tuner.lab.bench.protocol import Options, Run, run_protocol
from tuner.lab.bench.published import MEDIANS, SECONDS, Goal, goals_of
from tuner.lab.bench.workers import run_all


@dataclass(frozen=True)
class Mark:
    """A goal and what was measured."""

    goal: Goal
    value: float

    @property
    def reached(self) -> bool:
        """Whether the goal is reached; a peer must be beaten, not equalled."""
        return self.value <= self.goal.limit if self.goal.because == "goal" else self.value < self.goal.limit

    @property
    def factor(self) -> float:
        """How many times the limit was measured."""
        return self.value / self.goal.limit


@dataclass(frozen=True)
class Row:
    """One problem over all seeds.

    Attributes:
        problem: Its name.
        runs: One per seed, in order of seed.
        goals: With flipped answers there are none: the limits are for a judge without errors.
    """

    problem: str
    runs: tuple[Run, ...]
    goals: tuple[Goal, ...]

    @property
    def last(self) -> list[float]:
        """The regret at the end, per seed."""
        return [run.regret[-1] for run in self.runs]

    @property
    def statistics(self) -> dict[str, float]:
        """Everything the table shows, by name."""
        scrap = [run.scrap for run in self.runs]
        return {
            "median": float(np.median(self.last)),
            "mean": float(np.mean(self.last)),
            "worst": max(self.last),
            "scrap": float(np.mean(scrap)),
            "scrap_worst": float(max(scrap)),
            "seconds": float(np.mean([second for run in self.runs for second in run.seconds])),
        }

    @property
    def marks(self) -> list[Mark]:
        """Each goal with what was measured."""
        measured = self.statistics
        return [Mark(goal, measured[goal.statistic]) for goal in self.goals]


def measure_table(
    problems: Sequence[str], seeds: Sequence[int], options: Options, jobs: int, done: Callable[[Run], None]
) -> list[Row]:
    """Do every run and return a row per problem, in the order asked for; `done` is called after each run."""
    tasks = [(problem, seed, options) for problem in problems for seed in seeds]
    found: dict[object, Run] = {}
    for task, run in run_all(run_protocol, tasks, jobs):
        found[task] = run
        done(run)
    perfect = not options.flips and not options.noise
    return [
        Row(problem, tuple(found[problem, seed, options] for seed in seeds), goals_of(problem) if perfect else ())
        for problem in problems
    ]


def table_data(rows: Sequence[Row], options: Options) -> dict[str, Any]:
    """Return the whole table as plain JSON data; an infinite regret (no champion) is null."""
    return {
        "options": asdict(options),
        "seconds_a_proposal_of_peers": SECONDS,
        "problems": [
            {
                "problem": row.problem,
                **{name: _plain(value) for name, value in row.statistics.items()},
                "peers": MEDIANS.get(row.problem, {}),
                "goals": [
                    {**asdict(mark.goal), "value": _plain(mark.value), "reached": mark.reached} for mark in row.marks
                ],
                "runs": [
                    {"seed": run.seed, "scrap": run.scrap, "regret": [_plain(value) for value in run.regret]}
                    for run in row.runs
                ],
            }
            for row in rows
        ],
    }


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
