"""Draws of a normal vector restricted to a box: exact Hamiltonian Monte Carlo (the default) and lin-ess (the paper's).

Glossary:
    m        rows (observations)                 N        draws
    gamma    (m, m) covariance of the vector u   u        (m,) position, lower <= u <= upper
    w        (m,) velocity, w ~ N(0, gamma)
"""

from typing import Literal

import numpy as np

from tuner.core.linalg import FloatArray, cholesky
from tuner.core.posterior.bouncing import BOUNCE_LIMIT, BURN_IN, Motion

Sampler = Literal["hmc", "lin-ess"]


def sample_box(
    gamma: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    draws: int,
    rng: np.random.Generator,
    *,
    factor: FloatArray | None = None,
    method: Sampler = "hmc",
    thin: int = 1,
    work: float = np.inf,
    patience: int | None = None,
) -> FloatArray:
    """Draw from N(0, gamma) restricted to the box.

    Args:
        gamma: The covariance, (m, m).
        lower: The lower bounds, (m,); may be -inf.
        upper: The upper bounds, (m,); may be inf.
        draws: How many rows to return.
        rng: Where randomness comes from.
        factor: The lower Cholesky factor of gamma, if known.
        method: Exact HMC or the paper's lin-ess.
        thin: Keep every `thin`-th draw.
        work: Stop after this many bounces times rows, though not before a tenth of the draws. Contradictory answers
            under a huge variance bounce thousands of times a draw.
        patience: How often a trajectory of the burn-in may bounce; BOUNCE_LIMIT if not given.

    Returns:
        (draws, m), or fewer rows if the work ran out, each inside the box.

    Raises:
        TooManyBouncesError: A trajectory of the burn-in bounced more often than that.
    """
    m = gamma.shape[0]
    if m == 0:
        return np.empty((draws, 0))
    root = cholesky(gamma) if factor is None else factor
    begin = inside(gamma, lower, upper)
    if method == "lin-ess":
        rows = _lin_ess(lower, upper, begin, rng.standard_normal((BURN_IN * 10 + draws * thin, m)) @ root.T, rng)
        return np.ascontiguousarray(rows[BURN_IN * 10 :][thin - 1 :: thin])
    motion = Motion(gamma, root, lower, upper, np.empty(0))
    limit = BOUNCE_LIMIT if patience is None else patience
    return motion.chain(begin, draws * thin, rng, work=work, patience=limit)[thin - 1 :: thin]


def inside(gamma: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return a point inside the box, about a standard deviation from its nearest wall where there is room."""
    deviation = np.sqrt(np.diag(gamma))
    near = np.clip(0.0, lower, upper)
    width = upper - lower
    step = np.where(np.isfinite(width), np.minimum(deviation, width / 2), deviation)
    return np.where(np.isfinite(lower), np.maximum(near, lower + step), np.minimum(near, upper - step))


def _lin_ess(
    lower: FloatArray, upper: FloatArray, start: FloatArray, velocity: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Linear elliptical slice sampling: a uniform angle among those of the ellipse that lie inside the box."""
    u = start
    rows = np.empty_like(velocity)
    uniforms = rng.random(len(velocity))
    bounded = np.flatnonzero(np.isfinite(upper))
    half = np.flatnonzero(np.isfinite(lower))
    for k, w in enumerate(velocity):
        phase, radius = np.arctan2(w, u), np.hypot(u, w)
        below = np.arccos(np.clip(lower[half] / radius[half], -1.0, 1.0))
        above = np.arccos(np.clip(upper[bounded] / radius[bounded], -1.0, 1.0))
        begin = np.concatenate([phase[half] + below, phase[bounded] - above])
        length = np.concatenate([2 * np.pi - 2 * below, 2 * above])
        angle = _free_angle(begin, length, uniforms[k])
        u = np.clip(u * np.cos(angle) + w * np.sin(angle), lower, upper)
        rows[k] = u
    return rows


def _free_angle(begin: FloatArray, length: FloatArray, uniform: float) -> float:
    """Return an angle drawn uniformly from the circle less the arcs [begin, begin + length]."""
    arcs = length > 0.0
    first = np.mod(begin[arcs], 2 * np.pi)
    last = first + length[arcs]
    wraps = last > 2 * np.pi
    starts = np.concatenate([[0.0], first, np.zeros(int(wraps.sum()))])
    ends = np.concatenate([[0.0], np.minimum(last, 2 * np.pi), last[wraps] - 2 * np.pi])
    order = np.argsort(starts, kind="stable")
    reach = np.maximum.accumulate(ends[order])
    free = np.append(starts[order][1:], 2 * np.pi) - reach
    free = np.maximum(free, 0.0)
    total = float(free.sum())
    if total <= 0.0:
        return 0.0  # the current point itself, to rounding
    target = uniform * total
    index = min(int(np.searchsorted(np.cumsum(free), target)), len(free) - 1)
    return float(reach[index] + target - (np.cumsum(free)[index] - free[index]))
