"""Paired comparisons of finished runs, seed by seed: who ends nearer to the optimum, who gets there sooner."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.lab.bench.ratios import Ratio, paired_ratio
from tuner.lab.paper.runs import Record
from tuner.lab.paper.tasks import Task

Verdict = Literal["agrees", "undecided", "disagrees", "not measured"]
Runs = Mapping[Task, Record]

LEAST_REGRET = 1e-10  # the known minima have about so many digits
MOST_REGRET = 1e10
# a champion in the penalised region costs up to 1e8, and no champion at all is infinite: both count as this
MOST_SASENA = 100.0
LEAST_PAIRS = 6  # fewer pairs cannot decide anything, whatever the bootstrap says


def curve(record: Record) -> FloatArray:
    """Return the regret after the start and after each asked trial, within bounds that have a logarithm."""
    most = MOST_SASENA if record.task.figure == 7 else MOST_REGRET
    return np.clip(record.regret, LEAST_REGRET, most)


def of(runs: Runs, figure: int, method: str, problem: str | None = None) -> dict[int, Record]:
    """Return a method's runs by seed."""
    return {
        task.seed: record
        for task, record in sorted(runs.items(), key=lambda item: item[0].seed)
        if task.figure == figure and task.method == method and problem in (None, task.problem)
    }


@dataclass(frozen=True)
class Duel:
    """Two methods on the seeds that both have finished.

    Attributes:
        pairs: How many seeds.
        wins: On how many the first ends nearer to the optimum.
        end: The first's last regret over the second's: geometric mean with its 95 % interval.
        way: The same of the geometric means of the regret over all trials: who gets there sooner.
    """

    pairs: int
    wins: int
    end: Ratio
    way: Ratio


def duel(first: Mapping[int, Record], second: Mapping[int, Record]) -> Duel:
    """Compare two methods on the seeds that both have."""
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        nothing = Ratio(math.nan, math.nan, math.nan)
        return Duel(0, 0, nothing, nothing)
    ours, theirs = [curve(first[seed]) for seed in seeds], [curve(second[seed]) for seed in seeds]
    ends = [[float(c[-1]) for c in side] for side in (ours, theirs)]
    ways = [[float(np.exp(np.log(c[1:]).mean())) for c in side] for side in (ours, theirs)]
    return Duel(
        len(seeds),
        sum(a < b for a, b in zip(*ends, strict=True)),
        paired_ratio(ends[0], ends[1], centre="geometric mean"),
        paired_ratio(ways[0], ways[1], centre="geometric mean"),
    )


def smaller(ratio: Ratio, pairs: int) -> Verdict:
    """Say whether the ratio is below one, by its 95 % interval."""
    if not pairs or math.isnan(ratio.value):
        return "not measured"
    if pairs < LEAST_PAIRS or ratio.low <= 1.0 <= ratio.high:
        return "undecided"
    return "agrees" if ratio.high < 1.0 else "disagrees"


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a claim that all of these are parts of: one part that disagrees refutes it."""
    found = list(verdicts)
    for verdict in ("disagrees", "undecided", "agrees"):
        if verdict in found:
            # what is not measured leaves a claim open
            return "undecided" if verdict == "agrees" and "not measured" in found else verdict
    return "not measured"


def mean_curve(records: Sequence[Record]) -> FloatArray:
    """Return the mean regret after each trial, as the paper averages; of Figure 7 the median (penalties are huge)."""
    curves = np.array([curve(record) for record in records])
    centre = np.median if records[0].task.figure == 7 else np.mean
    return np.asarray(centre(curves, axis=0))


def seconds_per_100(records: Iterable[Record]) -> float:
    """Return the median processor time of 100 proposals."""
    times = [100.0 * record.seconds / record.task.asked for record in records]
    return float(np.median(times)) if times else math.nan
