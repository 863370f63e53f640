"""Which answers are probably slips, and what to ask beside the new parts: found by leaving each answer out.

For each duel q is the probability of its verdict given all other answers: EP's cavity knows it after every fit. Slips
are those whose q is low, and a look that agrees or does not changes the odds by how often the operator is outvoted:

    odds(right) = q / (1 - q)  x  product over the looks of ((1 - e) / e) ^ (+1 if it agrees, -1 if not)

A duel is asked again while P(wrong) is above a threshold, which is low for the duel that made the champion: a slip
there draws the whole search to a bad part.

Glossary:
    q        P(verdict | all other answers)           e        how often an operator is outvoted
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from tuner.core.optimizer.comparing import comparison
from tuner.core.optimizer.looks import Looks, duels_of
from tuner.core.optimizer.proposer import Knowledge
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.strategy import Asking
from tuner.core.posterior.ep import NotConvergedError


@dataclass(frozen=True)
class Suspicion:
    """A duel, the probability that its verdict is wrong, and above which probability it is asked again."""

    looks: Looks
    p_wrong: float
    threshold: float

    @property
    def urgency(self) -> float:
        """Above 1 it is worth another look."""
        return self.p_wrong / self.threshold


def slip_rates(duels: Sequence[Looks], numbers: Asking) -> dict[str | None, float]:
    """Return how often each operator is wrong, by the looks that were outvoted.

    What is known of the others counts too, but for few looks: a new operator is expected to be as they are.
    """
    looks = Counter(answer.operator for duel in duels for answer in duel.answers)
    outvoted = Counter(answer.operator for duel in duels for answer in duel.outvoted)
    rates = {}
    for who, count in looks.items():
        others = looks.total() - count
        weight = min(1.0, numbers.operator_weight / others) if others else 0.0
        wrong = outvoted[who] + weight * (outvoted.total() - outvoted[who])
        seen = numbers.slips_weight + count + weight * others
        rates[who] = (numbers.slips * numbers.slips_weight + wrong) / seen
    return rates


def suspicions(known: Knowledge, numbers: Asking) -> list[Suspicion]:
    """Return every duel of this campaign with the probability that its verdict is wrong."""
    ledger = known.ledger
    duels = [duel for duel in duels_of(ledger.active) if not any(ledger.trials[n].earlier for n in duel.pair)]
    rates, expected = slip_rates(duels, numbers), _left_out(known)
    deciding = ledger.decided[1]
    crowning = frozenset[int]() if deciding is None else deciding.pair
    found = []
    for duel in duels:
        p_wrong = _p_wrong(duel, rates, expected.get(duel.pair))
        found.append(Suspicion(duel, p_wrong, numbers.crowning if duel.pair == crowning else numbers.suspicious))
    return found


def _p_wrong(duel: Looks, rates: Mapping[str | None, float], log_q: float | None) -> float:
    verdict = duel.verdict
    if verdict is None:
        return 0.5  # a draw
    weights = [np.log1p(-rates[one.operator]) - np.log(rates[one.operator]) for one in duel.answers]
    signs = [1.0 if one.winner == verdict.winner else -1.0 for one in duel.answers]
    log_odds = 0.0 if log_q is None else log_q - _log1mexp(log_q)
    return float(expit(-(log_odds + float(np.dot(weights, signs)))))


def _log1mexp(log_q: float) -> float:
    """Return log(1 - q)."""
    return float(np.log(-np.expm1(min(log_q, -np.finfo(np.float64).tiny))))


def _left_out(known: Knowledge) -> dict[frozenset[int], float]:
    """Return the logarithm of q by duel; nothing where EP does not settle."""
    verdicts = known.ledger.verdicts
    rows = [one for one in verdicts if not one.tie] + [one for one in verdicts if one.tie]
    try:
        logs = known.model.evidence.left_out
    except NotConvergedError:
        return {}
    return {one.pair: float(log) for one, log in zip(rows, logs[len(logs) - len(rows) :], strict=True)}


def model_question(known: Knowledge, looks: float, numbers: Asking) -> Question | None:
    """Return what the model wants to ask: a suspicious duel again, or a further comparison of the newest part; or None.

    Args:
        known: The fitted model.
        looks: How many looks are left; with the credit at least one.
        numbers: Thresholds, and the price of a look.
    """
    kept = {t.number for t in known.ledger.usable if known.at_hand is None or t.number in known.at_hand}
    worst = max(
        (
            one
            for one in suspicions(known, numbers)
            if one.urgency > 1.0 and one.looks.pair <= kept and len(one.looks.answers) < numbers.most_looks
        ),
        key=lambda one: (one.urgency, one.looks.answers[0].number),
        default=None,
    )
    if worst is not None:
        older, newer = sorted(worst.looks.pair)
        return Question(newer, older, repeat=True, why="again")
    if looks < numbers.spare_looks:
        return None
    return comparison(known, kept, _slips(known, numbers), numbers)


def _slips(known: Knowledge, numbers: Asking) -> float:
    """Return how often whoever has answered is wrong."""
    duels = duels_of(known.ledger.active)
    rates = slip_rates(duels, numbers)
    asked = [rates[answer.operator] for duel in duels for answer in duel.answers]
    return float(np.mean(asked)) if asked else numbers.slips
