"""How the cost depends on the numbers: six families, turned, shifted and bent, each with its optimum at a known place.

Every shape is zero at its centre and positive elsewhere on valid ground, so nobody has to search for the optimum.

Glossary:
    points    (p, d) numbers in the unit cube     z    (p, d) bent, shifted and turned ones: zero at the centre
    d         how many numbers there are
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import ortho_group

from tuner.core.linalg import FloatArray

REACH = 2.0  # half of the cube's side is one in units of z
POWERS = 0.5  # log of the largest power of the cost
RANGE = 0.95  # the quantile of the costs on valid ground that counts as the range


def _bowl(z: FloatArray, numbers: FloatArray) -> FloatArray:
    return np.asarray((z**2 * np.exp(-numbers)).sum(axis=1))


def _ill_conditioned(z: FloatArray, numbers: FloatArray) -> FloatArray:
    """Weights that differ by two to four decades."""
    decades = 2.0 + 2.0 * numbers[0]
    weights = 10.0 ** (-decades * np.linspace(0.0, 1.0, z.shape[1]))
    return np.asarray((z**2 * weights).sum(axis=1))


def _curved_valley(z: FloatArray, numbers: FloatArray) -> FloatArray:
    """A narrow valley that bends, as Rosenbrock's; with one number a bowl that is steeper on one side."""
    if z.shape[1] == 1:
        return np.asarray(np.where(z < 0.0, z, (2.0 + 2.0 * numbers[0]) * z)[:, 0] ** 2)
    bend = 0.6 + 0.6 * numbers[0]
    across = ((z[:, 1:] + bend * z[:, :-1] ** 2) ** 2).sum(axis=1)
    return np.asarray(5.0 * across + 0.3 * (z**2).sum(axis=1))


def _many_valleys(z: FloatArray, numbers: FloatArray) -> FloatArray:
    """Two to four smooth valleys along each of at most three directions."""
    waves = 0.8 + 0.5 * numbers[:3]
    some = z[:, : len(waves)]
    ripples = (1.0 - np.cos(2.0 * np.pi * waves * some)).sum(axis=1)
    return np.asarray((z**2).sum(axis=1) + 0.25 * ripples)


def _plateau(z: FloatArray, numbers: FloatArray) -> FloatArray:
    """A hole in a plateau that leans a little towards it, so that a judge who never errs can see the way."""
    square = (z**2).sum(axis=1) / z.shape[1]
    width = 0.06 + 0.06 * numbers[0]
    return np.asarray(1.0 - np.exp(-square / (2.0 * width)) + 0.15 * square)


def _ridge(z: FloatArray, numbers: FloatArray) -> FloatArray:
    """Steep walls on both sides of an edge, along which the cost falls slowly."""
    walls = np.sqrt(z[:, 0] ** 2 + 1e-4) - 1e-2
    return np.asarray((1.0 + 2.0 * numbers[0]) * walls + 0.3 * (z**2).sum(axis=1))


FAMILIES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "bowl": _bowl,
    "ill-conditioned": _ill_conditioned,
    "curved valley": _curved_valley,
    "many valleys": _many_valleys,
    "plateau": _plateau,
    "ridge": _ridge,
}


@dataclass(frozen=True, eq=False)
class Shape:
    """The cost of the numbers, in units of its range.

    Attributes:
        family: Its name.
        centre: (d,) where it is zero.
        turn: (d, d) a rotation.
        bends: (d,) how each number is bent before it is turned: below zero the low end is stretched, above the high.
        numbers: (d,) the family's own numbers, from 0 to 1.
        power: A monotone map of the cost: a power of it.
        slope: (d,) into the valid ground, if the optimum lies on its border: without the border it would lie beyond.
        scale: The range before the map: what most of the valid ground stays below.
    """

    family: str
    centre: FloatArray
    turn: FloatArray
    bends: FloatArray
    numbers: FloatArray
    power: float
    slope: FloatArray
    scale: float = 1.0

    def __call__(self, points: FloatArray, shift: FloatArray | float = 0.0) -> FloatArray:
        """Return the costs of numbers (p, d), if the centre is shifted by so much (of the bent cube)."""
        moved = REACH * (self._bent(points) - self._bent(self.centre[None]) - shift)
        raw = FAMILIES[self.family](moved @ self.turn.T, self.numbers)
        raw = raw + np.maximum((points - self.centre) @ self.slope, 0.0)
        return np.asarray((np.maximum(raw, 0.0) / self.scale) ** self.power)

    def scaled(self, points: FloatArray) -> "Shape":
        """Return the shape in units of its range on this ground."""
        return replace(self, scale=float(np.quantile(replace(self, power=1.0, scale=1.0)(points), RANGE)))

    def _bent(self, points: FloatArray) -> FloatArray:
        return np.asarray(np.expm1(points * self.bends) / np.expm1(self.bends))


def draw_shape(family: str, centre: FloatArray, slope: FloatArray, rng: np.random.Generator) -> Shape:
    """Draw a shape of the family around a centre, in units of its own."""
    d = len(centre)
    turn = np.atleast_2d(ortho_group.rvs(d, random_state=rng)) if d > 1 else np.array([[rng.choice([-1.0, 1.0])]])
    # never quite straight: the map of a bend of zero is the limit, and not computed
    bends = rng.choice([-1.0, 1.0], d) * rng.uniform(0.01, 1.5, d)
    return Shape(family, centre, turn, bends, rng.random(d), math.exp(rng.uniform(-POWERS, POWERS)), slope)
