"""The numbers behind `auto`, in one place; docs/experiments.md tells how each was chosen."""

from dataclasses import dataclass, field

import numpy as np

from tuner.core.posterior.fitting import Prior

ASSUMED_BUDGET = 50


@dataclass(frozen=True)
class Strategy:
    """How proposals are made.

    Attributes:
        preference: Priors of the preferences' hyper-parameters. A judge without noise wants a huge variance: then
            the last, small steps can still be told from noise.
        unsteady: The same for a judge whose answers are sometimes wrong.
        doubt: By how many nats the evidence must favour the unsteady judge before the answers are doubted.
        clear: What a clear difference is to a judge without noise, in units of that noise: finer differences than a
            hundredth of it are noise. Source: by hand, for with 1000 and more the evidence of grades that contradict
            each other does not converge. Sensitivity: not measured.
        unsteady_clear: The same for a judge whose answers are sometimes wrong. Source: by hand. Sensitivity: not
            measured.
        validity: Priors of the validity's hyper-parameters.
        restless: Log standard deviation by which the lengthscales are varied before a draw, in up to two dimensions:
            how wrong a fit may be.
        design: Share of the budget that goes to the space-filling design in two dimensions.
        islands: The same once a trial was non-valid: valid ground may lie in islands, and more of it must be seen.
        scrap_rate: Share of the trials that may be non-valid, if no scrap budget is given.
        least_risk: The smallest and largest probability of scrap that a proposal may run.
        draws: Draws of the posterior that carry means and probabilities.
        uniform: Candidates over the whole space.
        near: Candidates around the champion and around each of the next best trials.
    """

    preference: Prior = field(
        default_factory=lambda: Prior(
            lengthscale=0.25, lengthscale_spread=0.6, variance=1e8, variance_spread=5.0, variance_cap=1e11
        )
    )
    unsteady: Prior = field(
        default_factory=lambda: Prior(lengthscale=0.25, lengthscale_spread=0.6, variance=30.0, variance_spread=1.5)
    )
    doubt: float = 3.0
    clear: float = 100.0
    unsteady_clear: float = 3.0
    validity: Prior = field(
        default_factory=lambda: Prior(
            lengthscale=0.3, lengthscale_spread=0.6, variance=100.0, variance_spread=1.5, variance_cap=1e5
        )
    )
    restless: float = 0.5
    design: float = 0.35
    islands: float = 0.5
    scrap_rate: float = 0.125
    least_risk: float = 0.05
    most_risk: float = 0.5
    draws: int = 1000
    uniform: int = 2000
    near: tuple[int, int] = (500, 125)

    def variation(self, parameters: int) -> float:
        """Return the log standard deviation of the lengthscales before a draw."""
        return self.restless * min(1.0, float(np.sqrt(2.0 / parameters)))

    def design_size(self, parameters: int, budget: int | None, *, scrapped: bool = False) -> tuple[int, int]:
        """Return how many trials fill the space at first, and in all; fewer in one and in many dimensions."""
        total = ASSUMED_BUDGET if budget is None else budget
        share = self.islands if scrapped else self.design
        whole = max(3, round(share * min(parameters / 2.0, 2.0 / parameters) * total))
        return min(whole, 2 * parameters + 1), whole

    def allowed_risk(self, scrap: int, trials: int, budget: int | None, scrap_budget: int | None) -> float:
        """Return the probability of scrap that the next trial may run: what is left of the scrap over what is left.

        `scrap`, `trials` and `budget` count proposals only, not settings that people brought along.
        """
        total = trials + ASSUMED_BUDGET if budget is None else budget
        allowed = self.scrap_rate * total if scrap_budget is None else scrap_budget
        rate = max(allowed - scrap, 0.0) / max(total - trials, 1)
        return float(np.clip(rate, self.least_risk, self.most_risk))
