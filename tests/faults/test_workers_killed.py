"""kill -9 of compute workers at random moments: proposals go on, and nobody has to resume anything."""

import os
import random
import signal
import threading
from pathlib import Path

import pytest

from tests.daemon.running import campaign_text, daemon, tune

pytestmark = pytest.mark.usefixtures("cold")  # its victims are found by how they were started


def children(pid: int) -> list[int]:
    """The processes that a process has started, and their children."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == pid:
            found += [int(entry.name), *children(int(entry.name))]
    return found


def computes(pid: int) -> bool:
    try:
        return b"tuner.compute.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


class Killer(threading.Thread):
    """Kills one of the daemon's compute processes, or all, again and again."""

    def __init__(self, pid: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.rng = pid, random.Random(seed)  # noqa: S311 - no secret
        self.done, self.killed = threading.Event(), 0

    def run(self) -> None:
        while not self.done.wait(self.rng.uniform(0.0, 0.4)):
            workers = [one for one in children(self.pid) if computes(one)]
            victims = workers if self.rng.random() < 0.3 else workers[: self.rng.randrange(3)]
            for victim in victims:
                try:
                    os.kill(victim, signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    continue


def bombard(trials: int, seed: int) -> Killer:
    with daemon("[compute]\ndeadline_s = 2.0\n" + campaign_text(trials=trials)) as running:
        running.start()
        killer = Killer(running.process.pid, seed)
        killer.start()
        with running.client() as client:
            tune(client, "press")
            killer.done.set()
            killer.join()
            assert client.status().troubles == 0
        assert running.stop() == 0
        with running.journal() as store:
            kinds = [row.type for row in store.rows(campaign="press")]
        assert "campaign_held" not in kinds
        assert kinds.count("proposal_made") >= trials
        assert "defect" not in running.log()
    assert killer.killed
    return killer


@pytest.mark.slow
def test_a_campaign_goes_on_while_its_workers_are_killed():
    bombard(trials=4, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_campaign_goes_on_while_its_workers_are_killed_for_a_hundred_trials(capsys):
    killer = bombard(trials=100, seed=2)
    with capsys.disabled():
        os.write(1, f"\n100 trials, {killer.killed} workers killed, none held\n".encode())
