"""Which duel to ask next: first new parts that nobody has judged, now and then an old duel again.

Without repeats a judge's slips are never noticed; a repeat looks like any other question.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tuner.core.optimizer.ledger import Ledger
from tuner.core.optimizer.proposer import Knowledge
from tuner.core.optimizer.records import Judgment, Record


@dataclass(frozen=True)
class Question(Record):
    """A duel of two trials worth asking; `repeat` if it was asked before, which the judge need not know."""

    number: int
    opponent: int
    repeat: bool = False


def next_question(ledger: Ledger, learn: Callable[[], Knowledge], repeat_after: int) -> Question | None:
    """Return the next duel worth asking, or None; the model is learned only if the choice needs it."""
    champion = ledger.champion
    if champion is None:
        return None
    judged = frozenset[int]().union(*(j.pair for j in ledger.active))
    for trial in ledger.usable:
        if trial.number not in judged and trial.number != champion:
            opponent = trial.opponent
            if opponent is None or not ledger.trials[opponent].usable:
                opponent = champion
            return Question(trial.number, opponent)
    return _repeat(ledger, learn) if _due(ledger, repeat_after) else None


def _own(ledger: Ledger) -> list[Judgment]:
    """The judgments that count, of this campaign: their parts may still be at hand."""
    return [j for j in ledger.active if not any(ledger.trials[t].earlier for t in j.pair)]


def _due(ledger: Ledger, repeat_after: int) -> bool:
    """Whether enough new duels were judged since the last repeat."""
    seen: set[frozenset[int]] = set()
    since = 0
    for judgment in _own(ledger):
        since = 0 if judgment.pair in seen else since + 1
        seen.add(judgment.pair)
    return since >= repeat_after


def _repeat(ledger: Ledger, learn: Callable[[], Knowledge]) -> Question:
    """The duel that made the champion, if it was asked only once; else the one the model is least certain about."""
    asked = Counter(j.pair for j in _own(ledger))
    deciding = ledger.decided[1]
    if deciding is not None and asked[deciding.pair] == 1:
        return Question(*deciding.order, repeat=True)
    model, rows = learn().model, {t.number: ledger.rows([t]) for t in ledger.usable}

    def certainty(pair: tuple[int, int]) -> tuple[int, float]:
        return asked[frozenset(pair)], abs(float(model.win_probability(rows[pair[0]], rows[pair[1]])[0]) - 0.5)

    older, newer = min(sorted((min(pair), max(pair)) for pair in asked), key=certainty)
    return Question(newer, older, repeat=True)
