"""Who judges the parts of the suite: exactly, with slips, with ties, by turns or ever more tired.

Costs are in units of the range of the numbers' cost, and so are the noise and the just noticeable difference.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tuner.lab.judges.scripted import ExactJudge, FlippingJudge, Judge, ProbitJudge, TiringJudge, TwoOperators

CLOSE_CALLS = 0.05
JUST_NOTICEABLE = 0.02

Better = Literal["new", "old", "tie"]


@dataclass
class Person:
    """Answers the duels of one run.

    Attributes:
        judge: Who compares; it may keep count of its answers.
        noticeable: Costs that differ by less are a tie.
    """

    judge: Judge
    noticeable: float = 0.0

    def answer(self, new: float, old: float, rng: np.random.Generator) -> tuple[Better, str | None]:
        """Say which part is better, and who says so."""
        if abs(new - old) < self.noticeable:
            return "tie", None
        better: Better = "new" if self.judge.prefers_new(new, old, rng) else "old"
        return better, self.judge.operator if isinstance(self.judge, TwoOperators) else None


PEOPLE: dict[str, Callable[[], Person]] = {
    "exact": lambda: Person(ExactJudge()),
    "close calls": lambda: Person(ProbitJudge(CLOSE_CALLS)),
    "slips 5 %": lambda: Person(FlippingJudge(0.05)),
    "slips 10 %": lambda: Person(FlippingJudge(0.10)),
    "slips 20 %": lambda: Person(FlippingJudge(0.20)),
    "ties": lambda: Person(ExactJudge(), JUST_NOTICEABLE),
    "two operators": lambda: Person(TwoOperators()),
    "one who tires": lambda: Person(TiringJudge()),
}
