"""Processes for the scrap contract: the suite's, with validity that is soft, drifts, jumps or strikes by chance.

Glossary:
    rows    (p, D) encoded settings
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from scipy.special import ndtr

from tuner.core.linalg import FloatArray
from tuner.core.posterior.functions import draw_waves
from tuner.core.posterior.kernels import Kernel
from tuner.lab.bench.suite.groups import SMOOTH, Group
from tuner.lab.bench.suite.instances import Instance, draw_instance

SURVEYED = 2500  # settings that tell which ground can be reached from the known-good one
NEIGHBOURS = 8
DRIFT = 0.15  # of the unit cube over a campaign: how far the border comes nearer
HOLES = 3
_SCRAP, _DRAWN, _SURVEY = 31, 32, 33  # streams of random numbers

Chance = Callable[[FloatArray, float], FloatArray]  # rows, and how much of the campaign is over, to P(valid)


@dataclass(frozen=True)
class Family:
    """A kind of process.

    Attributes:
        name: On the command line.
        words: What is special about it.
        ground: Where parts are made, in the suite's words.
        fits: Whether the model's assumptions hold: smooth, in one piece, and the same all the time.
        twist: What is added to the suite's ground: model, steps, drift or chance.
    """

    name: str
    words: str
    ground: str
    fits: bool
    twist: str = ""


_ALL = (
    Family("model", "validity drawn from the model's own prior", "everywhere", True, "model"),
    Family("border", "the optimum on the border of one region", "border", True),
    Family("ring", "valid in a ring", "annulus", True),
    Family("islands", "valid on islands, the start on another", "islands", False),
    Family("bands", "valid in stripes", "bands", False),
    Family("steps", "one region with holes of sharp corners", "border", False, "steps"),
    Family("drift", "a border that comes nearer all the time", "border", False, "drift"),
    Family("chance", "a border, and 3 % of all parts fail by chance", "border", False, "chance"),
)
FAMILIES = {family.name: family for family in _ALL}
RANDOM = 0.03  # of the family chance


@dataclass(frozen=True, eq=False)
class Process:
    """One process: the cost of the suite's instance, and its own chance of making a part.

    Attributes:
        family: What it was drawn from.
        instance: Space, cost and known-good setting.
        seed: Of its random scrap.
        chance: P(valid) of rows, given how much of the campaign is over.
    """

    family: Family
    instance: Instance
    seed: int
    chance: Chance

    def makes_part(self, setting: Mapping[str, object], number: int, over: float) -> bool:
        """Say whether the trial of this number makes a part."""
        p = float(self.chance(self.instance.space.encode(setting)[None], over)[0])
        return bool(np.random.default_rng([self.seed, _SCRAP, number]).random() < p)

    @cached_property
    def _survey(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Settings with the known-good one first and the optimum second, their costs, and P(valid) at the end."""
        space = self.instance.space
        drawn = space.sample(SURVEYED, np.random.default_rng([self.seed, _SURVEY]))
        rows = np.vstack([space.encode(self.instance.start), space.encode(self.instance.best), drawn])
        return rows, self.instance.costs(rows), self._always(rows)

    def _always(self, rows: FloatArray) -> FloatArray:
        """P(valid) all through the campaign."""
        at_first = self.chance(rows, 0.0)
        return np.minimum(at_first, self.chance(rows, 1.0)) if self.family.twist == "drift" else at_first

    def free_cost(self) -> float:
        """Return the least cost of a setting that gives more parts than not."""
        _, costs, p = self._survey
        return float(costs[p >= 0.5].min())

    def reachable_cost(self, rate: float) -> float:
        """Return the least cost that a chain of settings within the rate leads to from the known-good one."""
        rows, costs, p = self._survey
        fine = np.flatnonzero(p >= 1.0 - max(rate, RANDOM if self.family.twist == "chance" else 0.0))
        if 0 not in fine:
            return float(costs[0])
        some = rows[fine]
        links = np.asarray(KDTree(some).query(some, min(NEIGHBOURS + 1, len(some)))[1])[:, 1:]
        begin = np.repeat(np.arange(len(some)), links.shape[1])
        end = links.ravel()
        half = 0.5 * (some[begin] + some[end])
        own = self._always(half) >= 0.5
        graph = coo_array((np.ones(own.sum()), (begin[own], end[own])), shape=(len(some), len(some)))
        component = connected_components(graph, directed=False)[1]
        return float(costs[fine][component == component[0]].min())


@lru_cache(maxsize=2)  # all rates, judges and methods of a seed come one after another, and its survey is half a run
def draw_process(family: str, seed: int) -> Process:
    """Return the process of a family's seed."""
    kind = FAMILIES[family]
    group = Group(
        f"scrap {family}",
        kind.words,
        sizes=(2, 3),
        families=SMOOTH,
        grounds=(kind.ground,),
        drawn_as=f"scrap {family}",
    )
    rng = np.random.default_rng([seed, _DRAWN])
    instance = draw_instance(group, seed)

    def on_ground(rows: FloatArray, over: float) -> FloatArray:
        return instance.valid(rows).astype(np.float64)

    if kind.twist == "model":
        return _soft(kind, instance, seed, rng)
    if kind.twist == "chance":
        return Process(kind, instance, seed, lambda rows, over: (1.0 - RANDOM) * on_ground(rows, over))
    if kind.twist == "drift":
        return Process(kind, instance, seed, lambda rows, over: _drifted(instance, rows, over))
    if kind.twist == "steps":
        return Process(kind, instance, seed, _with_holes(instance, rng))
    return Process(kind, instance, seed, on_ground)


def _soft(kind: Family, instance: Instance, seed: int, rng: np.random.Generator) -> Process:
    """Draw validity from the prior until the known-good setting is good and a fair share of the ground is not."""
    space = instance.space
    rows = space.sample(SURVEYED, rng)
    start = space.encode(instance.start)[None]
    while True:
        lengthscales = 0.3 * np.exp(0.6 * rng.standard_normal(space.dimension))
        variance = 100.0 * math.exp(1.0 * rng.standard_normal())
        drawn = draw_waves(Kernel(lengthscales, variance), space.dimension, rng)
        shift = math.sqrt(variance) * rng.standard_normal()
        good = ndtr(drawn(rows) + shift)
        if ndtr(drawn(start) + shift)[0] > 0.995 and 0.2 <= good.mean() <= 0.8:
            break
    # the optimum is where a part is likelier than not: another best setting, with the same cost
    costs = np.where(good >= 0.5, instance.costs(rows), np.inf)
    best = space.decode(rows[int(np.argmin(costs))])
    return Process(kind, replace(instance, best=best), seed, lambda rows, over: ndtr(drawn(rows) + shift))


def _drifted(instance: Instance, rows: FloatArray, over: float) -> FloatArray:
    """P(valid) where the border has come nearer; the known-good setting stays good."""
    normal = instance.ground.normal  # type: ignore[attr-defined]  # a border has one
    moved = rows.copy()
    moved[:, : instance.d] -= DRIFT * over * normal
    start = instance.space.encode(instance.start)
    near = np.sqrt(((rows - start) ** 2).sum(axis=1)) < 0.1
    return np.asarray(instance.valid(moved) | (near & instance.valid(rows)), dtype=np.float64)


def _with_holes(instance: Instance, rng: np.random.Generator) -> Chance:
    """P(valid) with boxes in which no part is made; neither the known-good setting nor the optimum is in one."""
    d = instance.d
    kept = [instance.space.encode(one)[:d] for one in (instance.start, instance.best)]
    boxes: list[tuple[FloatArray, FloatArray]] = []
    while len(boxes) < HOLES:
        middle, half = rng.random(d), rng.uniform(0.08, 0.16, d)
        if all((np.abs(row - middle) > half + 0.03).any() for row in kept):
            boxes.append((middle, half))

    def chance(rows: FloatArray, over: float) -> FloatArray:
        inside = np.zeros(len(rows), dtype=bool)
        for middle, half in boxes:
            inside |= (np.abs(rows[:, :d] - middle) <= half).all(axis=1)
        return (instance.valid(rows) & ~inside).astype(np.float64)

    return chance
