"""Which further comparison is worth a look: what its answer is expected to tell, against the price of a look.

Functions are drawn from the posterior at the kept parts. Each gives an answer its chance; how far the answer depends on
which of them is true is what it tells (the mutual information of answer and function, in nats):

    gain = h(mean P) - mean h(P)            h(p) = -p log p - (1 - p) log(1 - p)

An answer that is as good as known tells nothing, and that of somebody who slips often tells little.

Glossary:
    F    (S, p) drawn functions at the parts        P    (S, q) chance under each that the newest part is said to win
"""

import numpy as np
from scipy.special import entr, ndtr

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.knowledge import Knowledge
from tuner.core.optimizer.looks import duels_of
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.strategy import Asking


def comparison(known: Knowledge, kept: set[int], slips: float, numbers: Asking) -> Question | None:
    """Return the comparison of the newest part with a kept one that tells the most, if that is worth its price.

    `slips` is how often an answer is wrong, whatever the parts are.
    """
    ledger = known.ledger
    newest = max((t.number for t in ledger.usable), default=None)
    if newest is None or newest not in kept:
        return None
    met = [one.pair for one in duels_of(ledger.active) if newest in one.pair]
    others = [number for number in sorted(kept) if number != newest and frozenset((number, newest)) not in met]
    if not met or not others or len(met) > numbers.comparisons:
        return None
    rows = ledger.rows([ledger.trials[number] for number in (newest, *others)])
    gains = expected_gains(known, rows, slips, numbers)
    place = int(np.argmax(gains))
    return Question(newest, others[place], why="compare") if gains[place] > numbers.price else None


def expected_gains(known: Knowledge, rows: FloatArray, slips: float, numbers: Asking) -> FloatArray:
    """Return how many nats the duels of the first row with each of the others would tell about the function."""
    F = known.model.sample(rows, numbers.draws)
    P = slips + (1.0 - 2.0 * slips) * ndtr(F[:, :1] - F[:, 1:])
    return np.asarray(_entropy(P.mean(axis=0)) - _entropy(P).mean(axis=0))


def _entropy(p: FloatArray) -> FloatArray:
    return np.asarray(entr(p) + entr(1.0 - p))
