"""A day of fifty campaigns in minutes: machines that fail, killed daemons and workers, restarts, backups.

A part every half an hour makes 48 a day. Here machines take no time and people answer at once, so that what a day does
to the daemon (events, answers, faults, restarts, backups) happens in the time that computing it takes.
"""

import json
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.daemon.running import Running, better, campaign_text, daemon
from tests.daemon.scripted import install
from tests.faults.faulty import notes
from tuner.errors import TunerError
from tuner.lab.bench.daemon_load import memory_mb
from tuner.wire.client import Client
from tuner.wire.errors import ReplyError

ROOT = Path(__file__).parents[2]
CAMPAIGNS = 50
PARTS_A_DAY = 48
JUDGES = 3
FAULTS_A_CALL = 0.004
DEADLINES = "open_s = 60.0\napply_s = 20.0\nread_back_s = 20.0\ntrial_s = 20.0"
POLICY = "retries = 3\nwaiting = { verify_s = 5.0, ready_s = 5.0, link_s = 5.0 }\nlooks_per_part = 1.0"
HEAD = "[daemon]\nbackup_hours = 0.01\n[compute]\nworkers = 2\nspeculate = false\n"


class People(threading.Thread):
    """Some people who answer what is open, and resume what is held; each has a share of the campaigns."""

    def __init__(self, running: Running, names: list[str], over: set[str]) -> None:
        super().__init__(daemon=True)
        self.running, self.names, self.over = running, names, over
        self.answers = 0
        self.held: Counter[str] = Counter()
        self.surprises: list[str] = []
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.is_set() and not self.over.issuperset(self.names):
            try:
                with self.running.client("people") as client:
                    while not self.done.is_set() and not self.over.issuperset(self.names):
                        self.look(client)
                        self.done.wait(0.05)
            except TunerError:
                self.done.wait(0.2)  # the daemon is being restarted
            except Exception as error:  # noqa: BLE001 - told at the end
                self.surprises.append(repr(error))
                return

    def look(self, client: Client) -> None:
        lines = {line.name: line for line in client.status().campaigns}
        for name in self.names:
            line = lines.get(name)
            if line is None or name in self.over:
                continue
            if line.mode == "Complete":
                self.over.add(name)
            elif line.mode == "Held":
                self.held[name] += 1
                self.quietly(client.request, "campaign.resume", name)
            elif line.duel is not None:
                view = client.snapshot(name)
                if view.duel is not None and self.quietly(client.judge, name, view.duel.number, better(view)):
                    self.answers += 1

    @staticmethod
    def quietly(call: Callable[..., object], *arguments: object) -> bool:
        """Ask for what may have been done in the meantime."""
        try:
            call(*arguments)
        except ReplyError:
            return False
        return True


def configuration(directory: Path, campaigns: int, parts: int) -> str:
    """Campaigns on machines that fail in every way that adapters can."""
    text = HEAD
    for number in range(campaigns):
        files = f'notes = "{directory}/{number}.notes"\nmemory = "{directory}/{number}.machine"'
        machine = f"seed = {number}\nfault_probability = {FAULTS_A_CALL}\n{files}"
        one = campaign_text(f"line{number:02}", trials=parts, machine=machine, deadlines=DEADLINES, policy=POLICY)
        text += one.replace('name = "simulated"', 'name = "faulty"').replace("repeat_after = 0\n", "")
    return text


def soak(parts: int, campaigns: int = CAMPAIGNS, told: Callable[[int], None] = lambda _: None, seed: int = 1) -> dict:
    """Run a day; what was done, what failed on the way, and whether all is there at the end."""
    rng = random.Random(seed)  # noqa: S311 - when what fails
    names = [f"line{number:02}" for number in range(campaigns)]
    over: set[str] = set()
    found: dict = {"kills": 0, "restarts": 0, "workers": 0}
    with daemon("") as running:
        install(running.directory / "path", faulty="tests.faults.faulty:FaultyAdapter")
        os.environ["PYTHONPATH"] = f"{running.directory / 'path'}:{ROOT}"
        running.config.write_text(configuration(running.directory, campaigns, parts))
        running.start()
        people = [People(running, names[part::JUDGES], over) for part in range(JUDGES)]
        for one in people:
            one.start()
        faults = ["worker"] * 24 + ["kill"] * 6 + ["restart"] * 4  # a bad day's
        count = len(faults)
        rng.shuffle(faults)
        every, memory = campaigns * parts / 2 / len(faults), []  # a good half of the parts is asked about
        while any(one.is_alive() for one in people):
            people[0].join(0.5)
            for one in people:
                assert one.surprises == [], one.surprises
            answers = sum(one.answers for one in people)
            told(min(answers, campaigns * parts))
            if faults and answers >= every * (count + 1 - len(faults)):
                memory.append(memory_mb(running.process.pid))
                _fail(running, faults.pop(), found)
        found |= {"answers": answers, "held": sum(one.held.total() for one in people), "complete": len(over)}
        with running.client() as client:
            found["troubles"] = client.status().troubles
        memory.append(memory_mb(running.process.pid))
        found |= {"mb": round(max(memory)), "mb_first": round(memory[0])}
        assert running.stop() == 0
        return found | _checked(running, names, parts)


def _fail(running: Running, what: str, found: dict) -> None:
    """Something of the bad day."""
    if what == "worker":
        victims = _workers(running.process.pid)
        if victims:
            os.kill(victims[0], signal.SIGKILL)
            found["workers"] += 1
        return
    if what == "kill":
        running.kill()
        found["kills"] += 1
    else:
        assert running.stop() == 0
        found["restarts"] += 1
    running.start()


def _workers(pid: int) -> list[int]:
    """The compute processes of a daemon: children of its fork server."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                ours = int((Path("/proc") / str(parent) / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if ours == pid and b"tuner.compute.worker" in words:
                found.append(int(entry.name))
    return found


def _checked(running: Running, names: list[str], parts: int) -> dict:
    """Nothing lost, nothing twice, whatever failed; and every part that was made is one that was asked for."""
    events = made = 0
    with running.journal() as store:
        assert store.verify().ok
        for name in names:
            rows = [(row.type, json.loads(row.body)) for row in store.rows(campaign=name)]
            events += len(rows)
            trials = [body["trial"] for kind, body in rows if kind == "proposal_made"]
            assert trials == list(range(1, parts + 1)), name
            outcomes = Counter(body["trial"] for kind, body in rows if kind == "outcome_told")
            assert set(outcomes.values()) == {1}, f"{name}: a trial had two outcomes"
            assert len(outcomes) == parts, name
            duels = [body["duel"] for kind, body in rows if kind == "judgment_given"]
            assert len(duels) == len(set(duels)), f"{name}: a duel was answered twice"
    faults = 0
    for number in range(len(names)):
        lines = notes(running.directory / f"{number}.notes")
        tags = Counter(line["part"] for line in lines if "part" in line)
        twice = [line for line in lines if tags[line.get("part")] > 1]
        assert not twice, f"line{number:02}: a part was made twice: {twice}"
        faults, made = faults + sum("fault" in line for line in lines), made + len(tags)
    backups = len(list((running.state / "backups").glob("*")))
    return {"events": events, "parts": made, "faults": faults, "backups": backups}


def check_soak(found: dict, campaigns: int) -> None:
    """All campaigns are complete, none of the faults was a defect of ours, and the daemon did not grow."""
    assert found["complete"] == campaigns, found
    assert found["troubles"] == 0, found
    assert found["mb"] < 1.5 * found["mb_first"] + 50, found
