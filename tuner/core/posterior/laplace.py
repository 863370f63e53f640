"""Laplace's approximation of the posterior (GPL; Chu and Ghahramani 2005): the paper's rival, with the same interface.

Glossary:
    C     (m, m) prior covariance of the rows      s      (m,) rows at the mode, s = C a
    g, h  (m,) slope and minus curvature of the rows' log likelihood at the mode
    B     I + sqrt(h) C sqrt(h)                    R      sqrt(h) B^-1 sqrt(h)
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tuner.core.linalg import FloatArray, cholesky, inverse_factored, solve_factored, solve_lower
from tuner.core.posterior.ep import NotConvergedError, box_moments
from tuner.core.posterior.model import Latent
from tuner.core.posterior.rows import row_matrix

ITERATIONS = 200
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Mode:
    """The mode of the posterior and the curvature there."""

    log_evidence: float
    a: FloatArray
    C: FloatArray
    s: FloatArray
    slope: FloatArray
    root: FloatArray
    factor: FloatArray
    third: FloatArray

    def weights(self) -> FloatArray:
        """Return Q, so that the gradient of the log evidence along dC is sum(Q * dC) / 2."""
        R, _, u = self._response()
        return np.outer(self.a, self.a) - R + np.outer(u, self.slope) + np.outer(self.slope, u)

    def along_bounds(self, lower: FloatArray, upper: FloatArray, by_lower: FloatArray, by_upper: FloatArray) -> float:
        """Return the derivative of the log evidence as the bounds move at these rates."""
        one, h = np.ones(len(self.s)), 1e-5
        ahead = box_moments(self.s, one, lower + h * by_lower, upper + h * by_upper)
        behind = box_moments(self.s, one, lower - h * by_lower, upper - h * by_upper)
        log_z, slope, curvature = ((ahead[k] - behind[k]) / (2 * h) for k in range(3))
        _, posterior, u = self._response()
        return float(log_z.sum() - 0.5 * posterior @ curvature + u @ (self.C @ slope))

    def _response(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return R, the posterior variances of s, and how log |B| answers to a shift of the mode."""
        R = self.root[:, None] * inverse_factored(self.factor) * self.root[None, :]
        posterior = np.diag(self.C) - np.einsum("ij,ij->j", self.C, R @ self.C)
        shift = 0.5 * posterior * self.third
        return R, posterior, shift - R @ (self.C @ shift)


def find_mode(C: FloatArray, lower: FloatArray, upper: FloatArray) -> Mode:
    """Find the mode by Newton's method with step halving."""
    m = len(C)
    one = np.ones(m)
    a = s = np.zeros(m)
    log_z, slope, curvature, *_ = box_moments(s, one, lower, upper)
    value = float(log_z.sum() - 0.5 * a @ s)
    for _ in range(ITERATIONS):
        root = np.sqrt(np.maximum(curvature, 0.0))
        factor = cholesky(root[:, None] * C * root[None, :] + np.eye(m))
        b = curvature * s + slope
        target = b - root * solve_factored(factor, root * (C @ b))
        step = 1.0
        while True:
            tried = a + step * (target - a)
            tried_s = C @ tried
            log_z, slope, curvature, *_ = box_moments(tried_s, one, lower, upper)
            tried_value = float(log_z.sum() - 0.5 * tried @ tried_s)
            if tried_value >= value - 1e-12 * abs(value) or step < 1e-8:
                break
            step *= 0.5
        gain = tried_value - value
        a, s, value = tried, tried_s, tried_value
        if abs(gain) < TOLERANCE * (1.0 + abs(value)) and step == 1.0:
            break
    else:
        raise NotConvergedError(f"Newton's method did not find the mode of {m} rows")
    root = np.sqrt(np.maximum(curvature, 0.0))
    factor = cholesky(root[:, None] * C * root[None, :] + np.eye(m))
    h = 1e-5
    third = -(box_moments(s + h, one, lower, upper)[2] - box_moments(s - h, one, lower, upper)[2]) / (2 * h)
    return Mode(value - float(np.log(np.diag(factor)).sum()), a, C, s, slope, root, factor, third)


class Laplace(Latent):
    """The Gaussian approximation at the mode; takes the same arguments as Latent."""

    @cached_property
    def mode(self) -> Mode:
        """The mode and its curvature."""
        return find_mode(self.covariance, self.lower, self.upper)

    @cached_property
    def weights(self) -> FloatArray:
        """The points' weights, (n, 1)."""
        return np.asarray(row_matrix(self.data, self.hyper.noise).T @ self.mode.a)[:, None]

    @cached_property
    def half_precision(self) -> FloatArray:
        """Half of the precision that the rows add, (m, n)."""
        W = row_matrix(self.data, self.hyper.noise).toarray()
        return solve_lower(self.mode.factor, self.mode.root[:, None] * W)

    def log_evidence(self) -> float:
        """Return Laplace's approximation of the log evidence."""
        return self.mode.log_evidence
