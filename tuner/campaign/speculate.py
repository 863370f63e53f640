"""What may happen next: the states after every possible answer, so that their proposals can be computed beforehand."""

from collections.abc import Iterator
from datetime import datetime

from tuner.campaign import events as e
from tuner.campaign.effects import proposal_due
from tuner.campaign.state import Duel, Stage, State
from tuner.campaign.step import follow


def futures(state: State, now: datetime, operators: tuple[str, ...]) -> Iterator[State]:
    """States in which a proposal is due, after answers that `operators` may give; the likely ones first."""
    yield from _deeper(state, now, operators, depth=2)


def _deeper(state: State, now: datetime, operators: tuple[str, ...], depth: int) -> Iterator[State]:
    if depth == 0:
        return
    duel, trial = state.duel, state.trial
    events: list[e.Event] = []
    if duel is not None and trial is None:
        events = [answer for who in operators for answer in _answers(state, duel, who)]
    elif trial is not None and trial.stage in (Stage.APPROVED, Stage.SENT, Stage.APPLIED, Stage.RUNNING):
        events = [
            e.OutcomeTold(trial=trial.number, valid=True),
            e.OutcomeTold(trial=trial.number, valid=False, reason="speculation"),
        ]
    for event in events:
        after = follow(state.name, state, [event], "speculation", now)[-1][1]
        if proposal_due(after):
            yield after
        else:
            yield from _deeper(after, now, operators, depth - 1)


def _answers(state: State, duel: Duel, operator: str) -> list[e.Event]:
    number = len(state.judgments) + 1
    new = max(duel.left, duel.right)
    winners = (min(duel.left, duel.right), new, None)  # most new parts do not win
    return [e.JudgmentGiven(judgment=number, duel=duel.number, winner=w, operator=operator) for w in winners]
