"""A real daemon in a process of its own, for tests that speak with it over its sockets."""

import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENT_S
from tuner.journal.store import FILE_NAME, Store
from tuner.wire.client import Client
from tuner.wire.messages import CampaignView

CAMPAIGN = """
[[campaign]]
name = "{name}"
machine = "{name}-machine"
{head}
[campaign.budget]
trials = {trials}
[campaign.policy]
autostart = {autostart}
approval = false
repeat_after = 0
{policy}
[campaign.adapter]
name = "simulated"
[campaign.adapter.settings]
problem = "sasena"
{machine}
[campaign.adapter.deadlines]
{deadlines}
[[campaign.parameter]]
kind = "continuous"
name = "x1"
low = 0.0
high = 5.0
start = 3.5
unit = "mm"
[[campaign.parameter]]
kind = "continuous"
name = "x2"
low = 0.0
high = 5.0
start = 1.5
"""

CREATE = '[daemon]\ncreate_over_wire = true\ncreate_adapters = ["simulated"]\n'


def campaign_text(name="press", *, trials=8, autostart=True, head="", policy="", machine="", deadlines="") -> str:
    return CAMPAIGN.format(
        name=name,
        trials=trials,
        autostart="true" if autostart else "false",
        head=head,
        policy=policy,
        machine=machine,
        deadlines=deadlines,
    )


def reached_at(endpoints: Iterable[str]) -> str:
    """The table of a daemon that is reached over the network: at these endpoints of requests and events."""
    requests, events = endpoints
    return f'[daemon]\nrequests = "{requests}"\nevents = "{events}"\n'


class Running:
    """A daemon that can be started, killed and started again."""

    def __init__(self, directory: Path, config: str) -> None:
        self.directory = directory
        self.state = directory / "state"
        self.config = directory / "tuner.toml"
        self.config.write_text(config)
        self.process: subprocess.Popen[bytes] | None = None
        self._notified: queue.Queue[str] = queue.Queue()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(directory / "notify"))
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        """Take what the daemon tells the service manager, for the kernel keeps only a few messages."""
        while (message := self._socket.recv(4096)) != b"end":
            self._notified.put(message.decode())

    def start(self, *, wait=True, watchdog_s: float | None = None, wrap=list) -> "Running":
        """Start it; `wrap` may put a command before the daemon's."""
        environ = {**os.environ, "NOTIFY_SOCKET": str(self.directory / "notify")}
        if watchdog_s is not None:
            environ["WATCHDOG_USEC"] = str(round(watchdog_s * 1e6))
        with (self.directory / "log").open("ab") as log:
            command = [sys.executable, "-m", "tuner", "run", str(self.config), "--state", str(self.state)]
            self.process = subprocess.Popen(wrap(command), env=environ, stderr=log)
        if wait:
            self.wait_for("READY=1")
        return self

    def wait_for(self, word: str) -> None:
        """Wait until the daemon has told the service manager so."""
        end = time.monotonic() + PATIENT_S
        while True:
            try:
                if word in self._notified.get(timeout=0.5):
                    return
            except queue.Empty:
                assert self.process is None or self.process.poll() is None, f"the daemon has ended:\n{self.log()}"
                assert time.monotonic() < end, f"the daemon never said {word}:\n{self.log()}"

    def reload(self, text: str) -> None:
        """Give it another configuration."""
        self.config.write_text(text)
        self.process.send_signal(signal.SIGHUP)
        self.wait_for("READY=1")

    def client(self, actor="anna") -> Client:
        return Client.local(self.state, actor=actor)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self, sent=signal.SIGTERM) -> int:
        self.process.send_signal(sent)
        return self.process.wait(PATIENT_S)

    def wait_for_log(self, text: str) -> None:
        """The log is written by a thread of its own, so a line may come a moment later."""
        end, pause = time.monotonic() + PATIENT_S, threading.Event()
        while text not in self.log():
            assert time.monotonic() < end, f"{text!r} is not in the log:\n{self.log()}"
            pause.wait(0.02)

    def log(self) -> str:
        return (self.directory / "log").read_text()

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b"end", str(self.directory / "notify"))
        self._listener.join()
        self._socket.close()

    @contextmanager
    def journal(self) -> Iterator[Store]:
        with Store.open_reading(self.state / FILE_NAME) as store:
            yield store


@contextmanager
def daemon(config: str) -> Iterator[Running]:
    """A daemon that is not started yet; its directory is short enough for the path of a socket.

    Where the configuration says nothing of it, proposals are computed one after the other and not ahead: that is most
    of what a daemon does, and few tests are about it.
    """
    if config and "[compute]" not in config:
        config = f"[compute]\nworkers = 1\nspeculate = false\n{config}"
    with tempfile.TemporaryDirectory(prefix="tuner-") as directory:
        running = Running(Path(directory), config)
        try:
            yield running
        finally:
            running.close()


def better(view: CampaignView) -> int:
    """The trial that an exact judge prefers; the simulated machine tells its cost."""
    sides = (view.duel.left, view.duel.right)
    return min(sides, key=lambda trial: trial.measurements["objective"]).number


def until(client: Client, campaign: str, ready) -> CampaignView:
    """Follow a campaign until it is as wanted."""
    view = client.snapshot(campaign)
    if ready(view):
        return view
    for _ in client.events(campaign):
        view = client.snapshot(campaign)
        if ready(view):
            return view
    raise AssertionError("the events ended")


def tune(client: Client, campaign: str, ready=lambda view: view.mode == "Complete") -> CampaignView:
    """Answer every question until the campaign is as wanted."""
    while True:
        view = until(client, campaign, lambda view: view.duel is not None or ready(view))
        if ready(view):
            return view
        client.judge(campaign, view.duel.number, better(view), took_s=1.0)
