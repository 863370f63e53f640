"""One-dimensional marginals of a SkewGP: normal mixtures whose components share a variance.

Given S draws of the truncated vector, f(x) (or f(x) - f(reference)) is normal with its own mean and the same variance
under each draw, so every statistic below is a closed form or a root of one.

Glossary:
    means      (p, S) component means at p points       spread   (p,) shared variance of the components
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from tuner.core.linalg import FloatArray

SECTIONS = 200
GRID = 400
GROUPS = 250
STEPS = 60
POLISH = 20


@dataclass(frozen=True, eq=False)
class Mixture:
    """Marginals at p points."""

    means: FloatArray
    spread: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Expectations, (p,)."""
        return np.asarray(self.means.mean(axis=1))

    @property
    def variance(self) -> FloatArray:
        """Variances, (p,)."""
        return np.asarray(self.spread + self.means.var(axis=1))

    @property
    def skewness(self) -> FloatArray:
        """Skewness statistics, (p,): zero where the variance is zero."""
        third = ((self.means - self.mean[:, None]) ** 3).mean(axis=1)
        return np.divide(third, self.variance**1.5, out=np.zeros_like(third), where=self.variance > 0)

    def probability_positive(self, extra: float = 0.0) -> FloatArray:
        """Return P(value + noise > 0) for noise of variance `extra`: one half where the value is exactly zero."""
        deviation = np.sqrt(self.spread + extra)[:, None]
        settled = np.sign(self.means)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scaled = np.where(deviation > 0, self.means / deviation, np.where(settled == 0, 0.0, settled * np.inf))
        return np.asarray(ndtr(scaled).mean(axis=1))

    def cdf(self, value: FloatArray) -> FloatArray:
        """Return P(f <= value), (p,) for value (p,)."""
        shifted = Mixture(value[:, None] - self.means, self.spread)
        return shifted.probability_positive()

    def quantile(self, level: float) -> FloatArray:
        """Return the level-quantile, (p,)."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"a quantile's level lies between 0 and 1, got {level}")
        value = np.quantile(self.means, level, axis=1)
        proper = self._proper
        if proper.any():
            part = Mixture(self.means[proper], self.spread[proper])
            begin = [np.interp(level, probability, grid) for grid, probability in part._tables()]
            value[proper] = part._settled(np.array(begin), np.full(len(begin), level))
        return value

    def density(self, value: FloatArray) -> FloatArray:
        """Return the density at `value`, (p,) for value (p,)."""
        deviation = np.sqrt(self.spread)[:, None]
        scaled = (value[:, None] - self.means) / deviation
        return np.asarray((np.exp(-0.5 * scaled**2) / deviation).mean(axis=1) / np.sqrt(2 * np.pi))

    def interval(self, mass: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the credible interval of minimum width, (p,) lower and (p,) upper ends."""
        if not 0.0 < mass < 1.0:
            raise ValueError(f"an interval's mass lies between 0 and 1, got {mass}")
        low, high = self.mean.copy(), self.mean.copy()
        proper = self._proper
        if not proper.any():
            return low, high
        part = Mixture(self.means[proper], self.spread[proper])
        levels = (np.arange(SECTIONS) + 0.5) / SECTIONS * (1.0 - mass)
        ends = []
        for grid, probability in part._tables():
            lows, highs = np.interp(levels, probability, grid), np.interp(levels + mass, probability, grid)
            best = np.argmin(highs - lows)
            ends.append((lows[best], highs[best]))
        low[proper], begin = np.array(ends).T
        begin = part._settled(begin, part.cdf(low[proper]) + mass)
        low[proper], high[proper] = part._polished(low[proper], begin, mass)
        return low, high

    def _polished(self, low: FloatArray, high: FloatArray, mass: float) -> tuple[FloatArray, FloatArray]:
        """Move both ends until the densities there are equal, by Newton steps; keep those that did not converge."""
        first, width = low, high - low
        last = high
        for _ in range(POLISH):
            p_low, p_high = self.density(low), self.density(high)
            slope_low, slope_high = self._density_slope(low), self._density_slope(high)
            excess, gap = self.cdf(high) - self.cdf(low) - mass, p_high - p_low
            determinant = p_low * slope_high - p_high * slope_low
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                up = -(p_low * gap - slope_low * excess) / determinant
                down = -(p_high * gap - slope_high * excess) / determinant
            up, down = (np.clip(np.nan_to_num(step), -0.2 * width, 0.2 * width) for step in (up, down))
            high, low = high + up, low + down
            if (np.maximum(np.abs(up), np.abs(down)) <= 1e-13 * width).all():
                break
        good = np.abs(self.cdf(high) - self.cdf(low) - mass) < 1e-11
        good &= np.abs(self.density(high) - self.density(low)) * width < 1e-7
        good &= high - low <= width
        return np.where(good, low, first), np.where(good, high, last)

    def _density_slope(self, value: FloatArray) -> FloatArray:
        deviation = np.sqrt(self.spread)[:, None]
        scaled = (value[:, None] - self.means) / deviation
        return np.asarray((-scaled * np.exp(-0.5 * scaled**2) / deviation**2).mean(axis=1) / np.sqrt(2 * np.pi))

    @property
    def _proper(self) -> npt.NDArray[np.bool_]:
        """Where the components have a width to speak of."""
        return np.asarray(self.spread > 1e-14 * np.maximum(self.variance, 1e-300))

    def _tables(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield, for each point, a grid of values and their cdf with the components grouped."""
        pieces = np.array_split(np.sort(self.means, axis=1), min(GROUPS, self.means.shape[1]), axis=1)
        groups = np.stack([piece.mean(axis=1) for piece in pieces], axis=1)
        for centres, width in zip(groups, np.sqrt(self.spread), strict=True):
            grid = np.linspace(centres[0] - 5.0 * width, centres[-1] + 5.0 * width, GRID)
            yield grid, ndtr((grid[:, None] - centres) / width).mean(axis=1)

    def _settled(self, value: FloatArray, level: FloatArray) -> FloatArray:
        """Move each value to the exact quantile of its level: Newton steps from the grid's answer, halved brackets."""
        margin = 9.0 * np.sqrt(self.spread)
        below, above = self.means.min(axis=1) - margin, self.means.max(axis=1) + margin
        for _ in range(STEPS):
            excess = self.cdf(value) - level
            below, above = np.where(excess < 0, value, below), np.where(excess > 0, value, above)
            if (np.abs(excess) < 1e-12).all():
                break
            value = value - excess / np.maximum(self.density(value), 1e-300)
            value = np.where((value > below) & (value < above), value, 0.5 * (below + above))
        return value
