"""What a legal value of a parameter is, and the sentence why a value is none: the one definition, plain Python.

Configuration, optimiser, gate and adapters ask here, so that none of them accepts what another refuses.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

from tuner.basics.sentences import NOTHING, Sentence, say, written
from tuner.basics.text import nearest_of, shown

Value = float | int | str
Setting = dict[str, Value]  # a value for every parameter, by name
Kind = Literal["continuous", "integer", "stepped", "choice"]
Fault = tuple[tuple[str | int, ...], str]  # where in a definition, and what is wrong there

GRID_ERROR = 1e-6  # of a step: how far from the grid a value may be and still mean its value
ROUNDING = 1e-9  # of a range: what decimal fractions lose in binary
MOST_STEPS = 1_000_000
LARGEST_INTEGER = 2**53  # whole numbers up to here are exact as floating point
MOST_DECIMALS = 12


class SpaceError(ValueError):
    """A space or a setting that cannot be."""


def finite(value: object) -> float | None:
    """The value as a number to compute with; None if it is none: a text, a truth, too large, not finite."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _digits(number: float) -> Sentence:
    return say("value.number", number=f"{number:.12g}")


def decimals(number: float) -> int | None:
    """How many digits after the point write a number exactly; None if it takes more than people write."""
    for count in range(MOST_DECIMALS + 1):
        shifted = number * 10.0**count
        if abs(shifted) > LARGEST_INTEGER:
            return None
        if shifted and abs(shifted - round(shifted)) <= ROUNDING * min(abs(shifted), 1.0):
            return count
    return None


def usual_resolution(
    low: float, high: float, start: float, *, log: bool, least: float = 0.0, most: float
) -> float | None:
    """The resolution of a continuous parameter for which none was chosen: three to four digits of its range.

    On a log scale it is three digits of its lowest value. It is never finer than `least`, what a machine can hold, and
    finer where `most`, a limit for steps, or the digits of `start` need it. None if no decimal fits.
    """
    width = low if log else high - low
    usual = float(f"1e{math.floor(math.log10(width)) - (2 if log else 3)}")
    for finer in range(MOST_DECIMALS):
        found = max(float(f"{usual * 10.0**-finer:.3g}"), least)
        domain = Domain("", "continuous", low, high, resolution=found)
        if found <= most and not domain.faults() and not domain.problem(start):
            return found
        if found == least:
            return None
    return None


@dataclass(frozen=True, slots=True)
class Domain:
    """The values of one parameter.

    Attributes:
        kind: continuous and stepped values are float, integer ones int, choices str.
        low: Lowest value of a number.
        high: Highest value of a number.
        step: Distance between neighbouring values of a stepped parameter.
        choices: What a choice is made from.
        resolution: Of a continuous one: its values are the multiples of this decimal between low and high, as fine as
            the machine can set and people can read. The model does not know of it. 0: any number.
    """

    name: str
    kind: Kind
    low: float = -math.inf
    high: float = math.inf
    step: float = 0.0
    choices: Sequence[str] = ()
    resolution: float = 0.0

    def not_a(self, value: object) -> Sentence:
        """What a value is not, of what every value of this kind is: "a finite number"; nothing if it is."""
        if self.kind == "choice":
            return NOTHING if isinstance(value, str) else say("value.a_text")
        number = finite(value)
        if number is None:
            return say("value.a_finite_number")
        whole = self.kind != "integer" or number == round(number)
        return NOTHING if whole else say("value.a_whole_number")

    def plain(self, value: object) -> Value:
        """A value in the type of its kind, wherever it lies."""
        if what := self.not_a(value):
            raise SpaceError(f"{self.name}: must be {what}, not {shown(value)}")
        if isinstance(value, str):
            return str(value)
        number = finite(value) or 0.0
        return round(number) if self.kind == "integer" else number

    def problem(self, value: object, *, anywhere: bool = False) -> Sentence:
        """Why a value is not legal, as what follows the parameter's name; nothing if it is.

        `anywhere`: a number may lie outside of limits and grid, such as one that people have set by hand.
        """
        if self.kind == "choice":
            if isinstance(value, str) and value in self.choices:
                return NOTHING
            near = nearest_of(value, self.choices) if isinstance(value, str) else None
            hint = "" if near is None else say("value.did_you_mean", word=near)
            return say("value.one_of", choices=list(self.choices), value=written(value), hint=hint)
        if what := self.not_a(value):
            return say("value.must_be", what=what, value=written(value))
        number = finite(value) or 0.0
        if anywhere:
            return NOTHING
        if self.step and abs(number - self.snapped(number)) <= self.grid_error:
            return NOTHING  # a little beyond the last value it still means that
        if not self.low <= number <= self.high:
            return say("value.between", low=self.low, high=self.high, value=written(value))
        if self.resolution:
            if abs(number - self.snapped(number)) <= self.grid_error:
                return NOTHING
            near_by = [_digits(one) for one in (self.below(number), self.above(number)) if self.low <= one <= self.high]
            return say("value.multiple", resolution=self.resolution, near=near_by, value=written(value))
        if not self.step:
            return NOTHING
        place = (number - self.low) / self.step
        grid = [self.level(math.floor(place)), self.level(min(math.ceil(place), self.levels - 1))]
        return say("value.on_grid", near=[_digits(one) for one in grid], value=written(value))

    def legal(self, value: object) -> Value:
        """A legal value in the type of its kind, and exactly as it is on the grid."""
        if why := self.problem(value):
            raise SpaceError(f"{self.name}: {why}")
        found = self.plain(value)
        return found if isinstance(found, str) or not (self.step or self.resolution) else self.snapped(found)

    def to_json(self, unit: str, *, log: bool, change_cost: float = 0.0) -> dict[str, Any]:
        """A parameter with these values as plain data; `parameter_from_json` reads it."""
        data: dict[str, Any] = {"kind": self.kind, "name": self.name, "unit": unit}
        if change_cost:
            data["change_cost"] = float(change_cost)
        if self.kind == "choice":
            return {**data, "choices": list(self.choices)}
        number = int if self.kind == "integer" else float
        data |= {"low": number(self.low), "high": number(self.high)}
        if self.resolution:
            data["resolution"] = float(self.resolution)
        return {**data, "step": float(self.step)} if self.kind == "stepped" else {**data, "log": log}

    @property
    def levels(self) -> int:
        """How many values there are; 0: not countable."""
        if self.kind == "choice":
            return len(self.choices)
        if self.kind == "integer":
            return round(self.high) - round(self.low) + 1
        return round((self.high - self.low) / self.step) + 1 if self.step else 0

    def level(self, index: int) -> float:
        """The index-th value of a grid, rounded to a billionth of a step: the decimal that people write."""
        if index in (0, self.levels - 1):
            return float(self.high if index else self.low)
        return round(float(self.low + index * self.step), 9 - math.floor(math.log10(self.step)))

    @property
    def multiples(self) -> tuple[int, int]:
        """The lowest and the highest multiple of the resolution between the limits."""
        unit, power = self.ratio
        first = math.ceil(self.low / self.resolution - GRID_ERROR)
        last = math.floor(self.high / self.resolution + GRID_ERROR)
        return first + (first * unit / power < self.low), last - (last * unit / power > self.high)

    @property
    def ratio(self) -> tuple[int, int]:
        """The resolution as two whole numbers: a multiple of the first by the second is the decimal people write."""
        power = 10 ** (decimals(self.resolution) or 0)
        return round(self.resolution * power), power

    def below(self, number: float) -> float:
        """The value on the grid of steps or multiples that is nearest to a number and not above it."""
        return self._on_grid(number, math.floor, ROUNDING)

    def above(self, number: float) -> float:
        """The value on the grid of steps or multiples that is nearest to a number and not below it."""
        return self._on_grid(number, math.ceil, -ROUNDING)

    def _on_grid(self, number: float, whole: Callable[[float], int], slack: float) -> float:
        if self.resolution:
            unit, power = self.ratio
            return whole(number / self.resolution + slack) * unit / power
        grid = self.step or (1.0 if self.kind == "integer" else 0.0)
        return self.low + grid * whole((number - self.low) / grid + slack) if grid else number

    def snapped(self, number: float) -> float:
        """The legal number that is nearest to a finite one."""
        if self.resolution:
            (first, last), (unit, power) = self.multiples, self.ratio
            return min(max(round(number / self.resolution), first), last) * unit / power
        if self.step:
            return self.level(round(min(max((number - self.low) / self.step, 0.0), self.levels - 1.0)))
        number = min(max(number, self.low), self.high)
        return round(number) if self.kind == "integer" else number

    @property
    def grid_error(self) -> float:
        """How far from its grid a value may be."""
        return GRID_ERROR * (self.step or self.resolution) + self.slack()

    @property
    def grid(self) -> float:
        """The distance between neighbouring values; 0: any number."""
        return self.step or self.resolution or (1.0 if self.kind == "integer" else 0.0)

    @property
    def digits(self) -> int | None:
        """How many digits after the point its values have; None: any number, as many as a reader cares for."""
        return decimals(self.grid) if self.grid else None

    def slack(self, tolerance: float = 0.0) -> float:
        """How far from its value a number may be that was sent somewhere and read back."""
        width = float(self.high) - float(self.low)
        return tolerance + (ROUNDING * width if math.isfinite(width) else 0.0)

    def same(self, one: object, other: object, tolerance: float = 0.0) -> bool:
        """Whether two values are the same, within a tolerance."""
        first, second = finite(one), finite(other)
        if self.kind == "choice" or first is None or second is None:
            return isinstance(one, str) and isinstance(other, str) and one == other
        return abs(first - second) <= self.slack(tolerance)

    def inside(self, value: object, tolerance: float = 0.0) -> bool:
        """Whether a value is within the limits or one of the choices, whether or not it is on a grid."""
        if self.kind == "choice":
            return isinstance(value, str) and value in self.choices
        number, slack = finite(value), self.slack(tolerance)
        return number is not None and self.low - slack <= number <= self.high + slack

    def faults(self, *, log: bool = False) -> list[Fault]:
        """What is wrong with the definition itself."""
        if self.kind == "choice":
            return self._faults_of_choices()
        a_number = "a whole number" if self.kind == "integer" else "a finite number"
        bounds: dict[str, float] = {"low": self.low, "high": self.high, **({"step": self.step} if self.step else {})}
        found: list[Fault] = [
            ((key,), f"must be {a_number}, not {shown(bound)}") for key, bound in bounds.items() if self.not_a(bound)
        ]
        if found:
            return found
        if self.kind == "integer":
            found = [
                ((key,), f"must be at most {LARGEST_INTEGER} from 0: beyond, whole numbers are not exact")
                for key, bound in bounds.items()
                if abs(bound) > LARGEST_INTEGER
            ]
        if not self.low < self.high:
            return [*found, (("high",), f"must be greater than low ({self.low!r}), not {self.high!r}")]
        if not math.isfinite(float(self.high) - float(self.low)):
            return [*found, (("high",), "is too far from low to compute with")]
        if log and self.low <= 0:
            found.append((("log",), f"a log scale needs low greater than 0, low is {self.low!r}"))
        elif log and not math.isfinite(float(self.high) / float(self.low)):
            found.append((("log",), f"a log scale cannot reach from {self.low!r} to {self.high!r}: make low greater"))
        if self.resolution:
            found += self._faults_of_resolution()
        return found + (self._faults_of_grid() if self.kind == "stepped" else [])

    def _faults_of_resolution(self) -> list[Fault]:
        if not self.resolution > 0 or decimals(self.resolution) is None:
            return [
                (("resolution",), f"must be a decimal number such as 0.05, greater than 0, not {self.resolution!r}")
            ]
        if max(abs(self.low), abs(self.high)) / self.resolution > LARGEST_INTEGER:
            return [(("resolution",), f"is too fine for limits of {self.low!r} and {self.high!r}: use a larger one")]
        first, last = self.multiples
        if last - first < 1:
            return [(("resolution",), f"leaves no two values between {self.low!r} and {self.high!r}: make it finer")]
        return []

    def _faults_of_choices(self) -> list[Fault]:
        if isinstance(self.choices, str) or not all(isinstance(choice, str) for choice in self.choices):
            return [(("choices",), f"must be a list of texts, not {shown(self.choices)}")]
        if len(self.choices) < 2:
            return [(("choices",), f"must have at least 2 entries, not {len(self.choices)}")]
        return [
            (("choices", index), f"{shown(choice)} is in the list twice")
            for index, choice in enumerate(self.choices)
            if choice in self.choices[:index]
        ]

    def _faults_of_grid(self) -> list[Fault]:
        if self.step <= 0:
            return [(("step",), f"must be greater than 0, not {self.step!r}")]
        steps = (self.high - self.low) / self.step
        if steps > MOST_STEPS:
            return [(("step",), f"gives more than {MOST_STEPS} values; use a continuous parameter")]
        if round(steps) < 1 or abs(self.low + round(steps) * self.step - self.high) > self.grid_error:
            fits = self.low + max(1, math.floor(steps)) * self.step
            return [
                (
                    ("step",),
                    f"low + a whole number of steps must give high: {self.low!r} + n * {self.step!r} never is "
                    f"{self.high!r}, the nearest below is {fits:.12g}",
                )
            ]
        return []
