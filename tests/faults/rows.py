"""The rows of the table of faults: what tries each kind of fault, how often, and what it found."""

import importlib.util
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.docs.documents import ROOT
from tests.faults import crowd
from tests.faults.fuzz_line import fuzz_line
from tests.faults.fuzz_page import fuzz_page
from tests.faults.fuzz_parsers import TARGETS
from tests.faults.soak import CAMPAIGNS, PARTS_A_DAY, check_soak, soak
from tests.faults.test_fuzz import check as check_fuzz
from tests.faults.test_fuzz import fuzz
from tests.faults.test_kill import bombard
from tests.faults.test_store_faults import damage_pages
from tests.journal.test_journal_faults import lines_of

LANES = 3  # daemons that are killed side by side: most of a kill is waiting

Told = Callable[[int], None]


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
    """A kind of fault: its name, how often in full and in short, and what tries it and tells how far it is."""

    what: str
    full: int
    short: int
    run: Callable[[int, Told], Done]


def kills(count: int, told: Told) -> Done:
    """Kill daemons that people answer."""
    so_far, lock = [0], threading.Lock()

    def killed() -> None:
        with lock:
            so_far[0] += 1
            told(so_far[0])

    lanes = min(LANES, count)
    shares = [count // lanes + (lane < count % lanes) for lane in range(lanes)]
    with ThreadPoolExecutor(lanes) as pool:
        answers = sum(pool.map(lambda lane: bombard(shares[lane], seed=lane, killed=killed), range(lanes)))
    if answers < count / 2:
        raise NotAsItShouldBeError(f"{answers} answers beside {count} kills: nothing was there that could be lost")
    return Done(count, 0, f"{answers} answers acknowledged, all there once")


def power_cuts(mode: str) -> Callable[[int, Told], Done]:
    """Cut the power of a simulated disk; a journal that does not wait for the disk must lose something."""

    def run(steps: int, _told: Told) -> Done:
        (found,) = lines_of("tests.journal.powercut", "3", str(steps), mode)
        must_lose = mode != "as-opened"
        if must_lose != (found["lost"] > 0) or (not must_lose and found["wrong"]):
            raise NotAsItShouldBeError(f"lost {found['lost']}, wrong {found['wrong']} of {found['acknowledged']}")
        said = "it loses, as it must: the cuts are real" if must_lose else f"{found['acknowledged']} acknowledged"
        return Done(found["cuts"], found["lost"], said)

    return run


def pages(count: int, _told: Told) -> Done:
    """Spoil a page of a journal."""
    with tempfile.TemporaryDirectory() as directory:
        found = damage_pages(Path(directory), count, seed=2)
    if found["believed"]:
        raise NotAsItShouldBeError(f"{found['believed']} damaged journals were believed")
    return Done(count, 0, f"{found['found']} found, {found['harmless']} held nothing of the journal")


def fuzzed_wire(count: int, _told: Told) -> Done:
    """Send requests that are almost right."""
    found = fuzz(count, seed=2, keys_a_role=1)
    check_fuzz(found)
    words = f"{found['codes'].get('busy', 0)} over the limit, {found['defect']} defects, good client p99"
    return Done(found["requests"], found["lost"], f"{words} {found['p99_ms']:.0f} ms")


def fuzzed_line(count: int, told: Told) -> Done:
    """Send a line controller's messages that are almost right."""
    found = fuzz_line(count, seed=2, told=told)
    return Done(found["requests"], found["lost"], f"{found['error']} refused with a sentence, then a part was made")


def fuzzed_page(count: int, told: Told) -> Done:
    """Send the page what no page of ours sends."""
    found = fuzz_page(count, seed=2, told=told)
    return Done(count, None, "answered: " + ", ".join(f"{n} x {code}" for code, n in found["statuses"].items()))


def guided(seconds: int, told: Told) -> Done:
    """Fuzz each parser for so long, led by what it covers."""
    if importlib.util.find_spec("atheris") is None:
        raise NotAsItShouldBeError("atheris is not installed: `make test-faults` installs it")
    runs = {}
    for number, target in enumerate(TARGETS, 1):
        with tempfile.TemporaryDirectory() as directory:
            command = [sys.executable, "-m", "tests.faults.fuzz_guided", target, directory]
            command += [f"-max_total_time={seconds}", f"-artifact_prefix={directory}/", "-rss_limit_mb=4096"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        ran = re.search(r"Done (\d+) runs", done.stderr)
        if done.returncode or ran is None:
            raise NotAsItShouldBeError(f"{target}: {' / '.join(done.stderr.strip().splitlines()[-6:])}")
        runs[target] = int(ran[1])
        told(number * seconds // len(TARGETS))
    return Done(sum(runs.values()), None, ", ".join(f"{name} {count}" for name, count in runs.items()))


def requests(count: int, told: Told) -> Done:
    """Send a daemon very many requests."""
    found = crowd.many_requests(count, told)
    crowd.check_requests(found)
    grown = f"memory {found['early_mb']:.0f} MB after a fifth, {found['late_mb']:.0f} MB after all"
    return Done(found["requests"], found["requests"] - found["replies"], f"{found['per_s']} a second; {grown}")


def connections(count: int, told: Told) -> Done:
    """Hold very many connections."""
    found = crowd.idle_connections(count, told)
    crowd.check_idle(found, count)
    memory = f"memory {found['mb']:.0f} MB before, {found['mb_beside']:.0f} MB beside them"
    return Done(found["held"], None, f"{memory}; good client p50 {found['p50_ms']:.0f} ms; all files closed after")


def day(parts: int, told: Told) -> Done:
    """Run a bad day of many campaigns."""
    campaigns = CAMPAIGNS if parts >= PARTS_A_DAY else 6
    found = soak(parts, campaigns, lambda answers: told(answers // campaigns))
    check_soak(found, campaigns)
    bad = f"{found['faults']} faults of machines, {found['kills']} kills, {found['restarts']} restarts"
    words = (
        f"{found['workers']} workers killed; {found['events']} events, memory {found['mb_first']} to {found['mb']} MB"
    )
    return Done(found["parts"], 0, f"{campaigns} campaigns complete; {bad}, {words}")


def selected(*nodes: str, words: str = "") -> Callable[[int, Told], Done]:
    """Run tests; in full also those that are slow. The count is that of tests."""

    def run(full: int, _told: Told) -> Done:
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
    Row("power cuts (FULL)", 2000, 150, power_cuts("as-opened")),
    Row("power cuts (NORMAL)", 2000, 150, power_cuts("NORMAL")),
    Row("disk full", 1, 0, selected(FAULTS, words="full or limit or does_not_fit")),
    Row("read-only directory", 1, 0, selected(STORE, words="may_not_write")),
    Row("journal unlinked, replaced", 1, 0, selected("tests/daemon/test_daemon_journal.py", words="taken_away")),
    Row("corrupted page", 500, 20, pages),
    Row("two daemons and more", 1, 0, selected(STORE, words="several_daemons")),
    Row("clock jumps", 1, 0, selected("tests/daemon/test_calendar.py", "tests/daemon/test_guard.py", words="clock")),
    Row("fuzzed line messages", 100_000, 1000, fuzzed_line),
    Row("fuzzed page requests", 100_000, 300, fuzzed_page),
    Row("fuzzed wire requests", 100_000, 2000, fuzzed_wire),
    Row("guided fuzzing, seconds each", 60, 3, guided),
    Row("kill -9", 500, 3, kills),
    Row("requests", 1_000_000, 5000, requests),
    Row("idle connections", 5000, 100, connections),
    Row("floods", 1, 0, selected("tests/faults/test_flood.py")),
    Row("lying machines", 1, 0, selected("tests/gate/test_gate_lies.py", "tests/gate/test_lying_run.py")),
    Row("hung and dying adapters", 1, 0, selected("tests/faults/test_adapter_faults.py")),
    Row("killed compute workers", 1, 1, selected("tests/faults/test_workers_killed.py")),  # all of them are long
    Row("orphans", 1, 0, selected("tests/faults/test_orphans.py")),
    Row("a day of 50 campaigns", PARTS_A_DAY, 3, day),
)
