"""The daemon's key ring: who may connect and what for; a directory of files that people can list, copy and revoke."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import zmq
from pydantic import SecretStr

from tuner.basics.names import RESERVED
from tuner.basics.sentences import say
from tuner.basics.text import shown
from tuner.basics.times import utc_now
from tuner.basics.vocabulary import Role
from tuner.errors import TunerError
from tuner.wire.keyfiles import (
    ClientKey,
    KeyFileError,
    KnownKey,
    ServerKey,
    ServerPublic,
    make_directory,
    read,
    write,
)

DIRECTORY = "keys"
_TAKEN = frozenset({RESERVED, "local"})
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
_LOOK_EVERY_S = 1.0  # at each file, whatever the directory's time says
_COARSEST_CLOCK_NS = 3_000_000_000  # two changes that are so close may have the same time on some file systems


class KeyRing:
    """The keys in a state directory, as last read; `problems` tells why files are not used."""

    def __init__(self, directory: Path, server: ServerKey, now: Callable[[], datetime]) -> None:
        self.directory = directory
        self._clients = directory / "clients"
        self.server = server
        self.problems: tuple[str, ...] = ()
        self._now = now
        self._keys: dict[str, KnownKey] = {}
        self._by_public: dict[str, KnownKey] = {}
        self._fingerprint: object = None
        self._directory_time: tuple[int, int] | None = None
        self._looked_s = 0.0

    @classmethod
    def open(cls, state_directory: Path, *, create: bool = True, now: Callable[[], datetime] = utc_now) -> Self:
        """Read all keys; with `create`, make the daemon's own pair where there is none."""
        directory = state_directory / DIRECTORY
        secret = directory / "server.secret"
        if create:
            make_directory(directory / "clients")
            if not secret.exists():
                if (directory / "server.key").exists():
                    raise KeyFileError(
                        f"{secret} is missing beside its public half: restore it from a backup, or remove server.key "
                        "to begin with a new one, which no client knows yet"
                    )
                public, private = (key.decode("ascii") for key in zmq.curve_keypair())
                write(secret, ServerKey(public=public, secret=SecretStr(private)), replace=False)
        server = read(secret, ServerKey, secret=True)
        if create and not (directory / "server.key").exists():
            write(directory / "server.key", ServerPublic(public=server.public))
        ring = cls(directory, server, now)
        ring.reload_if_changed()
        return ring

    def role_of(self, public_key: str | bytes) -> tuple[str, Role] | None:
        """Name and role of a client by its public key; None if it is unknown or revoked."""
        text = public_key.decode("ascii", "replace") if isinstance(public_key, bytes) else public_key
        key = self._by_public.get(text)
        return None if key is None or key.revoked else (key.name, key.role)

    @property
    def accepted(self) -> frozenset[str]:
        """The public keys of all clients that may connect."""
        return frozenset(public for public, key in self._by_public.items() if not key.revoked)

    def list(self) -> tuple[KnownKey, ...]:
        """All keys by name, also the revoked ones."""
        return tuple(self._keys[name] for name in sorted(self._keys))

    def new(self, name: str, role: Role, *, requests: str | None = None, events: str | None = None) -> ClientKey:
        """Make a key and know it from now on; what is returned is for the client, and the secret is kept nowhere else.

        The name of the person, place or program stands in the journal.
        """
        if name.casefold() in _TAKEN:
            raise KeyFileError(f"{shown(name)} is what tuner calls itself or clients without a key; take another name")
        if not _NAME.fullmatch(name):
            raise KeyFileError(
                f"{shown(name)} is not a name; allowed: a letter, then up to 63 letters, digits, underscores, hyphens"
            )
        if self._file(name).exists():
            raise KeyFileError(
                f"there is a key {name} already: a name stays taken, also after it was revoked, "
                "because the journal speaks of it"
            )
        public, private = (key.decode("ascii") for key in zmq.curve_keypair())
        known = KnownKey(name=name, role=role, public=public, created=self._time())
        write(self._file(name), known, replace=False)
        self.reload_if_changed()
        return ClientKey(
            name=name,
            role=role,
            public=public,
            secret=SecretStr(private),
            server=self.server.public,
            requests=requests,
            events=events,
        )

    def revoke(self, name: str) -> KnownKey:
        """Accept a key no more; its file stays, with the time."""
        self.reload_if_changed()
        key = self._keys.get(name)
        if key is None:
            raise KeyFileError(f"there is no key {shown(name)}; see `tuner keys list`")
        if key.revoked:
            return key
        revoked = key.model_copy(update={"revoked": self._time()})
        write(self._file(name), revoked)
        self.reload_if_changed()
        return revoked

    def remove_new(self, name: str) -> None:
        """Take back a key that could not be handed over."""
        self._file(name).unlink(missing_ok=True)
        self.reload_if_changed()

    def refresh(self) -> None:
        """Notice what other processes did; cheap enough for every request.

        To make, replace or remove a file changes the time of its directory, and revoking replaces a file: that is
        noticed at once. A file that was changed in place is noticed within a second.
        """
        now_s = time.monotonic()
        found = self._time_of_directory()
        if found is not None and found == self._directory_time and now_s - self._looked_s < _LOOK_EVERY_S:
            return
        self.reload_if_changed()
        self._directory_time, self._looked_s = found, now_s

    def _time_of_directory(self) -> tuple[int, int] | None:
        """When a file was made, replaced or removed last; None just after that, for the next may have the same time."""
        try:
            status = self._clients.stat()
        except OSError:  # it was taken away, with all keys
            return None
        settled = status.st_ctime_ns < time.time_ns() - _COARSEST_CLOCK_NS
        return (status.st_ino, status.st_ctime_ns) if settled else None

    def reload_if_changed(self) -> bool:
        """Read the clients' files again if one was added, changed or removed; tells whether that was so."""
        fingerprint = self._look()
        if fingerprint == self._fingerprint:
            return False
        keys: dict[str, KnownKey] = {}
        problems: list[str] = []
        for path in sorted(self._clients.glob("*.key")):
            try:
                key = read(path, KnownKey, secret=False)
            except TunerError as error:
                problems.append(str(error))
                continue
            if key.name != path.stem:
                problems.append(say("keys.other_name", file=path, name=key.name))
                continue
            keys[key.name] = key
        by_public: dict[str, KnownKey] = {}
        for key in keys.values():
            other = by_public.get(key.public)
            if other is not None:
                problems.append(say("keys.same", name=key.name, other=other.name))
            by_public[key.public] = key
        twice = {key.public for key in keys.values() if by_public[key.public] is not key}
        self._keys, self.problems, self._fingerprint = keys, tuple(problems), fingerprint
        self._by_public = {public: key for public, key in by_public.items() if public not in twice}
        return True

    def _file(self, name: str) -> Path:
        return self._clients / f"{name}.key"

    def _look(self) -> tuple[tuple[str, int, int, int, int], ...]:
        """What changes whenever a file does; a rewritten file is a new one, with another inode."""
        looks = []
        for path in self._clients.glob("*.key"):
            try:
                status = path.stat()
            except OSError:
                continue  # removed in between
            looks.append((path.name, status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode))
        return tuple(sorted(looks))

    def _time(self) -> str:
        return self._now().astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
