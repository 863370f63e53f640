"""Runs all fault tests and prints one table: python -m tests.faults.table [--short] [--row NAME] [--size N] [--show].

`make test-faults` runs the full counts, some of them for many minutes; FAULTS=short a small part of each. A row fails
if something that was acknowledged is lost, if a check fails, or if a check that must find a loss finds none. What a
full row found is kept in logs/faults.json with the commit it ran on: a run that was broken off goes on with the rows
that this commit has not passed yet (--again runs them all), and --show prints what is kept.
"""

import argparse
import fcntl
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.docs.documents import ROOT
from tests.faults.rows import ROWS, NotAsItShouldBeError, Row

KEPT = ROOT / "logs" / "faults.json"
TELL_EVERY_S = 15.0


@dataclass(frozen=True)
class Result:
    """One row as it is kept."""

    what: str
    size: int
    count: int
    lost: int | None
    took_s: float
    ok: bool
    text: str
    commit: str


def commit() -> str:
    """What is tried; with a + where files were changed since."""
    named = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],  # noqa: S607 - whichever people use here
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return named.stdout.strip() or "unknown"


def kept(path: Path) -> dict[str, Result]:
    """What was found before, by row."""
    try:
        return {name: Result(**found) for name, found in json.loads(path.read_text()).items()}
    except FileNotFoundError:
        return {}


def keep(path: Path, result: Result) -> None:
    """Remember a row; several runs may do so at once, each for rows of its own."""
    path.parent.mkdir(exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = {**kept(path), result.what: result}
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps({name: asdict(one) for name, one in found.items()}, indent=1) + "\n")
        fresh.replace(path)


def teller(row: Row, size: int) -> Callable[[int], None]:
    """Says now and then how far a row is, and how long it will take."""
    began_s = last_s = time.monotonic()

    def told(count: int) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s >= TELL_EVERY_S and count > 0:
            last_s = now_s
            left_min = (now_s - began_s) * (size - count) / count / 60
            sys.stderr.write(f"{row.what}: {count} of {size}, {left_min:.0f} min left\n")

    return told


def line(what: object, count: object, lost: object, took: object, tree: object, result: object) -> str:
    """A line of the table."""
    return f"{what!s:29} {count!s:>9} {lost!s:>6} {took!s:>7}  {tree!s:10} {result}\n"


def shown(result: Result) -> str:
    """A row as a line."""
    lost = "-" if result.lost is None else result.lost
    said = f"ok: {result.text}" if result.ok else f"FAILED: {result.text}"
    return line(result.what, result.count, lost if result.ok else "?", f"{result.took_s:.0f} s", result.commit, said)


def tried(row: Row, size: int, tree: str) -> Result:
    """Run a row."""
    began_s = time.monotonic()
    try:
        done = row.run(size, teller(row, size))
        count, lost, text, ok = done.count, done.lost, done.text, True
    except (NotAsItShouldBeError, AssertionError) as error:
        count, lost, text, ok = 0, None, " ".join(str(error).split())[:300], False
    return Result(row.what, size, count, lost, round(time.monotonic() - began_s, 1), ok, text, tree)


def _chosen(names: Sequence[str], size: int | None) -> list[Row]:
    unknown = [name for name in names if name not in {row.what for row in ROWS}]
    if unknown or (size is not None and len(names) != 1):
        said = f"there is no row {unknown[0]!r}" if unknown else "--size is the size of one --row"
        sys.stderr.write(f"{said}; the rows are: {', '.join(row.what for row in ROWS)}\n")
        return []
    return [row for row in ROWS if not names or row.what in names]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run rows and print them; 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a small part of each")
    parser.add_argument("--row", metavar="NAME", action="append", default=[], help="this row; may be given again")
    parser.add_argument("--size", metavar="N", type=int, help="how many of what the row tries")
    parser.add_argument("--again", action="store_true", help="also rows that this commit has passed")
    parser.add_argument("--show", action="store_true", help="run nothing, print what is kept")
    parser.add_argument("--kept", metavar="FILE", type=Path, default=KEPT, help="where full rows are kept")
    asked = parser.parse_args(arguments)
    chosen, tree = _chosen(asked.row, asked.size), commit()
    if not chosen:
        return 2
    sys.stdout.write(line("what", "how many", "lost", "took", "commit", "result"))
    results = []
    for row in chosen:
        before = None if asked.short else kept(asked.kept).get(row.what)
        size = asked.size if asked.size is not None else row.short if asked.short else row.full
        if asked.show or (not asked.again and not asked.row and before and before.ok and before.commit == tree):
            result = before
        else:
            result = tried(row, size, tree)
            if size == row.full:
                keep(asked.kept, result)
        results += [result] if result else []
        sys.stdout.write(shown(result) if result else line(row.what, 0, "?", "", "", "never run in full"))
        sys.stdout.flush()
    good = sum(result.ok for result in results)
    sys.stdout.write(f"{good} of {len(chosen)} kinds of faults as they should be\n")
    return 0 if good == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
