"""Parameters of four kinds: continuous, integer, stepped and choice, each with its way to and from the unit cube.

Glossary:
    u    (p, width) coordinates of p values: one per number; one per option of a choice, 1/sqrt(2) at the chosen one,
         so that any two options are one apart
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray, IntArray
from tuner.core.space.values import Domain, SpaceError, Value, finite

__all__ = ["Choice", "Continuous", "Integer", "Parameter", "SpaceError", "Stepped", "Value", "parameter_from_json"]

CHOSEN = math.sqrt(0.5)


class _Checked:
    """What all kinds do alike: they refuse a definition that cannot be, and values that are not legal."""

    name: str
    log: bool
    change_cost: float
    domain: Any  # each kind has its own `Domain`

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SpaceError(f"a parameter is named by a text, not {self.name!r}")
        for path, text in self.domain.faults(log=self.log):
            raise SpaceError(f"{self.name}: {'.'.join(map(str, path))}: {text}")
        cost = finite(self.change_cost)
        if cost is None or cost < 0.0:
            raise SpaceError(
                f"{self.name}: change_cost: must be a number of parts, 0 or more, not {self.change_cost!r}"
            )

    @property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest coordinate of a number."""
        return 0.0, 1.0

    def checked(self, value: Any) -> Any:
        """Return the value in the type of its kind and as it is on the grid, or say what is wrong with it."""
        return self.domain.legal(value)


class _Scaled(_Checked):
    """What numbers on a linear or a log scale do alike."""

    low: float
    high: float

    def _scaled(self, u: FloatArray) -> FloatArray:
        x = np.clip(u[:, 0], 0.0, 1.0)
        return self.low * (self.high / self.low) ** x if self.log else self.low + x * (self.high - self.low)


@dataclass(frozen=True)
class Continuous(_Scaled):
    """Any number from low to high; with a resolution its multiples between them, which the model takes as any number.

    `change_cost`, here and of the other kinds: what a change of this parameter costs, in parts.
    """

    name: str
    low: float
    high: float
    unit: str = ""
    log: bool = False
    resolution: float = 0.0
    change_cost: float = 0.0
    width = 1

    @cached_property
    def domain(self) -> Domain:
        """The values it may have."""
        return Domain(self.name, "continuous", self.low, self.high, resolution=self.resolution)

    @property
    def levels(self) -> int | None:
        """How many values there are: not countable."""
        return None

    def encode(self, value: Any) -> list[float]:
        """Return the coordinate of a value."""
        return [float(self._coordinate(np.array([float(self.checked(value))]))[0])]

    def _coordinate(self, value: FloatArray) -> FloatArray:
        if self.log:  # for one value as for many: another library's logarithm may have another last digit
            return np.asarray(np.log(value / self.low) / np.log(self.high / self.low))
        return (value - self.low) / (self.high - self.low)

    def column(self, u: FloatArray) -> FloatArray:
        """Return the values of coordinates (p, 1)."""
        values = np.clip(self._scaled(u), self.low, self.high)
        if not self.resolution:
            return values
        (first, last), (unit, power) = self.domain.multiples, self.domain.ratio
        return np.clip(np.rint(values / self.resolution), first, last) * unit / power

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates inside the cube, of values that can be set."""
        if not self.resolution:
            return np.clip(u, 0.0, 1.0)
        return self._coordinate(self.column(u))[:, None]

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates uniformly."""
        return self.snap(rng.random((count, 1)))

    def value(self, u: FloatArray) -> Value:
        """Return the value of one coordinate (1,)."""
        return float(self.column(u[None])[0])


@dataclass(frozen=True)
class Stepped(_Checked):
    """low, low + step, ..., high."""

    name: str
    low: float
    high: float
    step: float
    unit: str = ""
    change_cost: float = 0.0
    width = 1
    log = False

    @cached_property
    def domain(self) -> Domain:
        """The values it may have."""
        return Domain(self.name, "stepped", self.low, self.high, self.step)

    @cached_property
    def grid(self) -> FloatArray:
        """Every value, as the decimals people write."""
        return np.array([self.domain.level(index) for index in range(self.domain.levels)], dtype=np.float64)

    @property
    def levels(self) -> int:
        """How many values there are."""
        return len(self.grid)

    @property
    def last(self) -> int:
        """The place of `high` on the grid."""
        return len(self.grid) - 1

    def level(self, index: int) -> float:
        """Return the index-th value; the first is exactly `low`, the last exactly `high`."""
        return float(self.grid[index])

    def encode(self, value: Any) -> list[float]:
        """Return the coordinate of a value on the grid."""
        return [round((self.checked(value) - self.low) / self.step) / self.last]

    def indices(self, u: FloatArray) -> IntArray:
        """Return the nearest level of each coordinate (p, 1)."""
        return np.rint(np.clip(u[:, 0], 0.0, 1.0) * self.last).astype(np.intp)

    def column(self, u: FloatArray) -> FloatArray:
        """Return the values of coordinates (p, 1)."""
        return self.grid[self.indices(u)]

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates of the nearest levels."""
        return (self.indices(u) / self.last)[:, None]

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates uniformly from the grid."""
        return (rng.integers(self.levels, size=count) / self.last)[:, None]

    def value(self, u: FloatArray) -> Value:
        """Return the value of one coordinate (1,)."""
        return self.level(int(self.indices(u[None])[0]))


@dataclass(frozen=True)
class Integer(_Scaled):
    """Any whole number from low to high."""

    name: str
    low: int
    high: int
    unit: str = ""
    log: bool = False
    change_cost: float = 0.0
    width = 1

    @cached_property
    def domain(self) -> Domain:
        """The values it may have."""
        return Domain(self.name, "integer", self.low, self.high)

    @property
    def levels(self) -> int:
        """How many values there are."""
        return int(self.high) - int(self.low) + 1

    def level(self, index: int) -> int:
        """Return the index-th value."""
        return int(self.low) + index

    def indices(self, u: FloatArray) -> IntArray:
        """Return the nearest level of each coordinate (p, 1)."""
        return (self.column(u) - self.low).astype(np.intp)

    def encode(self, value: Any) -> list[float]:
        """Return the coordinate of a value."""
        return [float(self._coordinate(np.array([float(self.checked(value))]))[0])]

    def _coordinate(self, value: FloatArray) -> FloatArray:
        if self.log:
            return np.log(value / self.low) / np.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def column(self, u: FloatArray) -> FloatArray:
        """Return the values of coordinates (p, 1)."""
        return np.clip(np.rint(self._scaled(u)), self.low, self.high)

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates of the nearest whole numbers."""
        return self._coordinate(self.column(u))[:, None]

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates: every number alike, or every ratio alike on a log scale."""
        if self.log:
            return self.snap(rng.random((count, 1)))
        return self._coordinate(self.low + rng.integers(self.levels, size=count).astype(np.float64))[:, None]

    def value(self, u: FloatArray) -> Value:
        """Return the value of one coordinate (1,)."""
        return int(self.column(u[None])[0])


@dataclass(frozen=True)
class Choice(_Checked):
    """One of several texts."""

    name: str
    choices: Sequence[str]
    unit: str = ""
    change_cost: float = 0.0
    log = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "choices", tuple(self.choices))

    @cached_property
    def domain(self) -> Domain:
        """The values it may have."""
        return Domain(self.name, "choice", choices=self.choices)

    @property
    def width(self) -> int:
        """How many coordinates it takes."""
        return len(self.choices)

    @property
    def levels(self) -> int:
        """How many values there are."""
        return len(self.choices)

    def level(self, index: int) -> str:
        """Return the index-th option."""
        return self.choices[index]

    def indices(self, u: FloatArray) -> IntArray:
        """Return the option of each row (p, width)."""
        return np.argmax(u, axis=1)

    def encode(self, value: Any) -> list[float]:
        """Return the coordinates of an option."""
        chosen = self.checked(value)
        return [CHOSEN if option == chosen else 0.0 for option in self.choices]

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates of the options with the largest entries."""
        return CHOSEN * np.eye(self.width)[self.indices(u)]

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates, every option alike."""
        return CHOSEN * np.eye(self.width)[rng.integers(self.levels, size=count)]

    def value(self, u: FloatArray) -> Value:
        """Return the option of one row (width,)."""
        return self.choices[int(np.argmax(u))]


Parameter = Continuous | Integer | Stepped | Choice


def parameter_from_json(item: Mapping[str, Any]) -> Parameter:
    """Rebuild a parameter from what `Domain.to_json` wrote; KeyError if something is missing."""
    kind, name, unit, cost = item["kind"], item["name"], item.get("unit", ""), item.get("change_cost", 0.0)
    if kind == "choice":
        return Choice(name, item["choices"], unit, cost)
    low, high, log = item["low"], item["high"], item.get("log", False)
    if kind == "continuous":
        return Continuous(name, low, high, unit, log, item.get("resolution", 0.0), cost)
    if kind == "integer":
        return Integer(name, low, high, unit, log, cost)
    if kind == "stepped":
        return Stepped(name, low, high, item["step"], unit, cost)
    raise SpaceError(f"{name}: there is no kind of parameter {kind!r}")
