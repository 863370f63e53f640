"""Pictures of parts: from folders that the engineer has allowed, by names that tell nothing about the files."""

import hashlib
import hmac
import secrets
from pathlib import Path
from urllib.parse import urlsplit

LARGEST_BYTES = 20_000_000
MOST = 5000
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

    Args:
        folders: Whose files may be shown, with all folders in them.
        servers: Origins whose pictures a browser may load by itself, such as "https://camera.plant".
    """

    def __init__(self, folders: tuple[Path, ...], servers: tuple[str, ...] = ()) -> None:
        self._folders = tuple(folder.resolve() for folder in folders)
        self._servers = frozenset(servers)
        self._secret = secrets.token_bytes(32)
        self._files: dict[str, Path] = {}

    def address(self, photo: str | None) -> str | None:
        """The address of a picture on our page; None: there is none that may be shown."""
        if not photo or "\0" in photo:
            return None
        if photo.startswith(("http://", "https://")):
            parts = urlsplit(photo)
            return photo if f"{parts.scheme}://{parts.netloc}" in self._servers else None
        for folder in self._folders:
            path = (folder / photo).resolve()
            if path.is_relative_to(folder) and path.suffix.lower() in _TYPES and path.is_file():
                name = hmac.new(self._secret, str(path).encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()
                while len(self._files) >= MOST:
                    del self._files[next(iter(self._files))]
                self._files[name] = path
                return f"/photo/{name}"
        return None

    def find(self, name: str) -> tuple[bytes, str] | None:
        """A picture and its type by the last part of its address; a folder is looked at anew, for links may change."""
        path = self._files.get(name)
        if path is None or not any(path.resolve().is_relative_to(folder) for folder in self._folders):
            return None
        try:
            with path.open("rb") as file:
                content = file.read(LARGEST_BYTES + 1)
        except OSError:
            return None
        return None if len(content) > LARGEST_BYTES else (content, _TYPES[path.suffix.lower()])
