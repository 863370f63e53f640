"""From what is known to the next setting: fits, acquisition, search.

A proposal of `auto` is one of three kinds. `design`: amid ground far from everything tried, weighed by P(valid).
`improve`: the largest expected improvement on ONE exact draw of the posterior, with lengthscales a little other than
the fitted ones. `refine`: the largest posterior mean. The last two alternate; both keep P(valid) above what the scrap
budget allows.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from tuner.core.linalg import FloatArray, IntArray
from tuner.core.optimizer.acquisition import (
    Acquisition,
    Apart,
    Logarithm,
    LogImprovement,
    LogValidity,
    MeanValue,
    Scaled,
    Sum,
    Threshold,
)
from tuner.core.optimizer.dueling import ExpectedImprovement, InformationGain, UpperCredibleBound
from tuner.core.optimizer.ledger import Ledger
from tuner.core.optimizer.search import candidates, maximise, untried
from tuner.core.optimizer.strategy import ACQUIRING, Refitting, Strategy
from tuner.core.optimizer.surface import Surface, believed_surface, drawn_surface, ep_surface, mean_surface
from tuner.core.posterior.ep import expectation_propagation
from tuner.core.posterior.fitting import Fit, Prior, fit_hyper
from tuner.core.posterior.kernels import Kernel
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.rows import Hyper, row_covariance
from tuner.core.posterior.skewgp import SkewGP
from tuner.core.space.parameters import SpaceError

AcquisitionName = str  # auto, ucb, thompson, eiig, ei, eubo, hb-ei, or eiig with its k: "eiig-0.5"
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
    """Everything told so far, fitted."""

    ledger: Ledger
    data: Observations
    model: SkewGP
    validity: Surface | None
    shared: bool
    fits: Fits

    @cached_property
    def champion_id(self) -> int | None:
        """The best trial: by its duels, or by the posterior mean if the judges' answers are doubted."""
        usable = self.ledger.usable
        if not self.fits.doubted or not usable:
            return self.ledger.champion
        return usable[int(np.argmax(self.mean.mean(self.ledger.rows(usable))))].number

    @cached_property
    def champion(self) -> FloatArray | None:
        """The champion's row."""
        champion = self.champion_id
        return None if champion is None else self.ledger.rows([self.ledger.trials[champion]])[0]

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

    def valid_probability(self, X: FloatArray) -> FloatArray:
        """Return P(valid) at the rows of X."""
        if self.shared:
            return self.model.valid_probability(X)
        if self.validity is None:
            return np.ones(len(X))
        return np.exp(LogValidity(self.validity, 1.0).values(X))


def learn(ledger: Ledger, strategy: Strategy, fits: Fits, validity: ValidityName, seed: int) -> Knowledge:
    """Fit the model to the ledger, warm from the last fits."""
    groups = ledger.space.groups
    shared = validity == "shared"
    _, data = ledger.preferences_and_labels() if shared else ledger.preferences()
    fits = _refit_preferences(data, strategy, fits, ledger.noise, groups)
    active = fits.unsteady if fits.doubted else fits.preference
    if active is None:
        raise ValueError("the preferences were not fitted")
    data = data.graded_at(strategy.unsteady_clear if fits.doubted else strategy.clear)
    model = SkewGP.from_hyper(data, active.hyper, seed=seed, draws=strategy.draws, sites=active.sites)
    surface, fitted = None, None
    if not shared and validity != "none" and any(t.valid is False and not t.excluded for t in ledger.trials.values()):
        prior = replace(strategy.validity, noise=ledger.noise)
        labels = ledger.labels()
        fitted = _refit(labels, prior, fits.validity, groups, strategy.refitting)
        surface = _validity_surface(labels, fitted)
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


def _validity_surface(labels: Observations, fitted: Fit) -> Surface:
    kernel = fitted.hyper.kernel
    C = row_covariance(labels, kernel.matrix(labels.points, labels.points), fitted.hyper.noise)
    found = expectation_propagation(C, *labels.intervals(), start=fitted.sites)
    return ep_surface(labels, fitted.hyper, found)


def next_kind(ledger: Ledger, strategy: Strategy, acquisition: AcquisitionName, budget: int | None) -> str:
    """Return the kind of the next proposal: a few of the design at first, then the rest of it every other time."""
    own = [t for t in ledger.trials.values() if not t.earlier]
    kinds = [t.kind for t in own]
    filled = sum(kind in ("told", "design") for kind in kinds)
    scrapped = any(t.valid is False and not t.excluded for t in own)
    first, whole = strategy.design_size(len(ledger.space.parameters), budget, scrapped=scrapped)
    if filled < first or (filled < whole and kinds[-1] not in ("design",)):
        return "design"
    if acquisition != "auto":
        return acquisition
    return "improve" if kinds.count("improve") <= kinds.count("refine") else "refine"


@dataclass(frozen=True, eq=False)
class Choice:
    """The row to try next and how it was found."""

    row: FloatArray
    kind: str
    opponent: int | None = None


def choose(
    known: Knowledge,
    strategy: Strategy,
    kind: str,
    risk: float,
    rng: np.random.Generator,
) -> Choice:
    """Return the next row."""
    if kind == "design" or known.champion is None:
        return Choice(_fill(known, strategy, risk, rng), "design")
    opponent = _opponent(known, strategy, rng) if kind == "eubo" else known.champion_id
    parts: list[Acquisition] = [_wanted(known, strategy, kind, _row(known, opponent), rng)]
    floor = None if known.validity is None else Threshold(known.validity, 1.0 - risk, strategy.acquiring.steepness)
    if floor is not None:
        parts.append(floor)
    lengthscales = known.model.hyper.kernel.lengthscales
    pending = known.ledger.rows(known.ledger.pending)
    if len(pending):
        parts.append(Apart(pending, strategy.acquiring.reach * lengthscales))
    around, counts = centres(known, strategy)
    U = candidates(known.ledger.space, around, counts, lengthscales, strategy.uniform, rng, strategy.search)
    row, _ = maximise(Sum(tuple(parts)), known.ledger.space, U, known.tried, floor, strategy.search)
    return Choice(row, kind, opponent)


def _row(known: Knowledge, number: int | None) -> FloatArray:
    if number is None:
        raise ValueError("there is no trial to compare with")
    return known.ledger.space.encode(known.ledger.trials[number].setting)


def _opponent(known: Knowledge, strategy: Strategy, rng: np.random.Generator) -> int:
    """Return which of the best trials makes the pair with the greatest expected best (EUBO)."""
    usable = known.ledger.usable
    means = known.mean.mean(known.ledger.rows(usable))
    best = [i for i, trial in enumerate(usable) if trial.number == known.champion_id]
    if known.data.m:
        best += [i for i in np.argsort(-means, kind="stable") if i != best[0]][: strategy.search.others]
    around, counts = centres(known, strategy)
    lengthscales = known.model.hyper.kernel.lengthscales
    U = candidates(known.ledger.space, around, counts, lengthscales, strategy.uniform, rng, strategy.search)
    U = U[known.valid_probability(U) > strategy.telling.likely_valid] if known.validity is not None else U

    draws = strategy.acquiring.screening_draws

    def expected_best(i: int) -> float:
        gain = ExpectedImprovement(known.model, _row(known, usable[i].number), draws).screen(U)
        return float(means[i]) + float(gain.max(initial=0.0))

    return usable[max(best, key=expected_best)].number


def _fill(known: Knowledge, strategy: Strategy, risk: float, rng: np.random.Generator) -> FloatArray:
    """Return the row that brings the most ground nearer to a trial, both weighed by P(valid).

    The row farthest from everything tried would lie on the border of the space, where little ground is near. The
    search for valid ground costs scrap, so the risk that may be run does not bound it before it is the least.
    """
    space = known.ledger.space
    ground = space.sample(strategy.uniform, rng, known.tried) if space.every is None else rng.permutation(space.every)
    if not len(ground):
        raise SpaceError(space.nothing_found)
    if not len(known.tried):
        return ground[0]
    U = untried(ground, known.tried)
    if risk <= strategy.least_risk and known.champion is not None:
        safe = known.valid_probability(U) >= 1.0 - risk
        U = U[safe] if safe.any() else U
    U = U[: strategy.filled]
    nearer = cdist(ground, known.tried).min(axis=1) - cdist(U, ground)
    gain = np.maximum(nearer, 0.0) @ known.valid_probability(ground)
    return U[int(np.argmax(gain * known.valid_probability(U)))]


def _wanted(
    known: Knowledge, strategy: Strategy, kind: str, champion: FloatArray, rng: np.random.Generator
) -> Acquisition:
    """Return what the kind of proposal maximises."""
    model = known.model
    if kind == "refine":
        return known.expected
    if kind == "thompson":
        return Scaled(model.function_draw(seed=int(rng.integers(2**31))), known.scale)
    if kind == "ucb":
        return Scaled(UpperCredibleBound(model, champion, strategy.acquiring.credible_mass), known.scale)
    if kind.startswith("eiig"):
        return InformationGain(model, champion, information_weight(kind, strategy.acquiring.information_weight))
    if kind in ("ei", "eubo"):
        return Logarithm(ExpectedImprovement(model, champion, strategy.acquiring.screening_draws))
    surface = believed_surface(model, rng) if kind == "hb-ei" else drawn_surface(_varied(known, strategy, rng), rng)
    return LogImprovement(surface, float(surface.mean(champion[None])[0]))


def information_weight(acquisition: str, plain: float = ACQUIRING.information_weight) -> float:
    """Return k of "eiig", `plain`, or of "eiig-k".

    Raises:
        ValueError: It is neither.
    """
    name, dash, text = acquisition.partition("-")
    try:
        weight = float(text) if dash else plain
    except ValueError:
        weight = -1.0
    if name != "eiig" or not 0.0 <= weight < np.inf:
        raise ValueError(f"{acquisition!r} is not eiig with its k, such as eiig-0.5")
    return weight


def _varied(known: Knowledge, strategy: Strategy, rng: np.random.Generator) -> SkewGP:
    """Return the model with lengthscales drawn around the fitted ones, alike for the coordinates of a parameter."""
    model, space = known.model, known.ledger.space
    kernel: Kernel = model.hyper.kernel
    count = len(space.parameters)
    factors = np.exp(strategy.variation(count) * rng.standard_normal(count))
    hyper: Hyper = replace(
        model.hyper, kernel=replace(kernel, lengthscales=kernel.lengthscales * factors[space.groups])
    )
    return SkewGP.from_hyper(model.data, hyper, seed=model.seed, draws=1, sites=model.sites)


def centres(known: Knowledge, strategy: Strategy) -> tuple[FloatArray, list[int]]:
    """Return the champion and the next best trials, with how many candidates to put around each."""
    if known.champion is None:
        raise ValueError("there is no champion to look around")
    usable = known.ledger.rows([t for t in known.ledger.trials.values() if t.usable])
    order = np.argsort(-known.mean.mean(usable), kind="stable")
    others = [usable[i] for i in order if not np.array_equal(usable[i], known.champion)][: strategy.search.others]
    return np.array([known.champion, *others]), [strategy.near[0]] + [strategy.near[1]] * len(others)
