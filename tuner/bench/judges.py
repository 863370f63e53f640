"""Scripted judges: they see the costs of two parts and say which part is better, without or with errors."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np


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
