"""The file of finished runs: one JSON line each, appended and flushed to the disk, so that a killed bench goes on."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from tuner.basics.files import FileNotWrittenError, append_to, make_directory
from tuner.errors import TryAgainError, TunerError

NAME = "runs.jsonl"


class Run(Protocol):
    """A finished run; its plain data has a `key`."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""


R = TypeVar("R", bound=Run)


class RunFile(Generic[R]):
    """Finished runs by key, in one file of a directory.

    Args:
        directory: Where the file is.
        from_json: Makes a run of its plain data.
    """

    def __init__(self, directory: Path, from_json: Callable[[dict[str, Any]], R]) -> None:
        self.path = directory / NAME
        self._from_json = from_json

    def load(self) -> dict[str, R]:
        """Return the finished runs; a last line that a kill cut short does not count.

        Raises:
            TunerError: A whole line is no finished run.
        """
        if not self.path.exists():
            return {}
        found = {}
        *lines, _ = self.path.read_bytes().split(b"\n")  # a line that is no text at all is a damaged line too
        for number, line in enumerate(lines, 1):
            try:
                record = self._from_json(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise TunerError(f"{self.path}:{number}: this is no finished run ({error}); remove the line") from None
            # a line of an older protocol keeps its own key and is never asked for
            found[json.loads(line)["key"]] = record
        return found

    @contextmanager
    def writing(self) -> Iterator["RunWriter"]:
        """Hold the file alone and yield what appends to it.

        Raises:
            TryAgainError: Another process writes to it.
        """
        make_directory(self.path.parent)
        try:
            descriptor = append_to(self.path, read=True)
        except OSError as error:
            raise FileNotWrittenError(f"{self.path} cannot be written: {error.strerror}") from None
        with os.fdopen(descriptor, "a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise TryAgainError(f"another bench writes to {self.path}; wait for it or use another --out") from None
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            yield RunWriter(file.fileno())


class RunWriter:
    """Appends finished runs to an open file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def append(self, run: Run) -> None:
        """Add a run; once this returns it survives a kill."""
        line = json.dumps(run.to_json(), allow_nan=False) + "\n"
        os.write(self._descriptor, line.encode())
        os.fsync(self._descriptor)
