"""Runs all fault tests and prints one table: python -m tests.faults.table [--short] [--only WORD].

`make test-faults` runs the full counts, which takes hours; FAULTS=short a small part of each. A row fails if something
that was acknowledged is lost, if a check fails, or if a check that must find a loss finds none.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.docs.documents import ROOT
from tests.faults.test_fuzz import check as check_fuzz
from tests.faults.test_fuzz import fuzz
from tests.faults.test_kill import bombard
from tests.faults.test_store_faults import damage_pages
from tests.journal.test_journal_faults import lines_of


class NotAsItShouldBeError(Exception):
    """A row's check failed; the sentence says how."""


@dataclass(frozen=True)
class Done:
    """What a row found: how many of what were tried, how many were lost (None: nothing can be), and in words."""

    count: int
    lost: int | None
    text: str


@dataclass(frozen=True)
class Row:
    """A kind of fault: how often in full and in short, and what tries it."""

    what: str
    full: int
    short: int
    run: Callable[[int], Done]


def kills(count: int) -> Done:
    """Kill a daemon that people answer."""
    acknowledged = bombard(count, seed=2)
    return Done(count, 0, f"{acknowledged} answers acknowledged, all there once")


def power_cuts(mode: str) -> Callable[[int], Done]:
    """Cut the power of a simulated disk; a journal that does not wait for the disk must lose something."""

    def run(steps: int) -> Done:
        (found,) = lines_of("tests.journal.powercut", "3", str(steps), mode)
        must_lose = mode != "as-opened"
        if must_lose != (found["lost"] > 0) or (not must_lose and found["wrong"]):
            raise NotAsItShouldBeError(f"lost {found['lost']}, wrong {found['wrong']} of {found['acknowledged']}")
        said = "it loses, as it must: the cuts are real" if must_lose else f"{found['acknowledged']} acknowledged"
        return Done(found["cuts"], found["lost"], said)

    return run


def pages(count: int) -> Done:
    """Spoil a page of a journal."""
    with tempfile.TemporaryDirectory() as directory:
        found = damage_pages(Path(directory), count, seed=2)
    if found["believed"]:
        raise NotAsItShouldBeError(f"{found['believed']} damaged journals were believed")
    return Done(count, 0, f"{found['found']} found, {found['harmless']} held nothing of the journal")


def fuzzed(count: int) -> Done:
    """Send requests that are almost right."""
    found = fuzz(count, seed=2, keys_a_role=1)
    check_fuzz(found)
    return Done(found["requests"], found["lost"], f"{found['replies']} replies, {found['defect']} defects")


def selected(*nodes: str, words: str = "") -> Callable[[int], Done]:
    """Run tests; in full also those that are slow. The count is that of tests."""

    def run(full: int) -> Done:
        marked = [] if full else ["-m", "not slow"]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=3600", *marked]
        command += [*nodes, *(["-k", words] if words else [])]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        passed = re.search(r"(\d+) passed", done.stdout)
        skipped = re.search(r"(\d+) skipped", done.stdout)
        if done.returncode or passed is None:
            raise NotAsItShouldBeError(" / ".join(done.stdout.strip().splitlines()[-2:]))
        return Done(int(passed[1]), None, f"tests passed{f', {skipped[1]} skipped' if skipped else ''}")

    return run


STORE = "tests/faults/test_store_faults.py"
FAULTS = "tests/journal/test_journal_faults.py"
ROWS = (
    Row("kill -9", 500, 3, kills),
    Row("power cuts (FULL)", 2000, 150, power_cuts("as-opened")),
    Row("power cuts (NORMAL)", 2000, 150, power_cuts("NORMAL")),
    Row("disk full", 1, 0, selected(FAULTS, words="full or limit or does_not_fit")),
    Row("read-only directory", 1, 0, selected(STORE, words="may_not_write")),
    Row("journal unlinked, replaced", 1, 0, selected("tests/daemon/test_daemon_journal.py", words="taken_away")),
    Row("corrupted page", 500, 20, pages),
    Row("several daemons", 1, 0, selected(STORE, words="several_daemons")),
    Row("clock jumps", 1, 0, selected("tests/daemon/test_calendar.py", "tests/daemon/test_guard.py", words="clock")),
    Row("fuzzed requests", 100_000, 2000, fuzzed),
    Row("floods", 1, 0, selected("tests/faults/test_flood.py")),
    Row("lying machines", 1, 0, selected("tests/gate/test_gate_lies.py", "tests/gate/test_lying_run.py")),
    Row("hung and dying adapters", 1, 0, selected("tests/faults/test_adapter_faults.py")),
    Row("killed compute workers", 1, 0, selected("tests/faults/test_workers_killed.py")),
    Row("orphans", 1, 0, selected("tests/faults/test_orphans.py")),
)


def line(what: str, count: object, lost: object, took: object, result: str) -> str:
    """A line of the table."""
    return f"{what:28} {count!s:>9} {lost!s:>6} {took!s:>8}  {result}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rows; 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a small part of each")
    parser.add_argument("--only", metavar="WORD", default="", help="rows with this word")
    asked = parser.parse_args(arguments)
    chosen = [row for row in ROWS if asked.only in row.what]
    if not chosen:
        sys.stderr.write(f"no row has the word {asked.only!r}; there are: {', '.join(row.what for row in ROWS)}\n")
        return 2
    sys.stdout.write(line("what", "how many", "lost", "took", "result"))
    failed = 0
    for row in chosen:
        began_s = time.monotonic()
        try:
            done = row.run(row.short if asked.short else row.full)
            count, lost, result = done.count, "-" if done.lost is None else done.lost, f"ok: {done.text}"
        except (NotAsItShouldBeError, AssertionError) as error:
            failed += 1
            count, lost, result = 0, "?", f"FAILED: {' '.join(str(error).split())[:200]}"
        sys.stdout.write(line(row.what, count, lost, f"{time.monotonic() - began_s:.0f} s", result))
        sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - failed} of {len(chosen)} kinds of faults as they should be\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
