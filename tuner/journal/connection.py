"""Connections to the journal's file: one that writes, and others that only read.

SQLite before 3.51.3 can damage a write-ahead log when two connections write or checkpoint at once. So there is one
connection that writes, in one thread of one process (see `tuner.journal.lock`); all others are opened with `mode=ro`,
which can neither write nor checkpoint.

Never open the journal's file in any other way while this process has a connection to it (`open`, `read_bytes`): closing
such a file gives up the locks of all connections in the process, as POSIX wants it.
"""

import sqlite3
from pathlib import Path

from tuner.journal.errors import SQLITE_ERRORS, JournalError, explain
from tuner.journal.sqlite import Database

_MOST_WAL_BYTES = 64 * 1024 * 1024  # a long reader lets the log grow; afterwards it is cut back to this
_WAIT_S = 5.0


def connect_writing(path: Path) -> Database:
    """Open or create the file with a write-ahead log that survives a power cut."""
    try:
        db = _connect(path, "rwc")
        mode = _set_up(db)
    except SQLITE_ERRORS as error:
        raise explain(error, f"opening the journal {path}") from error
    if mode != "wal":
        db.close()
        raise JournalError(
            f"{path}: this file system does not allow a write-ahead log; put the state directory on a local disk"
        )
    return db


def _set_up(db: Database) -> str:
    """Choose how SQLite writes; return the kind of log that the file system allows."""
    try:
        mode = str(db.execute("PRAGMA journal_mode=WAL").fetchone()[0])
        # NORMAL would lose acknowledged events in a power cut: it does not wait for the disk at a commit
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA journal_size_limit={_MOST_WAL_BYTES}")
    except SQLITE_ERRORS:
        db.close()
        raise
    return mode


def connect_reading(path: Path) -> Database:
    """Open an existing file for reading only, also while another process writes it."""
    if not path.is_file():
        raise JournalError(f"{path}: there is no journal")
    try:
        return _connect(path, "ro")
    except SQLITE_ERRORS as error:
        raise explain(error, f"opening the journal {path}") from error


def _connect(path: Path, mode: str) -> Database:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_WAIT_S)
    try:
        db = Database(connection, execute_plugins=False, strict=True)
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA cell_size_check=ON")
    except SQLITE_ERRORS:
        connection.close()
        raise
    return db
