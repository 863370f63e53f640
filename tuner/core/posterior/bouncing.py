"""Exact Hamiltonian trajectories of a normal vector between walls, compiled or in numpy.

Glossary:
    m        rows (observations)                  r        extra entries that are followed, see rounded.py
    u        (m + r,) position, lower <= u[:m] <= upper
    w        (m + r,) velocity, w ~ N(0, gamma)   angle    a trajectory follows u cos t + w sin t up to this t <= pi/2
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tuner.core.linalg import FloatArray

try:
    from tuner.core.posterior import _bounce
except ImportError:  # built without a compiler: the numpy trajectories give the same draws, more slowly
    _bounce = None  # type: ignore[assignment]

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


@dataclass(frozen=True, eq=False)
class Motion:
    """How trajectories go: between which walls, under which Gaussian, and what corrects it.

    Attributes:
        gamma: (m + r, m + r) covariance that trajectories preserve.
        root: A square root of it, for velocities.
        lower: (m,) lower bounds; may be -inf.
        upper: (m,) upper bounds; may be inf.
        force: (r,) one minus the precision under the target of each extra entry, which has a variance of one here.
        parts: Into how many a trajectory is cut for the force to kick between them.
    """

    gamma: FloatArray
    root: FloatArray
    lower: FloatArray
    upper: FloatArray
    force: FloatArray
    parts: int = 1

    def chain(
        self, start: FloatArray, draws: int, rng: np.random.Generator, *, work: float = np.inf, patience: int
    ) -> FloatArray:
        """Return positions of the rows along a chain, (draws, m), or fewer if the work ran out.

        It stops after `work` bounces times rows, but not before a tenth of the draws. A trajectory of the burn-in that
        bounces more often than `patience` is a TooManyBouncesError.
        """
        m = len(self.lower)
        # rows [0, inf) first: they have the cheap wall
        plain = (self.lower == 0.0) & np.isinf(self.upper)
        zeros = int(plain.sum())
        follow = _follow_numpy if _bounce is None else _follow_compiled
        if zeros in (0, m):
            rows = follow(self, start, draws, zeros, rng, work, patience)[:, :m]
            return np.clip(rows, self.lower, self.upper, out=rows if rows.flags.c_contiguous else None)
        order = np.argsort(~plain, kind="stable")
        whole = np.concatenate([order, np.arange(m, len(self.gamma))])
        moved = Motion(
            self.gamma[np.ix_(whole, whole)],
            np.asfortranarray(self.root[whole]),
            self.lower[order],
            self.upper[order],
            self.force,
            self.parts,
        )
        rows = follow(moved, start[whole], draws, zeros, rng, work, patience)
        result = np.empty((len(rows), m))
        result[:, order] = rows[:, :m]
        return np.clip(result, self.lower, self.upper, out=result)

    def velocities(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw velocities, (count, m + r)."""
        return rng.standard_normal((count, len(self.root))) @ self.root.T

    def heights(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw by how much the energy of each trajectory may grow, (count,)."""
        return rng.standard_exponential(count) if len(self.force) else np.zeros(count)


def _too_many(patience: int, walls: int) -> TooManyBouncesError:
    return TooManyBouncesError(f"a trajectory bounced more than {patience} times between {walls} walls")


def _follow_compiled(
    motion: Motion, start: FloatArray, draws: int, zeros: int, rng: np.random.Generator, work: float, patience: int
) -> FloatArray:
    state = start.copy()
    angle = ANGLE / motion.parts
    m = len(motion.lower)
    gamma, lower, upper = (
        np.ascontiguousarray(motion.gamma),
        np.maximum(motion.lower, -FAR),
        np.minimum(motion.upper, FAR),
    )

    def run(count: int, limit: int) -> tuple[FloatArray, int, int]:
        rows, heights = motion.velocities(count, rng), motion.heights(count, rng)
        bounces, refused, _ = _bounce.run(
            state,
            rows,
            gamma,
            lower,
            upper,
            zeros,
            motion.parts,
            float(np.cos(angle)),
            float(np.sin(angle)),
            limit,
            motion.force,
            heights,
        )
        return rows, bounces, refused

    if run(BURN_IN, patience)[2]:
        raise _too_many(patience, m)
    kept: list[FloatArray] = []
    left, spent = draws, 0.0
    while left and (spent <= work or not kept):
        count = left if np.isinf(work) else min(left, -(-draws // 10))
        rows, bounces, _ = run(count, BOUNCE_LIMIT)
        kept.append(rows)
        left -= count
        spent += bounces * m
    return kept[0] if len(kept) == 1 else np.concatenate(kept)


def _follow_numpy(
    motion: Motion, start: FloatArray, draws: int, zeros: int, rng: np.random.Generator, work: float, patience: int
) -> FloatArray:
    del work  # many chains are followed together; stopping some early would favour the quick ones
    chains = min(CHAINS, draws)
    steps = -(-draws // chains)
    state = np.repeat(start[None], chains, axis=0)
    kept = []
    for step in range(BURN_IN + steps):
        warming = step < BURN_IN
        velocity, heights = motion.velocities(chains, rng), motion.heights(chains, rng)
        state, refused = trajectories(state, velocity, heights, motion, zeros, patience if warming else BOUNCE_LIMIT)
        if warming and refused.any():
            raise _too_many(patience, len(motion.lower))
        if not warming:
            kept.append(state)
    return np.concatenate(kept)[:draws]


def trajectories(
    position: FloatArray, velocity: FloatArray, heights: FloatArray, motion: Motion, zeros: int, limit: int
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Follow one bouncing trajectory per row of `position`; the numpy twin of _bounce.c.

    The first `zeros` rows of the vector have the interval [0, inf). Returns where the trajectories end, and which of
    them were refused because they bounced more often than `limit`: those end where they began, for a trajectory and
    its reverse bounce equally often. So do those whose energy grows by more than their height.
    """
    m = len(motion.lower)
    u, w = position.copy(), velocity.copy()
    angle = ANGLE / motion.parts
    half = np.sin(angle) / (1.0 + np.cos(angle))
    bounces = np.zeros(len(u), dtype=np.int64)
    refused = np.zeros(len(u), dtype=bool)
    energy = _kick(u, w, motion, half) - _correction(u, motion)
    for part in range(motion.parts):
        _part(u, w, motion, zeros, angle, bounces, refused, limit)
        energy += _kick(u, w, motion, half if part + 1 == motion.parts else 2.0 * half)
    energy += _correction(u, motion)
    stays = refused | (energy > heights)
    u[:, :m] = np.clip(u[:, :m], motion.lower, motion.upper)
    return np.where(stays[:, None], position, u), refused


def _kick(u: FloatArray, w: FloatArray, motion: Motion, share: float) -> FloatArray:
    """Kick the velocities by `share` of the force; return by how much each kinetic energy has grown."""
    m = len(motion.lower)
    by = share * motion.force * u[:, m:]
    gained = (by * (w[:, m:] + 0.5 * by)).sum(axis=1)
    w[:, m:] += by
    w[:, :m] += by @ motion.gamma[m:, :m]
    return np.asarray(gained)


def _correction(u: FloatArray, motion: Motion) -> FloatArray:
    """Return by how much the target's potential differs from that of gamma."""
    return np.asarray(-0.5 * (motion.force * u[:, len(motion.lower) :] ** 2).sum(axis=1))


def _part(
    position: FloatArray,
    velocity: FloatArray,
    motion: Motion,
    zeros: int,
    angle: float,
    bounces: npt.NDArray[np.int64],
    refused: npt.NDArray[np.bool_],
    limit: int,
) -> None:
    """Follow all trajectories through one angle, in place; chains that have arrived leave the loop."""
    gamma, lower, upper = motion.gamma, motion.lower, motion.upper
    m = len(lower)
    chain = np.flatnonzero(~refused)
    u, w = position[chain], velocity[chain]
    cosine, sine = np.full(len(u), np.cos(angle)), np.full(len(u), np.sin(angle))
    while chain.size:
        cotangent = _cotangents(u[:, :m], w[:, :m], lower, upper, zeros)
        wall = np.argmax(cotangent, axis=1)
        largest = cotangent[np.arange(len(u)), wall]
        ends = (largest <= 0.0) | (cosine >= sine * largest)
        position[chain[ends]] = u[ends] * cosine[ends, None] + w[ends] * sine[ends, None]
        velocity[chain[ends]] = w[ends] * cosine[ends, None] - u[ends] * sine[ends, None]
        refused[chain[~ends & (bounces[chain] >= limit)]] = True
        on = ~ends & ~refused[chain]
        chain, u, w, wall, largest, cosine, sine = (a[on] for a in (chain, u, w, wall, largest, cosine, sine))
        s = 1.0 / np.hypot(1.0, largest)
        c = largest * s
        u, w = u * c[:, None] + w * s[:, None], w * c[:, None] - u * s[:, None]
        row = np.arange(len(u))
        speed = w[row, wall]
        w -= (2.0 * speed / gamma[wall, wall])[:, None] * gamma[wall]
        u[row, wall] = np.where(speed < 0.0, lower[wall], upper[wall])
        cosine, sine = cosine * c + sine * s, np.maximum(sine * c - cosine * s, 0.0)
        bounces[chain] += 1


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
