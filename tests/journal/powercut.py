"""Simulated power cuts under a real SQLite: run as a program, prints what was lost.

SQLite reaches its files through a table of functions. This program puts a table of its own in front of the real one, by
ctypes, and sees every write, truncation and sync of the journal and its log. A disk that loses power keeps what was
synced and any part of the rest: each later write may be there, be missing, or be torn between sectors of 512 bytes. At
random moments, and after acknowledgments, such an image is made; later each one is opened by the ordinary way and must
hold every event that had been acknowledged by then.
"""

import _sqlite3
import ctypes
import json
import random
import sys
import tempfile
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path

from tests.journal.helpers import event
from tuner.journal import JournalError, Store

SECTOR_BYTES = 512

Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
Sync = CFUNCTYPE(c_int, c_void_p, c_int)
# a name is a bare address: SQLite keeps it, and a copy made by ctypes would be gone after the call
Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
Delete = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)


class Methods(Structure):
    """sqlite3_io_methods."""

    _fields_ = [
        ("version", c_int),
        ("close", c_void_p),
        ("read", c_void_p),
        ("write", Write),
        ("truncate", Truncate),
        ("sync", Sync),
        ("others", c_void_p * 12),
    ]


class File(Structure):
    """sqlite3_file; the real one is longer."""

    _fields_ = [("methods", POINTER(Methods))]


class Vfs(Structure):
    """sqlite3_vfs."""

    _fields_ = [
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", Open),
        ("delete", Delete),
        ("others", c_void_p * 14),
    ]


@dataclass
class Content:
    """A file on a disk with a cache: what was synced, and what was done since."""

    durable: bytearray = field(default_factory=bytearray)
    exists: bool = False  # after a power cut
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # offset and data; without data, a new length

    def sync(self) -> None:
        for offset, data in self.pending:
            _apply(self.durable, offset, data)
        self.pending.clear()
        self.exists = True

    def image(self, rng: random.Random) -> bytes | None:
        """What may be found after a power cut; None if the name is gone."""
        kept = rng.choice((0.0, 0.5, 1.0))
        if not self.exists and rng.random() >= kept:
            return None
        found = bytearray(self.durable)
        for offset, data in self.pending:
            if data is None:
                if rng.random() < kept:
                    _apply(found, offset, None)
                continue
            for start in range(0, len(data), SECTOR_BYTES):
                if rng.random() < kept:
                    _apply(found, offset + start, data[start : start + SECTOR_BYTES])
        return bytes(found)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    end = offset if data is None else offset + len(data)
    content.extend(bytes(max(0, end - len(content))))
    if data is None:
        del content[offset:]
    else:
        content[offset:end] = data


class Disk:
    """A recorder between SQLite and the file system."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self.files: dict[str, Content] = {}
        self._on_change = on_change
        self._names: dict[int, str] = {}
        self._kept_alive: list[object] = []
        library = ctypes.CDLL(_sqlite3.__file__)  # the very SQLite that the sqlite3 module uses
        library.sqlite3_vfs_find.restype = POINTER(Vfs)
        self._register = library.sqlite3_vfs_register
        self._register.argtypes = [POINTER(Vfs), c_int]
        self._real = library.sqlite3_vfs_find(None)
        self._vfs = Vfs.from_buffer_copy(self._real.contents)
        self._vfs.name = b"recording"
        self._vfs.open = self._keep(Open(self._open))
        self._vfs.delete = self._keep(Delete(self._delete))

    def install(self) -> None:
        """Let every new connection go through the recorder."""
        self._register(ctypes.byref(self._vfs), 1)

    def remove(self) -> None:
        """Let every new connection go straight to the files."""
        self._register(self._real, 1)

    def _keep(self, function):
        self._kept_alive.append(function)
        return function

    def _open(self, _vfs, name, file, flags, out_flags) -> int:
        result = self._real.contents.open(ctypes.addressof(self._real.contents), name, file, flags, out_flags)
        if result == 0 and name:
            self._names[file] = ctypes.string_at(name).decode()
            self.files.setdefault(self._names[file], Content())
            self._wrap(ctypes.cast(file, POINTER(File)).contents)
        return result

    def _wrap(self, file: File) -> None:
        real = file.methods.contents
        mine = Methods.from_buffer_copy(real)

        def write(handle, buffer, length, offset) -> int:
            self.files[self._names[handle]].pending.append((offset, ctypes.string_at(buffer, length)))
            self._on_change()
            return real.write(handle, buffer, length, offset)

        def truncate(handle, size) -> int:
            self.files[self._names[handle]].pending.append((size, None))
            self._on_change()
            return real.truncate(handle, size)

        def sync(handle, flags) -> int:
            self._on_change()  # the power may fail before the disk has obeyed
            result = real.sync(handle, flags)
            self.files[self._names[handle]].sync()
            self._on_change()
            return result

        mine.write = self._keep(Write(write))
        mine.truncate = self._keep(Truncate(truncate))
        mine.sync = self._keep(Sync(sync))
        self._kept_alive.append(mine)
        file.methods = ctypes.pointer(mine)

    def _delete(self, _vfs, name, sync_directory) -> int:
        self.files.pop(ctypes.string_at(name).decode(), None)
        return self._real.contents.delete(ctypes.addressof(self._real.contents), name, sync_directory)


@dataclass(frozen=True)
class Cut:
    """A disk after a power cut, and the last event acknowledged before it."""

    files: dict[str, bytes]
    acknowledged: tuple[int, str]


def record(directory: Path, rng: random.Random, appends: int, synchronous: str) -> list[Cut]:
    """Append events and cut the power again and again."""
    cuts: list[Cut] = []
    acknowledged = (0, "")

    def cut() -> None:
        images = {Path(name).name: content.image(rng) for name, content in disk.files.items()}
        cuts.append(Cut({name: data for name, data in images.items() if data is not None}, acknowledged))

    def perhaps() -> None:
        if rng.random() < (0.01 if acknowledged[0] else 0.1):  # the making of the tables is short and must be hit
            cut()

    disk = Disk(perhaps)
    disk.install()
    with Store.open(directory / "journal.sqlite") as store:
        if synchronous != "as-opened":
            store._db.execute(f"PRAGMA synchronous={synchronous}")
        store._db.execute("PRAGMA wal_autocheckpoint=20")  # so that the log is copied back and begun anew many times
        for number in range(appends):
            store.append([event(number, f"campaign {number % 3}")] * rng.randint(1, 4))
            acknowledged = store.head
            if rng.random() < 0.2:
                cut()
        disk.remove()
    return cuts


def check(cut: Cut, directory: Path) -> tuple[int, bool]:
    """Return how many acknowledged events a disk has lost, and whether the rest is a right journal."""
    for name, data in cut.files.items():
        (directory / name).write_bytes(data)
    seq, hash_ = cut.acknowledged
    try:
        with Store.open(directory / "journal.sqlite") as store:
            lost = max(0, seq - store.head[0])
            same = lost > 0 or seq == 0 or next(store.rows(after=seq - 1)).hash == hash_
            return lost, same and store.verify().ok
    except JournalError:
        return seq, False


def main(seed: int, appends: int, synchronous: str) -> dict[str, int]:
    """Return the numbers of cuts, of events acknowledged before them, of lost ones and of wrong journals."""
    rng = random.Random(seed)  # noqa: S311 - the moment to cut the power
    with tempfile.TemporaryDirectory() as directory:
        cuts = record(Path(directory), rng, appends, synchronous)
    total = {"cuts": len(cuts), "acknowledged": 0, "lost": 0, "wrong": 0, "restarted_logs": 0}
    salts = {cut.files.get("journal.sqlite-wal", b"")[16:24] for cut in cuts}
    total["restarted_logs"] = len(salts - {b""}) - 1  # each time the log is begun anew it gets another salt
    for cut in cuts:
        with tempfile.TemporaryDirectory() as directory:
            lost, right = check(cut, Path(directory))
        total["acknowledged"] += cut.acknowledged[0]
        total["lost"] += lost
        total["wrong"] += not right
    return total


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))  # noqa: T201 - a program for its parent
