"""How long the daemon takes to start on a journal of many events."""

import os
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.journal.records import NewRow
from tuner.journal.store import FILE_NAME, Store
from tuner.lab.bench import machines
from tuner.lab.bench.daemon_load import cpu_s
from tuner.lab.bench.history import history
from tuner.lab.local_daemon import LocalDaemon

_BATCH = 20_000  # events of one transaction
_PATIENT_S = 7200.0  # ten million events on a busy machine
TRIALS = 24


@dataclass(frozen=True)
class Starts:
    """Seconds until the daemon answers.

    Attributes:
        events: How many the journal has.
        campaigns: Of how many campaigns.
        megabytes: The journal's size.
        empty_s: With an empty journal.
        first_s: With the journal, before there are snapshots of it.
        again_s: Once there are.
        killed_s: After kill -9.
        first_cpu_s: Processor time of the first start.
        again_cpu_s: Of the next one.
    """

    events: int
    campaigns: int
    megabytes: float
    empty_s: float
    first_s: float
    again_s: float
    killed_s: float
    first_cpu_s: float
    again_cpu_s: float


def measure_start(events: int, told: Callable[[str], None]) -> Starts:
    """Fill a journal and start a daemon on it."""
    text = machines.head() + machines.campaign("live", trials=100, seconds=0.0, autostart=False)
    with tempfile.TemporaryDirectory(prefix="tuner-") as directory:
        place = Path(directory)
        config = place / "tuner.toml"
        config.write_text(text)
        empty_s, _ = _start(config, place / "empty", signal.SIGTERM)
        told("filling the journal")
        count = fill(place / "state" / FILE_NAME, text, events)
        size = (place / "state" / FILE_NAME).stat().st_size / 1e6
        told("first start")
        first_s, first_cpu_s = _start(config, place / "state", signal.SIGTERM)
        told("second start")
        again_s, again_cpu_s = _start(config, place / "state", signal.SIGKILL)
        told("start after kill -9")
        killed_s, _ = _start(config, place / "state", signal.SIGTERM)
    return Starts(events, count, size, empty_s, first_s, again_s, killed_s, first_cpu_s, again_cpu_s)


def fill(path: Path, config: str, events: int) -> int:
    """Write the histories of campaigns that are over until there are so many events; return how many campaigns."""
    rows = history("old", config, TRIALS, stopped=True)
    count = 0
    with Store.open(path) as store:
        while store.head[0] < events:
            batch: list[NewRow] = []
            while len(batch) < min(_BATCH, events - store.head[0]):
                count += 1
                name = f"old{count:06d}"
                batch += [replace(row, campaign=name) for row in rows]
            store.append(batch)
    return count


def _start(config: Path, state: Path, end: signal.Signals) -> tuple[float, float]:
    """How long it takes until the daemon answers, and its processor time by then."""
    daemon = LocalDaemon(config, state, start_s=_PATIENT_S)
    begin = time.perf_counter()
    daemon.start()
    seconds, used_s = time.perf_counter() - begin, cpu_s(daemon.pid)
    if end is signal.SIGKILL:
        os.kill(daemon.pid, signal.SIGKILL)
    daemon.stop()
    return seconds, used_s
