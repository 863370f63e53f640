"""A state directory with a campaign in its journal, for tests of tables."""

from datetime import UTC, datetime
from pathlib import Path

from tuner.campaign import commands as c
from tuner.campaign.decide import Actor
from tuner.campaign.evolve import fold, parsed
from tuner.campaign.step import step
from tuner.daemon.journal_thread import row_of
from tuner.journal.store import FILE_NAME, Store
from tuner.lab.bench import machines
from tuner.lab.bench.history import history

EVIL = "=cmd|' /C calc'!A0"
LATER = datetime(2026, 1, 2, tzinfo=UTC)


def journal(directory: Path, *more: c.Command, name: str = "press", trials: int = 12) -> Path:
    """Write the history of a campaign, then some commands of an engineer."""
    with Store.open(directory / FILE_NAME) as store:
        store.append(history(name, machines.campaign(name, trials=50, seconds=0.0), trials))
        tell(store, name, *more)
    return directory


def tell(store: Store, name: str, *commands: c.Command) -> None:
    """Do commands and write what came of them."""
    for command in commands:
        state = fold(name, (parsed(r.seq, r.at, r.actor, r.body) for r in store.rows(campaign=name)))
        done = step(name, state, command, Actor("ada", "engineer"), LATER, seq=store.head[0])
        store.append([row_of(name, one) for one, _ in done])
