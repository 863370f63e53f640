"""How likely a setting is to make scrap, and how sure that is: the exact posterior of the validity's latent function.

Hyper-parameters are not one fit but several, each with the weight that EP's evidence and the prior give it: before the
first scrap the outcomes say little about how soon good ground ends, and one lucky fit must not decide. Scrap by chance
(a bad granulate) is told from a bad setting: it has a base rate, which is learned, and what it explains far better than
the setting is kept from the model.

Glossary:
    g    the latent function: a setting x gives a part with probability Phi(g(x))
    X    (p, D) rows of the unit cube       P    (S, p) = Phi(g(X)) under S joint draws
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from tuner.core.linalg import FloatArray, NotPositiveDefiniteError
from tuner.core.optimizer.knowledge import Knowledge
from tuner.core.optimizer.ledger import Ledger
from tuner.core.optimizer.records import Trial
from tuner.core.optimizer.strategy import Contracting, Strategy
from tuner.core.optimizer.surface import Surface, ep_surface
from tuner.core.posterior.ep import NotConvergedError
from tuner.core.posterior.fitting import fit_hyper
from tuner.core.posterior.kernels import Kernel
from tuner.core.posterior.mixture import Mixture
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.rows import Hyper
from tuner.core.posterior.skewgp import SkewGP
from tuner.core.space.space import BoolArray


@dataclass(frozen=True, eq=False)
class Assurance:
    """What is known of validity, averaged over hyper-parameters.

    Attributes:
        members: The exact posterior at each of the hyper-parameters.
        weights: What each of them counts for; their sum is one.
        base: The share of scrap by chance, whatever the setting.
        chance: For each scrap trial, how likely it was chance and not its setting.
        suspended: The trials that the model does not learn from, because they were chance.
    """

    members: tuple["ValidityModel", ...]
    weights: FloatArray
    base: float
    chance: dict[int, float]
    suspended: frozenset[int]

    def risk(self, X: FloatArray) -> FloatArray:
        """Return the chance that a part is scrap because of its setting, (p,)."""
        return sum((w * (1.0 - m.valid_probability(X)) for w, m in self._each), np.zeros(len(X)))

    def within(self, X: FloatArray, limit: float) -> BoolArray:
        """Say where the risk is at most `limit`; a row that some members put beyond it is looked at no further."""
        total, left = np.zeros(len(X)), np.arange(len(X))
        for w, m in sorted(self._each, key=lambda one: -one[0]):
            total[left] += w * (1.0 - m.valid_probability(X[left]))
            left = left[total[left] <= limit]
        return total <= limit

    def screen(self, X: FloatArray) -> FloatArray:
        """Return a cheap stand-in for the risk, by EP: good enough to leave out what is far beyond a limit."""
        total = np.zeros(len(X))
        for w, surface in zip(self.weights.tolist(), self._surfaces, strict=True):
            mean, deviation = surface.moments(X)
            total += w * ndtr(-mean / np.sqrt(1.0 + deviation**2))
        return total

    @cached_property
    def _surfaces(self) -> list[Surface]:
        return [ep_surface(m.data, m.hyper, m.evidence) for m in self.members]

    def whole_risk(self, X: FloatArray) -> FloatArray:
        """Return the chance that a part is scrap, by its setting or by chance, (p,)."""
        return 1.0 - (1.0 - self.base) * (1.0 - self.risk(X))

    def sure(self, X: FloatArray, rate: float) -> FloatArray:
        """Return how certain it is that a setting's own share of scrap is at most `rate`: P[Phi(g(x)) >= 1 - rate]."""
        least = -float(ndtri(rate))
        return sum((w * m.probability_above(X, least) for w, m in self._each), np.zeros(len(X)))

    def low(self, x: FloatArray, confidence: float) -> float:
        """Return the share of parts that one setting gives at least, with this confidence; chance scrap included."""
        marginals = [m.at(x[None]) for m in self.members]
        means = np.concatenate([one.means[0] for one in marginals])
        counts = [one.means.shape[1] for one in marginals]
        deviation = np.repeat([max(float(one.spread[0]), 1e-300) ** 0.5 for one in marginals], counts)
        weight = np.repeat(self.weights / counts, counts)
        below, above = -12.0, 12.0
        for _ in range(40):
            middle = 0.5 * (below + above)
            share = float(weight @ ndtr((middle - means) / deviation))
            below, above = (middle, above) if share < 1.0 - confidence else (below, middle)
        return float((1.0 - self.base) * ndtr(below))

    def joint(self, X: FloatArray, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw how good all rows are together: P, (S, p), and the weight of each draw, (S,)."""
        drawn, weights = [], []
        for w, model in self._each:
            own = max(round(w * count), 8)
            drawn.append(ndtr(model.sample(X, own, seed=int(rng.integers(2**31)))))
            weights.append(np.full(own, w / own))
        return np.concatenate(drawn), np.concatenate(weights)

    @property
    def _each(self) -> list[tuple[float, "ValidityModel"]]:
        return list(zip(self.weights.tolist(), self.members, strict=True))


class ValidityModel(SkewGP):
    """The exact posterior of validity at one choice of hyper-parameters."""

    def probability_above(self, X: FloatArray, least: float) -> FloatArray:
        """Return P(g(x) >= least), (p,)."""

        def above(part: FloatArray) -> FloatArray:
            one = self.at(part)
            return Mixture(one.means - least, one.spread).probability_positive()

        return self._each(X, above)


def assure(known: Knowledge, strategy: Strategy, seed: int) -> Assurance:
    """Learn from every outcome what the contract has to know.

    Raises:
        NotConvergedError: At none of the hyper-parameters.
    """
    ledger, numbers = known.ledger, strategy.contracting
    trials = [t for t in ledger.trials.values() if t.valid is not None and t.excluded is None]
    own = sum(not t.earlier for t in trials)
    twins = _refuted(trials)
    kept = [t for t in trials if t.number not in twins]
    members, weights, surprise = _members(known, kept, strategy, seed)
    chance, base = _by_chance(kept, surprise, len(twins), own, numbers)
    chance |= dict.fromkeys(twins, 1.0)
    doubtful = {number for number, p in chance.items() if p >= numbers.by_chance} - twins
    if doubtful:
        members, weights, _ = _members(known, [t for t in kept if t.number not in doubtful], strategy, seed)
    return Assurance(members, weights, base, chance, frozenset(twins | doubtful))


def _refuted(trials: list[Trial]) -> set[int]:
    """Return the scrap trials whose setting gave a part as often: made again, it was good."""
    counts: dict[tuple[object, ...], list[int]] = {}
    for one in trials:
        counts.setdefault(setting_key(one), [0, 0])[bool(one.valid)] += 1
    return {t.number for t in trials if t.valid is False and counts[setting_key(t)][1] >= counts[setting_key(t)][0]}


def setting_key(trial: Trial) -> tuple[object, ...]:
    """Return what trials of one setting share."""
    return tuple(sorted(trial.setting.items()))


def _by_chance(
    trials: list[Trial], surprise: dict[int, float], refuted: int, parts: int, numbers: Contracting
) -> tuple[dict[int, float], float]:
    """Return how likely each scrap was chance, and the base rate: both from each other, until they agree.

    Of a scrap part that the model did not expect, given all other outcomes, chance is the better explanation; how much
    better depends on how often chance strikes, which a Beta prior and the scrap that it explains tell.
    """
    expected = [surprise[t.number] for t in trials if t.valid is False]
    base, chance = numbers.base_scrap / numbers.base_parts, np.zeros(len(expected))
    for _ in range(numbers.base_rounds):
        chance = np.array([base / (base + (1.0 - base) * max(p, 1e-12)) for p in expected])
        base = float((numbers.base_scrap + refuted + chance.sum()) / (numbers.base_parts + parts))
    scrapped = [t.number for t in trials if t.valid is False]
    return dict(zip(scrapped, chance.tolist(), strict=True)), base


def labels_of(ledger: Ledger, trials: list[Trial], known_good: float) -> Observations:
    """Return outcomes as rows; the known-good setting's says that it is good beyond one part."""
    judge = {who: i for i, who in enumerate(ledger.judges)}
    return Observations(
        ledger.rows(trials),
        [(i, bool(t.valid)) for i, t in enumerate(trials)],
        label_known=[t.number == ledger.known_good for t in trials],
        label_judges=[judge[None, t.discount] if t.discount < 1.0 else 0 for t in trials],
        clear=known_good,
    )


def _members(
    known: Knowledge, trials: list[Trial], strategy: Strategy, seed: int
) -> tuple[tuple[ValidityModel, ...], FloatArray, dict[int, float]]:
    """Return the posteriors, their weights, and how likely each outcome was, given all others."""
    ledger, numbers = known.ledger, strategy.contracting
    labels = labels_of(ledger, trials, numbers.known_good)
    found, scores, left_out = [], [], []
    for hyper, log_prior in _grid(known, labels, strategy):
        model = ValidityModel.from_hyper(labels, hyper, seed=seed, draws=numbers.draws)
        try:
            evidence = model.evidence
        except (NotConvergedError, NotPositiveDefiniteError):
            continue
        model.sites = evidence.sites
        found.append(model)
        scores.append(evidence.log_evidence + log_prior)
        left_out.append(np.exp(evidence.left_out))
    if not found:
        raise NotConvergedError("no hyper-parameters of the validity had a converged evidence")
    weights = np.exp(np.array(scores) - max(scores))
    weights /= weights.sum()
    expected = weights @ np.array(left_out)
    some = weights >= numbers.negligible
    kept = tuple(m for m, one in zip(found, some, strict=True) if one)
    surprise = {t.number: float(p) for t, p in zip(trials, expected, strict=True)}
    return kept, weights[some] / weights[some].sum(), surprise


def _grid(known: Knowledge, labels: Observations, strategy: Strategy) -> list[tuple[Hyper, float]]:
    """Return hyper-parameters around the fitted ones, or the prior's, with the logarithm of their prior."""
    ledger, numbers = known.ledger, strategy.contracting
    prior = replace(strategy.stretched(ledger.space).validity, noise=ledger.noise)
    median = fit_hyper(labels.part(np.arange(0)), prior=prior, groups=ledger.space.groups).hyper.kernel
    fitted = known.fits.validity
    centre = median.lengthscales if fitted is None else fitted.hyper.kernel.lengthscales
    noise = np.array((1.0, *ledger.noise, *[1.0] * labels.judges)[: labels.judges])
    grid = []
    for shift in numbers.lengthscales:
        for factor in numbers.variances:
            lengthscales, variance = centre * np.exp(shift), median.variance * factor
            offset = np.log(lengthscales / median.lengthscales).mean() / prior.lengthscale_spread
            other = np.log(factor) / prior.variance_spread
            kernel = Kernel(lengthscales, variance, strategy.level * variance, median.name)
            grid.append((Hyper(kernel, noise, labels.jnd), -0.5 * float(offset**2 + other**2)))
    return grid
