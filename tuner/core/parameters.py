"""Parameters of four kinds: continuous, integer, stepped and choice, each with its way to and from the unit cube.

Glossary:
    u    (p, width) coordinates of p values: one per number; one per option of a choice, 1/sqrt(2) at the chosen one,
         so that any two options are one apart
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray, IntArray

Value = float | int | str

CHOSEN = math.sqrt(0.5)


class SpaceError(ValueError):
    """A space or a setting that cannot be."""


def _check_range(name: str, low: float, high: float, *, log: bool) -> None:
    for bound in (low, high):
        if isinstance(bound, bool) or not isinstance(bound, int | float | np.number) or not math.isfinite(bound):
            raise SpaceError(f"{name}: {bound!r} is not a finite number")
    if not low < high:
        raise SpaceError(f"{name}: low ({low}) must be less than high ({high})")
    if log and low <= 0:
        raise SpaceError(f"{name}: a log scale needs low > 0, got {low}")


def finite_number(name: str, value: Any) -> float:
    """Return the value as a float, or say that it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
        raise SpaceError(f"{name}: {value!r} is not a finite number")
    return float(value)


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

    def encode(self, value: Any) -> list[float]:
        """Return the coordinate of a value."""
        number = finite_number(self.name, value)
        if not self.low <= number <= self.high:
            raise SpaceError(f"{self.name}: {value!r} is outside {self.low} to {self.high}")
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
        if not (math.isfinite(self.step) and self.step > 0):
            raise SpaceError(f"{self.name}: step must be positive, got {self.step}")
        count = (self.high - self.low) / self.step
        if round(count) < 1 or abs(count - round(count)) > 1e-6 * max(1.0, count):
            raise SpaceError(f"{self.name}: {self.high} is not a whole number of steps of {self.step} above {self.low}")

    @property
    def levels(self) -> int:
        """How many values there are."""
        return round((self.high - self.low) / self.step) + 1

    def level(self, index: int) -> Value:
        """Return the index-th value; the last is exactly `high`."""
        return float(self.high) if index == self.levels - 1 else round(self.low + index * self.step, 12)

    def encode(self, value: Any) -> list[float]:
        """Return the coordinate of a value on the grid."""
        number = finite_number(self.name, value)
        index = round((number - self.low) / self.step)
        tolerance = 1e-6 * self.step
        if not 0 <= index < self.levels or abs(number - self.low - index * self.step) > tolerance:
            raise SpaceError(
                f"{self.name}: {value!r} is not on the grid {self.low}, {self.low + self.step:g}, ..., {self.high}"
            )
        return [index / (self.levels - 1)]

    def indices(self, u: FloatArray) -> IntArray:
        """Return the nearest level of each coordinate (p, 1)."""
        return np.rint(np.clip(u[:, 0], 0.0, 1.0) * (self.levels - 1)).astype(np.intp)

    def column(self, u: FloatArray) -> FloatArray:
        """Return the values of coordinates (p, 1)."""
        return np.minimum(self.low + self.indices(u) * self.step, self.high)

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates of the nearest levels."""
        return (self.indices(u) / (self.levels - 1))[:, None]

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

    @property
    def levels(self) -> int:
        """How many values there are."""
        return int(self.high) - int(self.low) + 1

    def level(self, index: int) -> Value:
        """Return the index-th value."""
        return int(self.low) + index

    def encode(self, value: Any) -> list[float]:
        """Return the coordinate of a value."""
        number = finite_number(self.name, value)
        if number != int(number) or not self.low <= number <= self.high:
            raise SpaceError(f"{self.name}: {value!r} is not a whole number from {self.low} to {self.high}")
        return [self._coordinate(np.array([number]))[0]]

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

    def level(self, index: int) -> Value:
        """Return the index-th option."""
        return self.choices[index]

    def encode(self, value: Any) -> list[float]:
        """Return the coordinates of an option."""
        if value not in self.choices:
            raise SpaceError(f"{self.name}: {value!r} is none of {', '.join(self.choices)}")
        return [CHOSEN if option == value else 0.0 for option in self.choices]

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates of the options with the largest entries."""
        return CHOSEN * np.eye(self.width)[np.argmax(u, axis=1)]

    def value(self, u: FloatArray) -> Value:
        """Return the option of one row (width,)."""
        return self.choices[int(np.argmax(u))]


Parameter = Continuous | Integer | Stepped | Choice
