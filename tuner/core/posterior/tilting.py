"""Accurate probability of a box under a zero-mean normal law (Botev 2017).

With Gamma = L L' and u = L z, z is drawn coordinate by coordinate from normal laws shifted by mu and restricted to
their intervals. The log weight of such a draw is psi(z; mu). mu is chosen at the saddle point of psi, where the
largest weight is smallest: the weights are then nearly constant (little Monte Carlo error). Any other mu leaves the
estimate unbiased, only noisier.

Glossary:
    m             number of variables.
    gamma         (m, m) covariance Gamma of u, symmetric positive definite.
    lower, upper  (m,) the box, lower < upper; entries may be -inf, +inf.
    order         (m,) greedy order of the variables (Gibson, Glasbey and Elston), see orthant.py.
    L             (m, m) lower Cholesky factor in that order; B = L / diag(L) - I is strictly lower triangular.
    a, b          (m,) the box in that order, divided by diag(L): a < z + B z < b.
    mu            (m,) tilt, its last entry 0 because the last coordinate is integrated in closed form.
    z             (m,) whitened variables; (m, n) for n points, one row a coordinate.
    psi           sum over k of mu_k^2 / 2 - mu_k z_k + log P(a_k - B_k z - mu_k < Z < b_k - B_k z - mu_k).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_ndtr, logsumexp, ndtri_exp

from tuner.core.posterior.orthant import FloatArray, IntArray, greedy_cholesky, interval_mean, log_interval, rank_starts

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_NEWTON_STEPS = 200
# Greedy orders to try are this over m^3, the cost of each (about 14 ms at m = 100): all of them up to m = 100.
_WORK_VALUE = 1e8
_HALVINGS = 30
_GRADIENT_TOLERANCE = 1e-9
_MOST_ROUNDS = 16
# Uniform numbers are kept this far from 0 and 1, where an unbounded inverse would be infinite.
_EDGE = 2.0**-54


class Tilt(NamedTuple):
    """A tilted proposal: the ordered problem, the tilt, and an upper bound of the log weights."""

    order: IntArray
    L: FloatArray
    B: FloatArray
    a: FloatArray
    b: FloatArray
    mu: FloatArray
    log_bound: float
    converged: bool


class _Gradient(NamedTuple):
    """Value of psi, its gradient in z and in mu, and the variances of the restricted coordinates."""

    psi: float
    by_z: FloatArray
    by_mu: FloatArray
    variance: FloatArray

    def merit(self, scale: float) -> float:
        """Squared length of the gradient, its z part in units of `scale`; Newton's steps must decrease it."""
        return float(self.by_z @ self.by_z) / scale**2 + float(self.by_mu @ self.by_mu)


def find_tilt(gamma: FloatArray, lower: FloatArray, upper: FloatArray, *, starts: int) -> Tilt:
    """Solve for the saddle point of psi in several greedy orders and keep the one with the least bound.

    The bound's excess over the log probability is what accept-reject pays; it differs by nats between first variables.
    """
    ranked = rank_starts(gamma, lower, upper)
    tilts = [_tilt_from(gamma, lower, upper, int(first)) for first in ranked[: max(starts, 1)]]
    return min(tilts, key=lambda tilt: tilt.log_bound)


def _tilt_from(gamma: FloatArray, lower: FloatArray, upper: FloatArray, first: int) -> Tilt:
    """Solve for the saddle point in the greedy order that begins with variable `first`.

    Where Newton's iteration does not converge, mu = 0 is used: its weights are probabilities, so 0 bounds their log.
    """
    order, L, _ = greedy_cholesky(gamma, lower, upper, pairs=False, first=first)
    scale = np.diag(L)
    B = np.tril(L / scale[:, None], -1)
    a, b = lower[order] / scale, upper[order] / scale
    mu, log_bound, converged = _solve_saddle(B, a, b)
    if not converged:
        mu, log_bound = np.zeros_like(a), 0.0
    return Tilt(order, L, B, a, b, mu, log_bound, converged)


def _gradient(B: FloatArray, a: FloatArray, b: FloatArray, z: FloatArray, mu: FloatArray) -> _Gradient:
    """Evaluate psi and its gradient; the last entries of z and mu are 0 and have no gradient."""
    center = B @ z + mu
    below, above = a - center, b - center
    log_probability = log_interval(below, above)
    mean = interval_mean(below, above, log_probability)
    psi = float(np.sum(0.5 * mu * mu - z * mu + log_probability))
    variance = _interval_variance(below, above, log_probability, mean)
    return _Gradient(psi, (mean @ B - mu)[:-1], (mu - z + mean)[:-1], variance)


def _interval_variance(a: FloatArray, b: FloatArray, log_probability: FloatArray, mean: FloatArray) -> FloatArray:
    """Variance of a standard normal variable restricted to (a, b)."""
    offset = -_LOG_SQRT_2PI - log_probability
    edge_a, edge_b = np.where(np.isfinite(a), a, 0.0), np.where(np.isfinite(b), b, 0.0)
    slope = edge_a * np.exp(offset - 0.5 * a * a) - edge_b * np.exp(offset - 0.5 * b * b)
    variance: FloatArray = np.clip(1.0 + slope - mean * mean, 1e-12, 1.0)
    return variance


def _newton_direction(B: FloatArray, at: _Gradient) -> tuple[FloatArray, FloatArray]:
    """Solve the Jacobian of the gradient, [[-A, C'], [C, V]], for the step in z and in mu.

    V holds the variances, A = B'(1 - V)B is positive semidefinite and C = (V - 1)B - I is triangular, so eliminating
    mu leaves the positive definite A + C' V^-1 C.
    """
    d = at.by_z.size
    V, decrease = at.variance[:d], at.variance - 1.0
    C = decrease[:d, None] * B[:d, :d] - np.eye(d)
    A = -(B[:, :d].T * decrease) @ B[:, :d]
    scaled = C / V[:, None]
    system = A + C.T @ scaled
    step_z = cho_solve(cho_factor(system), at.by_z - scaled.T @ at.by_mu)
    step_mu = -(at.by_mu + C @ step_z) / V
    return step_z, step_mu


def _solve_saddle(B: FloatArray, a: FloatArray, b: FloatArray) -> tuple[FloatArray, float, bool]:
    """Damped Newton from 0 on the gradient of psi; returns mu, psi and whether the gradient vanished."""
    d = a.size - 1
    # B multiplies the gradient in z; unscaled, that part alone would decide on steps, and at a large variance stall.
    scale = math.sqrt(1.0 + float(np.sum(B * B)))
    z, mu = np.zeros(d + 1), np.zeros(d + 1)
    at = _gradient(B, a, b, z, mu)
    for _ in range(_NEWTON_STEPS):
        merit = at.merit(scale)
        if merit <= _GRADIENT_TOLERANCE**2 * max(d, 1):
            return mu, at.psi, True
        try:
            step_z, step_mu = _newton_direction(B, at)
        except np.linalg.LinAlgError:
            break
        for length in 0.5 ** np.arange(_HALVINGS):
            z_next, mu_next = z.copy(), mu.copy()
            z_next[:d] += length * step_z
            mu_next[:d] += length * step_mu
            at = _gradient(B, a, b, z_next, mu_next)
            if at.merit(scale) <= (1.0 - 1e-4 * length) * merit:
                break
        else:
            break
        z, mu = z_next, mu_next
    return mu, at.psi, False


def _restricted(a: FloatArray, b: FloatArray, uniform: FloatArray) -> FloatArray:
    """Quantiles of a standard normal variable restricted to (a, b), exact far out in either tail."""
    uniform = np.clip(uniform, _EDGE, 1.0 - _EDGE)
    if np.all(b == np.inf):
        return np.maximum(a, -ndtri_exp(np.log(uniform) + log_ndtr(-a)))
    mirrored = a + b > 0.0
    low, high = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    log_cdf = np.logaddexp(log_ndtr(low) + np.log1p(-uniform), log_ndtr(high) + np.log(uniform))
    value = ndtri_exp(np.minimum(log_cdf, 0.0))
    inside: FloatArray = np.clip(np.where(mirrored, -value, value), a, b)
    return inside


def _propose(tilt: Tilt, uniforms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Map uniform numbers, (m, n) or (m - 1, n) without the last coordinate, to draws z and their (n,) log weights."""
    rows, n = uniforms.shape
    z, log_weight = np.empty_like(uniforms), np.zeros(n)
    for k, mu in enumerate(tilt.mu):
        center = tilt.B[k, :k] @ z[:k] + mu
        below, above = tilt.a[k] - center, tilt.b[k] - center
        log_weight += log_interval(below, above)
        if k < rows:
            z[k] = mu + _restricted(below, above, uniforms[k])
            log_weight += mu * (0.5 * mu - z[k])
    return z, log_weight


def log_box_tilting(
    gamma: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    points: int = 2**13,
    replicates: int = 8,
    tolerance: float = 0.008,
    seed: int = 0,
) -> tuple[float, float]:
    """Estimate log P(lower <= u <= upper), u ~ N(0, gamma), by randomised quasi Monte Carlo with minimax tilting.

    Returns the log probability and its standard error in nats; (0, 0) for m = 0, exact for m = 1. `points` are the
    Sobol points in each of the `replicates`, a power of 2. While the error is above `tolerance`, as many replicates are
    added, up to 16 times their number.
    """
    if points < 1 or points & (points - 1):
        raise ValueError(f"points must be a power of 2, got {points}")
    if replicates < 2:
        raise ValueError(f"a standard error needs at least 2 replicates, got {replicates}")
    m = lower.size
    if m < 2:
        return greedy_cholesky(gamma, lower, upper, pairs=False).log_probability, 0.0
    tilt = find_tilt(gamma, lower, upper, starts=int(_WORK_VALUE / m**3))
    seeds, estimates = np.random.SeedSequence(seed), np.empty(0)
    while True:
        more = [_estimate(tilt, points, child) for child in seeds.spawn(replicates)]
        estimates = np.append(estimates, more)
        log_probability = float(logsumexp(estimates)) - math.log(estimates.size)
        spread = float(np.std(np.exp(estimates - log_probability), ddof=1))
        error = spread / math.sqrt(estimates.size)
        if error <= tolerance or estimates.size >= _MOST_ROUNDS * replicates:
            return log_probability, error


def _estimate(tilt: Tilt, points: int, seed: np.random.SeedSequence) -> float:
    """Log probability from one scrambled Sobol sequence."""
    from scipy.stats.qmc import Sobol  # slow to import, and no proposal needs it

    sobol = Sobol(tilt.mu.size - 1, scramble=True, rng=np.random.default_rng(seed))
    _, log_weight = _propose(tilt, np.ascontiguousarray(sobol.random(points).T))
    return float(logsumexp(log_weight)) - math.log(points)
