"""A process of the suite: a pure function of its group and seed, with its optimum and a known-good setting.

Glossary:
    rows    (p, D) encoded settings: d numbers, then the levels of the choices
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from tuner.core.linalg import FloatArray, IntArray
from tuner.core.space.parameters import Choice, Continuous, Integer
from tuner.core.space.space import Setting, Space
from tuner.lab.bench.suite.ground import BoolArray, Ground, Islands, draw_ground
from tuner.lab.bench.suite.groups import GROUPS, Group
from tuner.lab.bench.suite.shapes import Shape, draw_shape

SURVEYED = 4096  # settings that tell the valid ground
LEAST_GROUND = 0.05  # of the feasible settings; less is a process that nobody would have started
LEAST_GAP = 0.1  # a known-good setting that is nearer to the optimum, in units of the range, is no start
MARGIN = 0.15  # that optima keep from the ends of their parameters
_DRAWN, _SCRAP = 11, 12  # streams of random numbers
_UNITS = ("bar", "mm/s", "K", "s", "N", "V")


@dataclass(frozen=True, eq=False)
class Instance:
    """A process with a known optimum: its least valid cost is zero.

    Attributes:
        group: What it was drawn from.
        seed: Of the draw.
        space: The parameters: the numbers first, then the choices.
        shape: The cost of the numbers.
        ground: Where parts are made.
        effects: For each choice, what each level costs beyond the best one, in units of the numbers' range.
        shifts: For each choice, how far each level moves the best numbers, (levels, d).
        best: The optimal setting.
        start: The known-good setting.
    """

    group: Group
    seed: int
    space: Space
    shape: Shape
    ground: Ground
    effects: tuple[FloatArray, ...]
    shifts: tuple[FloatArray, ...]
    best: Setting
    start: Setting

    @property
    def d(self) -> int:
        """How many numbers it has."""
        return len(self.shape.centre)

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        choices = f", {len(self.effects)} choices" if self.effects else ""
        return f"{self.shape.family}, {self.d} numbers{choices}, {type(self.ground).__name__.lower()}"

    def costs(self, rows: FloatArray) -> FloatArray:
        """Return the true cost of encoded settings."""
        levels = self.levels(rows)
        shift = sum((s[levels[:, i]] for i, s in enumerate(self.shifts)), np.zeros((len(rows), self.d)))
        return self.shape(rows[:, : self.d], shift) + sum(e[levels[:, i]] for i, e in enumerate(self.effects))

    def valid(self, rows: FloatArray) -> BoolArray:
        """Say which encoded settings make a part, but for scrap by chance."""
        return self.ground(rows[:, : self.d])

    def levels(self, rows: FloatArray) -> IntArray:
        """Return the level of each choice, (p, choices)."""
        edges = self.d + np.cumsum([0, *(len(e) for e in self.effects)])
        found = [rows[:, a:b].argmax(axis=1) for a, b in pairwise(edges)]
        return np.array(found, dtype=np.intp).reshape(len(found), len(rows)).T

    def cost(self, setting: Mapping[str, object]) -> float:
        """Return the true cost of a setting."""
        return float(self.costs(self.space.encode(setting)[None])[0])

    def makes_part(self, setting: Mapping[str, object], number: int) -> bool:
        """Say whether the trial of this number makes a part; some fail by chance."""
        if not bool(self.valid(self.space.encode(setting)[None])[0]):
            return False
        return bool(np.random.default_rng([self.seed, _SCRAP, number]).random() >= self.group.scrap)

    @cached_property
    def start_cost(self) -> float:
        """What the known-good setting costs more than the optimum."""
        return self.cost(self.start)

    def regret(self, setting: Mapping[str, object]) -> float:
        """Return what a setting costs more than the optimum, in units of the start's; infinite if it makes no part."""
        row = self.space.encode(setting)[None]
        return float(self.costs(row)[0]) / self.start_cost if bool(self.valid(row)[0]) else math.inf

    def right_levels(self, setting: Mapping[str, object], least: float) -> tuple[bool, ...]:
        """Say of each choice worth at least so much whether the setting has its best level."""
        levels = self.levels(self.space.encode(setting)[None])[0]
        worth = (float(np.sort(e)[1]) for e in self.effects)
        return tuple(bool(e[i] == 0.0) for e, i, w in zip(self.effects, levels, worth, strict=True) if w >= least)


def draw_instance(group: str | Group, seed: int) -> Instance:
    """Return the process of a group's seed; the same for all groups that differ only in who judges."""
    one = GROUPS[group] if isinstance(group, str) else group
    name = zlib.crc32((one.drawn_as or one.name).encode())
    rng = np.random.default_rng([name, seed, _DRAWN])
    while True:
        drawn = _drawn(one, seed, rng)
        if drawn is not None:
            return drawn


def _drawn(group: Group, seed: int, rng: np.random.Generator) -> Instance | None:
    """Draw an instance, or None where it has no fair start."""
    d = int(rng.choice(group.sizes))
    family = str(rng.choice(group.families))
    kind = str(rng.choice(group.grounds))
    whole = rng.permutation(d)[: min(d, int(rng.integers(group.integers[0], group.integers[1] + 1)))]
    numbers = [_number(i, i in whole, rng) for i in range(d)]
    optimum = rng.uniform(MARGIN, 1.0 - MARGIN, d)
    for i in whole:
        optimum[i] = numbers[i].snap(optimum[None, i : i + 1])[0, 0]
    normal = rng.standard_normal(d)
    normal /= np.linalg.norm(normal)
    slope = rng.uniform(0.3, 1.5) * normal if kind == "border" else np.zeros(d)
    constraints: list[str] = []
    for _ in range(int(rng.integers(1, group.constraints + 1)) if group.constraints else 0):
        text, into = _constraint(numbers, optimum, rng)
        constraints.append(text)
        slope = slope + into
    ground = draw_ground(kind, optimum, normal, rng)
    shape = draw_shape(family, optimum, slope, rng)
    count = int(rng.integers(group.choices[0], group.choices[1] + 1))
    effects = tuple(_effects(rng) for _ in range(count))
    shifts = tuple(_shifts(e, d, rng) for e in effects)
    choices = [Choice(f"c{i}", [f"level {j}" for j in range(len(e))]) for i, e in enumerate(effects)]
    space = Space([*numbers, *choices], constraints)
    best = {p.name: p.value(optimum[i : i + 1]) for i, p in enumerate(numbers)}
    best |= {c.name: c.level(int(e.argmin())) for c, e in zip(choices, effects, strict=True)}
    surveyed = space.sample(SURVEYED, rng)
    surveyed = surveyed[ground(surveyed[:, :d])]
    if len(surveyed) < LEAST_GROUND * SURVEYED:
        return None
    # the centre as the optimum is encoded: to the value and back may round
    shape = replace(shape, centre=space.encode(best)[:d]).scaled(surveyed[:, :d])
    drawn = Instance(group, seed, space, shape, ground, effects, shifts, best, best)
    start = _start(drawn, surveyed, rng)
    return None if start is None else replace(drawn, start=start)


def _number(place: int, whole: bool, rng: np.random.Generator) -> Continuous | Integer:
    unit = _UNITS[place % len(_UNITS)]
    if whole:
        low = int(rng.integers(0, 10))
        return Integer(f"p{place}", low, low + int(rng.integers(3, 25)), unit)
    width = float(10.0 ** rng.uniform(-1, 2.5))
    least = float(np.round(rng.uniform(0.0, 2.0) * width, 3))
    return Continuous(f"p{place}", least, least + float(np.round(width, 3)), unit)


def _constraint(
    numbers: Sequence[Continuous | Integer], optimum: FloatArray, rng: np.random.Generator
) -> tuple[str, FloatArray]:
    """Draw a linear constraint between two numbers that the optimum keeps, and the slope into it if it just does."""
    pair = rng.permutation(len(numbers))[:2]
    outward = np.zeros(len(numbers))
    outward[pair] = rng.choice([-1.0, 1.0], 2) * rng.uniform(0.4, 1.0, 2)
    if outward @ (optimum - 0.5) < 0:  # the larger part of the cube stays
        outward = -outward
    active = bool(rng.random() < 0.5)
    slack = 0.0 if active else float(rng.uniform(0.02, 0.2))
    most = outward @ optimum + slack + 1e-7
    terms = []
    for i in pair:
        p = numbers[i]
        each = outward[i] / (p.high - p.low)
        most += each * p.low
        terms.append(f"{each:.12g}*{p.name}")
    return f"{' + '.join(terms)} <= {most:.12g}", -outward * rng.uniform(0.3, 1.5) if active else np.zeros(len(numbers))


def _effects(rng: np.random.Generator) -> FloatArray:
    """Draw what each of 2 to 6 levels costs; the second best costs what the choice is worth, from .05 to 1."""
    worth = math.exp(rng.uniform(math.log(0.05), 0.0))
    levels = int(rng.integers(2, 7))
    others = np.concatenate([[worth], rng.uniform(worth, 1.0, levels - 2)])
    return rng.permutation(np.concatenate([[0.0], others]))


def _shifts(effects: FloatArray, d: int, rng: np.random.Generator) -> FloatArray:
    """Draw how far each level moves the best numbers: in half of the choices not at all, the best level never."""
    moves = rng.choice([0.0, 0.12]) * rng.uniform(-1.0, 1.0, (len(effects), d))
    return np.asarray(moves * (effects != 0.0)[:, None])


def _start(drawn: Instance, surveyed: FloatArray, rng: np.random.Generator) -> Setting | None:
    """Draw a known-good setting from the middle of the valid ground; where there are islands, on another one."""
    quantile = rng.uniform(0.4, 0.8)
    if isinstance(drawn.ground, Islands):
        surveyed = surveyed[drawn.ground.which(surveyed[:, : drawn.d]) > 0]
    if not len(surveyed):
        return None
    costs = drawn.costs(surveyed)
    place = np.argsort(costs, kind="stable")[int(quantile * len(costs))]
    return drawn.space.decode(surveyed[place]) if costs[place] >= LEAST_GAP else None
