"""Where the machine makes a part at all: everywhere, up to a border through the optimum, in rings, bands or on islands.

All but the border look at one or two of the numbers, so that the share of valid ground is much the same however many
numbers there are.

Glossary:
    points    (p, d) numbers in the unit cube
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tuner.core.linalg import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

ROUNDING = 1e-9  # an optimum on a border is valid
APART = 0.06  # between two islands
TRIES = 200


class Ground(Protocol):
    """Says which numbers are valid."""

    def __call__(self, points: FloatArray) -> BoolArray:
        """Say which rows are valid."""


class Everywhere:
    """Every setting makes a part."""

    def __call__(self, points: FloatArray) -> BoolArray:
        """Say which rows are valid: all."""
        return np.ones(len(points), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Border:
    """Valid on one side of a bent surface through a point.

    Attributes:
        point: (d,) on the border.
        normal: (d,) of length one, into the valid ground.
        bend: How fast the border curves towards the valid side.
    """

    point: FloatArray
    normal: FloatArray
    bend: float

    def __call__(self, points: FloatArray) -> BoolArray:
        """Say which rows are valid."""
        away = points - self.point
        depth = away @ self.normal
        aside = ((away - depth[:, None] * self.normal) ** 2).sum(axis=1)
        return np.asarray(depth >= self.bend * aside - ROUNDING)


@dataclass(frozen=True, eq=False)
class Annulus:
    """Valid between two radii around a middle, in some of the numbers."""

    places: IntArray
    middle: FloatArray
    inner: float
    outer: float

    def __call__(self, points: FloatArray) -> BoolArray:
        """Say which rows are valid."""
        radius = np.sqrt(((points[:, self.places] - self.middle) ** 2).sum(axis=1))
        return np.asarray((radius >= self.inner - ROUNDING) & (radius <= self.outer + ROUNDING))


@dataclass(frozen=True, eq=False)
class Bands:
    """Valid in stripes across some of the numbers."""

    places: IntArray
    point: FloatArray
    direction: FloatArray
    per_side: float
    phase: float
    least: float

    def __call__(self, points: FloatArray) -> BoolArray:
        """Say which rows are valid."""
        along = (points[:, self.places] - self.point) @ self.direction
        return np.asarray(np.cos(2 * np.pi * self.per_side * along + self.phase) >= self.least - ROUNDING)


@dataclass(frozen=True, eq=False)
class Islands:
    """Valid on discs in some of the numbers; the first one has the optimum."""

    places: IntArray
    middles: FloatArray
    radii: FloatArray

    def __call__(self, points: FloatArray) -> BoolArray:
        """Say which rows are valid."""
        return np.asarray(self.which(points) >= 0)

    def which(self, points: FloatArray) -> IntArray:
        """Return the island of each row, -1 for none."""
        gaps = np.sqrt(((points[:, None, self.places] - self.middles) ** 2).sum(axis=2)) - self.radii
        return np.where(gaps.min(axis=1) <= ROUNDING, np.argmin(gaps, axis=1), -1)


def draw_ground(kind: str, optimum: FloatArray, normal: FloatArray, rng: np.random.Generator) -> Ground:
    """Draw valid ground of the kind around the optimum; `normal` points into it where there is a border."""
    d = len(optimum)
    places = np.sort(rng.permutation(d)[:2]).astype(np.intp)
    here = optimum[places]
    if kind == "border":
        return Border(optimum, normal, float(rng.uniform(0.0, 0.5)))
    if kind == "annulus":
        middle, radius = _middle(here, rng)
        inside, width = rng.uniform(0.0, 1.0), rng.uniform(0.12, 0.24)
        return Annulus(places, middle, radius - inside * width, radius + (1 - inside) * width)
    if kind == "bands":
        direction = rng.standard_normal(len(places))
        least = float(rng.uniform(-0.3, 0.4))
        phase = float(rng.uniform(-1.0, 1.0) * np.arccos(least))
        return Bands(places, here, direction / np.linalg.norm(direction), float(rng.uniform(1.5, 2.5)), phase, least)
    if kind == "islands":
        return _islands(places, here, rng)
    return Everywhere()


def _middle(here: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Return a middle inside the cube and its distance from a point."""
    for _ in range(TRIES):
        way = rng.standard_normal(len(here))
        radius = float(rng.uniform(0.25, 0.4))
        middle = here + radius * way / np.linalg.norm(way)
        if ((middle > 0.15) & (middle < 0.85)).all():
            return middle, radius
    radius = 0.3
    middle = here.copy()
    middle[0] += radius if here[0] < 0.5 else -radius
    return middle, radius


def _islands(places: IntArray, here: FloatArray, rng: np.random.Generator) -> Islands:
    """Draw two to four islands that keep apart; the optimum lies on the first, wherever."""
    count, flat = int(rng.integers(2, 5)), len(places) == 1
    low, high = (0.06, 0.12) if flat else (0.13, 0.2)
    radii = [float(rng.uniform(low, high))]
    way = rng.standard_normal(len(here))
    middles = [here + rng.uniform(0.0, 0.9) * radii[0] * way / np.linalg.norm(way)]
    for _ in range(TRIES):
        radius, middle = float(rng.uniform(low, high)), rng.uniform(high / 2, 1.0 - high / 2, len(here))
        gaps = [np.linalg.norm(middle - other) - radius - size for other, size in zip(middles, radii, strict=True)]
        if min(gaps) >= APART:
            middles.append(middle)
            radii.append(radius)
        if len(radii) == count:
            break
    return Islands(places, np.array(middles), np.array(radii))
