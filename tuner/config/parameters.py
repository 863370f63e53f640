"""The four kinds of parameter: continuous, integer, stepped, choice."""

import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from tuner.adapter import ParameterInfo
from tuner.basics.sentences import say, written
from tuner.basics.text import shown
from tuner.config.section import Complaint, Section, reject
from tuner.core.space.expression import FUNCTIONS
from tuner.core.space.values import LARGEST_INTEGER, ROUNDING, Domain, finite, usual_resolution

_BESIDE = 2  # digits more than a parameter has: what a machine says may be a little off
_TOLERANCE = 1e-6  # of a range
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
    label: str = Field("", max_length=40, description="what people call it; none: its name")
    unit: str = Field("", max_length=20, description="unit, for people only")
    manual: bool = Field(False, description="whether a person changes it by hand, and confirms it")
    change_cost: float | None = Field(
        None, ge=0, le=1000, description="what a change of it costs, in parts; none: 0, and 1 for a manual one"
    )
    order: int = Field(0, ge=0, le=1000, description="parameters with a lower order are moved first")

    @property
    def domain(self) -> Domain:
        """The values it may have; the kinds declare theirs, with their types."""
        info = {name: getattr(self, name, None) for name in ("low", "high", "step", "choices", "resolution")}
        return Domain(self.name, self.kind, **{name: one for name, one in info.items() if one is not None})  # type: ignore[attr-defined]

    def space_json(self) -> dict[str, Any]:
        """What the optimiser is told of it, as plain data."""
        return self.domain.to_json(self.unit, log=getattr(self, "log", False), change_cost=self.cost)

    @property
    def cost(self) -> float:
        """What a change of it costs, in parts."""
        return float(self.manual) if self.change_cost is None else self.change_cost

    @property
    def called(self) -> str:
        """What people call it."""
        return self.label or self.name

    def shown(self, value: object, *, unit: bool = False) -> str:
        """A value for people: no finer than it can be set, but for what a machine may say beside."""
        number, digits = finite(value), self.domain.digits
        if digits is None or number is None:
            text = written(value)
        else:
            exact, plain = round(number, digits + _BESIDE), f"{number:.{digits}f}"
            text = say("value.number", number=plain if float(plain) == exact else repr(exact))
        return say("value.with_unit", value=text, unit=self.unit) if unit and self.unit else text

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = [Complaint(path, text) for path, text in self.domain.faults(log=getattr(self, "log", False))]
        if not any(complaint.path[0] in ("low", "high", "step", "resolution") for complaint in found):
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
    resolution: Positive | None = Field(
        None, description="as fine as it is set and shown; none: three to four digits of its range"
    )
    _usual: bool = PrivateAttr(False)  # whether nobody has configured the resolution

    @property
    def read_back_tolerance(self) -> float:
        """How far the value read back may be off: unless configured, a millionth of the range."""
        return _TOLERANCE * (self.high - self.low) if self.tolerance is None else self.tolerance

    def begun(self, least: float = 0.0) -> Self:
        """As a campaign has it that begins now: with the usual resolution where none was configured.

        `least` is what the machine can hold.
        """
        if self.resolution is not None:
            return self
        most = self.step_limit or math.inf
        found = usual_resolution(self.low, self.high, self.start, log=self.log, least=least, most=most)
        one = self.model_copy(update={"resolution": found})
        one._usual = True  # noqa: SLF001 - its own
        return one

    def like(self, known: "Parameter") -> Self:
        """As a campaign under way goes on with it: with the resolution it began with, where none was configured."""
        if not isinstance(known, Continuous):
            return self
        one = self.model_copy(update={"resolution": known.resolution} if self._usual else {})
        one._usual = known._usual  # noqa: SLF001 - its own
        return one

    def more_complaints(self) -> list[Complaint]:
        """A limit of less than the resolution could not be kept."""
        if self.resolution is None or self.step_limit is None or self.step_limit >= self.resolution * (1 - ROUNDING):
            return []
        return [Complaint(("step_limit",), f"must be at least the resolution ({self.resolution!r})")]

    def doubts(self, least: float) -> list[str]:
        """What to warn of; `least` is what the machine can hold, 0 if that is not known."""
        resolution = self.resolution
        if resolution is None:
            return []
        found = []
        said = f"{self.name} is set in steps of {resolution:g}"
        if least and resolution < least * (1 - ROUNDING):
            found.append(f"{said}, finer than the {least:g} that its place in the machine can hold: set resolution")
        meant = self.tolerance is not None and self.tolerance > _TOLERANCE * (self.high - self.low)
        if self.tolerance is not None and meant and self._usual and resolution > self.tolerance:
            found.append(
                f"{said} by default, coarser than its tolerance {self.tolerance:g}: set resolution if it matters"
            )
        if self.tolerance is not None and not self._usual and self.tolerance >= resolution:
            found.append(f"{said}, and its tolerance {self.tolerance:g} cannot tell one from the next: make it smaller")
        return found


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
        return ParameterInfo(
            parameter.name,
            "choice",
            parameter.start,
            choices=parameter.choices,
            unit=parameter.unit,
            label=parameter.label,
        )
    return ParameterInfo(
        parameter.name,
        parameter.kind,
        parameter.start,
        low=parameter.low,
        high=parameter.high,
        step=parameter.step if isinstance(parameter, Stepped) else None,
        unit=parameter.unit,
        tolerance=parameter.read_back_tolerance,
        label=parameter.label,
        resolution=(parameter.resolution or 0.0) if isinstance(parameter, Continuous) else 0.0,
    )
