"""Verification: is the journal what was written?

What can be found, and what cannot:

- A changed, exchanged, inserted or missing event, anywhere but at the end: its hash or its number is wrong, or the hash
  of the one after it.
- Events missing at the end: the rest is still a valid chain. They are found by the table of campaigns, which names the
  last event of each campaign, and by the mark in the lock file, which names the head at the last opening or closing.
- Somebody who may write the files and knows this program can write all hashes, tables and marks anew. That is found
  only by comparison with a head written down elsewhere (on paper, in a mail, in the log of another machine):
  `expect_head`. It must be the hash of one of the events; what came after it when it was written down is not covered.
- A changed, exchanged, inserted or missing reply: they have a chain of their own (`tuner.journal.replies`). Those that
  0.1.0 gave begin it as they were found.
- Snapshots are not part of a chain: they can be dropped without losing history.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from tuner.basics.text import shown
from tuner.journal import replies
from tuner.journal import tables as schema
from tuner.journal.chain import GENESIS, link
from tuner.journal.errors import SQLITE_ERRORS, DamagedError
from tuner.journal.lock import Mark
from tuner.journal.records import Verdict
from tuner.journal.sqlite import Database
from tuner.journal.tables import TRIGGERS

CAMPAIGNS_OF_THE_JOURNAL = "SELECT campaign, min(seq), max(seq), count(*) FROM journal NOT INDEXED GROUP BY campaign"
_EVENTS_BETWEEN_REPORTS = 10_000
_FAULTS_SHOWN = 3
_ROWS_BETWEEN_PAUSES = 200

# bytes, not text: a damaged text may not even be UTF-8
_RAW = "seq, " + ", ".join(f"CAST({name} AS BLOB)" for name in ("campaign", "at", "type", "body", "actor", "hash"))


def verify(
    db: Database,
    progress: Callable[[int, int], None] | None = None,
    *,
    mark: Mark | None = None,
    expect_head: str | None = None,
    pause: Callable[[], None] | None = None,
) -> Verdict:
    """Check all events and replies, the triggers, the table of campaigns and the file, as of one moment.

    Args:
        db: a connection without an open transaction.
        progress: called with the number of events checked so far and their total.
        mark: what the last writer left in the lock file.
        expect_head: the hash of an event, written down elsewhere.
        pause: called now and then by a check in the background, which leaves the file's structure to `quick_check`.
    """
    db.execute("BEGIN")  # one view of the journal, also while the daemon appends
    try:
        return _verify(db, progress, mark, expect_head, pause)
    finally:
        db.rollback()


def _verify(
    db: Database,
    progress: Callable[[int, int], None] | None,
    mark: Mark | None,
    expect_head: str | None,
    pause: Callable[[], None] | None,
) -> Verdict:
    rest = _Rest(pause)
    total = int(db.execute("SELECT count(*) FROM journal").fetchone()[0])
    head = (0, GENESIS)
    expected_found = expect_head in (None, GENESIS)
    try:
        for raw in _raw_rows(db):
            why = _fault(head, raw, mark)
            if why:
                return Verdict(False, head[0], head, head[0] + 1, why)
            head = (raw[0], raw[6].decode("ascii"))
            expected_found = expected_found or head[1] == expect_head
            rest()
            if progress and head[0] % _EVENTS_BETWEEN_REPORTS == 0:
                progress(head[0], total)
    except SQLITE_ERRORS as error:
        return Verdict(False, head[0], head, head[0] + 1, f"SQLite cannot read the event: {error}")
    if progress:
        progress(head[0], total)
    if mark and mark.seq > head[0]:
        return Verdict(False, head[0], head, head[0] + 1, _missing_end(mark.seq))
    for why in _other_faults(db, rest, structure=pause is None):
        return Verdict(False, head[0], head, None, why)
    for seq, why in _campaign_faults(db, head[0]):
        return Verdict(False, head[0], head, seq, why)
    if not expected_found:
        return Verdict(False, head[0], head, None, f"no event has the expected hash {shown(expect_head)}")
    return Verdict(True, head[0], head)


def _raw_rows(db: Database) -> Iterator[tuple]:  # type: ignore[type-arg]
    # NOT INDEXED: by the table itself, which is what the chain is about
    yield from db.execute(f"SELECT {_RAW} FROM journal NOT INDEXED ORDER BY seq")  # noqa: S608 - our own constant


def _fault(head: tuple[int, str], raw: tuple, mark: Mark | None) -> str:  # type: ignore[type-arg]
    """Say what is wrong with an event that should follow `head`; nothing if it is right."""
    seq, campaign, at, type_, body, actor, hash_ = raw
    if seq != head[0] + 1:
        return f"the event is missing: event {head[0]} is followed by event {seq}"
    if None in raw:  # the columns allow none, but a damaged page may have lost one
        return "a part of the event is missing"
    if link(head[1].encode(), seq, campaign, at, type_, body, actor).encode() != hash_:
        return "the event or its hash was changed, or an event before it was exchanged together with its hash"
    if mark and mark.seq == seq and mark.hash.encode() != hash_:
        return "the event is not the one that the lock file remembers"
    return ""


def _missing_end(last: int) -> str:
    return f"the events up to {last} are missing at the end"


def _campaign_faults(db: Database, last: int) -> Iterator[tuple[int | None, str]]:
    kept = {
        row[0]: row[1:] for row in db.execute("SELECT CAST(name AS BLOB), first_seq, last_seq, count FROM campaigns")
    }
    lost = max((row[1] for row in kept.values()), default=0)
    if lost > last:
        yield last + 1, _missing_end(lost)
    made = {row[0].encode(): row[1:] for row in db.execute(CAMPAIGNS_OF_THE_JOURNAL)}
    for name in sorted(kept.keys() | made.keys()):
        if kept.get(name) != made.get(name):
            yield None, f"the table of campaigns is wrong about {shown(name.decode(errors='replace'))}"


def _other_faults(db: Database, rest: "_Rest", *, structure: bool) -> Iterator[str]:
    kept = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"))
    for name, sql in TRIGGERS.items():
        if kept.get(name) != sql.strip():
            yield f"the trigger {name}, which keeps the journal append-only, is missing or was changed"
    if schema.SECOND not in schema.check_version(db, "the journal"):
        yield from _reply_faults(db, rest)
    fault = integrity_fault(db) if structure else ""
    if fault:
        yield fault


def _reply_faults(db: Database, rest: "_Rest") -> Iterator[str]:
    try:
        yield from replies.faults(db, rest)
    except SQLITE_ERRORS as error:
        yield f"SQLite cannot read the replies: {error}"


class _Rest:
    """Lets others have their turn after some rows."""

    def __init__(self, pause: Callable[[], None] | None) -> None:
        self._pause = pause
        self._rows = 0

    def __call__(self) -> None:
        self._rows += 1
        if self._pause and self._rows % _ROWS_BETWEEN_PAUSES == 0:
            self._pause()


def integrity_fault(db: Database) -> str:
    """Say what SQLite's check of tables and indexes found; nothing if all is right."""
    found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({_FAULTS_SHOWN})")]
    return "" if found == ["ok"] else f"SQLite's integrity check says: {'; '.join(found)}"


def quick_check(db: Database, path: Path) -> None:
    """Raise if the file's structure is damaged; reads the whole file."""
    try:
        found = [str(row[0]) for row in db.execute(f"PRAGMA quick_check({_FAULTS_SHOWN})")]
    except SQLITE_ERRORS as error:
        found = [str(error)]
    if found != ["ok"]:
        raise DamagedError(f"{path} is damaged ({'; '.join(found)}): restore a backup with `tuner journal restore`")


def check_mark(db: Database, mark: Mark | None, where: str) -> None:
    """Raise if the event that the last writer knew is not there any more."""
    if mark is None or mark.seq == 0:
        return
    found = db.execute("SELECT hash FROM journal WHERE seq = ?", (mark.seq,)).fetchone()
    if not found or found[0] != mark.hash:
        raise DamagedError(
            f"{where} is not the journal that was here: event {mark.seq} {'was changed' if found else 'is missing'}; if"
            f" you put an older copy there on purpose, remove {where}.lock"
        )


def check_replies(db: Database, where: str) -> None:
    """Raise if one of the replies is not what was given."""
    for why in _reply_faults(db, _Rest(None)):
        raise DamagedError(f"{where}: {why}; restore a backup with `tuner journal restore`")


def check_last(db: Database, count: int, where: str) -> None:
    """Raise if one of the last events does not follow from the one before it."""
    last = db.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0]
    rows = db.execute(f"SELECT {_RAW} FROM journal WHERE seq >= ? ORDER BY seq", (last - count,))  # noqa: S608 - ours
    head: tuple[int, str] | None = (0, GENESIS) if last <= count else None
    for raw in rows:
        why = _fault(head, raw, None) if head else ""
        if why and head:
            raise DamagedError(f"{where}: event {head[0] + 1}: {why}; restore a backup with `tuner journal restore`")
        head = (raw[0], raw[6].decode("ascii", "replace"))
