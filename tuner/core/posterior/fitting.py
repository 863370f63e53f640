"""Hyper-parameters by maximum a posteriori: L-BFGS-B on EP's evidence with its gradient, or the paper's annealing.

Glossary:
    theta    log lengthscales (one a group of coordinates), log variance (1), log noise of judges 1.. (judges - 1),
             log jnd (1 if there are ties)
    groups   (d,) which lengthscale each coordinate has; by default each its own
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.optimize import Bounds, dual_annealing, minimize

from tuner.core.linalg import FloatArray, IntArray, NotPositiveDefiniteError
from tuner.core.posterior.ep import NotConvergedError, Sites, expectation_propagation
from tuner.core.posterior.kernels import Kernel, KernelName
from tuner.core.posterior.laplace import Laplace, find_mode
from tuner.core.posterior.model import Model
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.orthant import block_bound, log_box_conditioning, random_blocks
from tuner.core.posterior.rows import Hyper, point_weights, row_covariance
from tuner.core.posterior.separate import SeparateSkewGP
from tuner.core.posterior.skewgp import SkewGP

EvidenceName = Literal["ep", "laplace", "conditioning", "blocks"]
Validity = Literal["shared", "separate"]

FIT_TOLERANCE = 1e-3
COARSE_TOLERANCE = 3e-3  # the evidence is then known to 2e-4, its slope to .05
COARSE_SLOPE = 0.1  # per half of the prior's spread: about a hundredth of a nat is left
HOPELESS = 4.0  # times the gain of a slope that only the prior stops
FIT_LEAST = 1e-4
SUBSET = 120
IMPOSSIBLE = 1e10


@dataclass(frozen=True)
class Prior:
    """Log-normal priors: medians and log standard deviations, and hard bounds on the variance.

    `noise` holds the medians of judges 1, 2, ...; those beyond its end have 1. `stretch` multiplies the median of each
    lengthscale; those beyond its end are not stretched.
    """

    lengthscale: float = 0.3
    lengthscale_spread: float = 0.7
    variance: float = 100.0
    variance_spread: float = 2.5
    variance_cap: float = 1e6
    noise: tuple[float, ...] = ()
    noise_spread: float = 0.7
    jnd: float = 0.5
    jnd_spread: float = 0.7
    stretch: tuple[float, ...] = ()

    def of(self, data: Observations, lengthscales: int) -> tuple[FloatArray, FloatArray]:
        """Return the means and standard deviations of theta."""
        judges = data.judges - 1
        ties = 1 if data.has_ties else 0
        noise = [float(np.log(median)) for median in (self.noise + (1.0,) * judges)[:judges]]
        stretch = (self.stretch + (1.0,) * lengthscales)[:lengthscales]
        centre = [*(np.log(self.lengthscale * factor) for factor in stretch), np.log(self.variance), *noise]
        spread = [self.lengthscale_spread] * lengthscales + [self.variance_spread] + [self.noise_spread] * judges
        return np.array(centre + [np.log(self.jnd)] * ties), np.array(spread + [self.jnd_spread] * ties)

    def bounds(self, data: Observations, lengthscales: int) -> list[tuple[float, float]]:
        """Return the box of theta."""
        ties = 1 if data.has_ties else 0
        return (
            [(np.log(5e-3), np.log(30.0))] * lengthscales
            + [(np.log(1e-3), np.log(self.variance_cap))]
            + [(np.log(0.05), np.log(20.0))] * (data.judges - 1)
            + [(np.log(1e-2), np.log(10.0))] * ties
        )


@dataclass(frozen=True, eq=False)
class Fit:
    """Fitted hyper-parameters, with what the next fit starts from."""

    hyper: Hyper
    objective: float
    sites: Sites | None
    evaluations: int


def to_hyper(
    theta: FloatArray, data: Observations, kernel: KernelName, mean_variance: float, groups: IntArray | None = None
) -> Hyper:
    """Unpack theta."""
    groups = np.arange(data.dimension) if groups is None else groups
    d = _count(groups)
    noise = np.exp(np.concatenate([[0.0], theta[d + 1 : d + data.judges]]))
    jnd = float(np.exp(theta[-1])) if data.has_ties else data.jnd
    return Hyper(Kernel(np.exp(theta[:d])[groups], float(np.exp(theta[d])), mean_variance, kernel), noise, jnd)


def _count(groups: IntArray) -> int:
    return int(groups.max(initial=-1)) + 1


def to_theta(
    hyper: Hyper, data: Observations, groups: IntArray | None = None, unseen: tuple[float, ...] = ()
) -> FloatArray:
    """Pack hyper-parameters; judges not seen before get their noise of `unseen` (judges 1, 2, ...), or 1."""
    groups = np.arange(data.dimension) if groups is None else groups
    lengthscales = hyper.kernel.lengthscales[[int(np.argmax(groups == g)) for g in range(_count(groups))]]
    noise = np.array((1.0, *unseen, *[1.0] * data.judges)[: data.judges])
    known = min(data.judges, len(hyper.noise))
    noise[:known] = hyper.noise[:known] / hyper.noise[0]
    jnd = [np.log(hyper.jnd)] if data.has_ties else []
    return np.array([*np.log(lengthscales), np.log(hyper.kernel.variance), *np.log(noise[1:]), *jnd])


class _Objective:
    """Minus the log posterior of theta and its gradient; carries the sites from one evaluation to the next."""

    def __init__(
        self,
        data: Observations,
        prior: Prior,
        kernel: KernelName,
        mean_variance: float,
        evidence: EvidenceName,
        sites: Sites | None,
        groups: IntArray | None = None,
    ) -> None:
        self.data, self.kernel, self.mean_variance, self.evidence = data, kernel, mean_variance, evidence
        self.groups = np.arange(data.dimension) if groups is None else groups
        self.centre, self.spread = prior.of(data, _count(self.groups))
        self.sites = sites
        self.evaluations = 0
        self.beat, self.tolerance = np.inf, FIT_TOLERANCE

    def hopeless(self, value: float, gradient: FloatArray) -> bool:
        """Say whether nothing below `beat` is near: not with several times the gain of a slope that the prior stops."""
        return (
            value < IMPOSSIBLE and value - HOPELESS * 0.5 * float(np.square(gradient * self.spread).sum()) > self.beat
        )

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        self.evaluations += 1
        offset = (theta - self.centre) / self.spread
        try:
            value, gradient = self._evidence(to_hyper(theta, self.data, self.kernel, self.mean_variance, self.groups))
        except (NotConvergedError, NotPositiveDefiniteError):
            return IMPOSSIBLE, np.zeros_like(theta)
        return 0.5 * float(offset @ offset) - value, offset / self.spread - gradient

    def _evidence(self, hyper: Hyper) -> tuple[float, FloatArray]:
        data = self.data
        K, H = hyper.kernel.matrix_and_slope(data.points, data.points)
        C = row_covariance(data, K, hyper.noise)
        lower, upper = data.intervals(hyper.jnd)
        lower_by_jnd, upper_by_jnd = data.slopes()
        if self.evidence == "laplace":
            mode = find_mode(C, lower, upper)
            Q, value = mode.weights(), mode.log_evidence
            by_jnd = mode.along_bounds(lower, upper, lower_by_jnd, upper_by_jnd) if data.has_ties else 0.0
        else:
            found = expectation_propagation(
                C, lower, upper, start=self.sites, tolerance=self.tolerance, least=FIT_LEAST
            )
            self.sites = found.sites
            Q, value = found.weights(), found.log_evidence
            by_jnd = float(lower_by_jnd @ found.lower_slope + upper_by_jnd @ found.upper_slope)
        over_points = point_weights(data, hyper.noise, Q)
        gradient = [
            *0.5 * np.bincount(self.groups, weights=hyper.kernel.contract(data.points, over_points, H)),
            0.5 * (over_points * (K - self.mean_variance if self.mean_variance else K)).sum(),
        ]
        if data.judges > 1:
            through = np.bincount(data.judge, weights=-(Q * C).sum(axis=1), minlength=data.judges)
            gradient.extend(through[1:])
        if data.has_ties:
            gradient.append(hyper.jnd * by_jnd)
        return value, np.array(gradient)


def fit_hyper(
    data: Observations,
    *,
    prior: Prior | None = None,
    kernel: KernelName = "rbf",
    mean_variance: float = 0.0,
    evidence: EvidenceName = "ep",
    warm: Fit | None = None,
    iterations: int = 60,
    tolerance: float = 1e-6,
    groups: IntArray | None = None,
    coarse: bool = False,
    beat: float = np.inf,
) -> Fit:
    """Find the hyper-parameters of highest posterior density.

    Cold, it starts from the prior's medians and from shorter and longer lengthscales, and keeps the best (on a part of
    the rows if there are many); warm, from the earlier fit alone. A `coarse` fit ends a hundredth of a nat early,
    and wherever it cannot come below `beat`: an objective worth knowing exactly only if it does.
    """
    if evidence not in ("ep", "laplace"):
        raise ValueError(f"the evidence {evidence!r} has no gradient: maximise it by annealing, or choose 'ep'")
    prior = prior or Prior()
    groups = np.arange(data.dimension) if groups is None else groups
    centre, _ = prior.of(data, _count(groups))
    if data.m == 0:
        return Fit(to_hyper(centre, data, kernel, mean_variance, groups), 0.0, None, 0)
    box = np.array(prior.bounds(data, _count(groups)))
    if warm is None and data.m > 1.5 * SUBSET:
        # three cold starts on every row would take minutes: start on a part, then warm on the whole
        part = data.part(np.random.default_rng(0).permutation(data.m)[:SUBSET])
        warm = replace(
            fit_hyper(part, prior=prior, kernel=kernel, mean_variance=mean_variance, evidence=evidence, groups=groups),
            sites=None,
        )
    starts = [centre + shift * (np.arange(len(centre)) < _count(groups)) for shift in (0.0, -0.8, 0.8)]
    if warm is not None:
        starts = [to_theta(warm.hyper, data, groups, prior.noise)]
    best: Fit | None = None
    for start in starts:
        objective = _Objective(data, prior, kernel, mean_variance, evidence, warm.sites if warm else None, groups)
        unit, least = np.ones(len(start)), 1e-3
        if coarse:
            objective.tolerance, objective.beat = COARSE_TOLERANCE, beat
            unit, least = 0.5 * objective.spread, COARSE_SLOPE
        options = {"maxiter": iterations, "ftol": tolerance, "gtol": least}
        value, theta = _descend(objective, np.clip(start, box[:, 0], box[:, 1]), box, unit, options)
        if best is None or value < best.objective:
            hyper = to_hyper(theta, data, kernel, mean_variance, groups)
            best = Fit(hyper, value, objective.sites, objective.evaluations)
    if best is None or best.objective >= IMPOSSIBLE:
        raise NotConvergedError("no hyper-parameters with a converged evidence were found")
    return best


def _descend(
    objective: _Objective, start: FloatArray, box: FloatArray, unit: FloatArray, options: Any
) -> tuple[float, FloatArray]:
    """Return the objective's minimum and where it is; L-BFGS-B, whose first step is the gradient, works in `unit`s."""
    best = (np.inf, start)

    def scaled(z: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best
        value, gradient = objective(z * unit)
        if value < best[0]:
            best = value, z * unit
            if objective.hopeless(value, gradient):
                raise StopIteration
        return value, gradient * unit

    box = box / unit[:, None]
    try:
        found = minimize(
            scaled, start / unit, jac=True, method="L-BFGS-B", bounds=Bounds(box[:, 0], box[:, 1]), options=options
        )
    except StopIteration:
        return best
    return float(found.fun), np.asarray(found.x) * unit


def anneal_hyper(
    data: Observations,
    *,
    prior: Prior | None = None,
    kernel: KernelName = "rbf",
    mean_variance: float = 0.0,
    evidence: EvidenceName = "blocks",
    block: int = 30,
    iterations: int = 50,
    seed: int = 0,
) -> Fit:
    """Find hyper-parameters by simulated annealing, as the paper did; its block bound is used on its logarithm.

    Where the bound is not positive it has no logarithm; those theta count as impossible unless all are, so for more
    than one block the sum of the blocks' log probabilities is maximised instead (see docs/decisions.md).
    """
    prior = prior or Prior()
    centre, spread = prior.of(data, data.dimension)
    rng = np.random.default_rng(seed)
    blocks = random_blocks(data.m, block, rng)
    exact = _Objective(data, prior, kernel, mean_variance, "laplace" if evidence == "laplace" else "ep", None)

    def value(theta: FloatArray) -> float:
        if evidence in ("ep", "laplace"):
            return exact(theta)[0]
        hyper = to_hyper(theta, data, kernel, mean_variance)
        K = hyper.kernel.matrix(data.points, data.points)
        gamma = row_covariance(data, K, hyper.noise) + np.eye(data.m)
        lower, upper = data.intervals(hyper.jnd)
        offset = (theta - centre) / spread
        if evidence == "conditioning":
            return 0.5 * float(offset @ offset) - log_box_conditioning(gamma, lower, upper)
        bound = block_bound(gamma, lower, upper, blocks)
        if bound > 0.0:
            return 0.5 * float(offset @ offset) - float(np.log(bound))
        logs = [log_box_conditioning(gamma[np.ix_(part, part)], lower[part], upper[part]) for part in blocks]
        return 0.5 * float(offset @ offset) - float(np.sum(logs))

    found = dual_annealing(
        value, prior.bounds(data, data.dimension), maxiter=iterations, rng=rng, no_local_search=True, x0=centre
    )
    hyper = to_hyper(np.asarray(found.x), data, kernel, mean_variance)
    return Fit(hyper, float(found.fun), None, int(found.nfev))


def fit(
    data: Observations,
    *,
    seed: int = 0,
    validity: Validity = "shared",
    model: Literal["skewgp", "laplace"] = "skewgp",
    method: Literal["map", "annealing"] = "map",
    prior: Prior | None = None,
    validity_prior: Prior | None = None,
    kernel: KernelName = "rbf",
    mean_variance: float = 0.0,
    evidence: EvidenceName | None = None,
    draws: int | None = None,
) -> Model:
    """Fit the hyper-parameters and return the posterior.

    Args:
        data: What is known.
        seed: Makes the draws (and the annealing) repeatable.
        validity: One latent function for preferences and validity (the paper's), or a second one for validity.
        model: The exact posterior, or Laplace's approximation of it.
        method: Maximum a posteriori by gradients, or the paper's simulated annealing.
        prior: Priors of the preferences' hyper-parameters.
        validity_prior: Priors of the validity's hyper-parameters, for separate latents.
        kernel: "rbf" or "matern52".
        mean_variance: Prior variance of a constant mean.
        evidence: Which evidence to maximise; by default the model's own.
        draws: How many draws carry the posterior; see SkewGP.
    """
    if validity == "separate":
        preference, labels = data.judgments(), data.labels()
        alike = partial(fit, seed=seed, model=model, method=method, kernel=kernel, evidence=evidence, draws=draws)
        valid = alike(labels, prior=validity_prior or prior, mean_variance=mean_variance)
        return SeparateSkewGP(data, alike(preference, prior=prior), valid)
    chosen: EvidenceName = evidence or ("laplace" if model == "laplace" else "ep")
    found = (
        anneal_hyper(data, prior=prior, kernel=kernel, mean_variance=mean_variance, evidence=chosen, seed=seed)
        if method == "annealing"
        else fit_hyper(data, prior=prior, kernel=kernel, mean_variance=mean_variance, evidence=chosen)
    )
    if model == "laplace":
        return Laplace.from_hyper(data, found.hyper, seed=seed)
    return SkewGP.from_hyper(data, found.hyper, seed=seed, draws=draws, sites=found.sites)
