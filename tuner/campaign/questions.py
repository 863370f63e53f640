"""Which duel is due: a new part's, the champion's again by the calendar, or an old one again to learn the noise."""

import hashlib
from collections import Counter
from typing import Literal

from tuner.campaign.state import State
from tuner.core.optimizer.records import Judgment

Why = Literal["new", "repeat", "reduel"]


def due(state: State) -> tuple[int, int, Why] | None:
    """The two trials of the next question and why it is asked, or None."""
    champion = state.champion
    if champion is None:
        return None
    judged = frozenset[int]().union(*(j.pair for j in state.active))
    for trial in state.trials:
        if not trial.usable or trial.number in judged or trial.number == champion:
            continue
        opponent = trial.opponent
        if opponent is None or not state.trials[opponent - 1].usable:
            opponent = champion
        return trial.number, opponent, "new"
    if state.reduel and (pair := _deciding(state, champion)) is not None:
        return *pair, "reduel"
    if state.terms.policy.repeat_after and _since_repeat(state) >= state.terms.policy.repeat_after:
        return *_repeat(state), "repeat"
    return None


def sides(state: State, a: int, b: int) -> tuple[int, int]:
    """Left and right, as if by chance: nobody should learn that the new part is always on one side."""
    digest = hashlib.sha256(f"{state.name} {state.terms.seed} {len(state.duels)}".encode()).digest()
    return (a, b) if digest[0] % 2 else (b, a)


def _deciding(state: State, champion: int) -> tuple[int, int] | None:
    """The champion and the one it followed, or whom it met last."""
    met = [j for j in state.active if champion in j.pair]
    if not met:
        return None
    number = state.decided[1]
    judgment = next((j for j in met if j.number == number), met[-1])
    return champion, next(iter(judgment.pair - {champion}))


def _since_repeat(state: State) -> int:
    seen: set[frozenset[int]] = set()
    since = 0
    for judgment in state.active:
        since = 0 if judgment.pair in seen else since + 1
        seen.add(judgment.pair)
    return since


def _repeat(state: State) -> tuple[int, int]:
    """The duel that made the champion, if it was asked once; else the latest of those asked least."""
    asked = Counter(j.pair for j in state.active)
    number = state.decided[1]

    def worth(judgment: Judgment) -> tuple[bool, int, int]:
        deciding = judgment.number == number and asked[judgment.pair] == 1
        return deciding, -asked[judgment.pair], judgment.number

    best = max(state.active, key=worth)
    return best.left, best.right
