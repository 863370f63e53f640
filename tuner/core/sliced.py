"""Draws of the truncated vector where the answers contradict each other under a huge variance.

There a Hamiltonian trajectory bounces tens of thousands of times between walls that the data hold close together. EP
knows how close: elliptical slice sampling (Murray, Adams and MacKay 2010) around EP's Gaussian, with what its sites
leave out as the likelihood, keeps the posterior exact and never meets a wall.

Glossary:
    s        (chains, m) the rows without their noise; u = s + e, e ~ N(0, 1), lies in the box
    Sigma    (m, m) EP's posterior covariance of s       mean    (m,) its mean
"""

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from tuner.core.ep import Evidence, box_moments
from tuner.core.linalg import FloatArray, solve_lower

CHAINS = 200
BURN_IN = 20
THIN = 5
SHRINKS = 200


def sample_around(
    C: FloatArray, lower: FloatArray, upper: FloatArray, found: Evidence, draws: int, rng: np.random.Generator
) -> FloatArray:
    """Draw u ~ N(0, C + I) restricted to the box, (draws, m), given EP's converged approximation of it."""
    tau, nu = found.sites.tau, found.sites.nu
    half = solve_lower(found.factor, np.sqrt(tau)[:, None] * C)
    values, vectors = np.linalg.eigh(C - half.T @ half)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    ties = np.isfinite(upper)

    def missing(s: FloatArray) -> FloatArray:
        """Return the log likelihood of each chain less that of its sites."""
        rows = log_ndtr(s - lower)
        if ties.any():
            tied = s[:, ties]
            walls = (np.tile(wall[ties], len(s)) for wall in (lower, upper))
            rows[:, ties] = box_moments(tied.ravel(), np.ones(tied.size), *walls)[0].reshape(tied.shape)
        return np.asarray((rows + (0.5 * tau * s - nu) * s).sum(axis=1))

    chains = min(CHAINS, draws)
    offset = rng.standard_normal((chains, len(C))) @ root.T
    height = missing(found.row_mean + offset)
    kept = []
    for step in range(BURN_IN + THIN * -(-draws // chains)):
        other = rng.standard_normal((chains, len(C))) @ root.T
        target = height + np.log1p(-rng.random(chains))
        angle = rng.uniform(0.0, 2 * np.pi, chains)
        first, last = angle - 2 * np.pi, angle.copy()
        moving = np.arange(chains)
        for _ in range(SHRINKS):
            t = angle[moving, None]
            tried = offset[moving] * np.cos(t) + other[moving] * np.sin(t)
            reached = missing(found.row_mean + tried)
            done = reached >= target[moving]
            arrived = moving[done]
            offset[arrived], height[arrived] = tried[done], reached[done]
            moving = moving[~done]
            if not moving.size:
                break
            past = angle[moving] > 0.0
            last[moving] = np.where(past, angle[moving], last[moving])
            first[moving] = np.where(past, first[moving], angle[moving])
            angle[moving] = rng.uniform(first[moving], last[moving])
        # chains still moving have shrunk to where they were, to rounding: they stay
        if step >= BURN_IN and (step - BURN_IN) % THIN == THIN - 1:
            kept.append(_noisy(found.row_mean + offset, lower, upper, rng))
    return np.concatenate(kept)[:draws]


def _noisy(s: FloatArray, lower: FloatArray, upper: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return s + e, e ~ N(0, 1) restricted to lower <= s + e <= upper, by inversion in the smaller tail."""
    low, high = lower - s, upper - s
    flip = low + high < 0.0
    near, far = np.where(flip, -high, low), np.where(flip, -low, high)
    log_near, log_far = log_ndtr(-near), log_ndtr(-far)
    # P(e > near) less a uniform share of the mass between the walls
    share = rng.random(s.shape)
    log_tail = log_near + np.log1p(-share * -np.expm1(log_far - log_near))
    e = -ndtri_exp(log_tail)
    return np.clip(s + np.where(flip, -e, e), lower, upper)
