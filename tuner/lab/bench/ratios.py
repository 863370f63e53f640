"""Paired ratios with confidence intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tuner.core.linalg import FloatArray

RESAMPLES = 10_000
LEVEL = 0.95

_CENTRES: dict[str, Callable[..., FloatArray]] = {"median": np.median, "geometric mean": np.mean}


@dataclass(frozen=True)
class Ratio:
    """The centre of paired ratios and the ends of its bootstrap interval.

    Not a number where a pair has no ratio; the ends also where there is but one pair.
    """

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float | None]:
        """Return plain data; what is not finite is null."""
        return {
            name: number if math.isfinite(number) else None
            for name, number in (("value", self.value), ("low", self.low), ("high", self.high))
        }


def paired_ratio(
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    centre: Literal["median", "geometric mean"],
    least: float = 0.0,
    seed: int = 0,
) -> Ratio:
    """Return ours over theirs, pair by pair, with the bootstrap interval of its centre.

    Args:
        ours: One value per pair, zero or more.
        theirs: Its rival.
        centre: Of the ratios.
        least: Smaller values count as this: a regret of exactly zero has no logarithm.
        seed: Of the resamples.
    """
    pairs = np.maximum(np.array([ours, theirs], dtype=np.float64), least)
    if not np.isfinite(pairs).all() or pairs.min() <= 0.0:
        return Ratio(math.nan, math.nan, math.nan)
    logs = np.log(pairs[0]) - np.log(pairs[1])
    middle = _CENTRES[centre]
    if len(logs) == 1:  # one pair says nothing of the spread
        return Ratio(float(np.exp(logs[0])), math.nan, math.nan)
    resampled = np.random.default_rng(seed).choice(logs, (RESAMPLES, len(logs)))
    low, high = np.quantile(middle(resampled, axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Ratio(float(np.exp(middle(logs))), float(np.exp(low)), float(np.exp(high)))
