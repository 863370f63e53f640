"""One daemon per state directory: two of them would drive the same machine."""

import contextlib
import errno
import fcntl
import os
import shlex
from pathlib import Path
from typing import Self

from tuner.errors import TryAgainError, TunerError

LOCK_NAME = "daemon.lock"
_LONGEST = 64
_FILES_ONLY = (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP)  # network file systems that do not lock directories


class DaemonLock:
    """The right to serve a state directory, held until `release` or the end of the process, however it ends.

    The kernel keeps the lock, not the file: a file that a crash left behind locks nobody out. The directory is locked
    besides the file, because people delete lock files that are in their way. Child processes do not inherit the lock.
    """

    def __init__(self, state_directory: Path) -> None:
        self.path = state_directory / LOCK_NAME
        self._fds: list[int] = []
        try:
            state_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fds.append(os.open(state_directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            self._fds.append(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            self._lock()
            self._write_pid()
        except BlockingIOError as error:
            other = self._other()
            self.release()
            raise TryAgainError(
                f"a tuner daemon{other} already serves {state_directory}: stop it with "
                f"`tuner stop --state {shlex.quote(str(state_directory))}`, "
                "or give this one a state_directory of its own"
            ) from error
        except OSError as error:
            self.release()
            raise TunerError(f"the state directory {state_directory} cannot be used: {error.strerror}") from error

    def release(self) -> None:
        """Give the right back. The file stays: removing it would let two daemons in at once."""
        while self._fds:
            os.close(self._fds.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _lock(self) -> None:
        directory, file = self._fds
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _FILES_ONLY:
                raise
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _write_pid(self) -> None:
        line = f"{os.getpid()}\n".encode()
        # On a full disk the number is missing, but the lock holds; emptied first, so that no old number stands there.
        with contextlib.suppress(OSError):
            os.ftruncate(self._fds[1], 0)
            os.pwrite(self._fds[1], line, 0)

    def _other(self) -> str:
        """Name the process that holds the lock, if it has already said who it is."""
        first, _, _ = os.pread(self._fds[1], _LONGEST, 0).partition(b"\n")
        return f" (process {int(first)})" if first.isdigit() else ""
