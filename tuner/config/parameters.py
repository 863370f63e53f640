"""The four kinds of parameter: continuous, integer, stepped, choice."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tuner.adapter import ParameterInfo
from tuner.basics.text import shown
from tuner.config.section import Complaint, Section, reject
from tuner.core.space.expression import FUNCTIONS
from tuner.core.space.values import LARGEST_INTEGER, ROUNDING, Domain

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)


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
Whole = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]


class _Parameter(Section):
    name: Annotated[str, AfterValidator(_identifier)] = Field(description="name of the parameter")
    unit: str = Field("", max_length=20, description="unit, for people only")
    order: int = Field(0, ge=0, le=1000, description="parameters with a lower order are moved first")

    @property
    def domain(self) -> Domain:
        """The values it may have; the kinds declare theirs, with their types."""
        info = {name: getattr(self, name, None) for name in ("low", "high", "step", "choices")}
        return Domain(self.name, self.kind, **{name: one for name, one in info.items() if one is not None})  # type: ignore[attr-defined]

    def space_json(self) -> dict[str, Any]:
        """What the optimiser is told of it, as plain data."""
        return self.domain.to_json(self.unit, log=getattr(self, "log", False))

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = [Complaint(path, text) for path, text in self.domain.faults(log=getattr(self, "log", False))]
        if not any(complaint.path[0] in ("low", "high", "step") for complaint in found):
            why = self.domain.problem(self.start)  # type: ignore[attr-defined]
            found += [Complaint(("start",), why)] if why else []
        reject(found + self.more_complaints())
        return self

    def more_complaints(self) -> list[Complaint]:
        """What else is wrong with a parameter of this kind."""
        return []


class _Numeric(_Parameter):
    """What the numeric kinds have alike; the subclasses declare low, high, start and step_limit with their types."""

    rate_limit: Positive | None = Field(None, description="largest change per minute; none: no limit")


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
        return self.domain.levels - 1

    def more_complaints(self) -> list[Complaint]:
        """A limit of less than one step could not be kept."""
        if self.step_limit is None or self.step_limit >= self.step * (1 - ROUNDING):
            return []
        return [Complaint(("step_limit",), f"must be at least one step ({self.step!r}), not {self.step_limit!r}")]


class Choice(_Parameter):
    """One of a few named things; no order is assumed."""

    kind: Literal["choice"] = Field(description='"choice"')
    choices: tuple[str, ...] = Field(min_length=2, max_length=100, description="list of texts to choose from")
    start: str = Field(description="known-good choice")


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
