"""The journal on SQLite: append events and replies in one transaction, read them back, keep snapshots.

A store belongs to the thread that opened it (SQLite's module refuses others). The daemon has one thread for the store
that writes; everybody else opens the file with `Store.open_reading`.

What is checked when a store is opened for writing: the event named by the last writer's mark (`tuner.journal.lock`)
must still be there, and the last events must follow from each other. That takes milliseconds for a journal of any size.
SQLite's `quick_check` reads the whole file: a million events (600 MB) took 1.2 s from memory but 17 s from a cold disk,
and after a power cut the disk is cold. A journal that was closed properly cannot have been torn by us, so the check is
due only if the last writer did not close it, or nothing is known. Then a small file and its whole chain are checked at
once (a second at worst); for a large one `check_due` is true, and the daemon starts its work and lets another thread
call `quick_check` on a store opened for reading. That thread verifies the chains after every start.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from tuner.basics.text import counted
from tuner.journal import backup as backups
from tuner.journal import replies, verify
from tuner.journal import tables as schema
from tuner.journal.chain import GENESIS, digest, extend
from tuner.journal.connection import connect_reading, connect_writing
from tuner.journal.errors import SQLITE_ERRORS, DamagedError, JournalError, LostError, explain, explain_os
from tuner.journal.files import make_directory, make_durable
from tuner.journal.lock import Lock, Mark, read_mark
from tuner.journal.presence import Presence
from tuner.journal.records import BackupInfo, CampaignRow, NewRow, Reply, Row, Snapshot, Verdict
from tuner.journal.sqlite import Database

FILE_NAME = "journal.sqlite"
_COLUMNS = "seq, campaign, at, type, body, actor, hash"
_CHUNK = 1000  # rows read at once: no cursor stays open between them, which would keep the log from being reset
_SNAPSHOTS_KEPT = 2
_LAST_CHECKED = 100
_LARGE_BYTES = 32 * 1024 * 1024  # of a file that is too large to be checked before work begins
_MOST_SEQ = 2**63 - 1


class Store:
    """One open journal."""

    def __init__(self, path: Path, db: Database, lock: Lock | None, monotonic: Callable[[], float]) -> None:
        self._path = path
        self._db = db
        self._lock = lock
        self._head = (0, GENESIS)
        self._reply_head = (0, GENESIS)
        self._ran_before_s = 0
        self._began_s = monotonic()
        self._monotonic = monotonic
        self._presence: Presence | None = None
        self._lost: LostError | None = None
        self._check_due = False

    @classmethod
    def open(cls, path: Path, *, create: bool = True, monotonic: Callable[[], float] = time.monotonic) -> Self:
        """Open a journal for writing and check it; with `create`, begin a new one where there is none.

        Raises:
            HeldError: another process writes it.
            DamagedError: it is not what was written.
            JournalError: it cannot be opened; the text says why.
        """
        if not create and not path.exists():
            raise JournalError(f"{path}: there is no journal")
        make_directory(path.parent)
        lock = Lock(path)
        try:
            mark = lock.mark
            new = not path.exists() or path.stat().st_size == 0
            if new:
                _refuse_remains(path, mark)
                path.touch(mode=0o600)
            store = cls(path, connect_writing(path), lock, monotonic)
        except BaseException:
            lock.release()
            raise
        try:
            store._prepare(mark, new=new)
        except BaseException:
            store._db.close()
            lock.release()
            raise
        return store

    @classmethod
    def open_reading(cls, path: Path) -> Self:
        """Open an existing journal for reading only; it works while another process writes it."""
        store = cls(path, connect_reading(path), None, time.monotonic)
        try:
            with store._explained("opening"):
                missing = schema.check_version(store._db, str(path))
        except BaseException:
            store._db.close()
            raise
        if schema.FIRST in missing:
            store._db.close()
            raise JournalError(f"{path} is not a journal")
        return store

    def _prepare(self, mark: Mark | None, *, new: bool) -> None:
        """Bring the tables up to date and check as the module's docstring says."""
        count = _LAST_CHECKED
        with self._explained("opening"):
            if not new and not (mark and mark.clean):
                self._check_due = self._path.stat().st_size > _LARGE_BYTES
                if not self._check_due:
                    verify.quick_check(self._db, self._path)
                    count = _MOST_SEQ
            if schema.check_version(self._db, str(self._path)):
                schema.migrations().apply(self._db)
            self._head = self._read_head()
            self._reply_head, self._ran_before_s = replies.head(self._db)
            verify.check_mark(self._db, mark, str(self._path))
            verify.check_last(self._db, count, str(self._path))
            if count > _LAST_CHECKED:
                verify.check_replies(self._db, str(self._path))
        if new:
            make_durable(self._path.parent)
        if self._lock:
            self._lock.mark = Mark(False, *self._head)
            try:
                self._presence = Presence(self._path)
            except OSError as error:
                raise explain_os(error, f"looking for {self._path}") from error

    @property
    def path(self) -> Path:
        """The journal's file."""
        return self._path

    @property
    def check_due(self) -> bool:
        """The last writer did not close this large journal: somebody should call `quick_check` on another store."""
        return self._check_due

    def checked(self) -> None:
        """Take note that the due check found nothing; else it is due again at the next opening."""
        self._check_due = False

    def doubted(self) -> None:
        """Take note that a check found damage: the next opening checks all that it can before any work."""
        self._check_due = True

    @property
    def head(self) -> tuple[int, str]:
        """The last event's number and hash; 0 and `GENESIS` for an empty journal."""
        return self._head if self._lock else self._read_head()

    def append(self, rows: Sequence[NewRow], answered: Sequence[Reply] = ()) -> list[Row]:
        """Store events and replies in one transaction; when this returns they survive a power cut.

        Raises:
            DiskFullError: nothing was stored; the same call may succeed later.
            DuplicateRequestError: a request has a reply already; nothing was stored.
            LostError: the files were removed or replaced, and this and all that follows is lost.
            JournalError: nothing was stored.
        """
        if not rows and not answered:
            return []
        doing = f"storing {counted(len(rows), 'event')}"
        try:
            added = list(extend(self._head, rows))
        except UnicodeEncodeError as error:
            raise JournalError(f"{doing}: a text has characters that cannot be stored ({error.reason})") from error
        with self._transaction(doing):
            self._db.conn.executemany(
                f"INSERT INTO journal ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own constant
                [(row.seq, row.campaign, row.at, row.type, row.body, row.actor, row.hash) for row in added],
            )
            self._db.conn.executemany(
                "INSERT INTO campaigns (name, first_seq, last_seq, count) VALUES (?1, ?2, ?3, ?4)"
                " ON CONFLICT (name) DO UPDATE SET last_seq = ?3, count = count + ?4",
                _campaigns_of(added),
            )
            reply_head = replies.append(self._db, self._reply_head, answered, self._ran_s())
        self._reply_head = reply_head
        if added:
            first, self._head = self._head[0] == 0, (added[-1].seq, added[-1].hash)
            if first and self._lock:  # from now on there is something to be missed
                self._lock.mark = Mark(False, *self._head)
        return added

    def _ran_s(self) -> int:
        """How long daemons have run with this journal, as far as replies tell."""
        return self._ran_before_s + int(self._monotonic() - self._began_s)

    def reply(self, owner: str, request_id: str, digest: str = "") -> Reply | None:
        """Return what was answered to a request of this owner, if it was; see `tuner.journal.replies`."""
        with self._explained("reading"):
            return replies.find(self._db, owner, request_id, digest)

    def prune_replies(self, kept_s: float) -> int:
        """Forget the replies since which daemons ran longer than this; return how many they were."""
        with self._transaction("forgetting old replies"):
            return replies.forget(self._db, self._ran_s() - int(kept_s))

    def rows(self, *, campaign: str | None = None, after: int = 0, limit: int | None = None) -> Iterator[Row]:
        """Yield events in their order, of one campaign or all, numbered above `after`.

        Rows are read in chunks, each with its own short read: the caller may append in between.
        """
        where, values = ("", ()) if campaign is None else ("campaign = ? AND ", (campaign,))
        left = limit
        while left is None or left > 0:
            size = _CHUNK if left is None else min(left, _CHUNK)
            chunk = self._fetch(
                f"SELECT {_COLUMNS} FROM journal WHERE {where}seq > ? ORDER BY seq LIMIT ?",  # noqa: S608 - ours
                (*values, after, size),
            )
            for found in chunk:
                yield Row(*found)
            if len(chunk) < size:
                return
            after = chunk[-1][0]
            left = None if left is None else left - size

    def page(self, campaign: str | None, before: int | None, limit: int) -> list[Row]:
        """Return at most `limit` events, newest first, numbered below `before`; of one campaign or all."""
        where, values = ("", ()) if campaign is None else ("campaign = ? AND ", (campaign,))
        found = self._fetch(
            f"SELECT {_COLUMNS} FROM journal WHERE {where}seq < ? ORDER BY seq DESC LIMIT ?",  # noqa: S608 - ours
            (*values, _MOST_SEQ if before is None else before, max(limit, 0)),
        )
        return [Row(*row) for row in found]

    def part(self, campaign: str, first: int, limit: int) -> list[Row]:
        """Return a campaign's events number `first`, `first` + 1, ... of its own count from 1 on."""
        found = self._fetch(
            f"SELECT {_COLUMNS} FROM journal WHERE campaign = ? ORDER BY seq LIMIT ? OFFSET ?",  # noqa: S608 - ours
            (campaign, max(limit, 0), max(first - 1, 0)),
        )
        return [Row(*row) for row in found]

    def campaigns(self) -> list[CampaignRow]:
        """Return all campaigns in the order of their first event."""
        found = self._fetch("SELECT name, first_seq, last_seq, count FROM campaigns ORDER BY first_seq", ())
        return [CampaignRow(*row) for row in found]

    def save_snapshot(self, campaign: str, seq: int, state: str) -> None:
        """Keep the fold of a campaign up to event `seq`, and the one before it."""
        with self._transaction(f"storing a snapshot of campaign {campaign}"):
            found = self._db.execute("SELECT hash FROM journal WHERE seq = ?", (seq,)).fetchone()
            if not found:
                raise JournalError(f"no snapshot at event {seq}: there is no such event")
            self._db.execute(
                "INSERT OR REPLACE INTO snapshots (campaign, seq, state, digest, journal_hash) VALUES (?, ?, ?, ?, ?)",
                (campaign, seq, state, _snapshot_digest(campaign, seq, state, found[0]), found[0]),
            )
            self._db.execute(
                "DELETE FROM snapshots WHERE campaign = ?1 AND seq NOT IN"
                " (SELECT seq FROM snapshots WHERE campaign = ?1 ORDER BY seq DESC LIMIT ?2)",
                (campaign, _SNAPSHOTS_KEPT),
            )

    def snapshot(self, campaign: str) -> Snapshot | None:
        """Return the newest snapshot that belongs to this journal and is not damaged."""
        seqs = self._fetch("SELECT seq FROM snapshots WHERE campaign = ? ORDER BY seq DESC", (campaign,))
        for (seq,) in seqs:
            with contextlib.suppress(DamagedError):  # a damaged snapshot only costs time: the events are still there
                state, stored, journal_hash, found = self._fetch(
                    "SELECT state, digest, journal_hash,"
                    " (SELECT hash FROM journal WHERE journal.seq = snapshots.seq)"
                    " FROM snapshots WHERE campaign = ? AND seq = ?",
                    (campaign, seq),
                )[0]
                if journal_hash == found and stored == _snapshot_digest(campaign, seq, state, journal_hash):
                    return Snapshot(campaign, seq, state, journal_hash)
        return None

    def quick_check(self) -> None:
        """Raise DamagedError if the file's structure is damaged; may take long, and lets other threads run."""
        with self._explained("checking"):
            verify.quick_check(self._db, self._path)

    def verify(
        self,
        progress: Callable[[int, int], None] | None = None,
        *,
        expect_head: str | None = None,
        pause: Callable[[], None] | None = None,
    ) -> Verdict:
        """Check every event and reply, the projection and the file; see `tuner.journal.verify` for what is found."""
        with self._explained("verifying"):
            mark = read_mark(self._path)
            return verify.verify(self._db, progress, mark=mark, expect_head=expect_head, pause=pause)

    def backup(self, target: Path) -> BackupInfo:
        """Write a checked, durable copy; see `tuner.journal.backup`."""
        with self._explained("backing up"):
            return backups.backup(self._db, self._path, target)

    def close(self) -> None:
        """Close the journal; a writer leaves the mark that it did, unless a check is still due."""
        head = self._head
        self._db.close()
        if self._lock:
            lock, self._lock = self._lock, None
            with contextlib.suppress(JournalError):  # without the mark, the next opening only checks more
                lock.mark = Mark(not self._check_due, *head)
            lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_head(self) -> tuple[int, str]:
        found = self._fetch("SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1", ())
        return (int(found[0][0]), str(found[0][1])) if found else (0, GENESIS)

    def _fetch(self, sql: str, values: tuple[object, ...]) -> list[tuple]:  # type: ignore[type-arg]
        with self._explained("reading"):
            return self._db.execute(sql, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self, doing: str) -> Iterator[None]:
        """BEGIN IMMEDIATE ... COMMIT, or nothing at all."""
        if self._lock is None:
            raise JournalError(f"{doing}: {self._path} is not open for writing")
        if self._lost:
            raise self._lost
        with self._explained(doing):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            finally:
                self._db.rollback()  # does nothing after COMMIT, nor where SQLite has rolled back by itself
        self._check_presence()

    def _check_presence(self) -> None:
        """After each commit: what went into a file that nobody will find again was not stored."""
        try:
            if self._presence:
                self._presence.check()
        except LostError as error:
            self._lost = error
            if self._lock:  # so that the next opening does not begin a new journal in silence
                self._lock.mark = Mark(False, *self._head)
            raise

    @contextlib.contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        try:
            yield
        except SQLITE_ERRORS as error:
            raise explain(error, f"{self._path}: {doing}") from error


def _campaigns_of(rows: Sequence[Row]) -> list[tuple[str, int, int, int]]:
    """Return each campaign's name, first and last number and count among rows in their order."""
    found: dict[str, tuple[int, int, int]] = {}
    for row in rows:
        first, _, count = found.get(row.campaign, (row.seq, 0, 0))
        found[row.campaign] = (first, row.seq, count + 1)
    return [(name, *numbers) for name, numbers in found.items()]


def _snapshot_digest(campaign: str, seq: int, state: str, journal_hash: str) -> str:
    return digest(campaign, str(seq), state, journal_hash)


def _refuse_remains(path: Path, mark: Mark | None) -> None:
    """Do not begin a new journal in silence where an old one was lost."""
    if mark is not None and mark.seq > 0:
        raise DamagedError(
            f"{path} is gone or empty, but it had {counted(mark.seq, 'event')}: restore a backup with `tuner journal "
            f"restore`, or remove {path}.lock to begin a new journal"
        )
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size > 0:
        raise DamagedError(
            f"{path} is gone, but its log {log.name} is there: put the journal back or move the log away"
        )
