"""Pictures of parts: from folders that the engineer has allowed, by names that tell nothing about the files."""

import asyncio
import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

from tuner.basics.threads import in_own_thread

LARGEST_BYTES = 20_000_000
MOST = 5000
MOST_AT_ONCE = 16
PATIENCE_S = 0.5
_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".svg": "image/svg+xml",
}


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
        self._reading = 0

    def address(self, photo: str | None) -> str | None:
        """The address of a picture on our page, if a look has found it; None: there is none that may be shown."""
        if not photo or "\0" in photo:
            return None
        if photo.startswith(("http://", "https://")):
            parts = urlsplit(photo)
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

    async def find(self, name: str) -> tuple[bytes, str] | None:
        """A picture and its type by the last part of its address; a folder is looked at anew, for links may change."""
        path = self._files.get(name)
        if path is None or self._reading >= MOST_AT_ONCE:
            return None
        self._reading += 1
        try:
            content = await in_own_thread(_content, self._folders, path)
        finally:
            self._reading -= 1
        return None if content is None else (content, _TYPES[path.suffix.lower()])


def _file_in(folders: tuple[Path, ...], photo: str) -> Path | None:
    """The picture's file, in the first of the folders that has it."""
    for folder in folders:
        allowed = folder.resolve()
        path = (allowed / photo).resolve()
        if path.is_relative_to(allowed) and path.suffix.lower() in _TYPES and path.is_file():
            return path
    return None


def _content(folders: tuple[Path, ...], path: Path) -> bytes | None:
    if not any(path.resolve().is_relative_to(folder.resolve()) for folder in folders):
        return None
    try:
        # something else may lie there by now: a pipe is opened without waiting for who writes, and not read
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            content = file.read(LARGEST_BYTES + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return None
    return content if 0 < len(content) <= LARGEST_BYTES else None
