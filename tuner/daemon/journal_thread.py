"""The journal for the event loop: one thread owns it, and states are read from snapshots and the events after them."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from tuner import campaign
from tuner.basics.times import text_of
from tuner.campaign.evolve import Recorded, evolve, parsed
from tuner.campaign.state import State
from tuner.core.optimizer import champion, questions, records
from tuner.journal.chain import canonical
from tuner.journal.records import NewRow, Reply, Row
from tuner.journal.store import FILE_NAME, Store

T = TypeVar("T")
STATE: TypeAdapter[State] = TypeAdapter(State)
INDEX = "~index"  # no campaign can have this name


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Whose request it is, the client's name for it, and a digest of what it asks for."""

    owner: str
    id: str
    digest: str


class JournalThread:
    """Owns the thread that owns the journal."""

    def __init__(self, store: Store, thread: ThreadPoolExecutor) -> None:
        self._store = store
        self._thread = thread

    @classmethod
    async def open(cls, state_directory: Path) -> Self:
        """Open the journal in its own thread."""
        thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        try:
            store = await asyncio.get_running_loop().run_in_executor(
                thread, lambda: Store.open(state_directory / FILE_NAME)
            )
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return cls(store, thread)

    async def call(self, function: Callable[[Store], T]) -> T:
        """Do something with the journal in its thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(self._store))

    async def append(self, rows: Sequence[NewRow], replies: Sequence[Reply]) -> list[Row]:
        """Store events and replies; when this returns they survive a power cut."""
        return await self.call(lambda store: store.append(rows, replies))

    async def replies(self, keys: Sequence[RequestKey]) -> dict[RequestKey, Reply]:
        """What was answered to these requests before."""
        if not keys:
            return {}
        found = await self.call(lambda store: [store.reply(key.owner, key.id, key.digest) for key in keys])
        return {key: reply for key, reply in zip(keys, found, strict=True) if reply is not None}

    async def close(self) -> None:
        """Close the journal in good order."""
        await self.call(lambda store: store.close())
        self._thread.shutdown()


def row_of(name: str, one: Recorded) -> NewRow:
    """An event as a row of the journal; `parsed` reads it."""
    return NewRow(name, text_of(one.at), one.event.type, canonical(one.event.model_dump(mode="json")), one.actor)


@cache
def code_digest() -> str:
    """Of the source that folds events: a state folded by other source is not trusted, the events tell everything."""
    core = map(Path, (records.__file__, champion.__file__, questions.__file__))
    sources = [*sorted(Path(campaign.__file__).parent.glob("*.py")), *core]
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]


def kept_state(store: Store, name: str) -> tuple[State | None, int]:
    """The last snapshot made by this very source, and its event; None and 0 if there is none."""
    snapshot = store.snapshot(name)
    if snapshot is None or not snapshot.state.startswith(code_digest()):
        return None, 0
    try:
        return STATE.validate_json(snapshot.state[len(code_digest()) :]), snapshot.seq
    except ValidationError:
        return None, 0


def load_state(store: Store, name: str) -> State | None:
    """The state of a campaign: the last good snapshot and the events after it."""
    state, after = kept_state(store, name)
    for row in store.rows(campaign=name, after=after):
        state = evolve(name, state, parsed(row.seq, row.at, row.actor, row.body))
    return state


def save_state(store: Store, state: State) -> None:
    """Keep a snapshot of a state."""
    store.save_snapshot(state.name, state.seq, code_digest() + STATE.dump_json(state).decode())


def load_index(store: Store) -> dict[str, int]:
    """Campaigns that were over when they had this last event: they need not be read at the start."""
    snapshot = store.snapshot(INDEX)
    return {} if snapshot is None else {str(name): int(seq) for name, seq in json.loads(snapshot.state).items()}


def save_index(store: Store, ended: dict[str, int]) -> None:
    """Keep the list of campaigns that are over."""
    if store.head[0]:
        store.save_snapshot(INDEX, store.head[0], json.dumps(ended))
