"""A campaign's history for a report: its state, and the champion after each trial; from journal or daemon."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from tuner.basics.sentences import no_campaign
from tuner.basics.text import shown
from tuner.campaign.events import EVENT
from tuner.campaign.evolve import Recorded, evolve, parsed
from tuner.campaign.state import Stage, State
from tuner.core.optimizer.records import Memory
from tuner.errors import NoCampaignError, TunerError
from tuner.journal.store import FILE_NAME, Store
from tuner.wire.client import Client
from tuner.wire.messages import EventMessage

PAGE = 100
DECIDING = frozenset(
    {"outcome_told", "judgment_given", "judgment_retracted", "trial_excluded", "proposal_made", "earlier_imported"}
)


@dataclass(frozen=True)
class Story:
    """What a report tells, with the champion after so many trials."""

    state: State
    champions: tuple[tuple[int, int], ...]
    made: datetime


def fold_story(name: str, recorded: Iterable[Recorded], made: datetime) -> Story | None:
    """Fold events, and note the champion on the way; None if there are no events."""
    state: State | None = None
    champions: dict[int, int] = {}
    for one in recorded:
        state = evolve(name, state, one)
        if one.event.type in DECIDING and state.champion is not None:
            champions[sum(trial.stage is Stage.DONE for trial in state.trials)] = state.champion
    return None if state is None else Story(state, tuple(champions.items()), made)


def story_of_journal(directory: Path, name: str, made: datetime) -> Story:
    """Read it from the journal in a state directory, whether its daemon runs or not."""
    with Store.open_reading(directory / FILE_NAME) as store:
        rows = (parsed(row.seq, row.at, row.actor, row.body) for row in store.rows(campaign=name))
        story = fold_story(name, rows, made)
        known = [row.name for row in store.campaigns()]
    if story is None:
        raise NoCampaignError(f"{directory}: {no_campaign(name, known)}")
    return story


def story_of_daemon(client: Client, name: str, made: datetime) -> Story:
    """Ask a daemon for it; what the model remembers between proposals is not told, so it is fitted anew."""
    story = fold_story(name, read_history(client, name), made)
    if story is None:
        raise TunerError(f"the daemon tells nothing about the campaign {shown(name)}")
    asks = sum(trial.source in ("model", "fallback") for trial in story.state.trials)
    champion = client.snapshot(name).champion
    leader = None if champion is None or champion.number == story.state.champion else champion.number
    return replace(story, state=replace(story.state, memory=Memory(asks=asks, leader=leader)))


def read_history(client: Client, name: str) -> Iterator[Recorded]:
    """All events of a campaign as a daemon tells them, the oldest first."""
    pages: list[list[EventMessage]] = []
    before: int | None = None
    while True:
        page = client.history(name, before=before, limit=PAGE)
        pages.append(page.events)
        if not page.more:
            break
        before = page.events[-1].n
    for events in reversed(pages):
        yield from map(recorded, reversed(events))


def recorded(message: EventMessage) -> Recorded:
    """An event of the wire as one of the journal."""
    # as JSON, so that lists become tuples though the models are strict
    event = EVENT.validate_json(json.dumps({**message.body, "type": message.type}))
    return Recorded(message.seq, datetime.fromisoformat(message.at), message.actor, event)
