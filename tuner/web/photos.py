"""Pictures of parts: from folders that the engineer has allowed, by names that tell nothing about the files."""

import asyncio
import contextlib
import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tuner.basics.threads import in_own_thread

LARGEST_BYTES = 20_000_000
MOST = 5000
MOST_AT_ONCE = 16
PATIENCE_S = 0.5
TURN_S = 10.0  # that a picture waits where many are read
PIECE_BYTES = 128_000  # so much of a picture is in memory for each of its readers
# no file: not there, links in a circle, a name that no file can have
_NO_FILE = (OSError, RuntimeError, ValueError)
_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file, how large all of it is, and which file and version it was."""

    content: bytes
    size: int
    file: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture for a browser: its type, its size and its content, which is read as it is sent."""

    media_type: str
    size: int
    pieces: AsyncIterator[bytes]


class Photos:
    """Where a part's picture is for a browser.

    Files are touched in threads only: a folder on a share that does not answer keeps no page waiting.

    Args:
        folders: Whose files may be shown, with all folders in them.
        servers: Origins whose pictures a browser may load by itself, such as "https://camera.plant".
        changed: Called when a look has ended that a page did not wait for.
    """

    def __init__(
        self, folders: tuple[Path, ...], servers: tuple[str, ...] = (), changed: Callable[[], None] = lambda: None
    ) -> None:
        self._folders = folders
        self._servers = frozenset(servers)
        self._changed = changed
        self._secret = secrets.token_bytes(32)
        self._files: dict[str, Path] = {}  # by the last part of its address
        self._addresses: dict[str, str | None] = {}  # by what the adapter said
        self._looks: dict[str, asyncio.Task[None]] = {}
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)

    def address(self, photo: str | None) -> str | None:
        """The address of a picture on our page, if a look has found it; None: there is none that may be shown."""
        if not photo or "\0" in photo:
            return None
        if photo.startswith(("http://", "https://")):
            try:
                parts = urlsplit(photo)
            except ValueError:  # such as "http://["
                return None
            return photo if f"{parts.scheme}://{parts.netloc}" in self._servers else None
        return self._addresses.get(photo)

    async def look(self, photos: Iterable[str | None]) -> None:
        """Look where these pictures are now, and wait for what is found soon; the rest is told when it is known."""
        begun = []
        for photo in photos:
            if photo and "\0" not in photo and photo not in self._looks and len(self._looks) < MOST_AT_ONCE:
                self._looks[photo] = asyncio.create_task(self._look(photo))
                begun.append(self._looks[photo])
        if begun:
            _, late = await asyncio.wait(begun, timeout=PATIENCE_S)
            for task in late:
                task.add_done_callback(lambda _: self._changed())

    async def _look(self, photo: str) -> None:
        try:
            path = await in_own_thread(_file_in, self._folders, photo)
        finally:
            del self._looks[photo]
        self._addresses.pop(photo, None)
        while len(self._addresses) >= MOST:
            del self._addresses[next(iter(self._addresses))]
        self._addresses[photo] = None if path is None else self._named(path)

    def _named(self, path: Path) -> str:
        name = hmac.new(self._secret, str(path).encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()
        while len(self._files) >= MOST:
            del self._files[next(iter(self._files))]
        self._files[name] = path
        return f"/photo/{name}"

    async def find(self, name: str) -> Picture | None:
        """A picture by the last part of its address; None: there is none that may be shown."""
        path = self._files.get(name)
        first = None if path is None else await self._read(path, 0)
        if path is None or first is None:
            return None
        return Picture(_TYPES[path.suffix.lower()], first.size, self._pieces(path, first))

    async def _pieces(self, path: Path, first: Piece) -> AsyncIterator[bytes]:
        """A picture piece by piece, as its reader takes it; the file is looked at anew each time, for links may change.

        It breaks off where it is another file by now.
        """
        sent, piece = 0, first
        while True:
            yield piece.content
            sent += len(piece.content)
            if sent >= first.size:
                return
            more = await self._read(path, sent)
            if more is None or more.file != first.file or not more.content:
                return  # shorter than it was said to be: the server hangs up, and the browser asks again
            piece = more

    async def _read(self, path: Path, start: int) -> Piece | None:
        """A piece of a file; few are read at once, and who has gone does not let another one in before it is read."""
        try:
            async with asyncio.timeout(TURN_S):
                await self._turns.acquire()
        except TimeoutError:
            return None
        task = asyncio.create_task(in_own_thread(_piece, self._folders, path, start))
        task.add_done_callback(self._read_one)
        return await asyncio.shield(task)

    def _read_one(self, task: asyncio.Task[Piece | None]) -> None:
        self._turns.release()
        if not task.cancelled():
            task.exception()  # known: whoever waited for it may have gone


def _file_in(folders: tuple[Path, ...], photo: str) -> Path | None:
    """The picture's file, in the first of the folders that has it."""
    for folder in folders:
        with contextlib.suppress(*_NO_FILE):
            allowed = folder.resolve()
            path = (allowed / photo).resolve()
            if path.is_relative_to(allowed) and path.suffix.lower() in _TYPES and path.is_file():
                return path
    return None


def _piece(folders: tuple[Path, ...], path: Path, start: int) -> Piece | None:
    """What a picture has from there on, and which file it was; None: it is none that may be shown."""
    with contextlib.suppress(*_NO_FILE):
        if not any(path.resolve().is_relative_to(folder.resolve()) for folder in folders):
            return None
        # something else may lie there by now: a pipe is opened without waiting for who writes, and not read
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            if stat.S_ISREG(found.st_mode) and 0 < found.st_size <= LARGEST_BYTES:
                content = os.pread(file.fileno(), min(PIECE_BYTES, found.st_size - start), start)
                return Piece(content, found.st_size, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))
    return None
