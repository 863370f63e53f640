"""Key files: written whole or not at all, for their owner only; a secret that others can read is refused."""

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_serializer

from tuner.basics.os_reasons import os_reason
from tuner.basics.sentences import say
from tuner.basics.vocabulary import Role
from tuner.errors import TunerError

SUFFIX = ".tuner-key"  # of the one file a client needs
_LARGEST_BYTES = 10_000
_KEY_CHARACTERS = r"^[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}$"

PublicKey = Annotated[str, Field(pattern=_KEY_CHARACTERS)]
KeyName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]


class KeyFileError(TunerError):
    """A key file cannot be used; trying again without changing it does not help."""


class KeyFile(BaseModel):
    """Base of what is in key files."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ServerPublic(KeyFile):
    """The file server.key: what clients may know of the daemon."""

    public: PublicKey


class ServerKey(ServerPublic):
    """The file server.secret: the daemon's pair of keys."""

    secret: SecretStr

    @field_serializer("secret")
    def _shown(self, secret: SecretStr) -> str:
        return secret.get_secret_value()


class KnownKey(KeyFile):
    """A file clients/NAME.key: a client that the daemon knows."""

    name: KeyName
    role: Role
    public: PublicKey
    created: str = Field(description="UTC, ISO 8601")
    revoked: str | None = Field(None, description="since when it is not accepted any more; UTC, ISO 8601")


class ClientKey(KeyFile):
    """The one file a client needs: who it is, whom it may trust, and where the daemon is if that was known."""

    name: KeyName
    role: Role
    public: PublicKey
    secret: SecretStr
    server: PublicKey = Field(description="the daemon's public key")
    requests: str | None = None
    events: str | None = None

    @field_serializer("secret")
    def _shown(self, secret: SecretStr) -> str:
        return secret.get_secret_value()

    @classmethod
    def load(cls, path: Path) -> "ClientKey":
        """Read a client's file; refuse one that others can read."""
        return read(path, cls, secret=True)

    def save(self, path: Path) -> None:
        """Write a client's file; never over another one."""
        write(path, self, replace=False)


F = TypeVar("F", bound=KeyFile)


def read(path: Path, model: type[F], *, secret: bool) -> F:
    """Read a key file.

    Raises:
        KeyFileError: it cannot be read, is no such file, or others could read a secret or change a right.
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise KeyFileError(say("keys.unread", file=path, why=os_reason(error))) from None
    if secret and mode & 0o077:
        raise KeyFileError(say("keys.open", file=path, mode=f"{mode:04o}"))
    if mode & 0o022:
        raise KeyFileError(say("keys.changeable", file=path, mode=f"{mode:04o}"))
    if len(content) > _LARGEST_BYTES:
        raise KeyFileError(say("keys.too_large", file=path))
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        # pydantic's own text would show the input, which may be a secret
        fields = sorted({str(details["loc"][0]) for details in error.errors() if details["loc"]})
        where = say("keys.see", fields=fields) if fields else ""
        raise KeyFileError(say("keys.other_file", file=path, kind=model.__name__, see=where)) from None


def write(path: Path, content: KeyFile, *, replace: bool = True) -> None:
    """Write a key file durably under its name; after a crash there is the old file or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(content.model_dump_json(indent=2).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
                _give_to_owner(file.fileno(), path.parent)
            if replace:
                temporary.replace(path)
            else:
                _name_new(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _make_durable(path.parent)
    except FileExistsError:
        raise KeyFileError(f"{path} exists: a key never takes the place of another file") from None
    except OSError as error:
        raise KeyFileError(f"the key file {path} cannot be written: {error.strerror}") from None


def _name_new(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)  # unlike a rename it fails where a file exists
    except FileExistsError:
        raise
    except OSError:  # file systems without hard links
        if path.exists():
            raise FileExistsError from None
        temporary.rename(path)


def make_directory(directory: Path) -> None:
    """Make a directory for its owner only, and its parents, unless it exists."""
    missing = [place for place in (directory, *directory.parents) if not place.exists()]
    for place in reversed(missing):
        try:
            place.mkdir(mode=0o700, exist_ok=True)
            fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _give_to_owner(fd, place.parent)
            finally:
                os.close(fd)
        except OSError as error:
            raise KeyFileError(f"the directory {place} cannot be made: {error.strerror}") from None


def _give_to_owner(fd: int, directory: Path) -> None:
    """What an administrator makes in the directory of a daemon's user must be readable by that user."""
    if os.geteuid() == 0:
        owner = directory.stat()
        os.fchown(fd, owner.st_uid, owner.st_gid)


def _make_durable(directory: Path) -> None:
    with contextlib.suppress(PermissionError):  # a directory we may write to, but not list
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
