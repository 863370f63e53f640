"""A Gaussian picture of a latent function: mean and variance anywhere with their gradients, for acquisitions to climb.

Glossary:
    v    (n,) weights: mean(x) = k(x, points) v         G    (m, n) half precision: variance(x) = prior - |G k|^2
    X    (p, D) rows of the unit cube                    x    (D,) one row
"""

from dataclasses import dataclass

import numpy as np

from tuner.core.linalg import FloatArray, cholesky_jittered, solve_factored, solve_lower
from tuner.core.posterior.ep import Evidence
from tuner.core.posterior.kernels import Kernel
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.rows import Hyper, row_matrix
from tuner.core.posterior.skewgp import SkewGP

LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Surface:
    """Mean and variance of a function."""

    kernel: Kernel
    points: FloatArray
    weights: FloatArray
    half: FloatArray

    def moments(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the means and standard deviations at the rows of X."""
        k = self.kernel.matrix(X, self.points)
        known = k @ self.half.T
        variance = self.kernel.prior_variance - np.einsum("pm,pm->p", known, known)
        return k @ self.weights, np.sqrt(np.maximum(variance, LEAST_VARIANCE * self.kernel.prior_variance))

    def mean(self, X: FloatArray) -> FloatArray:
        """Return the means at the rows of X."""
        return self.kernel.matrix(X, self.points) @ self.weights

    def mean_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean at one row and its gradient."""
        k, J = self.kernel.gradient(x, self.points)
        return float(k @ self.weights), J.T @ self.weights

    def gradients(self, x: FloatArray) -> tuple[float, float, FloatArray, FloatArray]:
        """Return the mean and standard deviation at one row and their gradients."""
        k, J = self.kernel.gradient(x, self.points)
        known = self.half @ k
        variance = self.kernel.prior_variance - float(known @ known)
        least = LEAST_VARIANCE * self.kernel.prior_variance
        deviation = float(np.sqrt(max(variance, least)))
        slope = -(J.T @ (known @ self.half)) / deviation if variance > least else np.zeros(len(x))
        return float(k @ self.weights), deviation, J.T @ self.weights, slope


def drawn_surface(model: SkewGP, rng: np.random.Generator) -> Surface:
    """Return the function given ONE exact draw of the truncated vector: what each proposal of `auto` climbs."""
    weights = model.weights_of(model.draw(1, rng))[:, 0]
    return Surface(model.hyper.kernel, model.data.points, weights, model.half_precision)


def mean_surface(model: SkewGP) -> Surface:
    """Return the function averaged over the exact draws; its variance is that within a draw."""
    weights = model.weights_of(model.truncated.mean(axis=0, keepdims=True))[:, 0]
    return Surface(model.hyper.kernel, model.data.points, weights, model.half_precision)


def believed_surface(model: SkewGP, rng: np.random.Generator) -> Surface:
    """Return the function given one exact draw of f at every point, believed without noise (HB of Takeno et al.)."""
    K = model.hyper.kernel.matrix(model.data.points, model.data.points)
    factor = cholesky_jittered(K + 1e-8 * model.hyper.kernel.prior_variance * np.eye(len(K)))
    known = K @ model.half_precision.T
    residual = K - known @ known.T
    f = K @ model.weights_of(model.draw(1, rng))[:, 0]
    f += cholesky_jittered(0.5 * (residual + residual.T)) @ rng.standard_normal(len(K))
    half = solve_lower(factor, np.eye(len(K)))
    return Surface(model.hyper.kernel, model.data.points, solve_factored(factor, f), half)


def ep_surface(data: Observations, hyper: Hyper, found: Evidence) -> Surface:
    """Return EP's Gaussian approximation, which is at hand after every fit."""
    W = row_matrix(data, hyper.noise)
    half = solve_lower(found.factor, np.asfortranarray((W.multiply(np.sqrt(found.sites.tau)[:, None])).toarray()))
    return Surface(hyper.kernel, data.points, np.asarray(W.T @ found.b), half)
