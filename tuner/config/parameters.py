"""The four kinds of parameter: continuous, integer, stepped, choice."""

import math
import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tuner.adapter import ParameterInfo
from tuner.basics.text import listed, nearest, shown
from tuner.config.section import Complaint, Section, reject
from tuner.core.space.expression import FUNCTIONS

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_LARGEST_INTEGER = 2**53  # whole numbers up to here are exact as floating point
_MOST_STEPS = 1_000_000
_GRID_ERROR = 1e-9  # of a step: what decimal fractions lose in binary


def _identifier(name: str) -> str:
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(
            f"{shown(name)} cannot be used in constraints; allowed: a letter or underscore, then up to 63 letters, "
            "digits and underscores"
        )
    if name in FUNCTIONS:
        raise ValueError(f"{shown(name)} is a function in constraints; choose another name")
    return name


Positive = Annotated[float, Field(gt=0)]
Whole = Annotated[int, Field(ge=-_LARGEST_INTEGER, le=_LARGEST_INTEGER)]


class _Parameter(Section):
    name: Annotated[str, AfterValidator(_identifier)] = Field(description="name of the parameter")
    unit: str = Field("", max_length=20, description="unit, for people only")
    order: int = Field(0, ge=0, le=1000, description="parameters with a lower order are moved first")


class _Numeric(_Parameter):
    """What the numeric kinds check alike; the subclasses declare low, high, start and step_limit with their types."""

    rate_limit: Positive | None = Field(None, description="largest change per minute; none: no limit")

    def numeric_complaints(self, low: float, high: float, start: float, *, log: bool) -> list[Complaint]:
        """Order of the bounds, and start between them."""
        if low >= high:
            return [Complaint(("high",), f"must be greater than low ({low!r}), not {high!r}")]
        if not math.isfinite(high - low):
            return [Complaint(("high",), "high - low is too large to compute with")]
        found = []
        if not low <= start <= high:
            found.append(Complaint(("start",), f"must lie between low ({low!r}) and high ({high!r}), not {start!r}"))
        if log and low <= 0:
            found.append(Complaint(("log",), f"a log scale needs low greater than 0, low is {low!r}"))
        return found


class Continuous(_Numeric):
    """Any number between low and high."""

    kind: Literal["continuous"] = Field(description='"continuous"')
    low: float = Field(description="lowest value")
    high: float = Field(description="highest value")
    start: float = Field(description="known-good value")
    log: bool = Field(False, description="whether equal ratios matter equally, rather than equal differences")
    step_limit: Positive | None = Field(None, description="largest change per move; none: no limit")
    tolerance: float | None = Field(None, ge=0, description="allowed error of the value read back")

    @property
    def read_back_tolerance(self) -> float:
        """How far the value read back may be off: unless configured, a millionth of the range."""
        return 1e-6 * (self.high - self.low) if self.tolerance is None else self.tolerance

    @model_validator(mode="after")
    def _check(self) -> Self:
        reject(self.numeric_complaints(self.low, self.high, self.start, log=self.log))
        return self


class Integer(_Numeric):
    """A whole number between low and high."""

    kind: Literal["integer"] = Field(description='"integer"')
    low: Whole = Field(description="lowest value")
    high: Whole = Field(description="highest value")
    start: Whole = Field(description="known-good value")
    log: bool = Field(False, description="whether equal ratios matter equally, rather than equal differences")
    step_limit: Annotated[int, Field(ge=1)] | None = Field(None, description="largest change per move; none: no limit")
    tolerance: int = Field(0, ge=0, description="allowed error of the value read back")

    @property
    def read_back_tolerance(self) -> float:
        """How far the value read back may be off."""
        return self.tolerance

    @model_validator(mode="after")
    def _check(self) -> Self:
        reject(self.numeric_complaints(self.low, self.high, self.start, log=self.log))
        return self


class Stepped(_Numeric):
    """One of the values low, low + step, ..., high."""

    kind: Literal["stepped"] = Field(description='"stepped"')
    low: float = Field(description="lowest value")
    high: float = Field(description="highest value")
    step: Positive = Field(description="distance between neighbouring values")
    start: float = Field(description="known-good value")
    step_limit: Positive | None = Field(None, description="largest change per move; none: no limit")
    tolerance: float | None = Field(None, ge=0, description="allowed error of the value read back")

    @property
    def read_back_tolerance(self) -> float:
        """How far the value read back may be off: unless configured, a thousandth of a step."""
        return 1e-3 * self.step if self.tolerance is None else self.tolerance

    @property
    def intervals(self) -> int:
        """Number of steps from low to high."""
        return round((self.high - self.low) / self.step)

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = self.numeric_complaints(self.low, self.high, self.start, log=False)
        if not found:
            found = self._grid_complaints()
        if self.step_limit is not None and self.step_limit < self.step * (1 - _GRID_ERROR):
            found.append(
                Complaint(("step_limit",), f"must be at least one step ({self.step!r}), not {self.step_limit!r}")
            )
        reject(found)
        return self

    def _grid_complaints(self) -> list[Complaint]:
        steps = (self.high - self.low) / self.step
        if steps > _MOST_STEPS:
            return [Complaint(("step",), f"gives more than {_MOST_STEPS} values; use a continuous parameter")]
        if abs(steps - round(steps)) > _GRID_ERROR * max(1.0, steps) or round(steps) == 0:
            fits = self.low + max(1, math.floor(steps)) * self.step
            return [
                Complaint(
                    ("step",),
                    f"low + a whole number of steps must give high: {self.low!r} + n * {self.step!r} never is "
                    f"{self.high!r}, the nearest below is {fits:.12g}",
                )
            ]
        place = (self.start - self.low) / self.step
        if abs(place - round(place)) > _GRID_ERROR * max(1.0, steps):
            below, above = (self.low + n * self.step for n in (math.floor(place), math.ceil(place)))
            return [
                Complaint(("start",), f"must be on the grid of steps: {below:.12g} or {above:.12g}, not {self.start!r}")
            ]
        return []


class Choice(_Parameter):
    """One of a few named things; no order is assumed."""

    kind: Literal["choice"] = Field(description='"choice"')
    choices: tuple[str, ...] = Field(min_length=2, max_length=100, description="list of texts to choose from")
    start: str = Field(description="known-good choice")

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = [
            Complaint(("choices", index), f"{shown(choice)} is in the list twice")
            for index, choice in enumerate(self.choices)
            if choice in self.choices[:index]
        ]
        if self.start not in self.choices:
            hint = nearest(self.start, self.choices)
            found.append(Complaint(("start",), f"must be one of {listed(self.choices)}, not {shown(self.start)}{hint}"))
        reject(found)
        return self


Parameter = Annotated[Continuous | Integer | Stepped | Choice, Field(discriminator="kind")]


def parameter_info(parameter: Parameter) -> ParameterInfo:
    """What the adapter is told of a parameter."""
    if isinstance(parameter, Choice):
        return ParameterInfo(parameter.name, "choice", parameter.start, choices=parameter.choices, unit=parameter.unit)
    return ParameterInfo(
        parameter.name,
        parameter.kind,
        parameter.start,
        low=parameter.low,
        high=parameter.high,
        step=parameter.step if isinstance(parameter, Stepped) else None,
        unit=parameter.unit,
        tolerance=parameter.read_back_tolerance,
    )
