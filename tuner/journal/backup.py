"""Copies of the journal: written beside their place, checked, made durable, and only then given their name."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from tuner.journal import tables, verify
from tuner.journal.chain import GENESIS
from tuner.journal.connection import connect_reading
from tuner.journal.errors import SQLITE_ERRORS, DamagedError, JournalError, explain, explain_os
from tuner.journal.files import make_directory, make_durable
from tuner.journal.lock import Lock, Mark
from tuner.journal.records import BackupInfo
from tuner.journal.sqlite import Database


def backup(db: Database, source: Path, target: Path) -> BackupInfo:
    """Copy an open journal as of one moment to a new file.

    `VACUUM INTO` only reads the journal, so this also works on a connection for reading while the daemon writes. On the
    writer's own connection, appending waits until the copy is done.
    """
    if target.exists():
        raise JournalError(f"{target} exists: a backup never takes the place of another file")
    make_directory(target.parent)
    with _temporary(target) as temporary:
        try:
            db.execute("VACUUM INTO ?", (str(temporary),))
        except SQLITE_ERRORS as error:
            raise explain(error, f"{source}: writing the backup {target}") from error
        seq, hash_ = _check_file(temporary)
        return _put_in_place(temporary, target, seq, hash_)


def restore(source: Path, journal: Path, progress: Callable[[int, int], None] | None = None) -> BackupInfo:
    """Put a backup in the place of a journal that is gone, after checking all of it."""
    make_directory(journal.parent)
    with Lock(journal) as lock:
        for name in (journal, Path(f"{journal}-wal")):
            if _in_use(name):
                raise JournalError(f"{name} exists: move it away before a backup is restored")
        if not source.is_file():
            raise JournalError(f"{source}: there is no such backup")
        if _in_use(Path(f"{source}-wal")):
            raise JournalError(f"{source} is a journal in use, not a backup: make one with `tuner journal backup`")
        with _temporary(journal) as temporary:
            try:
                shutil.copyfile(source, temporary)
            except OSError as error:
                raise explain_os(error, f"copying {source}") from error
            seq, hash_ = _check_all(temporary, progress)
            info = _put_in_place(temporary, journal, seq, hash_)
        lock.mark = Mark(True, seq, hash_)
        return info


def _in_use(path: Path) -> bool:
    """Tell whether there is something in a file; readers leave an empty log behind."""
    return path.exists() and path.stat().st_size > 0


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """A name beside the target; whatever is left there and beside it is removed."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        # made here, for its owner only: SQLite and copies would make it as readable as the umask lets them
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise explain_os(error, f"writing {target}") from error
    try:
        yield temporary
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{temporary}{suffix}").unlink(missing_ok=True)


def _check_file(copy: Path) -> tuple[int, str]:
    """Let SQLite check a copy; return its head.

    The chain is left to `tuner journal verify`: it is hashed in Python, which would hold up the daemon's other threads.
    """
    db = connect_reading(copy)
    try:
        fault = verify.integrity_fault(db)
        head = db.execute("SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1").fetchone()
    except SQLITE_ERRORS as error:
        raise explain(error, f"checking the copy {copy}") from error
    finally:
        db.close()
    if fault:
        raise DamagedError(f"the copy is damaged, and so may be the journal: {fault}; see `tuner journal verify`")
    return head or (0, GENESIS)


def _check_all(copy: Path, progress: Callable[[int, int], None] | None) -> tuple[int, str]:
    db = connect_reading(copy)
    try:
        known = tables.FIRST not in tables.check_version(db, str(copy))
        verdict = verify.verify(db, progress) if known else None
    except SQLITE_ERRORS as error:
        raise explain(error, f"checking the copy {copy}") from error
    finally:
        db.close()
    if verdict is None:
        raise JournalError(f"{copy} is not a copy of a journal")
    if not verdict.ok:
        at = "" if verdict.first_bad_seq is None else f" at event {verdict.first_bad_seq}"
        raise DamagedError(f"the backup is not a right journal{at}: {verdict.why}")
    return verdict.head


def _put_in_place(temporary: Path, target: Path, seq: int, hash_: str) -> BackupInfo:
    try:
        temporary.chmod(0o600)
        make_durable(temporary)
        temporary.rename(target)
        make_durable(target.parent)
        return BackupInfo(target, seq, hash_, target.stat().st_size)
    except OSError as error:
        raise explain_os(error, f"writing {target}") from error
