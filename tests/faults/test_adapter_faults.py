"""Adapters that raise, die, hang and answer nonsense, in a real daemon: nothing wrong is stored, nothing made twice."""

import json
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.daemon.running import Running, better, campaign_text, daemon, until
from tests.daemon.scripted import install, read_notes, set_machine
from tests.faults.faulty import notes
from tests.patience import PATIENT_S
from tuner.errors import TunerError
from tuner.problems import get_problem
from tuner.wire.errors import RefusedReply

ROOT = Path(__file__).parents[2]
KNOWN_GOOD = {"x1": 3.5, "x2": 1.5}
DEADLINES = "open_s = 5.0\napply_s = 0.3\nread_back_s = 0.3\ntrial_s = 0.3"
MACHINE = 'seed = {seed}\nfault_probability = {probability}\nnotes = "{name}.notes"\nmemory = "{name}.machine"'
POLICY = "retries = 1\nwaiting = { verify_s = 0.5, ready_s = 0.5, link_s = 0.5 }"
COMPUTE = "[compute]\nspeculate = false\n"


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Let the daemon find the adapters of these tests by entry points, like those of somebody else."""
    known = {"faulty": "tests.faults.faulty:FaultyAdapter", "scripted": "tests.daemon.scripted:ScriptedAdapter"}
    install(tmp_path / "path", **known)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'path'}:{ROOT}")


class Operator(threading.Thread):
    """Answers every question of a campaign and resumes it whenever it is held, until it is stopped.

    One in a hurry does not wait until the machine is at home.
    """

    def __init__(self, running: Running, name: str, *, hurried: bool) -> None:
        super().__init__(daemon=True)
        self.running, self.campaign, self.hurried = running, name, hurried
        self.held: list[str] = []
        self.progress = False
        self.surprises: list[str] = []

    def run(self) -> None:
        try:
            with self.running.client(f"op-{self.campaign}") as client:
                for _ in client.events(self.campaign):
                    if self.look(client):
                        return
        except TunerError as error:
            self.surprises.append(repr(error))

    def look(self, client) -> bool:
        view = client.snapshot(self.campaign)
        self.progress = view.champion is not None
        try:
            if view.duel is not None:
                client.judge(self.campaign, view.duel.number, better(view), took_s=1.0)
            elif view.mode == "Held" and (self.hurried or view.phase == "held"):
                self.held.append(view.reason)
                client.resume(self.campaign)
        except RefusedReply as refusal:
            if refusal.code not in ("illegal_state", "closed"):  # somebody stopped it just now
                raise
        return view.mode == "Stopped"


class Shop:
    """Several campaigns on faulty machines in one daemon."""

    def __init__(self, running: Running, campaigns: int, probability: float, seed: int) -> None:
        self.running = running
        self.names = [f"press{number}" for number in range(campaigns)]
        texts = [COMPUTE]
        for number, name in enumerate(self.names):
            place = running.directory / name
            machine = MACHINE.format(seed=seed + number, probability=probability, name=place)
            text = campaign_text(name, trials=100_000, policy=POLICY, machine=machine, deadlines=DEADLINES)
            texts.append(text.replace('name = "simulated"', 'name = "faulty"'))
        running.config.write_text("\n".join(texts))

    def notes(self, name: str) -> list[dict]:
        return notes(self.running.directory / f"{name}.notes")

    def memory(self, name: str) -> dict:
        file = self.running.directory / f"{name}.machine"  # not there until the adapter was able to do something
        return json.loads(file.read_text()) if file.exists() else {"setting": KNOWN_GOOD, "parts": {}}

    def faults(self) -> Counter:
        lines = [line for name in self.names for line in self.notes(name)]
        return Counter((line["call"], line["fault"]) for line in lines if "fault" in line)

    def rows(self, name: str) -> list[tuple[str, dict]]:
        with self.running.journal() as store:
            return [(row.type, json.loads(row.body)) for row in store.rows(campaign=name)]


def inject(running: Running, wanted: int, *, campaigns: int, probability: float, seed: int) -> tuple[Shop, Counter]:
    """Let a daemon work until so many faults have happened, stop tuning, stop the daemon, and check everything."""
    shop = Shop(running, campaigns, probability, seed)
    running.start()
    pid = running.process.pid
    operators = [Operator(running, name, hurried=place % 2 == 1) for place, name in enumerate(shop.names)]
    for operator in operators:
        operator.start()
    while shop.faults().total() < wanted or not any(one.held and one.progress for one in operators):
        assert running.process.poll() is None, running.log()[-2000:]
        operators[0].join(0.2)
        assert all(operator.is_alive() for operator in operators), [one.surprises for one in operators]
    with running.client("anna") as client:
        for name in shop.names:
            client.stop(name, "enough")
        for name in shop.names:
            until(client, name, lambda view: view.phase == "stopped")
    for operator in operators:
        operator.join(PATIENT_S)
        assert not operator.is_alive()
        assert operator.surprises == []
    assert running.process.pid == pid
    assert running.process.poll() is None
    assert running.stop() == 0
    log = running.log()
    assert "defect" not in log
    assert "Traceback" not in log
    with running.journal() as store:
        assert store.verify().ok
    counted: Counter = Counter()
    for name in shop.names:
        counted += check_parts(shop, name)
        check_home(shop, name)
    return shop, counted


def check_parts(shop: Shop, name: str) -> Counter:
    """What the journal says about each part is what the machine knows, and what the proposal's setting gives."""
    problem, rows = get_problem("sasena"), shop.rows(name)
    proposed = {body["trial"]: body for kind, body in rows if kind == "proposal_made"}
    made = [line for line in shop.notes(name) if "part" in line]
    assert set(Counter(line["part"] for line in made).values()) <= {1}, "a part was made twice"
    settings = {line["part"].rsplit("-", 1)[1]: line["setting"] for line in made}
    known = {tag.rsplit("-", 1)[1]: part for tag, part in shop.memory(name)["parts"].items()}
    assert set(settings) == set(known)
    outcomes = [body for kind, body in rows if kind == "outcome_told"]
    assert len(outcomes) == len({body["trial"] for body in outcomes})
    for body in outcomes:
        proposal = proposed[body["trial"]]
        part = known[proposal["tag"]]
        assert {key: body[key] for key in part} == part
        assert settings[proposal["tag"]] == proposal["setting"], "a part was made with another setting"
        point = np.array([[proposal["setting"]["x1"], proposal["setting"]["x2"]]])
        assert body["valid"] == bool(problem.is_valid(point)[0])
        if body["valid"]:
            assert body["measurements"] == {"objective": float(problem.evaluate(point)[0])}
    held = [body for kind, body in rows if kind == "campaign_held"]
    assert all(body["fault"] and body["reason"] for body in held)
    return Counter(held=len(held), outcomes=len(outcomes), parts=len(made), events=len(rows))


def check_home(shop: Shop, name: str) -> None:
    """The machine is at its known-good setting, or the journal's last word on it says that it may not be."""
    kinds = ("setting_sent", "home_answered", "home_delayed")
    kind, body = [(kind, body) for kind, body in shop.rows(name) if kind in kinds][-1]
    assert kind != "setting_sent", "the machine was moved and not sent home"
    if kind == "home_answered":
        assert body["result"] == "applied", "going home never gives up"
        assert shop.memory(name)["setting"] == KNOWN_GOOD
    else:
        assert body["text"]
        assert f"{name}: the machine is NOT at its known-good setting" in shop.running.log()


@pytest.mark.slow
def test_thirty_faults_leave_the_daemon_well_and_the_journal_true(plugins):
    with daemon("") as running:
        shop, counted = inject(running, 30, campaigns=4, probability=0.3, seed=1)
        assert counted["held"] > 0
        assert counted["outcomes"] > 0
        assert shop.faults().total() >= 30


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_thousand_faults_leave_the_daemon_well_and_the_journal_true(plugins):
    with daemon("") as running:
        shop, counted = inject(running, 1000, campaigns=8, probability=0.25, seed=100)
        faults = shop.faults()
        kinds = {kind for _, kind in faults}
        assert faults.total() >= 1000
        assert kinds >= {"raise", "drop", "die", "hang", "late", "nan", "garbage", "die_after", "hang_after"}
        assert counted["held"] > 50
        assert counted["outcomes"] > 100
        print(dict(counted), faults.total(), sorted(faults.items()))  # noqa: T201 - the figures of a long run


def test_no_part_is_made_with_a_setting_that_somebody_changed_after_it_was_sent(plugins):
    with daemon("") as running:
        waiting = campaign_text(trials=1, policy="settling_s = 3600.0", machine=f'notes = "{running.directory}"')
        waiting = waiting.replace('name = "simulated"', 'name = "scripted"').replace('problem = "sasena"', "")
        running.config.write_text(waiting)
        running.start()
        with running.client() as client:
            until(client, "press", lambda view: view.phase == "settling")
            client.hold("press")
            set_machine(running.directory, {"x1": 1.0, "x2": 1.5})  # by hand, at the machine
            running.reload(waiting.replace("3600.0", "0.0"))
            client.resume("press")
            view = until(client, "press", lambda view: view.phase == "held")
            assert view.reason.startswith("no part was made, because the setting has changed since it was sent")
            assert "x1 is 1.000, not 3.500" in view.reason
            assert view.machine.home
            assert "run_trial" not in [one["call"] for one in read_notes(running.directory)]
            client.resume("press")
            until(client, "press", lambda view: view.phase == "complete")
        assert json.loads((running.directory / "setting").read_text()) == KNOWN_GOOD
        assert [one["call"] for one in read_notes(running.directory)].count("run_trial") == 1


def test_a_trial_whose_machine_went_home_while_it_was_held_is_sent_again_before_its_part_is_made():
    text = campaign_text(trials=2, policy="settling_s = 0.0").replace("approval = false", "approval = true")
    with daemon(text) as running:
        running.start()
        with running.client() as client:
            for number in (1, 2):
                until(client, "press", lambda view: view.phase == "awaiting_approval")
                if number == 2:
                    running.reload(text.replace("settling_s = 0.0", "settling_s = 3600.0"))
                client.approve("press", number)
            setting = until(client, "press", lambda view: view.phase == "settling").trial.setting
            client.hold("press")
            client.go_home("press")
            until(client, "press", lambda view: view.machine.home)
            running.reload(text)
            client.resume("press")
            until(client, "press", lambda view: view.trial is None)
            part = client.trials("press").trials[0]
        assert (part.number, part.setting) == (2, setting)
        point = np.array([[setting["x1"], setting["x2"]]])
        problem = get_problem("sasena")
        assert part.valid == bool(problem.is_valid(point)[0])
        if part.valid:
            assert part.measurements["objective"] == float(problem.evaluate(point)[0])
        with running.journal() as store:
            rows = [row.type for row in store.rows()]
        assert rows.count("setting_sent") == 3, "the known-good one, and the second one twice"


def test_a_machine_that_reads_back_something_else_makes_no_part_and_is_told_of():
    policy = "waiting = { verify_s = 0.1 }"
    with daemon(campaign_text(policy=policy, machine="read_back_error = 0.25")) as running:
        running.start()
        with running.client() as client:
            view = until(client, "press", lambda view: view.machine.home_failed is not None)
        assert (view.mode, view.phase) == ("Held", "returning_home")
        assert view.reason.startswith("setting unverified: sent, but read back")
        assert not view.machine.home
        assert "x1 is 3.750, not 3.500" in view.machine.home_failed
        assert running.stop() == 0
        assert "the machine is NOT at its known-good setting" in running.log()
        with running.journal() as store:
            assert "trial_started" not in {row.type for row in store.rows()}
