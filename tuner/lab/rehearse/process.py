"""A plausible process for any space: a bowl with interactions, effects of choices, borders of scrap; drawn by a seed.

Glossary:
    rows    (p, D) settings in the unit cube, one coordinate for each option of a choice     cost    lower is better
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.space.parameters import Choice
from tuner.core.space.space import BoolArray, Space
from tuner.core.space.values import Setting

SAMPLE = 3000
WAVES = 12
LEAST_SCRAP, MOST_SCRAP = 0.05, 0.4
# what people call known-good is better than most settings, and seldom the best: the share of settings better than it
BEST_KNOWN, WORST_KNOWN = 0.02, 0.5
DRAWS = 40
_POLISH = 8
_KEPT = 30

Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Process:
    """One process.

    Attributes:
        space: The campaign's.
        cost: Of rows; over all settings it has about mean 0 and standard deviation 1.
        margin: Of rows; a part is made where it is not negative.
        known_good_cost: What the known-good setting costs.
        best_cost: The least that a search finds among settings that make parts.
        scrap: The share of settings that make no part.
    """

    space: Space
    cost: Function
    margin: Function
    known_good_cost: float
    best_cost: float
    scrap: float

    def measured(self, setting: Setting) -> float | None:
        """The cost of a setting; None where it makes no part."""
        row = self.space.encode(setting)[None]
        return float(self.cost(row)[0]) if self.margin(row)[0] >= 0.0 else None

    def gain(self, setting: Setting | None) -> float:
        """The share of what there is to gain over the known-good setting; negative: it is worse, or makes scrap."""
        cost = None if setting is None else self.measured(setting)
        if cost is None:
            return -1.0
        return (self.known_good_cost - cost) / max(self.known_good_cost - self.best_cost, 1e-9)


def draw(space: Space, known_good: Setting, seed: int) -> Process:
    """A process in which the known-good setting makes parts, is better than most and is not the best.

    Of some draws the first that is so, else the one that comes nearest.
    """
    start = space.encode(known_good)[None]
    nearest: tuple[float, Process] | None = None
    for attempt in range(DRAWS):
        rng = np.random.default_rng([seed, attempt])
        rows = space.sample(SAMPLE, rng, start)
        cost, margin = _cost(space, rows, rng), _margin(space, rows, start, rng)
        valid = margin(rows) >= 0.0
        own = float(cost(start)[0])
        better = float((cost(rows)[valid] < own).mean()) if valid.any() else 0.0
        off = max(BEST_KNOWN - better, better - WORST_KNOWN, 0.0)
        if nearest is None or off < nearest[0]:
            best = _best(space, cost, margin, np.concatenate([rows[valid], start]), rng)
            nearest = off, Process(space, cost, margin, own, best, 1.0 - float(valid.mean()))
        if off == 0.0:
            break
    if nearest is None:
        raise ValueError("nothing was drawn")
    return nearest[1]


def _cost(space: Space, rows: FloatArray, rng: np.random.Generator) -> Function:
    """A bowl around one of the settings, in directions that mix the parameters; some matter, some hardly."""
    chosen = np.array([isinstance(space.parameters[group], Choice) for group in space.groups])
    weights = np.exp(rng.normal(0.0, 0.8, len(space.parameters)))[space.groups] * np.where(chosen, 0.0, 1.0)
    mixing = np.eye(space.dimension) + 0.3 * rng.standard_normal((space.dimension, space.dimension)) / np.sqrt(
        space.dimension
    )
    centre = rows[rng.integers(len(rows))]
    effects = np.where(chosen, rng.normal(0.0, 0.35, space.dimension), 0.0)
    # with another choice the best numbers are elsewhere
    moved = np.where(chosen[:, None] & ~chosen[None], rng.normal(0.0, 0.12, (space.dimension, space.dimension)), 0.0)
    waves = _waves(space.dimension, rng)

    def raw(at: FloatArray) -> FloatArray:
        away = (at - centre - at @ moved + centre @ moved) @ mixing.T
        bowl = (np.sqrt(weights) * away) ** 2
        return np.asarray(bowl.sum(axis=1) + at @ effects + 0.12 * waves(at))

    values = raw(rows)
    middle, spread = float(values.mean()), float(values.std()) or 1.0
    return lambda at: (raw(at) - middle) / spread


def _margin(space: Space, rows: FloatArray, start: FloatArray, rng: np.random.Generator) -> Function:
    """A border that leaves a share of the settings without a part, and the known-good one inside."""
    slope = rng.standard_normal(space.dimension)
    waves = _waves(space.dimension, rng)

    def raw(at: FloatArray) -> FloatArray:
        return np.asarray(at @ slope + 0.8 * waves(at))

    share = rng.uniform(LEAST_SCRAP, MOST_SCRAP)
    values, own = raw(rows), float(raw(start)[0])
    sign = 1.0 if (values < own).mean() >= share else -1.0
    border = float(np.quantile(sign * values, share))
    border = min(border, sign * own)
    return lambda at: sign * raw(at) - border


def _waves(dimension: int, rng: np.random.Generator) -> Function:
    """A smooth random function of about unit size."""
    directions = rng.normal(0.0, 2.5, (WAVES, dimension)) / np.sqrt(max(1.0, dimension / 3.0))
    phases = rng.uniform(0.0, 2.0 * np.pi, WAVES)
    return lambda at: np.asarray(np.cos(at @ directions.T + phases).sum(axis=1) * np.sqrt(2.0 / WAVES))


def _best(space: Space, cost: Function, margin: Function, rows: FloatArray, rng: np.random.Generator) -> float:
    """The least cost near the best of some rows; each row makes a part."""
    for step in 0.2 * 0.5 ** np.arange(_POLISH):
        rows = rows[np.argsort(cost(rows))[:_KEPT]]
        near = space.snap(
            np.clip(np.repeat(rows, 10, axis=0) + step * rng.standard_normal((10 * len(rows), rows.shape[1])), 0, 1)
        )
        rows = np.concatenate([rows, near[_made(space, margin, near)]])
    return float(cost(rows).min())


def _made(space: Space, margin: Function, rows: FloatArray) -> BoolArray:
    return np.asarray(space.feasible(rows) & (margin(rows) >= 0.0))
