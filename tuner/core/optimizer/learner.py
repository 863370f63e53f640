"""The seam of the optimiser: who learns from what was told, and who chooses the next setting from what was learned.

`Optimizer(space, learner=..., chooser=...)` takes any two callables of these forms; by default they are `learn` of the
proposer and `choose_next`. A rival model is another learner, a rival acquisition another chooser; the ledger, the
randomness, the sentences and the state stay the optimiser's. `optimizer.learned()` gives what the learner knows now,
for explanations. tuner/lab/paper/rivals.py is an example of both.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tuner.core.optimizer.contract import Contract
from tuner.core.optimizer.growth import choose_within
from tuner.core.optimizer.ledger import Ledger
from tuner.core.optimizer.proposer import (
    AcquisitionName,
    Choice,
    Fits,
    Knowledge,
    ValidityName,
    choose,
    learn,
    next_kind,
)
from tuner.core.optimizer.strategy import Strategy


class Learner(Protocol):
    """Fits a model to what was told."""

    def __call__(
        self, ledger: Ledger, strategy: Strategy, fits: Fits, validity: ValidityName, seed: int, /
    ) -> Knowledge:
        """Return everything told, fitted.

        Args:
            ledger: Trials and judgments.
            strategy: The numbers.
            fits: What it returned in `Knowledge.fits` at the last proposal: a warm start.
            validity: Which model of validity was asked for.
            seed: Makes the posterior's draws repeatable; another one at each proposal.
        """


@dataclass(frozen=True)
class Aim:
    """What the next proposal is for.

    Attributes:
        acquisition: Which acquisition was asked for.
        budget: How many trials there will be, if anybody knows.
        risk: The probability of scrap that may be run.
        contract: What scrap was agreed, if any was.
    """

    acquisition: AcquisitionName
    budget: int | None
    risk: float
    contract: Contract | None = None


class Chooser(Protocol):
    """Chooses the next row to try."""

    def __call__(self, known: Knowledge, strategy: Strategy, aim: Aim, rng: np.random.Generator, /) -> Choice:
        """Return the row, its kind, and the trial it is to be judged against if that is not the champion."""


def choose_next(known: Knowledge, strategy: Strategy, aim: Aim, rng: np.random.Generator) -> Choice:
    """Choose by the strategy: of the kind whose turn it is, or within the scrap contract."""
    if aim.contract is not None:
        return choose_within(known, strategy, aim.contract, aim.acquisition, aim.budget, rng)
    kind = next_kind(known, strategy, aim.acquisition, aim.budget, rng)
    own = sum(not t.earlier for t in known.ledger.trials.values())
    left = None if aim.budget is None else aim.budget - own
    return choose(known, strategy, kind, aim.risk, rng, left)


class Remembering:
    """A learner that learns anew only after something was told: a question and the proposal after it need one fit."""

    def __init__(self, learner: Learner = learn) -> None:
        self._learner = learner
        self._told: tuple[object, ...] = ()
        self._known: Knowledge | None = None

    def __call__(self, ledger: Ledger, strategy: Strategy, fits: Fits, validity: ValidityName, seed: int) -> Knowledge:
        """Return what was learned last where nothing else was told since, else learn."""
        told = (tuple(ledger.trials.values()), tuple(ledger.judgments.values()), strategy, fits, validity, seed)
        if self._known is None or self._known.ledger is not ledger or told != self._told:
            self._known, self._told = self._learner(ledger, strategy, fits, validity, seed), told
        return self._known
