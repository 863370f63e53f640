"""Writes locks/*.txt, every package that an installation may take, with its hashes: python -m scripts.lock.

It needs `uv`, which resolves for every Python from 3.11 on without installing anything. Files name packages, versions
and hashes only: where they come from is the business of whoever installs.
"""

import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
BASE = "daemon"  # what is needed without any extra
BUILD = "build"  # what builds the wheel
UNLOCKED = {"peers": "rivals, never part of an installation; torch's CPU build comes from another place"}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def wanted(name: str) -> list[str]:
    """What pyproject.toml asks for in a lock's name."""
    read = project()
    if name == BUILD:
        return list(read["build-system"]["requires"])
    table = read["project"]
    return [*table["dependencies"], *(table["optional-dependencies"][name] if name != BASE else [])]


def names() -> list[str]:
    """Of all locks."""
    return [BUILD, BASE, *(extra for extra in project()["project"]["optional-dependencies"] if extra not in UNLOCKED)]


def pins(name: str) -> dict[str, str]:
    """Package and version of each entry of a lock."""
    lines = (LOCKS / f"{name}.txt").read_text().splitlines()
    entries = [line.split() for line in lines if line and not line.startswith(("#", " "))]
    return dict(entry[0].split("==") for entry in entries)


def resolved(requirements: Sequence[str], kept: Path, upgrade: bool) -> list[dict[str, Any]]:
    """The packages that satisfy requirements, with the versions in `kept` where they still do."""
    with tempfile.TemporaryDirectory() as directory:
        source, target = Path(directory) / "in.txt", Path(directory) / "pylock.toml"
        source.write_text("\n".join(requirements))
        command = ["uv", "pip", "compile", "-q", "--universal", "--python-version", PYTHONS[0], source]
        command += ["--format", "pylock.toml", "--no-header", "-o", target]
        if not upgrade and kept.exists():
            command += ["-c", kept]
        subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - ours
        return list(tomllib.loads(target.read_text())["packages"])


def is_needed(package: dict[str, Any]) -> bool:
    """Whether some Linux needs a package."""
    marker = package.get("marker")
    surroundings = [
        {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": machine}
        | {"python_version": python, "python_full_version": f"{python}.0", "implementation_name": "cpython"}
        | {"platform_python_implementation": "CPython"}
        for python in PYTHONS
        for machine in ("x86_64", "aarch64")
    ]
    return marker is None or any(Marker(marker).evaluate(one) for one in surroundings)


def fits(tag: Tag) -> bool:
    """Whether a wheel is for some Linux and a Python that is not too old."""
    pythons = {f"cp{python.replace('.', '')}" for python in PYTHONS}
    python = tag.interpreter in pythons or tag.interpreter == "py3" or tag.abi == "abi3"
    return python and not tag.abi.endswith("t") and (tag.platform == "any" or "linux" in tag.platform)


def hashes(package: dict[str, Any]) -> Iterator[str]:
    """Of the sources and of every wheel that may be installed here."""
    if "sdist" in package:
        yield package["sdist"]["hashes"]["sha256"]
    for wheel in package.get("wheels", []):
        if any(map(fits, parse_wheel_filename(wheel["url"].rpartition("/")[2])[3])):
            yield wheel["hashes"]["sha256"]


def entry(package: dict[str, Any]) -> str:
    """A package's lines."""
    marker = f" ; {package['marker']}" if "marker" in package else ""
    return " \\\n".join(
        [
            f"{package['name']}=={package['version']}{marker}",
            *(f"    --hash=sha256:{h}" for h in sorted(hashes(package))),
        ]
    )


def write(name: str, packages: Sequence[dict[str, Any]], without: frozenset[str]) -> None:
    """Write a lock, without what another one has already."""
    entries = [entry(p) for p in packages if is_needed(p) and p["name"] not in without]
    head = "# made by `make lock`\n"
    if without:
        head = f"# made by `make lock`; what locks/{BASE}.txt has is not here again\n"
    (LOCKS / f"{name}.txt").write_text(head + "".join(f"{one}\n" for one in entries))


def main(upgrade: bool) -> None:
    """Write all locks, from one resolution, so that any of them can be installed together."""
    LOCKS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        known = Path(directory) / "known.txt"
        written = [name for name in names() if (LOCKS / f"{name}.txt").exists()]
        old = dict(pin for name in written for pin in pins(name).items())
        known.write_text("".join(f"{package}=={version}\n" for package, version in old.items()))
        everything = [requirement for name in names() for requirement in wanted(name)]
        whole = resolved(everything, known, upgrade)
        known.write_text("".join(f"{package['name']}=={package['version']}\n" for package in whole))
        base = resolved(wanted(BASE), known, upgrade=False)
        for name in names():
            below = frozenset(p["name"] for p in base if is_needed(p)) if name not in (BASE, BUILD) else frozenset()
            write(name, resolved(wanted(name), known, upgrade=False), below)


if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    main(parser.parse_args().upgrade)
