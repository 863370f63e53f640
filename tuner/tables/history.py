"""A campaign's events and what they come to: from the journal of a state directory, or from a running daemon."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tuner.basics.sentences import no_campaign
from tuner.basics.text import shown
from tuner.campaign.evolve import Recorded, evolve, parsed
from tuner.campaign.state import State
from tuner.errors import NoCampaignError, TunerError
from tuner.journal.store import FILE_NAME, Store
from tuner.report.story import read_history
from tuner.wire.client import Client


@dataclass(frozen=True)
class History:
    """A campaign.

    Attributes:
        name: Its name.
        recorded: All its events, the oldest first.
        state: What they come to.
        crowned: When each trial that ever was the champion became it for the first time.
    """

    name: str
    recorded: tuple[Recorded, ...]
    state: State
    crowned: dict[int, datetime]


def history_of(name: str, recorded: Iterable[Recorded]) -> History | None:
    """Fold the events and note the champions on the way; None if there are no events."""
    kept: list[Recorded] = []
    crowned: dict[int, datetime] = {}
    state: State | None = None
    for one in recorded:
        kept.append(one)
        state = evolve(name, state, one)
        if state.champion is not None:
            crowned.setdefault(state.champion, one.at)
    return None if state is None else History(name, tuple(kept), state, crowned)


def history_of_journal(file: Path, name: str) -> History:
    """Read it from a journal, whether its daemon runs or not.

    Raises:
        TunerError: It cannot be read, or has no such campaign.
    """
    with Store.open_reading(file) as store:
        found = history_of(name, _rows(store, name))
        known = [row.name for row in store.campaigns()]
    if found is None:
        raise NoCampaignError(f"{file.parent}: {no_campaign(name, known)}")
    return found


def history_of_daemon(client: Client, name: str) -> History:
    """Ask a running daemon for it."""
    found = history_of(name, read_history(client, name))
    if found is None:
        raise TunerError(f"the daemon tells nothing about the campaign {shown(name)}")
    return found


def in_state(directory: Path) -> Path:
    """The journal of a state directory."""
    return directory / FILE_NAME


def _rows(store: Store, name: str) -> Iterator[Recorded]:
    last = store.head[0]  # a busy daemon must not keep the reading from ending
    for row in store.rows(campaign=name):
        if row.seq > last:
            return
        yield parsed(row.seq, row.at, row.actor, row.body)
