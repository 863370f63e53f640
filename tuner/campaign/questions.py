"""Which duel is due: the library's rules for a campaign's state, and what the model wants asked."""

import hashlib
from dataclasses import replace

from tuner.campaign.state import Duel, Stage, State
from tuner.core.optimizer.questions import Asked, Question
from tuner.core.space.restriction import outside


def due(state: State) -> Question | None:
    """The next question, or None: first what somebody wants asked again, then what needs no model."""
    wanted = _look(state)
    if wanted is not None:
        return wanted
    reduel = state.champion if state.reduel else None
    plain = asked(state).question(repeat_after=state.terms.policy.repeat_after, reduel=reduel)
    if plain is not None and plain.why == "new":
        lot = state.trials[plain.number - 1].lot
        return replace(plain, number=_made_again(state, plain.number), opponent=_part(state, plain.opponent, lot))
    return plain or state.wanted


def _look(state: State) -> Question | None:
    """The first duel that somebody wants asked again, of parts that count."""
    for pair in state.looks:
        originals = (state.original(number) for number in pair)
        if all(state.trials[number - 1].usable for number in pair) and asked(state).kept(*originals):
            return Question(max(pair), min(pair), repeat=True, why="again")
    return None


def asked(state: State) -> Asked:
    """What was asked so far; a part that was made again from a new lot stands for the trial that it repeats."""
    own = [trial for trial in state.trials if trial.number not in state.remade]
    return Asked(own, state.told, *state.decided, hand=state.at_hand)


def to_remake(state: State) -> int | None:
    """The champion that is to be made again, because the lot is another one than that of its part."""
    champion = state.champion
    if not state.terms.policy.remake_after_lot or champion is None or state.trials[champion - 1].lot == state.lot:
        return None
    if outside(state.within, state.trials[champion - 1].setting):  # it waits until its setting is allowed again
        return None
    tried = (t for t in state.trials if t.source == "lot" and t.repeats == champion and t.lot == state.lot)
    # one that made scrap or was rejected is not tried again: then the old part stays the reference
    return None if any(t.stage is not Stage.DROPPED for t in tried) else champion


def _part(state: State, number: int, lot: str) -> int:
    """The part to compare with: the one made again for it, or of the same lot, if there is one."""
    if (newer := _made_again(state, number)) != number:
        return newer
    again = [t for t in state.trials if t.usable and t.lot == lot and state.remade.get(t.number) == number]
    return again[-1].number if again and state.trials[number - 1].lot != lot else number


def _made_again(state: State, number: int) -> int:
    """The part that somebody wanted made again while it was asked about; the trial's own if there is none."""
    return next(
        (t.number for t in state.trials[::-1] if t.usable and t.source == "remake" and t.repeats == number), number
    )


def to_make_first(state: State) -> int | None:
    """The part of a question, due or open, that is made again before it is asked."""
    question, again = state.duel or due(state), state.to_repeat
    if question is None or again is None:
        return None
    pair = question.pair if isinstance(question, Duel) else (question.number, question.opponent)
    return again if again in {state.original(number) for number in pair} else None


def model_may_ask(state: State) -> bool:
    """Whether the model may find something worth asking beside the new parts' duels."""
    policy = state.terms.policy
    return policy.repeat_after is None and policy.looks_per_part > 1.0 and bool(state.active)


def sides(state: State, question: Question) -> tuple[int, int]:
    """Left and right, as if by chance: nobody should learn that the new part is always on one side."""
    digest = hashlib.sha256(f"{state.name} {state.terms.seed} {len(state.duels)}".encode()).digest()
    pair = question.number, question.opponent
    return pair if digest[0] % 2 else (pair[1], pair[0])
