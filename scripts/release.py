"""Makes a release: python -m scripts.release VERSION [--dry-run].

Tests, changelog, version, bill of materials, the journal of the corpus, commit and tag, then wheel and sdist with their
hashes in dist/. Nothing is pushed or published. A dry run does all but the tests in a clone that is thrown away.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]
UNRELEASED = "## Unreleased\n"
_VERSION = re.compile(r'^version = "(.+)"$', re.MULTILINE)
# the place is taken first: setuptools puts words of its own into sys.argv
_BUILD = "import build_backend as b, sys; there = sys.argv[1]; b.build_sdist(there); b.build_wheel(there)"


class NotYetError(Exception):
    """A release cannot be made; the sentence says why and what to do."""


def next_version(text: str, pyproject: str) -> str:
    """The version to release, if it comes after the present one."""
    found = _VERSION.search(pyproject)
    if found is None:
        raise NotYetError("pyproject.toml names no version")
    try:
        wanted = Version(text)
    except InvalidVersion:
        raise NotYetError(f"{text!r} is no version: give three numbers, such as 0.3.0") from None
    if str(wanted) != text or len(wanted.release) != 3:
        raise NotYetError(f"{text!r} is no version of ours: give three numbers, such as 0.3.0")
    if wanted <= Version(found[1]):
        raise NotYetError(f"{text} does not come after {found[1]}, the version in pyproject.toml")
    return text


def versioned(pyproject: str, version: str) -> str:
    """pyproject.toml with another version."""
    return _VERSION.sub(f'version = "{version}"', pyproject, count=1)


def notes(changelog: str) -> str:
    """What has changed since the last release."""
    if UNRELEASED not in changelog:
        raise NotYetError("CHANGELOG.md has no heading `## Unreleased`: write down what users notice")
    found = changelog.partition(UNRELEASED)[2].partition("\n## ")[0].strip()
    if not found:
        raise NotYetError("CHANGELOG.md says nothing under `## Unreleased`: write down what users notice")
    if "\nCompatibility\n- " not in f"\n{found}":
        raise NotYetError(
            "CHANGELOG.md has no part `Compatibility` under `## Unreleased`: say there what becomes of wire, journal, "
            "configuration and adapters of the last release"
        )
    return found


def released(changelog: str, version: str, day: str) -> str:
    """The changelog when its newest part is a release."""
    return changelog.replace(UNRELEASED, f"## {version} ({day})\n", 1)


def sums(directory: Path) -> str:
    """The hashes of all archives, as sha256sum reads them."""
    files = sorted(path for path in directory.iterdir() if path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def check_archives(directory: Path, version: str) -> None:
    """Raise unless there is one wheel and one sdist of this version."""
    names = sorted(path.name for path in directory.iterdir())
    for pattern in (f"process_tuner-{version}-*.whl", f"process_tuner-{version}.tar.gz"):
        if len(list(directory.glob(pattern))) != 1:
            raise NotYetError(f"there should be one {pattern}, but the build made {', '.join(names) or 'nothing'}")


def release(where: Path, version: str, target: Path) -> None:
    """Write the version into its places, commit, tag and build."""
    pyproject, changelog = where / "pyproject.toml", where / "CHANGELOG.md"
    pyproject.write_text(versioned(pyproject.read_text(), version))
    day = datetime.now(UTC).date().isoformat()
    changelog.write_text(released(changelog.read_text(), version, day))
    run(where, sys.executable, "-m", "scripts.sbom")
    run(where, sys.executable, "-m", "tests.journals.make", version)
    run(where, sys.executable, "-m", "tests.journals.upgrade_files", version)
    run(where, "git", "add", "-A")
    run(where, "git", "commit", "-q", "-m", f"Version {version}")
    run(where, "git", "tag", "-a", f"v{version}", "-m", f"Version {version}")
    moment = run(where, "git", "log", "-1", "--format=%ct").strip()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    with tempfile.TemporaryDirectory() as directory:  # what git has, and nothing that lies about
        run(where, "git", "worktree", "add", "-q", "--detach", f"{directory}/sources", f"v{version}")
        sources = Path(directory) / "sources"
        try:
            run(sources, sys.executable, "-c", _BUILD, str(target), SOURCE_DATE_EPOCH=moment, PYTHONPATH="scripts")
        finally:
            run(where, "git", "worktree", "remove", "--force", str(sources))
    check_archives(target, version)
    shutil.copyfile(where / "locks" / "sbom.cdx.json", target / f"process-tuner-{version}.cdx.json")
    (target / "SHA256SUMS").write_text(sums(target))


def check(where: Path, version: str) -> str:
    """The notes of a release that can be made; raises if it cannot."""
    next_version(version, (where / "pyproject.toml").read_text())
    if run(where, "git", "status", "--porcelain"):
        raise NotYetError("the checkout has changes that are not committed: commit them, or put them away")
    if run(where, "git", "tag", "--list", f"v{version}"):
        raise NotYetError(f"there is a tag v{version} already")
    return notes((where / "CHANGELOG.md").read_text())


def run(where: Path, *command: str, **environment: str) -> str:
    """Run a command of ours; what it prints."""
    inherited = {**os.environ, "PYTHONPATH": str(where), **environment}
    done = subprocess.run(command, cwd=where, env=inherited, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise NotYetError(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:] or done.stdout[-4000:]}"
        )
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a release; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true", help="in a clone that is thrown away, and without the tests")
    asked = parser.parse_args(arguments)
    say = sys.stdout.write
    try:
        text = check(ROOT, asked.version)
        say(f"Version {asked.version}\n{text}\n\n")
        if asked.dry_run:
            with tempfile.TemporaryDirectory() as directory:
                clone, target = Path(directory) / "clone", Path(directory) / "dist"
                run(ROOT, "git", "clone", "-q", "--no-tags", str(ROOT), str(clone))
                release(clone, asked.version, target)
                say((target / "SHA256SUMS").read_text())
            say("dry run: the tests were not run, and nothing was kept\n")
        else:
            say("make test-all: an hour or more\n")
            run(ROOT, "make", "test-all")
            release(ROOT, asked.version, ROOT / "dist")
            say((ROOT / "dist" / "SHA256SUMS").read_text())
            say(f"committed and tagged v{asked.version}; dist/ has the archives. Look at them, then push both.\n")
    except NotYetError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
