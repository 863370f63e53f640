"""How cost grows: with the duels that a proposal knows, the campaigns of a daemon, and the events of a journal."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tuner.lab.bench import machines
from tuner.lab.bench.daemon_load import all_mb, cpu_s, memory_mb
from tuner.lab.bench.history import history
from tuner.lab.bench.start import TRIALS, measure_start

_ASKS = 20
_IN_A_FILE = 500  # campaigns: a file has 30,000 entries at most
_PATIENT_S = 900.0  # a thousand campaigns on a busy machine
_PROPOSALS = 4  # in a row: hyper-parameters are fitted anew once in so many
# a process for each number of duels: the most memory that a process has had never falls
_PROPOSE = (
    "import re, pathlib; from tuner.lab.bench.speed import duelled; one = duelled({duels}, 0, 1);"
    "seconds = [one.ask() for _ in range({count})];"
    "most = re.search('VmHWM:[^0-9]*([0-9]+)', pathlib.Path('/proc/self/status').read_text())[1];"
    "print(sum(seconds) / {count}, int(most) / 1024)"
)


@dataclass(frozen=True)
class Proposals:
    """What a proposal costs one core: the mean of four in a row, and the most memory its process has had."""

    duels: int
    seconds: float
    mb: float

    @property
    def per_s(self) -> float:
        """Proposals a second."""
        return 1 / self.seconds


@dataclass(frozen=True)
class Campaigns:
    """A daemon with so many campaigns that wait to be started: time until it answers, memory, and a reply's wait."""

    campaigns: int
    ready_s: float
    ready_cpu_s: float
    mb: float
    all_mb: float
    status_ms: float
    status_cpu_ms: float
    snapshot_ms: float


@dataclass(frozen=True)
class Events:
    """A journal of so many events: its size, and how long the daemon takes to start with it, at first and again."""

    events: int
    campaigns: int
    parts: int
    mb: float
    first_s: float
    first_cpu_s: float
    again_s: float
    again_cpu_s: float

    @property
    def bytes_a_part(self) -> float:
        """Room that a part takes: all its events, with its share of what begins and ends a campaign."""
        return self.mb * 1e6 / self.parts


def proposals(duels: Sequence[int]) -> Iterator[Proposals]:
    """Time proposals that know so many duels."""
    for count in duels:
        program = _PROPOSE.format(duels=count, count=_PROPOSALS)
        done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)  # noqa: S603 - ours
        seconds, mb = map(float, done.stdout.split())
        yield Proposals(count, seconds, mb)


def campaigns(counts: Sequence[int]) -> Iterator[Campaigns]:
    """Start a daemon with so many campaigns, and ask it something."""
    for count in counts:
        ours = [machines.campaign(f"line{n:04d}", trials=40, seconds=0.0, autostart=False) for n in range(count)]
        first, *more = ("".join(ours[at : at + _IN_A_FILE]) for at in range(0, count, _IN_A_FILE))
        began_s = time.perf_counter()
        head = machines.head(workers=1, speculate=False)
        with machines.daemon(head + first, start_s=_PATIENT_S, more=more) as running, running.client() as client:
            client.request("status", timeout_s=_PATIENT_S)
            ready_s, ready_cpu_s = time.perf_counter() - began_s, cpu_s(running.pid)
            waits, used = {}, {}
            for op, name in (("status", None), ("snapshot", "line0000")):
                sent_s, before_s = time.perf_counter(), cpu_s(running.pid)
                for _ in range(_ASKS):
                    client.request(op, name, timeout_s=_PATIENT_S)
                waits[op] = (time.perf_counter() - sent_s) / _ASKS * 1000
                used[op] = (cpu_s(running.pid) - before_s) / _ASKS * 1000
            memory = memory_mb(running.pid), all_mb(running)
        yield Campaigns(count, ready_s, ready_cpu_s, *memory, waits["status"], used["status"], waits["snapshot"])


def events(counts: Sequence[int]) -> Iterator[Events]:
    """Fill journals and start a daemon with each."""
    for count in counts:
        found = measure_start(count, lambda _: None)
        parts = found.campaigns * TRIALS
        starts = found.first_s, found.first_cpu_s, found.again_s, found.again_cpu_s
        yield Events(found.events, found.campaigns, parts, found.megabytes, *starts)


def events_a_part() -> float:
    """How many events a part has, with its share of what begins and ends a campaign."""
    text = machines.head() + machines.campaign("one", trials=100, seconds=0.0)
    return len(history("one", text, TRIALS, stopped=True)) / TRIALS


def as_data(found: Sequence[Proposals | Campaigns | Events]) -> list[dict[str, Any]]:
    """Plain data."""
    return [asdict(one) for one in found]
