"""What makes a setting worth trying, as functions of the unit cube with analytic gradients.

Glossary:
    X    (p, D) rows of the unit cube     x    (D,) one row     best    the champion's mean, what must be beaten
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import erfcx, log_ndtr

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.strategy import ACQUIRING
from tuner.core.optimizer.surface import Surface

_LOG_ROOT = 0.5 * np.log(2.0 * np.pi)
_LEAST = 1e-300


class Acquisition(Protocol):
    """A function to maximise."""

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""


def screened(acquisition: Acquisition, X: FloatArray) -> FloatArray:
    """Return a cheap stand-in for the values, if the acquisition has one, else the values."""
    screen = getattr(acquisition, "screen", acquisition.values)
    return np.asarray(screen(X))


def log_improvement(z: FloatArray) -> FloatArray:
    """Return log(phi(z) + z Phi(z)), stable for any z."""
    z = np.asarray(z, dtype=np.float64)
    near = np.maximum(z, -1.0)
    direct = np.log(np.exp(-0.5 * near**2 - _LOG_ROOT) + near * np.exp(log_ndtr(near)))
    far = np.minimum(z, -1.0)
    ratio = np.sqrt(np.pi / 2.0) * np.abs(far) * erfcx(-far / np.sqrt(2.0))
    # beyond -1e3 the ratio is one to rounding: use its expansion 1 - 1/z^2
    tail = np.where(far < -1e3, -2.0 * np.log(np.abs(far)), np.log1p(-np.minimum(ratio, 1.0 - 1e-16)))
    return np.where(z > -1.0, direct, -0.5 * far**2 - _LOG_ROOT + tail)


@dataclass(frozen=True, eq=False)
class LogImprovement:
    """The logarithm of the expected improvement over `best`."""

    surface: Surface
    best: float

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        mean, deviation = self.surface.moments(X)
        return np.log(deviation) + log_improvement((mean - self.best) / deviation)

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        mean, deviation, d_mean, d_deviation = self.surface.gradients(x)
        z = (mean - self.best) / deviation
        log_h = float(log_improvement(np.array(z)))
        by_mean = np.exp(float(log_ndtr(z)) - log_h) / deviation
        by_deviation = np.exp(-0.5 * z * z - _LOG_ROOT - log_h) / deviation
        return float(np.log(deviation)) + log_h, by_mean * d_mean + by_deviation * d_deviation


@dataclass(frozen=True, eq=False)
class MeanValue:
    """The mean itself, in units of `scale`."""

    surface: Surface
    scale: float = 1.0

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        return self.surface.mean(X) / self.scale

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        mean, d_mean = self.surface.mean_gradient(x)
        return mean / self.scale, d_mean / self.scale


@dataclass(frozen=True, eq=False)
class Scaled:
    """Another acquisition in units of `scale`."""

    whole: Acquisition
    scale: float

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        return self.whole.values(X) / self.scale

    def screen(self, X: FloatArray) -> FloatArray:
        """Return a cheap stand-in that ranks rows alike."""
        return screened(self.whole, X) / self.scale

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        value, slope = self.whole.gradient(x)
        return value / self.scale, slope / self.scale


@dataclass(frozen=True, eq=False)
class Logarithm:
    """The logarithm of an acquisition that is never negative."""

    whole: Acquisition

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        return np.log(np.maximum(self.whole.values(X), _LEAST))

    def screen(self, X: FloatArray) -> FloatArray:
        """Return a cheap stand-in that ranks rows alike."""
        return np.log(np.maximum(screened(self.whole, X), _LEAST))

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        value, slope = self.whole.gradient(x)
        if value <= _LEAST:
            return float(np.log(_LEAST)), np.zeros(len(x))
        return float(np.log(value)), slope / value


@dataclass(frozen=True, eq=False)
class LogValidity:
    """`exponent` times log P(valid), with P(valid) = Phi(mean / sqrt(1 + variance))."""

    surface: Surface
    exponent: float

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        mean, deviation = self.surface.moments(X)
        return self.exponent * log_ndtr(mean / np.sqrt(1.0 + deviation**2))

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        mean, deviation, d_mean, d_deviation = self.surface.gradients(x)
        scale = np.sqrt(1.0 + deviation**2)
        z = mean / scale
        log_p = float(log_ndtr(z))
        slope = np.exp(-0.5 * z * z - _LOG_ROOT - log_p)
        change = d_mean / scale - mean * deviation * d_deviation / scale**3
        return self.exponent * log_p, self.exponent * slope * change


@dataclass(frozen=True, eq=False)
class Sum:
    """The sum of several acquisitions."""

    parts: tuple[Acquisition, ...]

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        return np.sum([part.values(X) for part in self.parts], axis=0)

    def screen(self, X: FloatArray) -> FloatArray:
        """Return a cheap stand-in that ranks rows alike."""
        return np.sum([screened(part, X) for part in self.parts], axis=0)

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        found = [part.gradient(x) for part in self.parts]
        return sum(value for value, _ in found), np.sum([slope for _, slope in found], axis=0)


@dataclass(frozen=True, eq=False)
class Threshold:
    """Zero where P(valid) is at least `least`, and steeply falling below."""

    surface: Surface
    least: float
    steepness: float = ACQUIRING.steepness

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        return self.steepness * np.minimum(LogValidity(self.surface, 1.0).values(X) - np.log(self.least), 0.0)

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        value, slope = LogValidity(self.surface, 1.0).gradient(x)
        short = value - float(np.log(self.least))
        if short >= 0.0:
            return 0.0, np.zeros(len(x))
        return self.steepness * short, self.steepness * slope


@dataclass(frozen=True, eq=False)
class Apart:
    """Keeps away from settings under way and rejected ones: log(1 - exp(-r^2 / 2)) of the scaled distance to each."""

    pending: FloatArray
    reach: FloatArray

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        square = (((X[:, None, :] - self.pending[None]) / self.reach) ** 2).sum(axis=2)
        return np.log1p(-np.exp(-0.5 * np.maximum(square, 1e-12))).sum(axis=1)

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        gap = (x - self.pending) / self.reach
        square = np.maximum((gap**2).sum(axis=1), 1e-12)
        close = np.exp(-0.5 * square)
        return float(np.log1p(-close).sum()), ((close / (1.0 - close))[:, None] * gap / self.reach).sum(axis=0)


@dataclass(frozen=True, eq=False)
class Near:
    """Zero within reach of a centre, and steeply falling outside."""

    centre: FloatArray
    reach: FloatArray
    steepness: float = ACQUIRING.steepness

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        square = (((X - self.centre) / self.reach) ** 2).sum(axis=1)
        return self.steepness * np.minimum(1.0 - square, 0.0)

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        gap = (x - self.centre) / self.reach
        short = 1.0 - float(gap @ gap)
        if short >= 0.0:
            return 0.0, np.zeros(len(x))
        return self.steepness * short, -2.0 * self.steepness * gap / self.reach
