"""How long people wait for the daemon: from an answer to the next proposal, and for replies while the model works."""

import json
import math
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tuner.journal.store import FILE_NAME, Store
from tuner.lab.bench import machines
from tuner.lab.bench.history import history
from tuner.lab.local_daemon import LocalDaemon
from tuner.wire.client import Client
from tuner.wire.follow import Gap
from tuner.wire.messages import CampaignView, EventMessage

NAME = "bench"


@dataclass(frozen=True)
class Waits:
    """Milliseconds of waiting."""

    label: str
    milliseconds: tuple[float, ...]

    def quantile(self, share: float) -> float:
        """The wait that this share of all does not exceed."""
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan

    @property
    def median(self) -> float:
        """Half of all waits are shorter."""
        return statistics.median(self.milliseconds) if self.milliseconds else math.nan


def winner(view: CampaignView) -> int:
    """What an exact judge answers; the simulated machine tells its cost."""
    if view.duel is None:
        raise ValueError("no question is open")
    return min((view.duel.left, view.duel.right), key=lambda trial: trial.measurements["objective"]).number


def proposal_waits(trials: int, seconds: float, *, speculate: bool, told: Callable[[int], None]) -> Waits:
    """From the moment an answer is sent to the moment its proposal has come back over the wire."""
    config = machines.head(speculate=speculate) + machines.campaign(NAME, trials=trials, seconds=seconds)
    waits: list[float] = []
    with machines.daemon(config) as running, running.client("bench") as client, running.client("bench") as judge:
        asked: float | None = None
        for item in client.events(NAME):
            if isinstance(item, EventMessage) and item.type == "proposal_made":
                told(int(item.body["trial"]))
                if asked is not None:
                    waits.append((time.perf_counter() - asked) * 1000)
                    asked = None
            if isinstance(item, Gap) or (
                isinstance(item, EventMessage) and item.type in ("duel_asked", "campaign_completed")
            ):
                view = judge.snapshot(NAME)
                if view.mode == "Complete":
                    break
                if view.duel is not None:
                    asked = time.perf_counter()
                    judge.judge(NAME, view.duel.number, winner(view))
    return Waits("speculation" if speculate else "no speculation", tuple(waits))


def reply_waits(known: int, seconds: float) -> tuple[Waits, Waits]:
    """Replies while nothing is computed, and while proposals that know of so many trials are computed."""
    with tempfile.TemporaryDirectory(prefix="tuner-") as directory:
        journal = Path(directory) / FILE_NAME
        text = machines.head() + machines.campaign(NAME, trials=10 * known, seconds=0.0)
        with Store.open(journal) as store:
            store.append(history(NAME, text, known))
        with machines.daemon(text, journal) as running:
            with running.client("bench") as client:
                client.hold(NAME, "to measure silence")
                quiet = _pings(client, seconds / 4)
                client.resume(NAME)
            busy = _while_tuning(running, seconds)
    return Waits("idle", quiet), Waits(f"computing with {known} trials", busy)


def _while_tuning(running: LocalDaemon, seconds: float) -> tuple[float, ...]:
    done = threading.Event()

    def answer() -> None:
        with running.client("bench") as client:
            for _ in client.events(NAME):
                if done.is_set():
                    return
                view = client.snapshot(NAME)
                if view.duel is not None:
                    client.judge(NAME, view.duel.number, winner(view))

    judge = threading.Thread(target=answer, daemon=True)
    judge.start()
    with running.client("bench") as client:
        waits = _pings(client, seconds)
    done.set()
    judge.join(10.0)
    return waits


def _pings(client: Client, seconds: float) -> tuple[float, ...]:
    waits = []
    end = time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        client.ping()
        waits.append((time.perf_counter() - begin) * 1000)
        time.sleep(0.002)  # a few hundred clients' worth of requests in a second, not a flood
    return tuple(waits)


def as_json(waits: list[Waits]) -> str:
    """For programs."""
    return json.dumps([{"label": w.label, "milliseconds": w.milliseconds} for w in waits])
