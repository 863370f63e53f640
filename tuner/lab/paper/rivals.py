"""The paper's two models in one loop: the optimiser with the exact posterior (SkewGP) or with Laplace's (GPL).

Both get the same start, rule for hyper-parameters, candidates and climbs; only the posterior and its own
approximation of the evidence differ.

Glossary:
    C    (m, m) prior covariance of the rows     h    (m,) minus curvature of their log likelihood at the mode
    B    I + sqrt(h) C sqrt(h)                   a    (m,) the mode is C a
"""

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from tuner.core.linalg import solve_factored
from tuner.core.optimizer.acquisition import Acquisition
from tuner.core.optimizer.dueling import InformationGain
from tuner.core.optimizer.learner import Aim
from tuner.core.optimizer.ledger import Ledger
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.proposer import (
    AcquisitionName,
    Choice,
    Fits,
    Knowledge,
    ValidityName,
    choose,
    information_weight,
)
from tuner.core.optimizer.search import maximise
from tuner.core.optimizer.strategy import Strategy
from tuner.core.posterior.ep import NotConvergedError
from tuner.core.posterior.fitting import Fit, Prior, fit_hyper
from tuner.core.posterior.functions import DrawnFunction, draw_waves
from tuner.core.posterior.laplace import Laplace
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.rows import Hyper, row_matrix
from tuner.core.posterior.skewgp import SkewGP
from tuner.core.space.space import Space
from tuner.lab.paper.sampled_bound import SampledBound

ModelName = Literal["gpl", "skewgp"]

DRAWS = 2000  # the paper's number of samples
CANDIDATES = 2000  # uniform; the paper has 5000 and climbs from the best one, we climb from four
ALWAYS_UNTIL = 20  # trials up to which the hyper-parameters are fitted after each one
THEN_EVERY = 5
PRIOR = Prior()
# no space-filling proposals: the paper has none
STRATEGY = Strategy(design=0.0, draws=DRAWS, uniform=CANDIDATES)


class GaussianPosterior(Laplace):
    """Laplace's approximation from which whole functions can be drawn."""

    def function_draw(self, *, seed: int | None = None) -> DrawnFunction:
        """Draw a function of the approximation, for Thompson sampling.

        The approximation is a GP whose rows were seen with normal noise of variance 1/h, so a function of the prior is
        bent to it as usual; written with sqrt(h) B^-1 sqrt(h), rows of no curvature do no harm.
        """
        rng = np.random.default_rng(self.seed + 1 if seed is None else seed)
        prior = draw_waves(self.hyper.kernel, self.data.dimension, rng)
        rows = row_matrix(self.data, self.hyper.noise)
        mode = self.mode
        seen = mode.root * (rows @ prior(self.data.points)) + rng.standard_normal(self.data.m)
        weight = np.asarray(rows.T @ (mode.a - mode.root * solve_factored(mode.factor, seen)))
        return DrawnFunction(prior, self.hyper.kernel, self.data.points, weight)


def posterior(
    model: ModelName, data: Observations, hyper: Hyper, *, seed: int = 0, draws: int = DRAWS, fit: Fit | None = None
) -> SkewGP | GaussianPosterior:
    """Return the model's posterior at these hyper-parameters; a fit brings where EP ended."""
    if model == "gpl":
        return GaussianPosterior.from_hyper(data, hyper, seed=seed)
    return SkewGP.from_hyper(data, hyper, seed=seed, draws=draws, sites=None if fit is None else fit.sites)


@dataclass(frozen=True)
class PaperLearner:
    """The paper's models: one latent function, no doubt about the judge.

    Attributes:
        model: "gpl" or "skewgp".
        hyper: Hyper-parameters to keep; fitted by the model's own evidence if not given.
    """

    model: ModelName
    hyper: Hyper | None = None

    def __call__(self, ledger: Ledger, strategy: Strategy, fits: Fits, validity: ValidityName, seed: int) -> Knowledge:
        """Return everything told, fitted; outcomes enter the likelihood if the validity is shared."""
        mixed = validity == "shared"
        _, data = ledger.preferences_and_labels() if mixed else ledger.preferences()
        fitted = self._fitted(data, fits.preference, len(ledger.trials))
        found = posterior(self.model, data, fitted.hyper, seed=seed, draws=strategy.draws, fit=fitted)
        # the choosers ask of a model no more than both have
        return Knowledge(ledger, data, cast(SkewGP, found), None, mixed, Fits(preference=fitted))

    def _fitted(self, data: Observations, last: Fit | None, trials: int) -> Fit:
        if self.hyper is not None:
            return Fit(self.hyper, 0.0, None, 0)
        if last is not None and trials > ALWAYS_UNTIL and trials % THEN_EVERY:
            return last
        evidence: Literal["laplace", "ep"] = "laplace" if self.model == "gpl" else "ep"
        try:
            return fit_hyper(data, prior=PRIOR, evidence=evidence, warm=last, iterations=20, tolerance=1e-4)
        except NotConvergedError:
            if last is None:
                raise
            return last


def choose_as_paper(known: Knowledge, strategy: Strategy, aim: Aim, rng: np.random.Generator) -> Choice:
    """Choose by one of the paper's acquisitions, "ucb", "thompson" or "eiig-k", without a design."""
    champion = known.champion
    if champion is None:
        return choose(known, strategy, "design", 1.0, rng)
    # drawn before anything that depends on the model: the same candidates for all methods of a seed
    candidates = known.space.sample(strategy.uniform, rng)
    seed = int(rng.integers(2**31))
    wanted: Acquisition
    if aim.acquisition == "ucb":
        wanted = SampledBound(known.model, champion)
    elif aim.acquisition == "thompson":
        wanted = known.model.function_draw(seed=seed)
    else:
        wanted = InformationGain(known.model, champion, information_weight(aim.acquisition))
    return Choice(maximise(wanted, known.space, candidates, known.tried)[0], aim.acquisition)


def paper_optimizer(
    space: Space,
    model: ModelName,
    acquisition: AcquisitionName,
    *,
    seed: int = 0,
    hyper: Hyper | None = None,
    mixed: bool = False,
) -> Optimizer:
    """Return the optimiser with one of the paper's models and acquisitions; `mixed` if outcomes inform the model."""
    return Optimizer(
        space,
        seed=seed,
        acquisition=acquisition,
        validity="shared" if mixed else "none",
        looks_per_part=1.0,  # the paper's methods ask once of each part
        strategy=STRATEGY,
        learner=PaperLearner(model, hyper),
        chooser=choose_as_paper,
    )
