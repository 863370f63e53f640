"""Scripted judges: they see the costs of two parts and say which part is better, without or with errors."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tuner.basics.vocabulary import Answer


class Judge(Protocol):
    """Answers duels; the lower cost is the better part."""

    def prefers_new(self, new: float, champion: float, rng: np.random.Generator) -> bool:
        """Say whether the new part is better than the champion's, given the costs of both."""


@dataclass(frozen=True)
class ExactJudge:
    """Never wrong; of two equal parts the champion's is kept."""

    def prefers_new(self, new: float, champion: float, rng: np.random.Generator) -> bool:
        """Compare the costs; `rng` is not used."""
        return new < champion


@dataclass(frozen=True)
class FlippingJudge:
    """Gives the wrong answer with this probability, however clear the difference is."""

    probability: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.probability <= 1.0:
            raise ValueError(f"the probability of a flip lies between 0 and 1, not at {self.probability}")

    def prefers_new(self, new: float, champion: float, rng: np.random.Generator) -> bool:
        """Compare the costs, then perhaps say the opposite."""
        flipped = bool(rng.random() < self.probability)
        return (new < champion) != flipped


@dataclass(frozen=True)
class ProbitJudge:
    """Sees the difference of the costs with normal noise of this standard deviation: close calls go wrong."""

    noise: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.noise) and self.noise >= 0.0):
            raise ValueError(f"the noise is a standard deviation, 0 or more, not {self.noise}")

    def prefers_new(self, new: float, champion: float, rng: np.random.Generator) -> bool:
        """Compare the costs as they are seen."""
        return bool(new + self.noise * rng.standard_normal() < champion)


@dataclass
class TiringJudge:
    """Begins with one probability of a wrong answer and nears another as the answers add up; a pause makes it fresh.

    Attributes:
        fresh: Probability of a flip at the first answer.
        tired: What it grows to.
        answers: After how many answers half of the way is gone.
        given: Answers since the last pause; the judge's own count, so a judge serves one run.
    """

    fresh: float = 0.02
    tired: float = 0.3
    answers: float = 40.0
    given: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.fresh <= self.tired <= 1.0:
            raise ValueError(f"the probabilities of a flip rise within 0 to 1, not from {self.fresh} to {self.tired}")
        if not (np.isfinite(self.answers) and self.answers > 0.0):
            raise ValueError(f"a judge tires after a number of answers above 0, not {self.answers}")

    @property
    def probability(self) -> float:
        """The probability that the next answer is wrong."""
        return self.tired - (self.tired - self.fresh) * float(0.5 ** (self.given / self.answers))

    def prefers_new(self, new: float, champion: float, rng: np.random.Generator) -> bool:
        """Compare the costs, then perhaps say the opposite, a little more likely each time."""
        flipped = bool(rng.random() < self.probability)
        self.given += 1
        return (new < champion) != flipped

    def pause(self) -> None:
        """Rest: the next answer is as good as the first."""
        self.given = 0


@dataclass
class TwoOperators:
    """Two judges of different care who take turns by chance; `operator` says who gave the last answer.

    Attributes:
        careful: Answers as "careful".
        careless: Answers as "careless".
        share: Probability that the careful one is asked.
        operator: Who answered last; None before the first answer.
    """

    careful: Judge = field(default_factory=lambda: FlippingJudge(0.02))
    careless: Judge = field(default_factory=lambda: FlippingJudge(0.25))
    share: float = 0.5
    operator: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"the careful operator's share lies between 0 and 1, not at {self.share}")

    def prefers_new(self, new: float, champion: float, rng: np.random.Generator) -> bool:
        """Let one of the two compare the costs."""
        self.operator = "careful" if rng.random() < self.share else "careless"
        judge = self.careful if self.operator == "careful" else self.careless
        return judge.prefers_new(new, champion, rng)


@dataclass
class GradedJudge:
    """Never wrong, and says "clearly" where the costs differ by more than a share of the spread of those seen so far.

    Attributes:
        share: Which share.
        from_parts: How many different costs must have been seen first: before that nobody knows what is much.
        clearly: Whether the last answer was clear.
        seen: The costs seen so far; the judge's own, so a judge serves one run.
    """

    share: float = 0.25
    from_parts: int = 5
    clearly: bool = field(default=False, init=False)
    seen: set[float] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"the share of the spread lies between 0 and 1, not at {self.share}")

    def prefers_new(self, new: float, champion: float, rng: np.random.Generator) -> bool:
        """Compare the costs; `rng` is not used."""
        self.seen |= {new, champion}
        spread = max(self.seen) - min(self.seen)
        self.clearly = len(self.seen) >= self.from_parts and abs(new - champion) > self.share * spread
        return new < champion


# as they are named on the command line, with their numbers
BY_NAME: dict[str, Callable[..., Judge]] = {
    "oracle": ExactJudge,
    "noisy:P": FlippingJudge,
    "probit:S": ProbitJudge,
    "tiring": TiringJudge,
    "graded:SHARE": GradedJudge,
    "two-operators": lambda share=0.5: TwoOperators(share=share),
}


def answer_of(judge: Judge, new: float, champion: float, rng: np.random.Generator, *, new_is_left: bool) -> Answer:
    """Let a judge compare the costs of two parts and say which side is better."""
    left = judge.prefers_new(new, champion, rng) == new_is_left
    if isinstance(judge, GradedJudge) and judge.clearly:
        return Answer.CLEARLY_LEFT if left else Answer.CLEARLY_RIGHT
    return Answer.LEFT if left else Answer.RIGHT
