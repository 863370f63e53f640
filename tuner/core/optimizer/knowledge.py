"""What is known: everything told so far, fitted; how proposals, explanations and questions see it."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np

from tuner.core.linalg import FloatArray, IntArray
from tuner.core.optimizer.acquisition import LogValidity, MeanValue
from tuner.core.optimizer.ledger import Ledger, TellError
from tuner.core.optimizer.strategy import Refitting, Strategy
from tuner.core.optimizer.surface import Surface, mean_surface
from tuner.core.optimizer.validity import prior_fit, validity_surface
from tuner.core.posterior.fitting import Fit, Prior, fit_hyper
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.skewgp import SkewGP
from tuner.core.space.space import Space

ValidityName = Literal["auto", "separate", "shared", "none"]


@dataclass(frozen=True, eq=False)
class Fits:
    """The last fitted hyper-parameters: where the next fits start.

    Attributes:
        preference: Of a judge who is sure.
        validity: Of the validity's latent function.
        unsteady: Of a judge who is not; looked at now and then.
        doubted: Whether the answers speak for the unsteady judge.
    """

    preference: Fit | None = None
    validity: Fit | None = None
    unsteady: Fit | None = None
    doubted: bool = False


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Everything told so far, fitted.

    Attributes:
        ground: What is allowed of the ledger's space for now; None: all of it.
        at_hand: The trials whose parts can still be compared; None: all.
    """

    ledger: Ledger
    data: Observations
    model: SkewGP
    validity: Surface | None
    shared: bool
    fits: Fits
    ground: Space | None = field(default=None, kw_only=True)
    at_hand: tuple[int, ...] | None = field(default=None, kw_only=True)

    @property
    def space(self) -> Space:
        """Where the next setting may lie; rows mean the same as in the ledger's."""
        return self.ground or self.ledger.space

    @property
    def of_all_parts(self) -> Self:
        """Itself, whether parts are kept or not: a setting can be recommended whose part is gone.

        Raises:
            TellError: There is no part yet.
        """
        known = self if self.at_hand is None else replace(self, at_hand=None)
        if known.champion_id is None:
            raise TellError("nothing can be recommended before there is a valid trial")
        return known

    @property
    def led_by_model(self) -> bool:
        """Whether the posterior mean says which trial is best: answers are doubted, tied or go in a circle.

        Where few parts are kept it is the one that won its duels, which people keep, and only where that one was
        thrown away meanwhile the best of those at hand.
        """
        if self.at_hand is not None:
            return self.ledger.champion not in self.at_hand
        return self.fits.doubted or self.data.has_ties or self.ledger.contested

    @cached_property
    def champion_id(self) -> int | None:
        """The best trial: by its duels, or by the posterior mean."""
        usable = [t for t in self.ledger.usable if self.at_hand is None or t.number in self.at_hand]
        if not self.led_by_model or not usable:
            return self.ledger.champion
        return usable[int(np.argmax(self.mean.mean(self.ledger.rows(usable))))].number

    @cached_property
    def champion(self) -> FloatArray | None:
        """The champion's row."""
        champion = self.champion_id
        return None if champion is None else self.ledger.rows([self.ledger.trials[champion]])[0]

    @cached_property
    def allowed_champion(self) -> FloatArray | None:
        """The champion's row; where it lies outside of what is allowed for now, the nearest that does not."""
        row = self.champion
        return row if row is None or self.space.feasible(row[None])[0] else self.space.snap(row[None])[0]

    @cached_property
    def mean(self) -> Surface:
        """The posterior mean of the preferences."""
        return mean_surface(self.model)

    @cached_property
    def expected(self) -> MeanValue:
        """The posterior mean in units of its spread over the points."""
        return MeanValue(self.mean, self.scale)

    @cached_property
    def scale(self) -> float:
        """The spread of the posterior mean over the points, for sums with a threshold on P(valid)."""
        return max(float(np.std(self.mean.mean(self.data.points))) if self.data.n else 1.0, 1e-9)

    @cached_property
    def tried(self) -> FloatArray:
        """The rows of every trial of this campaign, whatever became of it."""
        return self.ledger.rows([t for t in self.ledger.trials.values() if not t.earlier])

    @cached_property
    def warned(self) -> bool:
        """Whether anything was non-valid: before that nothing is known to keep away from."""
        return self.ledger.warned

    @property
    def border(self) -> Surface | None:
        """The validity's latent function where proposals have to reckon with it."""
        return self.validity if self.warned else None

    def valid_probability(self, X: FloatArray) -> FloatArray:
        """Return P(valid) at the rows of X."""
        if self.shared:
            return self.model.valid_probability(X)
        if self.validity is None:
            return np.ones(len(X))
        return np.exp(LogValidity(self.validity, 1.0).values(X))

    def passable(self, X: FloatArray) -> FloatArray:
        """Return what a proposal reckons with as P(valid): one before the first scrap, to see all of the ground."""
        return self.valid_probability(X) if self.shared or self.warned else np.ones(len(X))


def learn(ledger: Ledger, strategy: Strategy, fits: Fits, validity: ValidityName, seed: int) -> Knowledge:
    """Fit the model to the ledger, warm from the last fits."""
    groups = ledger.space.groups
    shared = validity == "shared"
    strategy = strategy.stretched(ledger.space)
    _, data = ledger.preferences_and_labels() if shared else ledger.preferences()
    fits = _refit_preferences(data, strategy, fits, ledger.noise, groups)
    active = fits.unsteady if fits.doubted else fits.preference
    if active is None:
        raise ValueError("the preferences were not fitted")
    data = data.graded_at(strategy.unsteady_clear if fits.doubted else strategy.clear)
    model = SkewGP.from_hyper(data, active.hyper, seed=seed, draws=strategy.draws, sites=active.sites)
    surface, fitted = None, None
    some = None if ledger.warned else strategy.refitting.valid_labels
    labels = None if shared or validity == "none" else ledger.labels(some)
    if labels is not None and labels.m:
        prior = replace(strategy.validity, noise=ledger.noise)
        if ledger.warned:
            fitted = _refit(labels, prior, fits.validity, groups, strategy.refitting)
        surface = validity_surface(labels, fitted or prior_fit(labels, prior, groups, strategy.level))
    return Knowledge(ledger, data, model, surface, shared, replace(fits, validity=fitted))


def _refit_preferences(
    data: Observations, strategy: Strategy, fits: Fits, noise: tuple[float, ...], groups: IntArray
) -> Fits:
    """Fit the judge who is believed in; now and then the other one too, and believe whom the evidence favours."""
    numbers = strategy.refitting
    check = data.m >= numbers.doubt_from and data.m % numbers.doubt_every == 0
    sure, unsteady, doubted = fits.preference, fits.unsteady, fits.doubted
    by_unsteady, data = data.graded_at(strategy.unsteady_clear), data.graded_at(strategy.clear)
    if check or not doubted:
        sure = _refit(data, replace(strategy.preference, noise=noise), sure, groups, numbers)
    if check or doubted:
        prior = replace(strategy.unsteady, noise=noise)
        # unless the answers are doubted already, this judge's fit matters only where it beats the other one's
        beat = np.inf if doubted or sure is None else sure.objective - strategy.doubt
        fit_one = _first if unsteady is None else _refit
        unsteady = fit_one(by_unsteady, prior, sure if unsteady is None else unsteady, groups, numbers, beat)
    if check and sure is not None and unsteady is not None:
        doubted = unsteady.objective + strategy.doubt < sure.objective
    return replace(fits, preference=sure, unsteady=unsteady, doubted=doubted)


def _refit(
    data: Observations, prior: Prior, last: Fit | None, groups: IntArray, numbers: Refitting, beat: float = np.inf
) -> Fit:
    """Fit, warm from the last fit: one more answer among many moves the optimum little, so not every time."""
    if last is None:
        return fit_hyper(data, prior=prior, groups=groups, tolerance=numbers.tolerance)
    every = 2 ** sum(data.m >= rows for rows in numbers.sparser)
    if data.m % every and len(last.hyper.noise) == data.judges:
        return last
    return _warm(data, prior, last, groups, numbers, numbers.warm_iterations, beat)


def _first(
    data: Observations, prior: Prior, other: Fit | None, groups: IntArray, numbers: Refitting, beat: float
) -> Fit:
    """Fit for the first time, from another judge's lengthscales: three cold starts cost as much as ten proposals."""
    if other is None:
        return fit_hyper(data, prior=prior, groups=groups, tolerance=numbers.tolerance)
    kernel = replace(other.hyper.kernel, variance=prior.variance)
    sites = other.sites if data.m >= numbers.coarse_from else None
    sites = None if sites is None else sites.rescaled(other.hyper.kernel.variance / prior.variance)
    near = replace(other, hyper=replace(other.hyper, kernel=kernel), sites=sites)
    return _warm(data, prior, near, groups, numbers, numbers.first_iterations, beat)


def _warm(
    data: Observations, prior: Prior, last: Fit, groups: IntArray, numbers: Refitting, iterations: int, beat: float
) -> Fit:
    return fit_hyper(
        data,
        prior=prior,
        warm=last,
        iterations=iterations,
        tolerance=numbers.tolerance,
        groups=groups,
        coarse=data.m >= numbers.coarse_from,
        beat=beat,
    )
