"""Whether what is said comes true: chances that proposals came with, in bins, against what became of the parts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tuner.lab.bench.suite.runs import Forecast

# finer at the ends, where most chances are
EDGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
ENOUGH = 50  # a bin with more cases than this counts
WITHIN = 0.05  # how far it may be from the truth


@dataclass(frozen=True)
class Bin:
    """Cases whose chance lies between two numbers.

    Attributes:
        low: The lower one, included.
        high: The higher one, not included but for 1.
        cases: How many.
        said: Their mean chance.
        happened: The share that came true.
    """

    low: float
    high: float
    cases: int
    said: float
    happened: float

    @property
    def deviation(self) -> float:
        """How much more often it happened than was said."""
        return self.happened - self.said

    @property
    def counts(self) -> bool:
        """Whether there are cases enough."""
        return self.cases > ENOUGH

    @property
    def reached(self) -> bool:
        """Whether it happens about as often as is said, or nobody can tell."""
        return not self.counts or abs(self.deviation) <= WITHIN

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "deviation": self.deviation, "counts": self.counts, "reached": self.reached}


@dataclass(frozen=True)
class Calibration:
    """How one kind of chance comes true.

    Attributes:
        bins: Those that have cases.
        brier: The mean squared difference of chance and truth.
    """

    bins: tuple[Bin, ...]
    brier: float

    @property
    def cases(self) -> int:
        """How many there are."""
        return sum(one.cases for one in self.bins)

    @property
    def worst(self) -> float | None:
        """The largest deviation of a bin that counts; None if none does."""
        return max((abs(one.deviation) for one in self.bins if one.counts), default=None)

    @property
    def reached(self) -> bool | None:
        """Whether every bin that counts is near enough to the truth; None if none counts."""
        return None if self.worst is None else all(one.reached for one in self.bins)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        told = {"cases": self.cases, "brier": self.brier, "worst": self.worst, "reached": self.reached}
        return {**told, "bins": [one.to_json() for one in self.bins]}


def calibration(chances: Sequence[float], truths: Sequence[bool]) -> Calibration:
    """Sort chances into bins and compare them with what happened."""
    said, true = np.array(chances, dtype=np.float64), np.array(truths, dtype=np.float64)
    places = np.clip(np.searchsorted(EDGES, said, side="right") - 1, 0, len(EDGES) - 2)
    bins = []
    for place in np.unique(places):
        inside = places == place
        told, happened = float(said[inside].mean()), float(true[inside].mean())
        bins.append(Bin(EDGES[place], EDGES[place + 1], int(inside.sum()), told, happened))
    return Calibration(tuple(bins), float(((said - true) ** 2).mean()) if len(said) else 0.0)


def of_better(forecasts: Iterable[Forecast]) -> Calibration:
    """Compare P(better) with the true order of the parts, whatever the judge said; equal parts do not count."""
    told = [(one.p_better, one.better) for one in forecasts if one.p_better is not None and one.better is not None]
    return calibration([chance for chance, _ in told], [truth for _, truth in told])


def of_valid(forecasts: Iterable[Forecast]) -> Calibration:
    """Compare P(valid) with the outcomes."""
    told = list(forecasts)
    return calibration([one.p_valid for one in told], [one.valid for one in told])
