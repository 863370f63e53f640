"""The file of people: what happened to each, line by line, each with the hash of all before it; never rewritten."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tuner.basics.names import same_name
from tuner.basics.vocabulary import Role
from tuner.errors import TunerError
from tuner.journal.chain import GENESIS, canonical, digest

FILE_NAME = "people.jsonl"
_MODE = 0o600  # it holds hashes of PINs


class PeopleFileError(TunerError):
    """The file of people cannot be used; trying again does not help."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may sign in; `pin` and `badge` are hashes."""

    name: str
    role: Role
    language: str
    since: str
    pin: str | None = None
    badge: str | None = None
    disabled: bool = False


class PeopleFile:
    """People as the file tells; whoever changes something appends a line."""

    def __init__(self, state_directory: Path) -> None:
        self.path = state_directory / FILE_NAME
        self.people: dict[str, Person] = {}
        self._head = GENESIS
        self._good_bytes = 0
        for line in self._lines():
            self._take(line)

    def find(self, name: str) -> Person | None:
        """A person by name; capitals do not matter."""
        return next((one for one in self.people.values() if same_name(one.name, name)), None)

    def append(self, type_: str, at: str, by: str, name: str, **more: Any) -> None:
        """Write down what happened; it counts when it is on the disk."""
        line = {"type": type_, "at": at, "by": by, "name": name, **more}
        body = canonical(line)
        head = digest(self._head, body)
        text = canonical({**line, "hash": head}) + "\n"
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)
            try:
                os.ftruncate(descriptor, self._good_bytes)  # the rest of a line that a power cut has torn
                os.pwrite(descriptor, text.encode(), self._good_bytes)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise PeopleFileError(f"{self.path} cannot be written: {error.strerror}") from error
        self._good_bytes += len(text.encode())
        self._head = head
        self._take(line)

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise PeopleFileError(f"{self.path} cannot be read: {error.strerror}") from error
        for number, raw in enumerate(content.splitlines(keepends=True), 1):
            if not raw.endswith(b"\n"):
                return  # torn by a power cut: it was never acknowledged
            try:
                line = json.loads(raw)
                told = line.pop("hash")
            except (ValueError, KeyError, AttributeError) as error:
                raise PeopleFileError(f"{self.path}:{number}: not a line about people; restore a backup") from error
            head = digest(self._head, canonical(line))
            if told != head:
                raise PeopleFileError(f"{self.path}:{number}: was changed after it was written; restore a backup")
            self._head = head
            self._good_bytes += len(raw)
            yield line

    def _take(self, line: dict[str, Any]) -> None:
        name, type_ = line["name"], line["type"]
        if type_ == "person_added":
            self.people[name] = Person(name, Role(line["role"]), line["language"], line["at"])
        known = self.people.get(name)
        if known is None:
            return
        changes = {field: line[field] for field in ("pin", "badge", "disabled") if field in line}
        self.people[name] = replace(known, **changes)
