"""How long people wait for the daemon: from an answer to the next proposal, and for replies while the model works."""

import json
import math
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from tuner.bench import machines
from tuner.campaign import commands as c
from tuner.campaign.decide import Actor, automatic, decide
from tuner.campaign.evolve import Recorded, evolve
from tuner.campaign.state import State
from tuner.campaign.terms import Terms
from tuner.config import parse_config
from tuner.journal.chain import canonical
from tuner.journal.records import NewRow
from tuner.journal.store import FILE_NAME, Store
from tuner.local import LocalDaemon
from tuner.problems import get_problem
from tuner.wire.client import Client
from tuner.wire.follow import Gap
from tuner.wire.messages import CampaignView, EventMessage

NAME = "bench"
_ACTOR = Actor("bench", "engineer")


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
        write_history(journal, text, known)
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


def write_history(journal: Path, config: str, known: int) -> None:
    """A journal of a campaign that has judged so many trials; its settings are random, its answers exact."""
    terms = Terms.of(parse_config(config, "bench").campaigns[0])
    problem = get_problem("sasena")
    rng = np.random.default_rng(0)
    state: State | None = None
    now = datetime(2026, 1, 1, tzinfo=UTC)
    rows: list[NewRow] = []

    def tell(command: c.Command) -> State:
        nonlocal state, now
        now += timedelta(seconds=1)
        events = list(decide(state, command, _ACTOR, now))
        while events:
            for event in events:
                at = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
                state = evolve(NAME, state, Recorded(len(rows) + 1, now, "bench", event))
                rows.append(NewRow(NAME, at, event.type, canonical(event.model_dump(mode="json")), "bench"))
            following = None if state is None else automatic(state, now)
            events = [] if following is None else [following]
        if state is None:
            raise ValueError("there is no campaign")
        return state

    tell(c.Create(terms=terms))
    campaign = tell(c.Start())
    while campaign.spent < known or campaign.trial is not None:
        if campaign.trial is None:
            point = rng.uniform(0.0, 5.0, 2)
            campaign = tell(_proposal(campaign, point))
        trial = campaign.trials[-1]
        at = np.array([[float(trial.setting["x1"]), float(trial.setting["x2"])]])
        campaign = tell(c.SendSetting(trial=trial.number))
        campaign = tell(c.AnswerSetting(trial=trial.number, result="applied", read_back=dict(trial.setting)))
        campaign = tell(c.BeginTrial(trial=trial.number))
        valid = bool(problem.is_valid(at)[0])
        measured = {"objective": float(problem.evaluate(at)[0])} if valid else {}
        campaign = tell(
            c.MachineOutcome(trial=trial.number, valid=valid, reason="" if valid else "no part", measurements=measured)
        )
        if campaign.duel is not None:
            left, right = (campaign.trials[number - 1] for number in (campaign.duel.left, campaign.duel.right))
            best = min((left, right), key=lambda one: one.measurements["objective"])
            campaign = tell(c.Judge(duel=campaign.duel.number, winner=best.number))
    with Store.open(journal) as store:
        store.append(rows)


def _proposal(state: State, point: np.ndarray) -> c.Propose:
    return c.Propose(
        setting={"x1": float(point[0]), "x2": float(point[1])},
        source="model",
        kind="told",
        champion=state.champion,
        reason="a random setting for a measurement",
        better=None,
        valid=None,
        distance=None,
        model=state.memory,
    )


def as_json(waits: list[Waits]) -> str:
    """For programs."""
    return json.dumps([{"label": w.label, "milliseconds": w.milliseconds} for w in waits])
