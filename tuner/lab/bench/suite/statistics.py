"""What the runs of a group come to: what users are given, what it cost them, and paired differences."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.lab.bench.ratios import paired_ratio
from tuner.lab.bench.suite.runs import Given, SuiteRun

LEAST, MOST = 1e-6, 10.0  # regrets count as no less and no more: no part at all, and no difference that matters
TARGETS = 10.0 ** -np.linspace(0.1, 4.0, 40)
NO_WORSE = 1.0 + 1e-9
LEAST_PAIRS = 6  # fewer pairs cannot decide anything, whatever the bootstrap says


@dataclass(frozen=True)
class Summary:
    """What one method's runs of a group come to after some parts.

    Attributes:
        runs: How many.
        parts: After how many parts.
        median: Of the champion's regret, in units of the known-good setting's.
        worst_quartile: A quarter of the champions have at least this regret.
        recommended: Median regret of the recommended settings.
        recommended_worst_quartile: A quarter of them have at least this regret, or make no part.
        hit: Share of the targets from 10^-0.1 to 10^-4 that the champions reach.
        worse: Share of the runs whose champion is worse than the known-good setting.
        recommended_worse: Share whose recommendation is, or makes no part.
        not_made: Share whose recommendation makes no part.
        looks: Looks spent, for each part.
        scrap: Parts that were not made, in each run.
        right: Share of the choices worth it that are recommended at their best level; None: there is none.
        choices: How many such choices there are.
        failed: Proposals that could not be computed, in all runs.
        seconds: Processor time of a run.
    """

    runs: int
    parts: int
    median: float
    worst_quartile: float
    recommended: float
    recommended_worst_quartile: float
    hit: float
    worse: float
    recommended_worse: float
    not_made: float
    looks: float
    scrap: float
    right: float | None
    choices: int
    failed: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class Paired:
    """The difference of two methods on the same processes; below zero the first is ahead.

    Attributes:
        pairs: How many processes.
        decades: The mean difference of log10 of the champions' regrets.
        low: The lower end of its 95 % bootstrap interval; None of one pair.
        high: The upper end.
        ahead: On how many processes the first ends nearer to the optimum.
        behind: On how many the second.
        hit: The difference of the shares of targets hit.
    """

    pairs: int
    decades: float
    low: float | None
    high: float | None
    ahead: int
    behind: int
    hit: float

    @property
    def verdict(self) -> Literal["ahead", "behind", "undecided"]:
        """Which one ends nearer to the optimum, by the interval."""
        if self.low is None or self.high is None or self.pairs < LEAST_PAIRS:
            return "undecided"
        return "ahead" if self.high < 0.0 else "behind" if self.low > 0.0 else "undecided"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "verdict": self.verdict}


def at(run: SuiteRun, parts: int) -> Given:
    """Return what the user was given after so many parts."""
    return next(one for one in run.given if one.parts == parts)


def summary(runs: Sequence[SuiteRun], parts: int) -> Summary:
    """Return what the runs come to after so many parts."""
    given = [at(run, parts) for run in runs]
    champion = _regrets([one.champion for one in given])
    recommended = _regrets([one.recommended for one in given])
    choices = sum(one.of for one in given)
    return Summary(
        runs=len(runs),
        parts=parts,
        median=float(np.median(champion)),
        worst_quartile=float(np.quantile(champion, 0.75)),
        recommended=float(np.median(recommended)),
        recommended_worst_quartile=float(np.quantile(recommended, 0.75)),
        hit=hit(champion),
        worse=float(np.mean([one.champion > NO_WORSE for one in given])),
        recommended_worse=float(np.mean([one.recommended > NO_WORSE for one in given])),
        not_made=float(np.mean([math.isinf(one.recommended) for one in given])),
        looks=float(np.mean([one.looks for one in given])) / parts,
        scrap=float(np.mean([one.scrap for one in given])),
        right=sum(one.right for one in given) / choices if choices else None,
        choices=choices,
        failed=sum(run.failed for run in runs),
        seconds=float(np.mean([run.seconds for run in runs])),
    )


def hit(regrets: FloatArray) -> float:
    """Return the share of all targets that these regrets reach."""
    return float((regrets[:, None] <= TARGETS).mean())


def paired(ours: Mapping[Any, SuiteRun], theirs: Mapping[Any, SuiteRun], parts: int) -> Paired | None:
    """Compare two methods on the processes that both have tuned, or None where there are none."""
    both = [key for key in ours if key in theirs]
    if not both:
        return None
    a, b = (_regrets([at(side[key], parts).champion for key in both]) for side in (ours, theirs))
    ratio = paired_ratio(a.tolist(), b.tolist(), centre="geometric mean")
    low, high = (None if math.isnan(end) else math.log10(end) for end in (ratio.low, ratio.high))
    ahead, behind = int((a < b).sum()), int((a > b).sum())
    return Paired(len(both), math.log10(ratio.value), low, high, ahead, behind, hit(a) - hit(b))


def _regrets(values: Sequence[float]) -> FloatArray:
    return np.clip(np.array(values, dtype=np.float64), LEAST, MOST)
