"""kill -9 at random moments while a client answers and retries: what was acknowledged is there, and once."""

import json
import random
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.daemon.running import Running, better, campaign_text
from tests.faults.fork_start import QuickRunning
from tests.patience import PATIENT_S
from tuner.errors import TunerError, UnreachableError
from tuner.wire.errors import RefusedReply

AFTER_AN_ANSWER = 0.7  # of the kills
MACHINE = 'seconds_per_trial = 0.02\nmemory = "{memory}"'


class Judge(threading.Thread):
    """Answers every question, again and again with the same id until it is acknowledged."""

    def __init__(self, running: Running) -> None:
        super().__init__(daemon=True)
        self.running = running
        self.acknowledged: list[tuple[int, int]] = []
        self.surprises: list[str] = []
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.is_set():
            try:
                with self.running.client() as client:
                    self.answer(client)
            except UnreachableError:
                continue
            except TunerError as error:
                self.surprises.append(repr(error))

    def wait_for_a_moment(self, rng: random.Random) -> None:
        """Wait until a kill can cost something: just after an answer, or at any time after the start.

        By time alone a busy machine's daemons are all killed before anybody has answered.
        """
        answered, end = len(self.acknowledged), time.monotonic() + PATIENT_S
        if rng.random() < AFTER_AN_ANSWER:
            while len(self.acknowledged) == answered and self.is_alive() and time.monotonic() < end:
                self.done.wait(0.01)
            self.done.wait(rng.uniform(0.0, 0.2))
        else:
            self.done.wait(rng.uniform(0.0, 1.5))

    def answer(self, client) -> None:
        for _ in client.events("press"):
            view = client.snapshot("press")
            if view.duel is not None:
                self.one(client, view.duel.number, better(view))
            if self.done.is_set():
                return

    def one(self, client, duel: int, winner: int) -> None:
        identity = uuid.uuid4().hex
        while not self.done.is_set():
            try:
                client.request(
                    "judgment.give", "press", {"duel": duel, "winner": winner}, request_id=identity, timeout_s=1.0
                )
            except UnreachableError:
                continue
            except RefusedReply as refusal:
                self.surprises.append(f"duel {duel}: {refusal.code} {refusal}")
            else:
                self.acknowledged.append((duel, winner))
            return


def check(running: Running, judge: Judge) -> None:
    with running.journal() as store:
        verdict = store.verify()
        assert verdict.ok, verdict
        rows = [(row.type, json.loads(row.body)) for row in store.rows(campaign="press")]
    assert judge.surprises == []
    given = [(body["duel"], body["winner"]) for kind, body in rows if kind == "judgment_given"]
    assert len(given) == len({duel for duel, _ in given}), "a duel was answered twice"
    assert set(judge.acknowledged) <= set(given), "an acknowledged answer was lost"
    assert len(judge.acknowledged) == len(set(judge.acknowledged))
    trials = [body["trial"] for kind, body in rows if kind == "proposal_made"]
    assert trials == list(range(1, len(trials) + 1))
    outcomes = Counter(body["trial"] for kind, body in rows if kind == "outcome_told")
    assert set(outcomes.values()) <= {1}, "a trial had two outcomes"
    assert set(outcomes) >= set(trials[:-1]), "a trial was left behind"


def bombard(kills: int, seed: int, killed: Callable[[], object] = lambda: None) -> int:
    """Kill so often; how many answers were acknowledged, none of which is lost."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory(prefix="tuner-") as directory:
        memory = Path(directory) / "machine.json"
        text = campaign_text(trials=100_000, machine=MACHINE.format(memory=memory))
        running = QuickRunning(Path(directory), f"[compute]\nworkers = 1\nspeculate = false\n{text}")
        try:
            return _bombard(running, kills, rng, killed)
        finally:
            running.close()


def _bombard(running: QuickRunning, kills: int, rng: random.Random, killed: Callable[[], object]) -> int:
    running.start()
    judge = Judge(running)
    judge.start()
    for _ in range(kills):
        judge.wait_for_a_moment(rng)
        running.kill()
        running.start(wait=rng.random() < 0.7)  # sometimes it is killed while it starts
        killed()
    running.kill()
    running.start()
    answered = len(judge.acknowledged)
    while len(judge.acknowledged) < answered + 2 and judge.is_alive():
        judge.join(0.1)
    judge.done.set()
    running.stop()
    judge.join(PATIENT_S)
    assert judge.acknowledged
    check(running, judge)
    return len(judge.acknowledged)


def test_nothing_acknowledged_is_lost_and_nothing_is_double():
    bombard(kills=3, seed=1)
