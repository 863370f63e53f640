"""Parameters of four kinds: continuous, integer, stepped and choice, each with its way to and from the unit cube.

Glossary:
    u    (p, width) coordinates of p values: one per number; one per option of a choice, 1/sqrt(2) at the chosen one,
         so that any two options are one apart
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray, IntArray

Value = float | int | str

CHOSEN = math.sqrt(0.5)
MOST_STEPS = 1_000_000
LARGEST_INTEGER = 2**53


class SpaceError(ValueError):
    """A space or a setting that cannot be."""


def _check_range(name: str, low: float, high: float, *, log: bool) -> None:
    if not isinstance(name, str) or not name:
        raise SpaceError(f"a parameter is named by a text, not {name!r}")
    for bound in (low, high):
        finite_number(name, bound)
    if not low < high:
        raise SpaceError(f"{name}: low ({low}) must be less than high ({high})")
    if not math.isfinite(float(high) - float(low)):
        raise SpaceError(f"{name}: the range {low} to {high} is too large to compute with")
    if log and low <= 0:
        raise SpaceError(f"{name}: a log scale needs low > 0, got {low}")


def finite_number(name: str, value: Any) -> float:
    """Return the value as a float, or say that it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise SpaceError(f"{name}: {value!r} is not a finite number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SpaceError(f"{name}: {value!r} is not a finite number")
    return number


@dataclass(frozen=True)
class Continuous:
    """Any number from low to high."""

    name: str
    low: float
    high: float
    unit: str = ""
    log: bool = False
    width = 1

    def __post_init__(self) -> None:
        _check_range(self.name, self.low, self.high, log=self.log)

    @property
    def levels(self) -> int | None:
        """How many values there are: not countable."""
        return None

    def checked(self, value: Any) -> float:
        """Return the value as a plain number, or say what is wrong with it."""
        number = finite_number(self.name, value)
        if not self.low <= number <= self.high:
            raise SpaceError(f"{self.name}: {value!r} is outside {self.low} to {self.high}")
        return number

    def encode(self, value: Any) -> list[float]:
        """Return the coordinate of a value."""
        number = self.checked(value)
        if self.log:
            return [math.log(number / self.low) / math.log(self.high / self.low)]
        return [(number - self.low) / (self.high - self.low)]

    def column(self, u: FloatArray) -> FloatArray:
        """Return the values of coordinates (p, 1)."""
        x = np.clip(u[:, 0], 0.0, 1.0)
        value = self.low * (self.high / self.low) ** x if self.log else self.low + x * (self.high - self.low)
        return np.clip(value, self.low, self.high)

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates inside the cube."""
        return np.clip(u, 0.0, 1.0)

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates uniformly."""
        return rng.random((count, 1))

    def value(self, u: FloatArray) -> Value:
        """Return the value of one coordinate (1,)."""
        return float(self.column(u[None])[0])


@dataclass(frozen=True)
class Stepped:
    """low, low + step, ..., high."""

    name: str
    low: float
    high: float
    step: float
    unit: str = ""
    width = 1
    log = False

    def __post_init__(self) -> None:
        _check_range(self.name, self.low, self.high, log=False)
        if finite_number(self.name, self.step) <= 0:
            raise SpaceError(f"{self.name}: step must be positive, got {self.step}")
        count = (self.high - self.low) / self.step
        if round(count) < 1 or abs(count - round(count)) > 1e-6 * max(1.0, count):
            raise SpaceError(f"{self.name}: {self.high} is not a whole number of steps of {self.step} above {self.low}")
        if count > MOST_STEPS:
            raise SpaceError(f"{self.name}: more than {MOST_STEPS} steps; make it continuous")

    @cached_property
    def grid(self) -> FloatArray:
        """Every value, rounded to a billionth of a step, so that they are the decimals people write."""
        decimals = 9 - math.floor(math.log10(self.step))
        count = round((self.high - self.low) / self.step)
        inner = [round(float(self.low + i * self.step), decimals) for i in range(1, count)]
        return np.array([self.low, *inner, self.high], dtype=np.float64)

    @property
    def levels(self) -> int:
        """How many values there are."""
        return len(self.grid)

    def level(self, index: int) -> float:
        """Return the index-th value; the first is exactly `low`, the last exactly `high`."""
        return float(self.grid[index])

    def _index(self, value: Any) -> int:
        number = finite_number(self.name, value)
        index = round(min(max((number - self.low) / self.step, 0.0), self.levels - 1.0))
        if abs(number - self.level(index)) > 1e-6 * self.step:
            raise SpaceError(
                f"{self.name}: {value!r} is not on the grid {self.low}, {self.level(1):g}, ..., {self.high}"
            )
        return index

    def checked(self, value: Any) -> float:
        """Return the value as it is on the grid, or say what is wrong with it."""
        return self.level(self._index(value))

    def encode(self, value: Any) -> list[float]:
        """Return the coordinate of a value on the grid."""
        return [self._index(value) / (self.levels - 1)]

    def indices(self, u: FloatArray) -> IntArray:
        """Return the nearest level of each coordinate (p, 1)."""
        return np.rint(np.clip(u[:, 0], 0.0, 1.0) * (self.levels - 1)).astype(np.intp)

    def column(self, u: FloatArray) -> FloatArray:
        """Return the values of coordinates (p, 1)."""
        return self.grid[self.indices(u)]

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates of the nearest levels."""
        return (self.indices(u) / (self.levels - 1))[:, None]

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates uniformly from the grid."""
        return (rng.integers(self.levels, size=count) / (self.levels - 1))[:, None]

    def value(self, u: FloatArray) -> Value:
        """Return the value of one coordinate (1,)."""
        return self.level(int(self.indices(u[None])[0]))


@dataclass(frozen=True)
class Integer:
    """Any whole number from low to high."""

    name: str
    low: int
    high: int
    unit: str = ""
    log: bool = False
    width = 1

    def __post_init__(self) -> None:
        _check_range(self.name, self.low, self.high, log=self.log)
        if self.low != int(self.low) or self.high != int(self.high):
            raise SpaceError(f"{self.name}: the bounds of an integer are whole numbers, got {self.low} and {self.high}")
        if max(abs(self.low), abs(self.high)) > LARGEST_INTEGER:
            raise SpaceError(f"{self.name}: whole numbers beyond {LARGEST_INTEGER} are not exact; make it continuous")

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

    def checked(self, value: Any) -> int:
        """Return the value as a plain whole number, or say what is wrong with it."""
        number = finite_number(self.name, value)
        if number != int(number) or not self.low <= number <= self.high:
            raise SpaceError(f"{self.name}: {value!r} is not a whole number from {self.low} to {self.high}")
        return int(number)

    def encode(self, value: Any) -> list[float]:
        """Return the coordinate of a value."""
        return [float(self._coordinate(np.array([float(self.checked(value))]))[0])]

    def _coordinate(self, value: FloatArray) -> FloatArray:
        if self.log:
            return np.log(value / self.low) / np.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def column(self, u: FloatArray) -> FloatArray:
        """Return the values of coordinates (p, 1)."""
        x = np.clip(u[:, 0], 0.0, 1.0)
        value = self.low * (self.high / self.low) ** x if self.log else self.low + x * (self.high - self.low)
        return np.clip(np.rint(value), self.low, self.high)

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
class Choice:
    """One of several texts."""

    name: str
    choices: Sequence[str]
    unit: str = ""
    log = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SpaceError(f"a parameter is named by a text, not {self.name!r}")
        if isinstance(self.choices, str) or not all(isinstance(option, str) for option in self.choices):
            raise SpaceError(f"{self.name}: the options of a choice are a list of texts, got {self.choices!r}")
        object.__setattr__(self, "choices", tuple(self.choices))
        if len(self.choices) < 2 or len(set(self.choices)) != len(self.choices):
            raise SpaceError(f"{self.name}: a choice needs at least two different options, got {list(self.choices)}")

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

    def checked(self, value: Any) -> str:
        """Return the option, or say that there is none like it."""
        if not isinstance(value, str) or value not in self.choices:
            raise SpaceError(f"{self.name}: {value!r} is none of {', '.join(self.choices)}")
        return str(value)

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
