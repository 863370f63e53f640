"""How many campaigns one daemon bears: simulated machines, every question answered, memory watched."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tuner.lab.bench import machines
from tuner.lab.bench.latency import Waits, winner
from tuner.lab.local_daemon import LocalDaemon
from tuner.wire.client import Client
from tuner.wire.errors import ReplyError


@dataclass(frozen=True)
class Load:
    """What was measured.

    Attributes:
        campaigns: How many.
        judgments: How many answers were given and acknowledged.
        complete: How many campaigns came to their end.
        seconds: How long it took.
        acknowledged: How long an answer waited for its acknowledgement.
        early_mb: Memory of the daemon itself at the tenth part of the answers.
        late_mb: The same at the end.
        all_mb: Memory of all its processes, the most at either time, shared pages counted once.
    """

    campaigns: int
    judgments: int
    complete: int
    seconds: float
    acknowledged: Waits
    early_mb: float
    late_mb: float
    all_mb: float


def run_load(campaigns: int, trials: int, seconds: float, judges: int, told: Callable[[int], None]) -> Load:
    """Run campaigns side by side until all are complete, with a few judges answering whatever is open."""
    names = [f"line{number:03d}" for number in range(campaigns)]
    config = machines.head(speculate=True) + "".join(
        machines.campaign(name, trials=trials, seconds=seconds, seed=place) for place, name in enumerate(names)
    )
    waits: list[float] = []
    over: set[str] = set()
    early: list[float] = []
    beside: list[float] = []
    begin = time.perf_counter()
    with machines.daemon(config) as running:

        def answer(client: Client, name: str) -> None:
            view = client.snapshot(name)
            if view.mode == "Complete":
                over.add(name)
            if view.duel is None:
                return
            sent = time.perf_counter()
            try:
                client.judge(name, view.duel.number, winner(view))
            except ReplyError:
                return  # answered in the meantime
            waits.append((time.perf_counter() - sent) * 1000)
            if not early and len(waits) >= campaigns * trials / 10:
                early.append(memory_mb(running.pid))
                beside.append(all_mb(running))  # while every machine has its process
            told(len(waits))

        def judge(part: int) -> None:
            with running.client(f"judge{part}") as client:
                own = names[part::judges]
                while not over.issuperset(own):
                    lines = {line.name: line for line in client.status().campaigns}
                    for name in own:
                        if name not in over and (lines[name].duel is not None or lines[name].mode == "Complete"):
                            answer(client, name)
                    time.sleep(0.02)

        with ThreadPoolExecutor(judges) as people:
            list(people.map(judge, range(judges)))
        seconds_taken = time.perf_counter() - begin
        late, everything = memory_mb(running.pid), max([*beside, all_mb(running)])
    return Load(
        campaigns,
        len(waits),
        len(over),
        seconds_taken,
        Waits("acknowledged", tuple(waits)),
        early[0] if early else late,
        late,
        everything,
    )


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    return _field(pid, "status", "VmRSS:")


def cpu_s(pid: int) -> float:
    """Seconds of processor time that a process has used, whatever else the machine had to do."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def all_mb(running: LocalDaemon) -> float:
    """Proportional memory of the daemon's whole session: its adapters and compute processes with it."""
    session = running.pid
    found = 0.0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int((entry / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                    found += _field(int(entry.name), "smaps_rollup", "Pss:")
            except (OSError, ValueError):
                continue  # it has just ended
    return found


def _field(pid: int, file: str, name: str) -> float:
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return 0.0
