"""Who keeps the scrap down: the contract, today's floor, SafeOpt on a Laplace classifier, and EI times P(valid)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.acquisition import Acquisition, LogImprovement, LogValidity, Sum
from tuner.core.optimizer.learner import Aim, choose_next
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.proposer import Choice, Knowledge, centres, choose
from tuner.core.optimizer.search import candidates, maximise
from tuner.core.optimizer.strategy import Contracting, Search, Strategy
from tuner.core.optimizer.surface import drawn_surface
from tuner.core.posterior.fitting import fit_hyper
from tuner.core.posterior.laplace import Laplace
from tuner.lab.bench.scrap.processes import Process

METHODS = ("expected", "certain", "floor", "laplace", "ei")
OURS = ("expected", "certain")
WIDTH = 2.0  # beta of SafeOpt, as its implementations have it
# fewer candidates and draws than a campaign has: every method has the same, and a run takes seconds
CHEAP = Strategy(
    draws=250,
    uniform=250,
    near=(80, 25),
    filled=120,
    search=Search(climbs=2, iterations=12),
    contracting=Contracting(points=100, joint=200, expanders=24),
)


def optimizer_of(method: str, process: Process, rate: float, parts: int) -> Optimizer:
    """Return the optimiser that tunes by this method."""
    space, seed = process.instance.space, process.instance.seed
    options: dict[str, Any] = {"seed": seed, "budget": parts + 1, "looks_per_part": 1.0, "strategy": CHEAP}
    if method in OURS:
        return Optimizer(space, scrap_rate=rate, strictness=method, **options)  # type: ignore[arg-type]
    chooser = {"floor": choose_next, "laplace": choose_safeopt, "ei": choose_by_product}[method]
    return Optimizer(space, scrap_budget=max(round(rate * parts), 1), chooser=chooser, **options)


def choose_by_product(known: Knowledge, strategy: Strategy, aim: Aim, rng: np.random.Generator) -> Choice:
    """Choose by the expected improvement on one draw, times P(valid)."""
    if known.champion is None or known.validity is None:
        return choose(known, strategy, "design", aim.risk, rng)
    surface = drawn_surface(known.model, rng)
    best = float(surface.mean(known.champion[None])[0])
    wanted = Sum((LogImprovement(surface, best), LogValidity(known.validity, 1.0)))
    return Choice(_best(known, strategy, wanted, None, rng), "improve")


@dataclass(frozen=True, eq=False)
class Bound:
    """SafeOpt's set: where the classifier's mean keeps `WIDTH` deviations above zero."""

    model: Laplace

    def values(self, rows: FloatArray) -> FloatArray:
        """Return zero inside of it, else far less."""
        return np.where(self.lower(rows) >= 0.0, 0.0, -1e6)

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return nothing to climb."""
        return 0.0, np.zeros(len(x))

    def lower(self, rows: FloatArray) -> FloatArray:
        """Return the lower confidence bound."""
        return self.model.mean(rows) - WIDTH * np.sqrt(self.model.variance(rows))


@dataclass(frozen=True, eq=False)
class Unknown:
    """How little is known of validity: what SafeOpt's expanders maximise."""

    model: Laplace

    def values(self, rows: FloatArray) -> FloatArray:
        """Return the classifier's variance."""
        return self.model.variance(rows)

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return nothing to climb: the candidates decide."""
        return 0.0, np.zeros(len(x))


def choose_safeopt(known: Knowledge, strategy: Strategy, aim: Aim, rng: np.random.Generator) -> Choice:
    """Choose inside the set that a Laplace classifier holds good: an expander and a maximiser by turns."""
    labels = known.ledger.labels()
    prior = strategy.validity
    fitted = fit_hyper(labels, prior=prior, evidence="laplace", iterations=20, tolerance=1e-4)
    kernel = replace(fitted.hyper.kernel, mean_variance=fitted.hyper.kernel.variance)
    model = Laplace.from_hyper(labels, replace(fitted.hyper, kernel=kernel))
    bound = Bound(model)
    kinds = [t.kind for t in known.ledger.trials.values()]
    if kinds[-1] != "grow":
        return Choice(_best(known, strategy, Unknown(model), bound, rng), "grow")
    surface = drawn_surface(known.model, rng)
    champion = known.champion if known.champion is not None else known.tried[0]
    wanted = LogImprovement(surface, float(surface.mean(champion[None])[0]))
    return Choice(_best(known, strategy, wanted, bound, rng), "improve")


def _best(
    known: Knowledge, strategy: Strategy, wanted: Acquisition, bound: Bound | None, rng: np.random.Generator
) -> FloatArray:
    space = known.ledger.space
    around, counts = centres(known, strategy)
    lengthscales = known.model.hyper.kernel.lengthscales
    rows = candidates(space, around, counts, lengthscales, strategy.uniform, rng, strategy.search)
    if bound is not None:
        lower = bound.lower(rows)
        # where the set is empty its implementations take the row of the largest bound
        rows = rows[lower >= 0.0] if (lower >= 0.0).any() else rows[np.argsort(-lower)[:5]]
        wanted = Sum((wanted, bound))
    return maximise(wanted, space, rows, known.tried, bound, strategy.search)[0]
