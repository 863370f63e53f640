"""Which further comparison is worth a look: what its answer is expected to tell about the best setting.

Functions are drawn from the posterior at the kept parts and at settings around the champion. How much better than the
champion each of these settings is differs from function to function, and so does the answer to each duel: what they
have in common is what the answer tells. The gain of a look is the share of the variance of these differences that its
answer explains, averaged over the settings by their chance to be better than the champion.

Glossary:
    U    (p, D) the champion's, the kept parts' and other settings      F    (S, p) drawn functions at U
    A    (S, q) chance under each that the newest part wins             B    (S, p) by how much each beats the champion
"""

import numpy as np
from scipy.special import ndtr

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.knowledge import Knowledge
from tuner.core.optimizer.looks import duels_of
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.search import around
from tuner.core.optimizer.strategy import Strategy


def comparison(
    known: Knowledge, kept: set[int], slips: float, strategy: Strategy, rng: np.random.Generator
) -> Question | None:
    """Return the comparison of the newest part with a kept one that tells the most, if that is worth its price.

    `slips` is how often an answer is wrong, whatever the parts are.
    """
    ledger, numbers = known.ledger, strategy.asking
    newest = max((t.number for t in ledger.usable), default=None)
    if newest is None or known.champion is None:
        return None
    met = [one.pair for one in duels_of(ledger.active) if newest in one.pair]
    others = [number for number in sorted(kept) if number != newest and frozenset((number, newest)) not in met]
    if not met or not others or len(met) > numbers.comparisons:
        return None
    rows = ledger.rows([ledger.trials[number] for number in (newest, *others)])
    gains = expected_gains(known, rows, slips, strategy, rng)
    place = int(np.argmax(gains))
    return Question(newest, others[place], why="compare") if gains[place] > numbers.price else None


def expected_gains(
    known: Knowledge, rows: FloatArray, slips: float, strategy: Strategy, rng: np.random.Generator
) -> FloatArray:
    """Return what the duels of the first row with each of the others would tell about settings around the champion."""
    if known.champion is None:
        raise ValueError("there is no champion to do better than")
    near = _around(known, known.champion, strategy, rng)
    U = np.vstack([known.champion, rows, near])
    F = known.model.sample(U, strategy.asking.draws)
    A = slips + (1.0 - 2.0 * slips) * ndtr(F[:, 1:2] - F[:, 2 : len(rows) + 1])
    chance = A.mean(axis=0)
    B = F[:, len(rows) + 1 :] - F[:, :1]
    better = (B > 0.0).mean(axis=0)
    A, B = A - chance, B - B.mean(axis=0)
    shared = np.square(A.T @ B / len(F))
    alone = np.outer(chance * (1.0 - chance), np.square(B).mean(axis=0))
    explained = np.divide(shared, alone, out=np.zeros_like(shared), where=alone > 0.0)
    return np.asarray(explained @ better / max(float(better.sum()), 1.0 / len(F)))


def _around(known: Knowledge, centre: FloatArray, strategy: Strategy, rng: np.random.Generator) -> FloatArray:
    """Return settings around a row that may be proposed and are likely to give a part."""
    space, numbers = known.space, strategy.asking
    scale = numbers.reach * known.model.hyper.kernel.lengthscales
    near = space.snap(around(space, centre, numbers.near, scale, rng, strategy.search))
    near = near[space.feasible(near)]
    return near[known.passable(near) >= strategy.telling.likely_valid]
