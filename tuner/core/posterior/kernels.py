"""Covariance functions on the unit cube: RBF (the paper's) and Matern 5/2, one lengthscale per coordinate.

Glossary:
    X, Y       (n, d), (p, d) points              K    (n, p) covariances
    H          (n, p) slopes: dk/dx_c = -H (x_c - y_c) / l_c^2 and dk/dlog l_c = H (x_c - y_c)^2 / l_c^2
    l          (d,) lengthscales                  Q    (n, n) symmetric weights of a sum over dK
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tuner.core.linalg import FloatArray

KernelName = Literal["rbf", "matern52"]


@dataclass(frozen=True, eq=False)
class Kernel:
    """A stationary kernel; `mean_variance` adds a constant mean with that prior variance."""

    lengthscales: FloatArray
    variance: float
    mean_variance: float = 0.0
    name: KernelName = "rbf"

    def __post_init__(self) -> None:
        if self.name not in ("rbf", "matern52"):
            raise ValueError(f"there is no kernel {self.name!r}; choose 'rbf' or 'matern52'")
        if not (np.isfinite(self.lengthscales).all() and (self.lengthscales > 0).all()):
            raise ValueError(f"lengthscales must be positive and finite, got {self.lengthscales.tolist()}")
        if not (np.isfinite(self.variance) and self.variance > 0):
            raise ValueError(f"variance must be positive and finite, got {self.variance}")
        if not (np.isfinite(self.mean_variance) and self.mean_variance >= 0):
            raise ValueError(f"mean_variance must be zero or positive and finite, got {self.mean_variance}")

    @property
    def prior_variance(self) -> float:
        """The prior variance of f at any point."""
        return self.variance + self.mean_variance

    def matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return K(X, Y)."""
        return self.matrix_and_slope(X, Y)[0]

    def matrix_and_slope(self, X: FloatArray, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return K(X, Y) and H(X, Y)."""
        square = squared_distances(X / self.lengthscales, Y / self.lengthscales)
        if self.name == "rbf":
            # in place: a proposal's many candidates make arrays of megabytes, and fresh memory costs more than the sums
            square *= -0.5
            slope = np.exp(square, out=square)
            slope *= self.variance
            return (slope + self.mean_variance if self.mean_variance else slope), slope
        a = np.sqrt(5.0 * square)
        decay = self.variance * np.exp(-a)
        return (1.0 + a + a * a / 3.0) * decay + self.mean_variance, (5.0 / 3.0) * (1.0 + a) * decay

    def gradient(self, x: FloatArray, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(x, Y), (p,), and its gradient in x, (p, d), for one point x."""
        K, H = self.matrix_and_slope(x[None], Y)
        return K[0], -H[0][:, None] * (x - Y) / self.lengthscales**2

    def contract(self, X: FloatArray, Q: FloatArray, H: FloatArray) -> FloatArray:
        """Return sum_ij Q_ij dK_ij / dlog l_c for each coordinate c, given H = H(X, X)."""
        M = Q * H
        centred = (X - X.mean(axis=0)) / self.lengthscales
        return 2.0 * (M.sum(axis=1) @ centred**2 - np.einsum("nc,nc->c", centred, M @ centred))


def squared_distances(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return squared Euclidean distances, exactly zero for equal rows."""
    if X.shape[1] <= 3:
        total = np.zeros((len(X), len(Y)))
        difference = np.empty_like(total)
        for c in range(X.shape[1]):
            np.subtract(X[:, c, None], Y[None, :, c], out=difference)
            difference *= difference
            total += difference
        return total
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(X, Y, "sqeuclidean"))
