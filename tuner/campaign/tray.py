"""Which parts people keep to compare them again: as many as the policy's tray takes."""

from dataclasses import replace

from tuner.campaign import events as e
from tuner.campaign.questions import asked
from tuner.campaign.state import State


def hand_after(before: State, state: State, event: e.Event) -> tuple[int, ...]:
    """What is at hand after an event that led to this state: parts are put away when one comes or was judged."""
    hand, tray = state.hand, state.terms.policy.tray
    if isinstance(event, e.OutcomeTold) and event.valid and not before.trials[event.trial - 1].valid:
        new, least = state.original(event.trial), 2  # it stays until it is judged
        hand = (*(one for one in hand if one != new), new)
    elif isinstance(event, e.EarlierImported):  # an earlier campaign's that is gone on with: its parts may be there
        hand, least = (*hand, *(one for one in state.candidates if one not in hand)), 1
    elif isinstance(event, e.JudgmentGiven):
        least = 1
    else:
        return hand
    most = None if tray is None else max(tray, least)
    if most is None or len(hand) <= most:
        return hand
    waiting = frozenset(map(state.original, state.duel.pair)) if state.duel is not None else frozenset[int]()
    return replace(asked(state), hand=hand).put_away(most, waiting)
