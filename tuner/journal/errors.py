"""What can go wrong with the journal; each kind answers "would trying again help?"."""

import errno
import sqlite3

from tuner.basics.os_reasons import os_reason
from tuner.basics.sentences import say
from tuner.errors import TryAgainError, TunerError

# A full disk shows as any of these: SQLITE_FULL when a file cannot grow, SQLITE_IOERR_WRITE when a quota or a limit
# cuts a write short, SQLITE_IOERR_SHMSIZE when the index of the write-ahead log cannot grow.
_NO_ROOM = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE))
_NO_ROOM_OS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
# what Python's sqlite3 raises; the second where a damaged name makes SQLite's message unreadable
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_DAMAGED = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_NO_RIGHT = frozenset((sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM))
_PRIMARY = 0xFF  # the low byte of an extended error code is the primary code


class JournalError(TunerError):
    """The journal cannot be used as asked; trying again does not help."""


class DamagedError(JournalError):
    """The journal is not what was written; a person must look at it or restore a backup."""


class LostError(JournalError):
    """The journal's files are not where they were opened: what is written now would be lost."""


class DuplicateRequestError(JournalError):
    """A request with this id has been answered already; nothing was stored."""


class DiskFullError(JournalError, TryAgainError):
    """No room to store; nothing was stored, and the same append may succeed later."""


class HeldError(JournalError, TryAgainError):
    """Another process holds the journal for writing."""


def explain_os(error: OSError, doing: str) -> JournalError:
    """Turn the operating system's error into ours; `doing` is a sentence where others than a shell's user read it."""
    kind = DiskFullError if error.errno in _NO_ROOM_OS else JournalError
    return kind(say("machine.because", text=doing, why=os_reason(error)))


def explain(error: sqlite3.Error | UnicodeDecodeError, doing: str) -> JournalError:
    """Turn SQLite's error into ours; `doing` says what failed, such as "storing 2 events in x"."""
    code = getattr(error, "sqlite_errorcode", None)  # errors of Python's own layer have none
    if code in _NO_ROOM:
        return DiskFullError(f"{doing}: the disk is full, nothing was stored ({error}); make room and try again")
    if (
        isinstance(error, UnicodeDecodeError)
        or "decode to UTF-8" in str(error)
        or (code is not None and code & _PRIMARY in _DAMAGED)
    ):
        return DamagedError(
            f"{doing}: the journal is damaged ({error}): see `tuner journal verify`; backups come back with"
            " `tuner journal restore`"
        )
    if code is not None and code & _PRIMARY == sqlite3.SQLITE_BUSY:
        return HeldError(f"{doing}: another program is using the journal; stop it or try again")
    if code is not None and code & _PRIMARY in _NO_RIGHT:
        return JournalError(f"{doing}: {error}; have you the rights to the file and its directory?")
    return JournalError(f"{doing}: {error}")
