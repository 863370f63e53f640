"""Security events: a file of their own in the state directory, one JSON object a line, each with a hash over the last.

What strangers can cause as often as they like (refused keys, denied roles) is written at once the first time, then
counted: one line a minute for each source, for some sources, and so many such lines a day. So a flood fills no disk,
and what an administrator does is never pushed out: nothing is ever removed.
"""

import errno
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tuner.basics.files import append_to
from tuner.basics.os_reasons import os_reason
from tuner.basics.sentences import NOTHING, say
from tuner.basics.times import text_of, utc_now
from tuner.journal.chain import GENESIS, canonical, chained
from tuner.journal.errors import DamagedError, explain_os

FILE_NAME = "security.jsonl"
Category = Literal[
    "daemon", "key", "role", "keys", "configuration", "clock", "gate", "store", "anchor", "pin", "people"
]
FLOODED: frozenset[Category] = frozenset({"key", "role", "gate", "pin"})  # what others than the administrator can cause
MOST_SOURCES = 16  # of a category between two reports; the rest is counted together
LINES_A_DAY = 1000  # of what can be flooded, all categories together
OTHERS = "(others)"
_LONGEST = 200
_TAIL_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class SecurityEvent:
    """One line: what kind of thing happened `count` times, to or by whom, and what came of it."""

    seq: int
    at: str
    category: str
    result: str
    source: str
    text: str
    count: int
    before: str
    hash: str


class SecurityLog:
    """Writes security events; used by one thread.

    `failure` says why the last line could not be written; it says nothing again after one that could. How many events
    were not written for such a reason is an event itself, as soon as one can be: an alarm that is over leaves a trace.
    """

    def __init__(self, directory: Path, clock: Callable[[], datetime] = utc_now) -> None:
        self._path = directory / FILE_NAME
        self._clock = clock
        self._seen: set[tuple[Category, str, str]] = set()
        self._counted: Counter[tuple[Category, str, str]] = Counter()
        self._texts: dict[tuple[Category, str, str], str] = {}
        self._day = ""
        self._lines_today = 0
        self._lost = 0
        self.failure = NOTHING
        try:
            self._fd = append_to(self._path, read=True)
            os.fchmod(self._fd, 0o600)
            self.torn = self._cut_torn_line()
        except OSError as error:
            raise explain_os(error, say("guard.opening", file=self._path)) from error
        self.head, self.last = self._read_head()

    def note(self, category: Category, result: str, source: str, text: str = "", count: int = 1) -> None:
        """Write an event, or count it if its like was written a moment ago."""
        if category not in FLOODED:
            self._write(category, result, source, text, count)
            return
        key = (category, result, _short(source))
        sources = sum(one[0] == category for one in self._seen)
        if key not in self._seen and (sources >= MOST_SOURCES or not self._has_lines()):
            key = (category, result, OTHERS)
        if key in self._seen or not self._has_lines():
            self._counted[key] += count
            self._texts[key] = text
            return
        self._seen.add(key)
        self._write(*key, text, count)

    def report(self) -> None:
        """Write how often what was counted has happened; called every minute.

        When the day's lines are used up there is one line more for each category and result, at the day's end.
        """
        if self._has_lines():
            counted, self._counted = self._counted, Counter()
            for key, count in sorted(counted.items()):
                self._write(*key, self._texts.get(key, ""), count)
            self._texts.clear()
        self._seen.clear()

    def look(self) -> None:
        """Notice that the file was taken away: what is written to it then is nowhere."""
        try:
            self._check_place()
        except OSError as error:
            self.failure = say("guard.security_unwritten", why=os_reason(error))

    def settle(self) -> None:
        """Write all that was counted, whatever the day's number of lines: a daemon's last words are few."""
        self._lines_today = 0
        self.report()

    def close(self) -> None:
        """Write no more."""
        os.close(self._fd)

    def _has_lines(self) -> bool:
        day = self._clock().astimezone(UTC).date().isoformat()
        if day != self._day:
            self._day, self._lines_today = day, 0
        return self._lines_today < LINES_A_DAY

    def _write(self, category: Category, result: str, source: str, text: str, count: int) -> None:
        if self._lost and self._write_line("store", "events lost", FILE_NAME, str(self.failure), self._lost):
            self._lost = 0
        if category in FLOODED:
            self._lines_today += 1
        if not self._write_line(category, result, source, text, count):
            self._lost += count

    def _write_line(self, category: Category, result: str, source: str, text: str, count: int) -> bool:
        seq, before = self.head
        facts = {
            "seq": seq + 1,
            "at": text_of(self._clock()),
            "category": category,
            "result": result,
            "source": _short(source),
            "text": _short(text),
            "count": count,
            "before": before,
        }
        hash_ = _hash(before, facts)
        line = canonical({**facts, "hash": hash_}).encode() + b"\n"
        try:
            self._append(line)
        except OSError as error:
            self.failure = say("guard.security_unwritten", why=os_reason(error))
            return False
        self.failure = NOTHING
        self.head = (seq + 1, hash_)
        return True

    def _check_place(self) -> None:
        there, ours = self._path.lstat(), os.fstat(self._fd)
        if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            raise OSError(errno.ENOENT, "another file is there", str(self._path))

    def _append(self, line: bytes) -> None:
        """All of a line, or none of it."""
        self._check_place()
        size = os.fstat(self._fd).st_size
        try:
            while line:  # a disk that fills up takes a part, and refuses the rest
                line = line[os.write(self._fd, line) :]
            os.fsync(self._fd)
        except OSError:
            os.ftruncate(self._fd, size)
            raise

    def _cut_torn_line(self) -> bool:
        """Remove half a line that a power cut left: nobody was told that it is there."""
        size = os.fstat(self._fd).st_size
        tail = os.pread(self._fd, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
        if not tail or tail.endswith(b"\n"):
            return False
        os.ftruncate(self._fd, size - len(tail) + tail.rfind(b"\n") + 1)
        return True

    def _read_head(self) -> tuple[tuple[int, str], str]:
        """Number and hash of the last event, and its category and result."""
        size = os.fstat(self._fd).st_size
        tail = os.pread(self._fd, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
        if not tail:
            return (0, GENESIS), ""
        try:
            last = SecurityEvent(**json.loads(tail.splitlines()[-1]))
        except (ValueError, TypeError):
            os.close(self._fd)
            raise DamagedError(say("guard.security_damaged", file=self._path)) from None
        return (last.seq, last.hash), f"{last.category} {last.result}"


def read(path: Path) -> Iterator[SecurityEvent]:
    """All events of a file, each checked.

    Raises:
        DamagedError: A line was changed, exchanged, added or removed.
    """
    head = (0, GENESIS)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}: line {number}"
                if not line.endswith(b"\n"):
                    return  # being written, or cut off by a power cut
                try:
                    facts = json.loads(line)
                    event = SecurityEvent(**facts)
                except (ValueError, TypeError):
                    raise DamagedError(f"{where} is no security event") from None
                if event.seq != head[0] + 1 or event.before != head[1]:
                    raise DamagedError(
                        f"{where} does not follow from the one before it: lines are missing or exchanged"
                    )
                if _hash(head[1], {name: value for name, value in facts.items() if name != "hash"}) != event.hash:
                    raise DamagedError(f"{where} was changed")
                head = (event.seq, event.hash)
                yield event
    except OSError as error:
        raise explain_os(error, f"reading {path}") from error


def line_of(event: SecurityEvent) -> str:
    """An event as one line of JSON."""
    return canonical(asdict(event))


def _hash(before: str, facts: dict[str, object]) -> str:
    return chained(before.encode(), canonical(facts).encode())


def _short(text: str) -> str:
    """A text of others: one line, and not too long."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST]}..."
