"""Whole functions drawn from a prior or posterior, with gradients: what Thompson sampling maximises.

Glossary:
    omega    (F, d) frequencies of F cosine features, drawn from the kernel's spectrum      weight    (n,) of the points
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tuner.core.linalg import FloatArray
from tuner.core.posterior.kernels import Kernel

FEATURES = 2_000


@dataclass(frozen=True, eq=False)
class Waves:
    """A random function of the prior: a sum of cosines."""

    omega: FloatArray
    phase: FloatArray
    amplitude: FloatArray
    level: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at the rows of X, (p,)."""
        return np.asarray(np.cos(X @ self.omega.T + self.phase) @ self.amplitude + self.level)

    def slope(self, x: FloatArray) -> FloatArray:
        """Return the gradient at one row, (d,)."""
        return -(np.sin(self.omega @ x + self.phase) * self.amplitude) @ self.omega


def draw_waves(kernel: Kernel, dimension: int, rng: np.random.Generator) -> Waves:
    """Draw a function of the prior."""
    omega = rng.standard_normal((FEATURES, dimension)) / kernel.lengthscales
    if kernel.name == "matern52":
        omega *= np.sqrt(5.0 / rng.chisquare(5.0, FEATURES))[:, None]
    phase = rng.uniform(0.0, 2 * np.pi, FEATURES)
    amplitude = rng.standard_normal(FEATURES) * np.sqrt(2.0 * kernel.variance / FEATURES)
    return Waves(omega, phase, amplitude, float(rng.standard_normal() * np.sqrt(kernel.mean_variance)))


@dataclass(frozen=True, eq=False)
class DrawnFunction:
    """A function of the posterior: one of the prior, bent by the kernel to what is known. Also an acquisition."""

    prior: Waves
    kernel: Kernel
    points: FloatArray
    weight: FloatArray

    def __call__(self, X: npt.ArrayLike) -> FloatArray:
        """Return the values at the rows of X, (p,)."""
        x = np.asarray(X, dtype=np.float64)
        return self.prior(x) + self.kernel.matrix(x, self.points) @ self.weight

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        return self(X)

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        k, J = self.kernel.gradient(x, self.points)
        return float(self.prior(x[None])[0] + k @ self.weight), self.prior.slope(x) + J.T @ self.weight
