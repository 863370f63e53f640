"""One step of a campaign: decide, then evolve and `automatic` until nothing follows; pure, and written only here."""

from collections.abc import Iterable
from datetime import datetime

from tuner.campaign.automatic import automatic
from tuner.campaign.commands import Command
from tuner.campaign.decide import Actor, decide
from tuner.campaign.events import Event
from tuner.campaign.evolve import Recorded, evolve
from tuner.campaign.state import State

SYSTEM = Actor("tuner", "engineer")
Stepped = tuple[tuple[Recorded, State], ...]  # each event, and the state after it


def step(
    name: str, state: State | None, command: Command, actor: Actor, now: datetime, *, seq: int | None = None
) -> Stepped:
    """What a command makes happen, with everything that follows by itself; empty if it changes nothing.

    `seq` is the journal's last number, by default the last of this campaign. What follows by itself is signed by the
    system.
    """
    return follow(name, state, decide(state, command, actor, now), actor.signature, now, seq=seq)


def follow(
    name: str, state: State | None, events: Iterable[Event], by: str, now: datetime, *, seq: int | None = None
) -> Stepped:
    """Evolve by events, then by what follows from them."""
    number = (0 if state is None else state.seq) if seq is None else seq
    waiting, done = [(event, by) for event in events], list[tuple[Recorded, State]]()
    while True:
        for event, who in waiting:
            one = Recorded(number + len(done) + 1, now, who, event)
            state = evolve(name, state, one)
            done.append((one, state))
        following = None if state is None else automatic(state, now)
        if following is None:
            return tuple(done)
        waiting = [(following, SYSTEM.name)]
