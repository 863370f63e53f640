"""What `tuner doctor` says about the program itself: are its files as they were installed, and whose adapters run?"""

import base64
import hashlib
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, PackagePath, distribution, entry_points
from pathlib import Path

from tuner.basics.text import counted
from tuner.cli.doctor_checks import Finding
from tuner.config.plugins import GROUP

OURS = "process-tuner"
_MOST_NAMED = 5
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")
_TOOLS = frozenset({"dev", "peers"})  # extras of ours that no daemon imports


def program() -> Iterator[Finding]:
    """Whether tuner, what it needs and the adapters from outside are as they were installed."""
    roots = [OURS, *sorted({name for _, name, _ in outside()})]
    checked, files = 0, 0
    for found in closure(roots):
        listed = found.files or []
        changed = list(differences(found, listed))
        if changed:
            more = f" and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
            yield Finding(
                "bad",
                "program",
                f"{found.name} {found.version} is not as it was installed: {', '.join(changed[:_MOST_NAMED])}{more}; "
                "find out who changed it, then install it again",
            )
        elif is_editable(found):
            yield Finding("warn", "program", f"{found.name} runs from a checkout: its files have no hashes to compare")
        checked += 1
        files += sum(comparable(one) for one in listed)
    yield Finding(
        "ok", "program", f"{counted(files, 'file')} of {counted(checked, 'package')} compared with their hashes"
    )


def adapters() -> Iterator[Finding]:
    """The adapters that did not come with tuner: their code runs with the daemon's rights."""
    found = [f"{adapter} ({name} {version})" for adapter, name, version in outside()]
    text = f"from outside: {', '.join(found)}; they run with the daemon's rights" if found else "all came with tuner"
    yield Finding("ok", "adapters", text)


def outside() -> list[tuple[str, str, str]]:
    """Name, distribution and version of each adapter that did not come with tuner."""
    points = [point for point in entry_points(group=GROUP) if point.dist is None or point.dist.name != OURS]
    return sorted((p.name, p.dist.name if p.dist else "", p.dist.version if p.dist else "unknown") for p in points)


def closure(names: list[str]) -> Iterator[Distribution]:
    """These distributions and all that they may need, of those that are installed; each once."""
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop(0)
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in seen:
            continue
        seen.add(key)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        yield found
        waiting += needed(found)


def needed(found: Distribution) -> Iterator[str]:
    """Names of what a distribution may import when the daemon runs: of ours with its extras, of others without."""
    for text in found.requires or []:
        extra = _EXTRA.search(text)
        name = _NAME.match(text)
        if name and (extra is None or (found.name == OURS and extra[1] not in _TOOLS)):
            yield name[0]


def comparable(one: PackagePath) -> bool:
    """Whether a file can be compared: not RECORD itself, nor launchers, which get the interpreter's place."""
    return one.hash is not None and not (one.parts[0] == ".." and one.parts[-2] == "bin")


def is_editable(found: Distribution) -> bool:
    """Whether a distribution's code lies elsewhere, in a checkout that people work in."""
    return '"editable": true' in (found.read_text("direct_url.json") or "")


def differences(found: Distribution, listed: list[PackagePath]) -> Iterator[str]:
    """What is not as the distribution's RECORD says, and modules in its own packages that it does not name.

    There are some ten thousand files: resolving the path of each took longer than reading and hashing them.
    """
    root = str(found.locate_file(""))
    for one in listed:
        if one.hash is None or not comparable(one):
            continue
        try:
            digest = hashlib.new(one.hash.mode, Path(root, one).read_bytes()).digest()
        except OSError as error:
            yield f"{one} ({error.strerror})"
            continue
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != one.hash.value:
            yield f"{one} (changed)"
    if found.name == OURS and not is_editable(found):
        named = {str(one) for one in listed}
        tops = {one.parts[0] for one in listed if len(one.parts) > 1 and one.suffix == ".py"}
        for top in sorted(tops - {".."}):
            for path in sorted(Path(root, top).rglob("*.py")):
                if str(path.relative_to(root)) not in named:
                    yield f"{path.relative_to(root)} (added)"
