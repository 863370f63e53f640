"""One writer at a time: a lock on a file beside the journal, which also remembers how the last writer left."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tuner.journal.errors import HeldError, explain_os

_LONGEST = 256


@dataclass(frozen=True, slots=True)
class Mark:
    """What the last writer left: did it close the journal, and which event did it know to be the last?

    While a journal is open, `seq` and `hash` are the head at the time of opening.
    """

    clean: bool
    seq: int
    hash: str


def lock_path(journal: Path) -> Path:
    """Return the lock file of a journal."""
    return journal.with_name(journal.name + ".lock")


class Lock:
    """The right to write, held until `release` or the end of the process; the kernel gives it back after a crash."""

    def __init__(self, journal: Path) -> None:
        self._path = lock_path(journal)
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise explain_os(error, f"opening the lock {self._path}") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            if isinstance(error, BlockingIOError):
                raise HeldError(
                    f"{journal} is in use by another process, probably a running daemon: stop it first"
                ) from error
            raise explain_os(error, f"locking {self._path}") from error

    @property
    def mark(self) -> Mark | None:
        """The mark left by the last writer; None if there was none or it cannot be read."""
        return _parse(os.pread(self._fd, _LONGEST, 0))

    @mark.setter
    def mark(self, mark: Mark | None) -> None:
        line = b"" if mark is None else f"{'clean' if mark.clean else 'open'} {mark.seq} {mark.hash} end\n".encode()
        try:
            # one small write in place: after a power cut the old line, the new one, or one without "end"
            os.pwrite(self._fd, line, 0)
            os.ftruncate(self._fd, len(line))
            os.fsync(self._fd)
        except OSError as error:
            raise explain_os(error, f"writing the lock {self._path}") from error

    def release(self) -> None:
        """Give the right back; the file stays, because removing it would let two writers in."""
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def read_mark(journal: Path) -> Mark | None:
    """Return the mark of a journal that somebody else may hold."""
    try:
        return _parse(lock_path(journal).read_bytes())
    except OSError:
        return None


def _parse(line: bytes) -> Mark | None:
    words = line.decode("ascii", "replace").split()
    if len(words) != 4 or words[0] not in ("open", "clean") or not words[1].isdigit() or words[3] != "end":
        return None
    return Mark(words[0] == "clean", int(words[1]), words[2])
