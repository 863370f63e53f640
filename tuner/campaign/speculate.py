"""What may happen next: the states after every possible answer, so that what follows can be computed beforehand."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from tuner.basics.vocabulary import Answer, Role
from tuner.campaign import events as e
from tuner.campaign.decide import Actor, Refusal, decide
from tuner.campaign.effects import model_due
from tuner.campaign.people import answer_to
from tuner.campaign.state import Duel, Stage, State
from tuner.campaign.step import follow


def futures(state: State, now: datetime, operators: tuple[str, ...]) -> Iterator[State]:
    """States in which the model is to say what comes next, after answers `operators` may give; likely ones first."""
    yield from _deeper(state, now, operators, depth=2)


def _deeper(state: State, now: datetime, operators: tuple[str, ...], depth: int) -> Iterator[State]:
    if depth == 0:
        return
    duel, trial = state.duel, state.trial
    events: list[e.Event] = []
    if duel is not None and trial is None:
        events = [answer for who in operators for answer in _answers(state, duel, who, now)]
    elif trial is not None and trial.stage in (Stage.APPROVED, Stage.SENT, Stage.APPLIED, Stage.RUNNING):
        events = [
            e.OutcomeTold(trial=trial.number, valid=True),
            e.OutcomeTold(trial=trial.number, valid=False, reason="speculation"),
        ]
    for event in events:
        after = follow(state.name, state, [event], "speculation", now)[-1][1]
        if model_due(after):
            yield after
        else:
            yield from _deeper(after, now, operators, depth - 1)


def _answers(state: State, duel: Duel, operator: str, now: datetime) -> Iterator[e.Event]:
    pair = sorted(duel.pair)  # most new parts do not win
    likely = sorted(Answer, key=lambda one: [*pair, None].index(one.winner(duel.left, duel.right)))
    for answer in likely:
        said = answer_to(duel.number, duel.left, duel.right, answer)
        with suppress(Refusal):  # an answer that would not be taken
            yield from decide(state, said, Actor(operator, Role.OPERATOR), now)
