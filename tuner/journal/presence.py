"""Are the journal's files still where they were opened? A file that was removed or replaced takes writes in silence."""

import os
from pathlib import Path

from tuner.journal.errors import LostError

SUFFIXES = ("", "-wal", "-shm", ".lock")


class Presence:
    """The files of a journal that is open for writing, as they were when it was opened.

    Their names are looked up, they are not opened: closing a file would give up SQLite's locks on it. As long as they
    are open, no other file can have their inodes.
    """

    def __init__(self, journal: Path) -> None:
        self._known = {f"{journal}{suffix}": _identity(f"{journal}{suffix}") for suffix in SUFFIXES}

    def check(self) -> None:
        """Raise if one of them is another file by now, or none; takes some microseconds."""
        for path, known in self._known.items():
            try:
                found = _identity(path)
            except OSError:
                continue
            if found != known:
                what = "removed" if found is None else "replaced"
                raise LostError(
                    f"{path} was {what} under the running daemon: what is written now is lost. Put the file back, or "
                    "restore a backup with `tuner journal restore`"
                )


def _identity(path: str) -> tuple[int, int] | None:
    """Which file has this name; None if there is none.

    Raises:
        OSError: That cannot be told now, which says nothing about the file.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - with every commit: a Path would take as long as the question itself
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
