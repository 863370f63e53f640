"""Campaigns through the daemon with software of others: slow scans, lost links, frozen and restarted machines."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from tests.daemon.running import Running, better, daemon
from tests.foreign.sites import HOME, RATES, STEPS, Line, Modbus, Mqtt, Opcua, OpcuaEncrypted, Site, opened, version_of
from tests.patience import PATIENT_S
from tuner.errors import TunerError

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(1800)]
TRIALS = 10
AWAY_S = 10.0
NOT_READY_S = 3.0  # of press.js
DOOR_AT, DOOR_S = 16, 90.0
EARLY_S = 0.02  # a write on its way may be held up for longer than the next one
KINDS = [Opcua, OpcuaEncrypted, Modbus, Mqtt, Line]


class Judge(threading.Thread):
    """Answers every question, whatever happens to the daemon meanwhile; nobody resumes what was put on hold."""

    def __init__(self, running: Running) -> None:
        super().__init__()
        self.running = running
        self.trouble: str | None = None
        self.complete = False
        self.left = threading.Event()

    def run(self) -> None:
        while not self.left.is_set():
            try:
                with self.running.client() as client:
                    while not self.left.wait(0.1):
                        self.look(client)
            except TunerError:  # the daemon is being restarted
                self.left.wait(0.2)

    def look(self, client) -> None:
        view = client.snapshot("press")
        if view.mode not in ("Execute", "Complete") or view.fault or view.machine.home_failed:
            self.trouble = f"{view.mode}, {view.phase}: {view.reason} {view.fault} {view.machine.home_failed}"
        self.complete = view.phase == "complete" and view.machine.home
        if view.duel is not None:
            client.judge("press", view.duel.number, better(view), took_s=1.0)

    def so_long(self) -> None:
        assert self.trouble is None, f"{self.trouble}\n{self.running.log()[-3000:]}"

    def end(self) -> None:
        self.left.set()
        self.join()


def passes(seconds: float) -> None:
    """As long as the link is away or the machine is frozen; that is what is tried here."""
    threading.Event().wait(seconds)


def troubles(site: Site, running: Running, so_long) -> None:
    """All that happens to the machine and to the daemon during a campaign."""
    site.wait_for("made", 2, so_long)
    site.cable.cut()  # between two parts
    passes(AWAY_S)
    site.cable.mend()
    site.wait_for("made", 3, so_long)
    site.outside(guard=False)  # a door is open for a while
    passes(AWAY_S)
    site.outside(guard=True)
    site.wait_for("part", 4, so_long)
    site.cable.cut()  # in the middle of a part
    passes(AWAY_S)
    site.cable.mend()
    site.wait_for("part", 5, so_long)
    site.kill()  # a restart in the middle of a part
    site.start()
    for made in (6, 7):
        site.wait_for("made", made, so_long)
        site.outside(stalls_s=AWAY_S)  # it hangs in the middle of a move: what was sent meanwhile arrives late
    site.wait_for("part", 8, so_long)
    site.freeze()  # in the middle of a part
    passes(AWAY_S)
    site.thaw()
    site.wait_for("part", 9, so_long)
    running.kill()  # the daemon's restart in the middle of a part
    running.start()


def check_limits(site: Site) -> None:
    """No write is a step too far or came too soon, and none came while the press was not ready."""
    for name in STEPS:
        writes = [one for one in site.events("write") if one["name"] == name]
        for before, after in pairwise([{"value": HOME[name], "at_s": 0.0}, *writes]):
            change = abs(after["value"] - before["value"])
            assert change <= STEPS[name] + 1e-6, (before, after)
            if change and name in RATES:
                assert after["at_s"] - before["at_s"] >= change / RATES[name] * 60 - EARLY_S, (before, after)
        assert len({one["value"] for one in writes}) > 2, "there was something to check"
    assert all(one["ready"] for one in site.events("write"))


@contextmanager
def tuned(site: Site, trials: int, rows: list[tuple[str, ...]], label: str = "") -> Iterator[tuple[Running, Judge]]:
    """A campaign that is judged until it is complete; what happens to it meanwhile is the block's matter.

    At the end the press's record is compared with the journal, and the table has a row more.
    """
    row = [label or site.label, version_of(site.package), "0", "0", "", "failed"]
    began_s = time.monotonic()
    with daemon(site.campaign(trials)) as running:
        assert "ready; nothing was moved" in site.first_contact()
        assert site.count("write") == 0
        running.start()
        judge = Judge(running)
        judge.start()
        try:
            yield running, judge
            end_s = time.monotonic() + PATIENT_S
            while not judge.complete:
                judge.so_long()
                assert time.monotonic() < end_s, running.log()
                passes(0.1)
            judge.end()
            assert running.stop() == 0
            check(site, running, trials)
            row[5] = "passed"
        finally:
            judge.end()
            with running.journal() as store:
                found = [row.type for row in store.rows(campaign="press")]
            row[2:5] = [
                str(found.count("outcome_told")),
                str(found.count("campaign_held")),
                f"{time.monotonic() - began_s:.0f}",
            ]
            rows.append(tuple(row))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_campaign_needs_nobody_though_links_are_lost_and_both_sides_restart(kind, rows):
    with opened(kind) as site, tuned(site, TRIALS, rows) as (running, judge):
        troubles(site, running, judge.so_long)


def test_thirty_trials_with_a_slow_scan_and_a_lost_link_in_each_need_nobody(rows, monkeypatch):
    """With the defaults; once a door is open for 90 s."""
    monkeypatch.setenv("PRESS_SCAN_MS", "150")
    with opened(Modbus) as site, tuned(site, 30, rows, "modbus-serial, 30 trials") as (_, judge):
        for number in range(1, 31):
            site.wait_for("part" if number % 2 else "made", number, judge.so_long)
            if number % 2 == 0:
                passes(NOT_READY_S)  # the link is lost in a move, not in a part
            site.cable.cut()
            passes(AWAY_S)
            site.cable.mend()
            if number == DOOR_AT:
                site.outside(guard=False)
                passes(DOOR_S)
                judge.so_long()
                site.outside(guard=True)


def check(site: Site, running: Running, trials: int) -> None:
    """Each part was made once, with the setting and the outcome that the journal has; the press is home."""
    assert "defect" not in running.log()
    with running.journal() as store:
        assert store.verify().ok
        told = [(row.type, json.loads(row.body)) for row in store.rows(campaign="press")]
    proposed = {body["trial"]: body for kind, body in told if kind == "proposal_made"}
    outcomes = [body for kind, body in told if kind == "outcome_told"]
    parts = {one["tag"].rsplit("-", 1)[1]: one["setting"] for one in site.events("part")}
    made = {one["tag"].rsplit("-", 1)[1]: one["valid"] for one in site.events("made")}
    assert len(outcomes) == len(parts) == site.count("part") == trials
    for outcome in outcomes:
        proposal = proposed[outcome["trial"]]
        assert parts[proposal["tag"]] == pytest.approx(proposal["setting"], abs=1e-4)
        assert outcome["valid"] is made[proposal["tag"]]
    assert "campaign_held" not in [kind for kind, _ in told]
    assert site.home()
    check_limits(site)
