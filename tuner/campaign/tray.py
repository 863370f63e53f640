"""Which parts people keep to compare them again: as many as the policy's tray takes."""

from tuner.campaign import events as e
from tuner.campaign.state import State
from tuner.core.optimizer.questions import put_away


def at_hand(state: State) -> tuple[int, ...] | None:
    """The trials whose parts are still there to be compared; None: all."""
    return None if state.terms.policy.tray is None else state.hand


def hand_after(state: State, event: e.Event) -> tuple[int, ...]:
    """What is at hand after an event that led to this state: parts are put away when one comes or was judged."""
    hand, tray = state.hand, state.terms.policy.tray
    if isinstance(event, e.OutcomeTold) and event.valid:
        new, least = state.original(event.trial), 2  # it stays until it is judged
        hand = (*(one for one in hand if one != new), new)
    elif isinstance(event, e.JudgmentGiven):
        least = 1
    else:
        return hand
    return hand if tray is None else put_away(hand, state.champion, state.decided[1], max(tray, least))
