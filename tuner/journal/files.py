"""Small durable steps with files and directories."""

import os
from pathlib import Path

from tuner.journal.errors import explain_os


def make_directory(directory: Path) -> None:
    """Make a directory for its owner only, unless it exists."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise explain_os(error, f"making the directory {directory}") from error


def make_durable(path: Path) -> None:
    """Wait until a file or the names in a directory are on the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
