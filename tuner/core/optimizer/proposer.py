"""From what is known to the next setting: fits, acquisition, search.

A proposal of `auto` is one of three kinds. `design`: amid ground far from everything tried, weighed by P(valid).
`improve`: the largest expected improvement on ONE exact draw of the posterior, with lengthscales a little other than
the fitted ones. `refine`: the largest posterior mean. The last two alternate; both keep P(valid) above what the scrap
budget allows. Once a trial was non-valid, and with many parameters, improving steps believe a draw of the function at
every trial, with the fitted lengthscales, and nothing refines. With many
parameters half of them stay near the champion.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.spatial.distance import cdist

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.acquisition import (
    Acquisition,
    Apart,
    Logarithm,
    LogImprovement,
    Near,
    Scaled,
    Sum,
    Threshold,
)
from tuner.core.optimizer.changes import Changes, costly_changes
from tuner.core.optimizer.dueling import ExpectedImprovement, InformationGain, UpperCredibleBound
from tuner.core.optimizer.ground import other_ground
from tuner.core.optimizer.knowledge import Fits as Fits
from tuner.core.optimizer.knowledge import Knowledge as Knowledge
from tuner.core.optimizer.knowledge import ValidityName as ValidityName
from tuner.core.optimizer.knowledge import learn as learn
from tuner.core.optimizer.levels import promising_levels
from tuner.core.optimizer.records import Assured
from tuner.core.optimizer.search import Kept, candidates, maximise, untried
from tuner.core.optimizer.strategy import ACQUIRING, Strategy
from tuner.core.optimizer.surface import believed_surface, drawn_surface
from tuner.core.posterior.kernels import Kernel
from tuner.core.posterior.rows import Hyper
from tuner.core.posterior.skewgp import SkewGP
from tuner.core.space.parameters import SpaceError
from tuner.core.space.space import Space

AcquisitionName = str  # auto, ucb, thompson, eiig, ei, eubo, hb-ei, or eiig with its k: "eiig-0.5"


def next_kind(
    known: Knowledge, strategy: Strategy, acquisition: AcquisitionName, budget: int | None, rng: np.random.Generator
) -> str:
    """Return the kind of the next proposal: a few of the design at first, then the rest of it every other time.

    Once a trial was non-valid, the rest is as large as the chance that there is other valid ground.
    """
    own = [t for t in known.ledger.trials.values() if not t.earlier]
    kinds = [t.kind for t in own]
    filled = sum(kind in ("told", "design") for kind in kinds)
    scrapped = any(t.valid is False and not t.excluded for t in own)
    count = len(known.ledger.space.parameters)
    first, whole = strategy.design_size(count, budget, strategy.design)
    most = strategy.design_size(count, budget, strategy.islands)[1]
    if scrapped:
        # many settings that people brought along take the place of a design, but were not chosen to see the ground
        least = strategy.design_size(count, budget, strategy.ground.least)[1]
        whole = most if kinds.count("told") > first else max(first, least)
    turn = bool(kinds) and kinds[-1] != "design"
    if filled < first or (filled < whole and turn):
        return "design"
    if scrapped and turn and filled < most and rng.random() < _other_ground(known, strategy, rng):
        return "design"
    if acquisition != "auto":
        return acquisition
    share = strategy.improving.refined if _believes(known, strategy) else strategy.refined
    improved, refined = kinds.count("improve"), kinds.count("refine")
    return "improve" if improved * share <= refined * (1.0 - share) else "refine"


def _believes(known: Knowledge, strategy: Strategy) -> bool:
    """Say whether improving steps believe a draw of f at the trials: on many parameters, and near scrap."""
    return known.warned or len(known.ledger.space.parameters) >= strategy.improving.parameters


def _other_ground(known: Knowledge, strategy: Strategy, rng: np.random.Generator) -> float:
    """Return the share of valid ground that is expected elsewhere: all of it while there is no valid trial."""
    if known.champion is None:
        return 1.0
    valid = known.ledger.rows([t for t in known.ledger.trials.values() if t.usable])
    return other_ground(known.space, known.champion, valid, known.valid_probability, strategy.ground, rng)


@dataclass(frozen=True, eq=False)
class Choice:
    """The row to try next and how it was found."""

    row: FloatArray
    kind: str
    opponent: int | None = None
    assured: Assured | None = None


class Within(Acquisition, Protocol):
    """A floor that is kept whatever the rest is worth: a scrap contract's."""

    def allowed(self, U: FloatArray) -> FloatArray:
        """Return the rows that may be proposed."""

    def ground(self, U: FloatArray) -> FloatArray:
        """Return the rows that may be proposed, others if these are none; or say that there are none."""


def choose(
    known: Knowledge,
    strategy: Strategy,
    kind: str,
    risk: float,
    rng: np.random.Generator,
    left: int | None = None,
    within: Within | None = None,
) -> Choice:
    """Return the next row; `left` is how many parts may still be made, if anybody knows, `within` what must be kept."""
    changes = costly_changes(known.space, known.tried, left)
    if kind == "design" or known.champion is None:
        return Choice(_fill(known, strategy, risk, changes, rng), "design")
    opponent = _opponent(known, strategy, rng) if kind == "eubo" else known.champion_id
    parts: list[Acquisition] = [_wanted(known, strategy, kind, _row(known, opponent), rng)]
    floor: Acquisition | None = within
    if within is None and known.border is not None:
        floor = Threshold(known.border, 1.0 - risk, strategy.acquiring.steepness)
    if floor is not None:
        parts.append(floor)
    if kind == "improve" and len(known.space.parameters) >= strategy.improving.parameters:
        parts += _near(known, strategy, rng)
    space, lengthscales = known.space, known.model.hyper.kernel.lengthscales
    avoided = known.ledger.rows(known.ledger.avoided)
    if len(avoided):
        parts.append(Apart(avoided, strategy.acquiring.reach * lengthscales))
    kept = _kept(known, strategy, kind, floor, changes, rng)
    centre, counts = centres(known, strategy)
    U = candidates(space, centre, counts, lengthscales, strategy.uniform, rng, strategy.search, kept)
    U = U if within is None else within.allowed(U)
    if not len(U):  # no constraint holds with what was to be kept
        kept, U = None, candidates(space, centre, counts, lengthscales, strategy.uniform, rng, strategy.search)
        U = U if within is None else within.ground(U)
    row, _ = maximise(Sum(tuple(parts)), space, U, known.tried, floor, strategy.search, kept)
    return Choice(row, kind, opponent)


def _near(known: Knowledge, strategy: Strategy, rng: np.random.Generator) -> list[Acquisition]:
    """Return what keeps some steps near the champion: with many parameters a far one seldom improves on it."""
    numbers, space, champion = strategy.improving, known.space, known.allowed_champion
    if champion is None or rng.random() >= numbers.near:
        return []
    reach = np.full(space.dimension, np.inf)
    distance = float(np.exp(rng.uniform(*np.log(numbers.reach))))
    reach[space.free] = distance * known.model.hyper.kernel.lengthscales[space.free]
    return [Near(champion, reach)]


def _kept(
    known: Knowledge,
    strategy: Strategy,
    kind: str,
    floor: Acquisition | None,
    changes: Changes | None,
    rng: np.random.Generator,
) -> Kept | None:
    """Return what to keep in this step: levels, and what costs too much to change; None if nothing is left with it."""
    space, champion = known.space, known.allowed_champion
    kept = None if changes is None else changes.kept(space)
    if kind in ("improve", "refine") and champion is not None:
        kept = promising_levels(known.model, space, champion, known.tried, strategy, floor, changes, rng) or kept
    if kept is None or space.every is None:
        return kept
    return kept if kept.holds(untried(space.every, known.tried)).any() else None


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
    U = candidates(known.space, around, counts, lengthscales, strategy.uniform, rng, strategy.search)
    U = U[known.passable(U) > strategy.telling.likely_valid]

    draws = strategy.acquiring.screening_draws

    def expected_best(i: int) -> float:
        gain = ExpectedImprovement(known.model, _row(known, usable[i].number), draws).screen(U)
        return float(means[i]) + float(gain.max(initial=0.0))

    return usable[max(best, key=expected_best)].number


def _fill(
    known: Knowledge, strategy: Strategy, risk: float, changes: Changes | None, rng: np.random.Generator
) -> FloatArray:
    """Return the row that brings the most ground nearer to a trial, both weighed by P(valid).

    The row farthest from everything tried would lie on the border of the space, where little ground is near. The
    search for valid ground costs scrap, so the risk that may be run does not bound it before it is the least.
    """
    space = known.space
    ground = space.sample(strategy.uniform, rng, known.tried) if space.every is None else rng.permutation(space.every)
    if not len(ground):
        raise SpaceError(space.nothing_found)
    if not len(known.tried):
        return ground[0]
    U = untried(_held(space, ground, changes), known.tried)
    if risk <= strategy.least_risk and known.champion is not None:
        safe = known.passable(U) >= 1.0 - risk
        U = U[safe] if safe.any() else U
    U = U[: strategy.filled]
    nearer = cdist(ground, known.tried).min(axis=1) - cdist(U, ground)
    gain = np.maximum(nearer, 0.0) @ known.passable(ground)
    return U[int(np.argmax(gain * known.passable(U)))]


def _held(space: Space, U: FloatArray, changes: Changes | None) -> FloatArray:
    """Return the rows with what is not to be changed now; as they are if no constraint holds then."""
    kept = None if changes is None else changes.kept(space)
    if kept is None:
        return U
    rows = kept.put(U)
    rows = rows[space.feasible(rows)]
    return rows if len(rows) else U


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
    if kind == "hb-ei" or _believes(known, strategy):
        surface = believed_surface(model, rng)
    else:
        surface = drawn_surface(_varied(known, strategy, rng), rng)
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


def is_eiig(acquisition: str) -> bool:
    """Say whether it is "eiig" or "eiig-k"."""
    try:
        information_weight(acquisition)
    except (ValueError, AttributeError):
        return False
    return True


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
