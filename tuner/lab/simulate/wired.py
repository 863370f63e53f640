"""Scripted runs through the real daemon: journal, gate, adapter processes and wire, with judges as its clients.

One daemon bears a batch of campaigns; as many as there are jobs run side by side. A campaign that is over keeps its
machine's process until the daemon ends, so a new batch gets a new daemon: memory stays within bounds.
"""

import contextlib
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tuner.basics.files import write_text
from tuner.campaign.people import answer_to
from tuner.config import Campaign
from tuner.errors import TunerError
from tuner.lab.judges.by_name import Answerer, AskedDuel, make_judge
from tuner.lab.local_daemon import LocalDaemon
from tuner.lab.simulate.in_process import TellProgress
from tuner.lab.simulate.prepare import as_toml
from tuner.lab.simulate.results import RunResult
from tuner.problems import get_problem
from tuner.report.truth import Truth
from tuner.wire.client import Client, Gap, Silence
from tuner.wire.messages import CampaignView, EventMessage, TrialView
from tuner.wire.operations import request_of

BATCH = 20
LOOK_S = 5.0  # how often the disk is looked at
LEAVE_S = 10.0  # how long a lane may take to see that its daemon has ended
LOOK_AT = frozenset(
    {
        "duel_asked",
        "change_asked",
        "campaign_completed",
        "campaign_held",
        "campaign_stopped",
        "home_answered",
        "home_delayed",
    }
)
OVER = frozenset({"Complete", "Held", "Stopped", "Aborted"})

# a deadline that no proposal misses: else a slow moment would change the history of a seed; nobody here waits for the
# model, so that what is computed ahead for the answers that do not come would only take time from other runs
_HEAD = """
[compute]
workers = {workers}
speculate = false
deadline_s = 86400.0
[daemon.log]
level = "warning"
"""


def run_batches(
    campaigns: Sequence[Campaign], spec: str, jobs: int, told: TellProgress, state: Path | None = None
) -> Iterator[RunResult]:
    """Yield the runs in the order in which they end; `state` keeps the daemons' states, else they are removed."""
    for begin in range(0, len(campaigns), BATCH):
        part = campaigns[begin : begin + BATCH]
        with _place(state, begin // BATCH) as place:
            yield from _batch(part, spec, min(jobs, len(part)), told, place)


@contextlib.contextmanager
def _place(state: Path | None, number: int) -> Iterator[Path]:
    if state is not None:
        place = state / f"batch{number}"
        place.mkdir(mode=0o700, parents=True)
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="tuner-") as directory:
        yield Path(directory)


def _batch(campaigns: Sequence[Campaign], spec: str, jobs: int, told: TellProgress, place: Path) -> Iterator[RunResult]:
    config = place / "tuner.toml"
    write_text(config, _HEAD.format(workers=jobs) + "\n".join(map(as_toml, campaigns)))
    waiting: queue.SimpleQueue[Campaign] = queue.SimpleQueue()
    for campaign in campaigns:
        waiting.put(campaign)
    ended: queue.SimpleQueue[RunResult | BaseException] = queue.SimpleQueue()
    stop = threading.Event()

    def lane() -> None:
        try:
            with running.client() as client:
                while not stop.is_set():
                    try:
                        campaign = waiting.get_nowait()
                    except queue.Empty:
                        return
                    judge = make_judge(spec, campaign.seed)
                    ended.put(Wired(client, campaign, running.alive).run(judge, told, stop.is_set))
        except BaseException as error:  # noqa: BLE001 - it is raised where the results are awaited
            ended.put(error)

    running = LocalDaemon(config, place / "state")
    # a judge that does not come back must keep nobody from ending: not joined for ever, nor when the process ends
    lanes = [threading.Thread(target=lane, daemon=True, name=f"lane-{number}") for number in range(jobs)]
    try:
        running.start()
        for one in lanes:
            one.start()
        for _ in campaigns:
            result = _awaited(ended, running)
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        stop.set()
        running.stop()  # the judges wait for events: the daemon's end is one
        for one in lanes:
            if one.ident is not None:
                one.join(LEAVE_S)


def _awaited(ended: "queue.SimpleQueue[RunResult | BaseException]", running: LocalDaemon) -> RunResult | BaseException:
    """The next result; nobody is here to make room on a full disk, where a daemon waits for ever."""
    while True:
        try:
            return ended.get(timeout=LOOK_S)
        except queue.Empty:
            running.check_room()


class Wired:
    """One campaign that a daemon knows and that is idle, judged by a script; the client is the calling thread's."""

    def __init__(self, client: Client, campaign: Campaign, alive: Callable[[], bool]) -> None:
        self._client = client
        self._campaign = campaign
        self._alive = alive

    def run(self, judge: Answerer, told: TellProgress, stopped: Callable[[], bool]) -> RunResult:
        """Start it, answer every question, and return what came of it."""
        begin_s = time.perf_counter()
        self._client.start(self._campaign.name)
        view = self._until_over(judge, told, stopped)
        return self._result(view, time.perf_counter() - begin_s)

    def _until_over(self, judge: Answerer, told: TellProgress, stopped: Callable[[], bool]) -> CampaignView:
        name = self._campaign.name
        with contextlib.closing(self._client.events(name)) as items:  # type: ignore[type-var]
            for item in items:
                if stopped() or (isinstance(item, Silence) and not self._alive()):
                    raise TunerError(f"the daemon ended before the campaign {name} did")
                if isinstance(item, EventMessage) and item.type == "outcome_told":
                    told(self._campaign.seed, int(item.body["trial"]))
                if isinstance(item, Gap) or (isinstance(item, EventMessage) and item.type in LOOK_AT):
                    view = self._client.snapshot(name)
                    at_rest = view.machine.home_wanted is None or view.machine.home_failed is not None
                    if view.mode in OVER and at_rest:
                        return view
                    self._answer(view, judge)
        raise TunerError(f"the events of the campaign {name} ended")

    def _answer(self, view: CampaignView, judge: Answerer) -> None:
        duel = view.duel
        if view.change is not None:
            self._client.actor = "simulated hands"
            self._client.confirm_change(view.name, view.change.number)
        if duel is None:
            return
        answer = judge(AskedDuel.of(duel.number, duel.left, duel.right))
        self._client.actor = answer.operator
        said = answer_to(duel.number, duel.left.number, duel.right.number, answer.side)
        self._client.call(request_of(view.name, said))

    def _result(self, view: CampaignView, seconds: float) -> RunResult:
        settings: Any = self._campaign.adapter.settings
        truth = Truth(get_problem(settings.problem), self._campaign.parameters)
        trials, winners = self._history()
        recommended = self._client.recommendation(view.name).setting
        return RunResult.of(
            truth,
            trials,
            seed=self._campaign.seed,
            mode=view.mode,
            reason=view.reason,
            scrap=view.budget.scrap,
            champion=None if view.champion is None else view.champion.setting,
            recommended=recommended,
            winners=winners,
            seconds=seconds,
        )

    def _history(self) -> tuple[list[TrialView], tuple[int | None, ...]]:
        trials: list[TrialView] = []
        judged: dict[int, int | None] = {}
        before: int | None = None
        while True:
            page = self._client.trials(self._campaign.name, before=before)
            trials += page.trials
            judged |= {judgment.number: judgment.winner for judgment in page.judgments}
            if not page.more:
                return trials[::-1], tuple(judged[number] for number in sorted(judged))
            before = page.trials[-1].number
