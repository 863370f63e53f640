"""The exactly-once memory: what was answered to each request of each key, chained by hashes like the events.

Replies are forgotten from the oldest on, so the chain begins where it was cut: one row remembers the last reply that
was forgotten and the last one that was given. A reply's age is the time that daemons ran since it was given, by a clock
that only goes forward: a wall clock that jumps must not make a client's retry a second request.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence

from tuner.journal.chain import GENESIS, chained
from tuner.journal.errors import DuplicateRequestError
from tuner.journal.records import Reply
from tuner.journal.sqlite import Database

UNOWNED = ""  # of a reply given by 0.1.0, which did not know whose request it was
_COLUMNS = "n, owner, request_id, digest, reply, at, ran_s, hash"
# bytes, not text: a damaged text may not even be UTF-8
_RAW = "n, " + ", ".join(f"CAST({name} AS BLOB)" for name in _COLUMNS.split(", ")[1:])

Head = tuple[int, str]


def create(db: Database) -> None:
    """Make the tables, and take over the replies of 0.1.0 in the order in which they were given."""
    old = db.execute("SELECT request_id, digest, reply, at FROM replies ORDER BY rowid").fetchall()
    db.execute("DROP TABLE replies")
    db.execute("""
        CREATE TABLE replies (
            n INTEGER PRIMARY KEY, owner TEXT NOT NULL, request_id TEXT NOT NULL, digest TEXT NOT NULL,
            reply TEXT NOT NULL, at TEXT NOT NULL, ran_s INTEGER NOT NULL, hash TEXT NOT NULL,
            UNIQUE (owner, request_id)
        ) STRICT""")
    db.execute("""
        CREATE TABLE reply_ends (
            one INTEGER PRIMARY KEY CHECK (one = 1), forgotten INTEGER NOT NULL, forgotten_hash TEXT NOT NULL,
            last INTEGER NOT NULL, last_hash TEXT NOT NULL
        ) STRICT""")
    db.execute("INSERT INTO reply_ends VALUES (1, 0, ?, 0, ?)", (GENESIS, GENESIS))
    append(db, (0, GENESIS), [Reply(UNOWNED, *row) for row in old], 0)


def head(db: Database) -> tuple[Head, int]:
    """The last reply's number and hash, and how long daemons had run when it was given."""
    last, hash_ = db.execute("SELECT last, last_hash FROM reply_ends").fetchone()
    found = db.execute("SELECT ran_s FROM replies ORDER BY n DESC LIMIT 1").fetchone()
    return (int(last), str(hash_)), int(found[0]) if found else 0


def append(db: Database, after: Head, replies: Sequence[Reply], ran_s: int) -> Head:
    """Store replies within the caller's transaction; return the new head."""
    n, hash_ = after
    for reply in replies:
        n += 1
        texts = (reply.owner, reply.request_id, reply.digest, reply.reply, reply.at)
        hash_ = chained(hash_.encode(), b"%d" % n, *(text.encode() for text in texts), b"%d" % ran_s)
        try:
            db.execute(
                f"INSERT INTO replies ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own constant
                (n, *texts, ran_s, hash_),
            )
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_UNIQUE:
                raise
            raise DuplicateRequestError(f"the request {reply.request_id} has been answered already") from error
    if replies:
        db.execute("UPDATE reply_ends SET last = ?, last_hash = ?", (n, hash_))
    return n, hash_


def find(db: Database, owner: str, request_id: str, digest: str) -> Reply | None:
    """What was answered to a request of this owner; what 0.1.0 answered counts for the very same request only."""
    rows = db.execute(
        "SELECT owner, request_id, digest, reply, at FROM replies"
        " WHERE owner IN (?, ?) AND request_id = ? ORDER BY owner DESC",
        (owner, UNOWNED, request_id),
    ).fetchall()
    known = [Reply(*row) for row in rows]
    return next((reply for reply in known if reply.owner != UNOWNED or reply.digest == digest), None)


def forget(db: Database, before_s: int) -> int:
    """Forget, within the caller's transaction, what was given before daemons had run so long; return how many."""
    found = db.execute("SELECT n, hash FROM replies WHERE ran_s < ? ORDER BY n DESC LIMIT 1", (before_s,)).fetchone()
    if not found:
        return 0
    db.execute("UPDATE reply_ends SET forgotten = ?, forgotten_hash = ?", found)
    return int(db.execute("DELETE FROM replies WHERE n <= ?", (found[0],)).rowcount)


def faults(db: Database, pause: Callable[[], None]) -> Iterator[str]:
    """Say what is wrong with the chain of replies."""
    ends = db.execute("SELECT forgotten, CAST(forgotten_hash AS BLOB), last, CAST(last_hash AS BLOB) FROM reply_ends")
    forgotten, hash_, last, last_hash = ends.fetchone() or (0, b"", 0, b"")
    n = forgotten
    for raw in db.execute(f"SELECT {_RAW} FROM replies NOT INDEXED ORDER BY n"):  # noqa: S608 - our own constant
        if raw[0] != n + 1:
            yield f"the reply {n + 1} is missing: a retry of its request would be done a second time"
            return
        n += 1
        *parts, found = raw[1:]
        if chained(hash_, b"%d" % n, *parts).encode() != found:
            yield f"the reply {n} or its hash was changed, or a reply before it was exchanged"
            return
        hash_ = found
        pause()
    if (n, hash_) != (last, last_hash):
        yield f"the replies {n + 1} to {last} are missing at the end" if n < last else f"the reply {n} was added"
