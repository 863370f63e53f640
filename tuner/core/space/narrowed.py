"""Parameters that may have only some of their values for a while: the coordinates are those of the whole parameter.

So the model need not know: a trial outside keeps its row, and whatever is drawn, snapped or enumerated lies inside.

Glossary:
    u    (p, width) coordinates        span    the lowest and the highest coordinate that is allowed
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from tuner.core.linalg import FloatArray, IntArray
from tuner.core.space.parameters import CHOSEN, Choice, Continuous, Integer, Parameter, Stepped, Value
from tuner.core.space.restriction import Allowed


@dataclass(frozen=True)
class NarrowContinuous(Continuous):
    """Numbers from `least` to `most`."""

    least: float = 0.0
    most: float = 0.0

    @cached_property
    def span(self) -> tuple[float, float]:
        """The coordinates of both ends."""
        return self.encode(self.least)[0], self.encode(self.most)[0]

    def column(self, u: FloatArray) -> FloatArray:
        """Return the values of coordinates (p, 1)."""
        return np.clip(super().column(u), self.least, self.most)

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates inside the span, of values that can be set."""
        return np.clip(super().snap(u), *self.span)

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates uniformly."""
        low, high = self.span
        return self.snap(low + (high - low) * rng.random((count, 1)))


@dataclass(frozen=True)
class NarrowInteger(Integer):
    """Whole numbers from `least` to `most`."""

    least: int = 0
    most: int = 0

    @cached_property
    def span(self) -> tuple[float, float]:
        """The coordinates of both ends."""
        return self.encode(self.least)[0], self.encode(self.most)[0]

    @property
    def levels(self) -> int:
        """How many values there are."""
        return int(self.most) - int(self.least) + 1

    def level(self, index: int) -> int:
        """Return the index-th value."""
        return int(self.least) + index

    def indices(self, u: FloatArray) -> IntArray:
        """Return the nearest level of each coordinate (p, 1)."""
        return (self.column(u) - self.least).astype(np.intp)

    def column(self, u: FloatArray) -> FloatArray:
        """Return the values of coordinates (p, 1)."""
        return np.clip(super().column(u), self.least, self.most)

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates: every number alike, or every ratio alike on a log scale."""
        low, high = self.span
        if self.log:
            return self.snap(low + (high - low) * rng.random((count, 1)))
        return self._coordinate(self.least + rng.integers(self.levels, size=count).astype(np.float64))[:, None]


@dataclass(frozen=True)
class NarrowStepped(Stepped):
    """Values of the grid from `least` to `most`."""

    least: float = 0.0
    most: float = 0.0

    @cached_property
    def span(self) -> tuple[float, float]:
        """The coordinates of both ends."""
        return self.encode(self.least)[0], self.encode(self.most)[0]

    @cached_property
    def first(self) -> int:
        """The place of `least` on the whole grid."""
        return round((self.least - self.low) / self.step)

    @property
    def levels(self) -> int:
        """How many values there are."""
        return round((self.most - self.least) / self.step) + 1

    def level(self, index: int) -> float:
        """Return the index-th value."""
        return float(self.grid[self.first + index])

    def indices(self, u: FloatArray) -> IntArray:
        """Return the nearest level of each coordinate (p, 1)."""
        return np.clip(super().indices(u) - self.first, 0, self.levels - 1)

    def column(self, u: FloatArray) -> FloatArray:
        """Return the values of coordinates (p, 1)."""
        return self.grid[self.first + self.indices(u)]

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates of the nearest levels."""
        return ((self.first + self.indices(u)) / self.last)[:, None]

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates uniformly from the grid."""
        return ((self.first + rng.integers(self.levels, size=count)) / self.last)[:, None]


@dataclass(frozen=True)
class NarrowChoice(Choice):
    """Some of the texts."""

    options: tuple[str, ...] = ()

    @cached_property
    def places(self) -> IntArray:
        """Where the options are among all."""
        return np.array([self.choices.index(option) for option in self.options], dtype=np.intp)

    @property
    def levels(self) -> int:
        """How many values there are."""
        return len(self.options)

    def level(self, index: int) -> str:
        """Return the index-th option."""
        return self.options[index]

    def indices(self, u: FloatArray) -> IntArray:
        """Return the option of each row (p, width)."""
        return np.argmax(u[:, self.places], axis=1)

    def snap(self, u: FloatArray) -> FloatArray:
        """Return the coordinates of the options with the largest entries."""
        return CHOSEN * np.eye(self.width)[self.places[self.indices(u)]]

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates, every option alike."""
        return CHOSEN * np.eye(self.width)[self.places[rng.integers(self.levels, size=count)]]

    def value(self, u: FloatArray) -> Value:
        """Return the option of one row (width,)."""
        return self.options[int(np.argmax(u[self.places]))]


Narrowed = NarrowContinuous | NarrowInteger | NarrowStepped | NarrowChoice
_KINDS: dict[type, type] = {
    Continuous: NarrowContinuous,
    Integer: NarrowInteger,
    Stepped: NarrowStepped,
    Choice: NarrowChoice,
}


def narrowed(parameter: Parameter, limits: Allowed) -> Parameter:
    """Return a whole parameter with only what is allowed of it."""
    own = {one.name: getattr(parameter, one.name) for one in fields(parameter)}
    narrow = {"options": limits} if isinstance(parameter, Choice) else dict(zip(("least", "most"), limits, strict=True))
    found: Parameter = _KINDS[type(parameter)](**own, **narrow)
    return found


def whole(parameter: Parameter) -> Parameter:
    """Return a parameter with all of its values."""
    kind = next((plain for plain, narrow in _KINDS.items() if isinstance(parameter, narrow)), None)
    if kind is None:
        return parameter
    found: Parameter = kind(**{one.name: getattr(parameter, one.name) for one in fields(kind)})
    return found


def limits_as_constraints(parameter: Parameter) -> list[str]:
    """Return what is allowed of a number as texts of constraints."""
    if not isinstance(parameter, NarrowContinuous | NarrowInteger | NarrowStepped):
        return []
    ends = ((">=", parameter.least, parameter.low), ("<=", parameter.most, parameter.high))
    return [f"{parameter.name} {sign} {end!r}" for sign, end, limit in ends if end != limit]
