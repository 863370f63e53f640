"""Draws of a normal vector restricted to a box: exact Hamiltonian Monte Carlo (the default) and lin-ess (the paper's).

Glossary:
    m        rows (observations)                 N        draws
    gamma    (m, m) covariance of the vector u   u        (m,) position, lower <= u <= upper
    w        (m,) velocity, w ~ N(0, gamma)      angle    a trajectory follows u cos t + w sin t up to this t <= pi/2
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from tuner.core.linalg import FloatArray, cholesky

try:
    from tuner.core import _bounce
except ImportError:  # built without a compiler: the numpy trajectories give the same draws, more slowly
    _bounce = None  # type: ignore[assignment]

Sampler = Literal["hmc", "lin-ess"]

BURN_IN = 10
ANGLE = np.pi / 2
CHAINS = 200
BOUNCE_LIMIT = 20_000
AT_WALL = 1e-290
AT_ONCE = 1e300
FAR = 1e150  # stands for infinity in _bounce.c, which is compiled for finite numbers


class TooManyBouncesError(ArithmeticError):
    """The walls are too close together for trajectories: the chain would not leave its start."""


def compiled() -> bool:
    """Say whether the compiled trajectories are in use."""
    return _bounce is not None


def sample_box(
    gamma: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    draws: int,
    rng: np.random.Generator,
    *,
    start: FloatArray | None = None,
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
        start: A point inside the box; a good one (near the mean) saves nothing but the burn-in's accuracy.
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
    begin = inside(gamma, lower, upper) if start is None else np.clip(start, lower, upper)
    if method == "lin-ess":
        rows = _lin_ess(lower, upper, begin, _velocities(root, BURN_IN * 10 + draws * thin, rng), rng)
        return np.ascontiguousarray(rows[BURN_IN * 10 :][thin - 1 :: thin])
    # rows [0, inf) first: they have the cheap wall
    plain = (lower == 0.0) & np.isinf(upper)
    zeros = int(plain.sum())
    order = np.arange(m) if zeros in (0, m) else np.argsort(~plain, kind="stable")
    move: Callable[..., FloatArray] = _hmc_numpy if _bounce is None else _hmc_compiled
    rows = move(
        np.ascontiguousarray(gamma[np.ix_(order, order)]),
        np.ascontiguousarray(lower[order]),
        np.ascontiguousarray(upper[order]),
        np.ascontiguousarray(begin[order]),
        np.asfortranarray(root[order]),
        draws * thin,
        zeros,
        rng,
        work,
        BOUNCE_LIMIT if patience is None else patience,
    )[thin - 1 :: thin]
    result = np.empty_like(rows)
    result[:, order] = rows
    return np.clip(result, lower, upper, out=result)


def inside(gamma: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return a point inside the box, about a standard deviation from its nearest wall where there is room."""
    deviation = np.sqrt(np.diag(gamma))
    near = np.clip(0.0, lower, upper)
    width = upper - lower
    step = np.where(np.isfinite(width), np.minimum(deviation, width / 2), deviation)
    return np.where(np.isfinite(lower), np.maximum(near, lower + step), np.minimum(near, upper - step))


def _velocities(root: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    return rng.standard_normal((count, root.shape[0])) @ root.T


def _hmc_compiled(
    gamma: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    start: FloatArray,
    root: FloatArray,
    draws: int,
    zeros: int,
    rng: np.random.Generator,
    work: float,
    patience: int,
) -> FloatArray:
    state = start.copy()
    box = (gamma, np.maximum(lower, -FAR), np.minimum(upper, FAR), zeros, float(np.cos(ANGLE)), float(np.sin(ANGLE)))
    if _bounce.run(state, _velocities(root, BURN_IN, rng), *box, patience)[1]:
        raise TooManyBouncesError(f"a trajectory bounced more than {patience} times between {len(state)} walls")
    kept: list[FloatArray] = []
    left, spent = draws, 0.0
    while left and (spent <= work or not kept):
        count = left if np.isinf(work) else min(left, -(-draws // 10))
        rows = _velocities(root, count, rng)
        bounces, _ = _bounce.run(state, rows, *box, BOUNCE_LIMIT)
        kept.append(rows)
        left -= count
        spent += bounces * len(state)
    return kept[0] if len(kept) == 1 else np.concatenate(kept)


def _hmc_numpy(
    gamma: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    start: FloatArray,
    root: FloatArray,
    draws: int,
    zeros: int,
    rng: np.random.Generator,
    work: float,
    patience: int,
) -> FloatArray:
    del work  # many chains are followed together; stopping some early would favour the quick ones
    chains = min(CHAINS, draws)
    steps = -(-draws // chains)
    state = np.repeat(start[None], chains, axis=0)
    kept = []
    for step in range(BURN_IN + steps):
        warming = step < BURN_IN
        limit = patience if warming else BOUNCE_LIMIT
        before = state
        state = trajectories(before, _velocities(root, chains, rng), gamma, lower, upper, zeros, limit)
        if warming and (state == before).all(axis=1).any():
            raise TooManyBouncesError(f"a trajectory bounced more than {limit} times between {len(start)} walls")
        if not warming:
            kept.append(state)
    return np.concatenate(kept)[:draws]


def trajectories(
    position: FloatArray,
    velocity: FloatArray,
    gamma: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    zeros: int,
    limit: int,
) -> FloatArray:
    """Follow one bouncing trajectory per row of `position`; the numpy twin of _bounce.c.

    The first `zeros` rows of the vector have the interval [0, inf). Chains that have arrived leave the loop.
    """
    result = position.copy()
    chain = np.arange(len(position))
    u, w = position.copy(), velocity.copy()
    cosine, sine = np.full(len(u), np.cos(ANGLE)), np.full(len(u), np.sin(ANGLE))
    for _ in range(limit + 1):
        cotangent = _cotangents(u, w, lower, upper, zeros)
        wall = np.argmax(cotangent, axis=1)
        largest = cotangent[np.arange(len(u)), wall]
        ends = (largest <= 0.0) | (cosine >= sine * largest)
        if ends.any():
            result[chain[ends]] = u[ends] * cosine[ends, None] + w[ends] * sine[ends, None]
            on = ~ends
            chain, u, w, wall, largest = chain[on], u[on], w[on], wall[on], largest[on]
            cosine, sine = cosine[on], sine[on]
            if not chain.size:
                break
        s = 1.0 / np.hypot(1.0, largest)
        c = largest * s
        u, w = u * c[:, None] + w * s[:, None], w * c[:, None] - u * s[:, None]
        row = np.arange(len(u))
        speed = w[row, wall]
        w -= (2.0 * speed / gamma[wall, wall])[:, None] * gamma[wall]
        u[row, wall] = np.where(speed < 0.0, lower[wall], upper[wall])
        cosine, sine = cosine * c + sine * s, np.maximum(sine * c - cosine * s, 0.0)
    # chains still under way are refused and stay: a trajectory and its reverse bounce equally often
    return np.clip(result, lower, upper)


def _cotangents(u: FloatArray, w: FloatArray, lower: FloatArray, upper: FloatArray, zeros: int) -> FloatArray:
    """Return the cotangent of the angle at which each entry meets a wall; <= 0 if not within pi/2."""
    cotangent = np.zeros_like(u)
    cotangent[:, :zeros] = -w[:, :zeros] / np.maximum(u[:, :zeros], AT_WALL)
    if zeros == u.shape[1]:
        return cotangent
    u, w = u[:, zeros:], w[:, zeros:]
    best = cotangent[:, zeros:]
    square = u * u + w * w
    for bound, sign in ((lower[zeros:], 1.0), (upper[zeros:], -1.0)):
        finite = np.isfinite(bound)
        level = np.where(finite, bound, 0.0)
        q = sign * np.sqrt(np.maximum(square - level * level, 0.0))
        s, c = w * level + u * q, u * level - w * q
        meets = finite & (q != 0.0) & (s > 0.0) & (c > 0.0)
        at_once = finite & (sign * (u - level) <= 0.0) & (sign * w < 0.0)
        with np.errstate(over="ignore"):
            found = np.where(at_once, AT_ONCE, np.divide(c, s, out=np.zeros_like(s), where=meets))
        np.maximum(best, found, out=best)
    return cotangent


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
    order = np.argsort(starts)
    reach = np.maximum.accumulate(ends[order])
    free = np.append(starts[order][1:], 2 * np.pi) - reach
    free = np.maximum(free, 0.0)
    total = float(free.sum())
    if total <= 0.0:
        return 0.0  # the current point itself, to rounding
    target = uniform * total
    index = min(int(np.searchsorted(np.cumsum(free), target)), len(free) - 1)
    return float(reach[index] + target - (np.cumsum(free)[index] - free[index]))
