"""Writes the package of a new adapter: it works at once, with a machine in memory, and passes the conformance suite."""

import re
from collections.abc import Collection, Iterator
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from string import Template

from tuner.basics.files import make_directory, write_text
from tuner.basics.text import shown

_NAME = re.compile(r"(?=.{1,40}$)[a-z](_?[a-z0-9])*", re.ASCII)


def check_name(name: str, taken: Collection[str]) -> None:
    """See whether an adapter can be called this."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{shown(name)} is not a name for an adapter; allowed: up to 40 small letters, digits and single "
            "underscores, a letter first"
        )
    if name in taken:
        raise ValueError(f"an adapter {shown(name)} is already installed")


def write_package(name: str, directory: Path) -> Iterator[Path]:
    """Write all files and tell each."""
    package = f"tuner_{name}"
    words = {
        "name": name,
        "dashed": name.replace("_", "-"),
        "package": package,
        "title": "".join(word.capitalize() for word in name.split("_")),
        "version": version("process-tuner"),
    }
    files = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        "example.toml": "example.toml",
        f"{package}/__init__.py": "init.py",
        f"{package}/adapter.py": "adapter.py",
        "tests/test_conformance.py": "test_conformance.py",
    }
    templates = resources.files("tuner.machine") / "new_adapter_files"
    for file, template in files.items():
        path = directory / file
        make_directory(path.parent)
        write_text(path, Template((templates / f"{template}.template").read_text("utf-8")).substitute(words))
        yield path
