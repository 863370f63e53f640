"""Goals of a simulation such as `regret<=0.1` or `median(regret)<0.05`: read, and compared with the runs."""

import math
import operator
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tuner.basics.text import listed, nearest, shown
from tuner.errors import TunerError

METRICS = ("regret", "recommended_regret", "scrap", "trials", "judgments", "seconds")
AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "mean": lambda values: math.fsum(values) / len(values),
    "worst": max,
    "best": min,
    "max": max,
    "min": min,
}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}
_GOAL = re.compile(r"\s*(?:(\w+)\s*\(\s*(\w+)\s*\)|(\w+))\s*(<=|>=|==|<|>)\s*([^\s<>=]\S*)\s*")


class GoalError(TunerError):
    """A goal that cannot be understood."""

    exit_code: ClassVar[int] = 2


@dataclass(frozen=True)
class Goal:
    """A bound on a number of every run, or, with one of `AGGREGATES`, on an aggregate of all runs."""

    text: str
    metric: str
    aggregate: str | None
    compare: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> "Goal":
        """Read a goal."""
        match = _GOAL.fullmatch(text)
        if not match:
            raise GoalError(f"{shown(text)} is no goal; allowed: goals such as regret<=0.1 or median(regret)<0.05")
        aggregate, inner, plain, compare, number = match.groups()
        metric = plain or inner
        if metric not in METRICS:
            hint = nearest(metric, METRICS)
            raise GoalError(f"{shown(text)}: there is no number {metric}{hint}; allowed: {listed(METRICS)}")
        if aggregate is not None and aggregate not in AGGREGATES:
            hint = nearest(aggregate, AGGREGATES)
            raise GoalError(f"{shown(text)}: there is no {aggregate}(){hint}; allowed: {listed(AGGREGATES)}")
        try:
            bound = float(number)
        except ValueError:
            raise GoalError(f"{shown(text)}: {number} is no number") from None
        if not math.isfinite(bound):
            raise GoalError(f"{shown(text)}: the bound must be finite")
        return cls(text.strip(), metric, aggregate, compare, bound)

    def value(self, values: Sequence[float]) -> float:
        """What is compared: the aggregate, or the run that is worst for this goal."""
        if self.aggregate is not None:
            return AGGREGATES[self.aggregate](values)
        if self.compare == "==":
            return max(values, key=lambda value: abs(value - self.bound))
        return max(values) if self.compare in ("<", "<=") else min(values)

    def met(self, values: Sequence[float]) -> bool:
        """Whether the runs keep it."""
        return _COMPARE[self.compare](self.value(values), self.bound)

    def sentence(self, values: Sequence[float]) -> str:
        """What came of it, for people."""
        what = f"{self.aggregate}({self.metric})" if self.aggregate else f"{self.metric} of the worst run"
        return f"{'met' if self.met(values) else 'MISSED'}: {self.text} ({what} is {self.value(values):.6g})"
