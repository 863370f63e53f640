"""Files that people ask for: whole or not at all, never through a link, and not for everybody to read."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tuner.errors import TunerError

MODE = 0o640  # journals name people
_A_LINK = "it is a link; name the file itself"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - a spreadsheet takes them too


class FileNotWrittenError(TunerError):
    """A file cannot be written; the sentence says why."""


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its place when all is written; until then what was there stays as it is.

    Raises:
        FileNotWrittenError: It cannot be written, or there is something else than a file.
    """
    _check_place(path)
    try:
        if _is_device(path):
            with path.open("wb") as file:
                yield file
            return
        temporary, descriptor = _beside(path)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fchmod(file.fileno(), _mode(path))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise FileNotWrittenError(f"{path} cannot be written: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text so."""
    with whole_file(path) as file:
        file.write(text.encode())


def append_to(path: Path, *, read: bool = False) -> int:
    """The descriptor of a file that grows, such as a log; the file is made if there is none."""
    try:
        access = os.O_RDWR if read else os.O_WRONLY
        return os.open(path, access | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, MODE)
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise OSError(errno.ELOOP, _A_LINK, str(path)) from None
        raise


def make_directory(path: Path) -> None:
    """Make a directory for files that people ask for, and its parents, unless it exists."""
    if path.is_symlink():
        raise FileNotWrittenError(f"{path} cannot be made: it is a link; name the directory itself")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileNotWrittenError(f"{path} cannot be made: {error.strerror}") from None


def check_writable(path: Path) -> None:
    """Say before a long computation that its result could not be written."""
    _check_place(path)
    if not _is_device(path):
        try:
            temporary, descriptor = _beside(path)
            os.close(descriptor)
            temporary.unlink()
        except OSError as error:
            raise FileNotWrittenError(f"{path} cannot be written: {error.strerror}") from None


def _check_place(path: Path) -> None:
    directory = path.absolute().parent
    why = ""
    if not directory.is_dir():
        why = f"there is no directory {directory}"
    elif path.is_symlink():
        why = _A_LINK
    elif path.is_dir():
        why = "it is a directory"
    if why:
        raise FileNotWrittenError(f"{path} cannot be written: {why}")


def _beside(path: Path) -> tuple[Path, int]:
    """A new file beside another, for its owner only, and its descriptor."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return temporary, os.open(temporary, flags, 0o600)


def csv_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: a text that begins like one gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _is_device(path: Path) -> bool:
    """Whether a name stands for something that is written to but not replaced, such as /dev/null or a pipe."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _mode(path: Path) -> int:
    """The rights of a file that was there before are somebody's choice."""
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except OSError:
        return MODE
