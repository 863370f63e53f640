"""A proposal in milliseconds, without any model: for the moment when a part is due and the model is not ready.

Glossary:
    rows    (p, D) candidates in the unit cube        tried    (q, D) every trial's row, whatever became of it
"""

from collections.abc import Iterator

import numpy as np

from tuner.basics.sentences import Sentence, say
from tuner.core.linalg import FloatArray
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.records import REJECTED, Proposal, Setting
from tuner.core.space.parameters import SpaceError
from tuner.core.space.space import BoolArray, Space

PURPOSE = 4  # the optimiser's own draws from [seed, asks] have the purposes 0 to 3
STEPS = (0.05, 0.1, 0.2)  # standard deviations in the unit cube, tried one after the other
COUNT = 64


def fallback_proposal(optimizer: Optimizer, space: Space, asks: int) -> Proposal:
    """Return a new setting near the champion, or far from everything tried; always the same one for the same state.

    Steps towards scrap and towards settings that were rejected are avoided while there are others. Nothing was fitted:
    the probabilities are None. The optimiser's own space may be without the constraints. The number of `asks` and its
    seed give the random numbers.
    """
    ledger, opponent = optimizer.ledger, optimizer.champion
    if optimizer.contract is not None and ledger.known_good is not None:
        return _known_good(optimizer, ledger.known_good)
    trials = list(ledger.trials.values())
    champion = None if opponent is None else ledger.rows([ledger.trials[opponent]])[0]
    tried = ledger.rows(trials)
    bad = [trial.excluded == REJECTED or (trial.valid is False and trial.excluded is None) for trial in trials]
    scrap = np.array(bad, dtype=bool)
    rng = np.random.default_rng([optimizer.seed, asks, PURPOSE])
    groups = _candidates(space, champion, tried, rng)
    setting, reason = _first_fresh(space, groups, tried, scrap, [trial.setting for trial in trials])
    row = space.encode(setting)
    return Proposal(
        number=len(trials) + 1,
        setting=setting,
        kind="fallback",
        opponent=opponent,
        reason=reason,
        distance=float(_gaps(row[None], tried).min()) if trials else None,
    )


def _known_good(optimizer: Optimizer, number: int) -> Proposal:
    """Return the known-good setting again: without the model nothing else is known to keep the scrap contract."""
    trials = optimizer.ledger.trials
    setting = dict(trials[number].setting)
    return Proposal(
        number=len(trials) + 1,
        setting=setting,
        kind="fallback",
        opponent=optimizer.champion,
        reason=say("why.contract_known_good"),
        distance=0.0,
    )


def _candidates(
    space: Space, champion: FloatArray | None, tried: FloatArray, rng: np.random.Generator
) -> Iterator[tuple[Sentence, FloatArray]]:
    """Yield feasible rows with a reason, the wanted ones first; the later ones are seldom needed and cost more."""
    if champion is not None:
        for size in STEPS:
            rows = space.snap(champion + size * rng.standard_normal((COUNT, space.dimension)))
            yield say("why.small_step"), rows[space.feasible(rows)]
        rows = space.neighbours(champion)
        yield say("why.small_step"), rows[np.argsort(_gaps(rows, champion[None])[:, 0], kind="stable")]
    rows = space.sample(4 * COUNT, rng, tried) if space.every is None else rng.permutation(space.every)
    if not len(rows):
        raise SpaceError(space.nothing_found)
    if len(tried):
        rows = rows[np.argsort(-_gaps(rows, tried).min(axis=1), kind="stable")]
    yield say("why.no_champion") if champion is None else say("why.farther_off"), rows


def _gaps(rows: FloatArray, tried: FloatArray) -> FloatArray:
    """Return the distance of each row to each of `tried`, (p, q)."""
    return np.asarray(np.sqrt(((rows[:, None, :] - tried[None]) ** 2).sum(axis=2)))


def _first_fresh(
    space: Space,
    groups: Iterator[tuple[Sentence, FloatArray]],
    tried: FloatArray,
    scrap: BoolArray,
    settings: list[Setting],
) -> tuple[Setting, Sentence]:
    """Return the first setting that was not tried and whose nearest trial is not scrap; else one that is."""
    risky: list[tuple[Sentence, FloatArray]] = []
    for reason, rows in groups:
        near_scrap = scrap[np.argmin(_gaps(rows, tried), axis=1)] if scrap.any() else np.zeros(len(rows), dtype=bool)
        setting = _fresh(space, rows[~near_scrap], settings)
        if setting is not None:
            return setting, reason
        risky.append((reason, rows))
    for reason, rows in risky:
        setting = _fresh(space, rows, settings)
        if setting is not None:
            return setting, reason
    return space.decode(risky[-1][1][0]), say("why.repeated")


def _fresh(space: Space, rows: FloatArray, settings: list[Setting]) -> Setting | None:
    decoded = (space.decode(row) for row in rows)
    return next((space.checked(setting) for setting in decoded if setting not in settings), None)
