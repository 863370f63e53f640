"""Line controllers to test with: the example in a process of its own, and two that speak word by word."""

import contextlib
import json
import signal
import socket as sockets
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import zmq
import zmq.auth

from tests.patience import PATIENT_S
from tuner.adapter import ParameterInfo

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "line_controller.py"
SPEED = ParameterInfo("speed", "integer", 120, 60, 240)
HEAT = ParameterInfo("heat", "continuous", 180.0, 120.0, 250.0, tolerance=1e-9)
NOZZLE = ParameterInfo("nozzle", "choice", "round", choices=("round", "flat", "wide"))
PARAMETERS = (SPEED, HEAT, NOZZLE)
GOOD = {"speed": 120, "heat": 180.0, "nozzle": "round"}
MODES = ("listen", "connect")
both_ways = pytest.mark.parametrize("mode", MODES)


def eventually(condition):
    """Wait for something another process or thread does."""
    end = time.monotonic() + PATIENT_S
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)
    return found


@dataclass
class Controller:
    """The example controller in a process of its own, with its state file."""

    mode: str
    address: str
    directory: Path
    options: tuple[str, ...] = ()
    processes: list = field(default_factory=list)

    def start(self):
        way = "--connect" if self.mode == "listen" else "--bind"
        arguments = [way, self.address, "--state", str(self.directory / "state.json"), "--patience", "0.5"]
        with (self.directory / "stderr.txt").open("ab") as stderr:
            self.processes.append(subprocess.Popen([sys.executable, EXAMPLE, *arguments, *self.options], stderr=stderr))

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def freeze(self):
        self.processes[-1].send_signal(signal.SIGSTOP)

    def started(self):
        """How many parts the machine has begun."""
        with contextlib.suppress(FileNotFoundError):
            return json.loads((self.directory / "state.json").read_text())["started"]
        return 0


def free_port():
    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Asker:
    """A controller that connects, word by word."""

    def __init__(self, address, kind=zmq.REQ):
        self.context = zmq.Context()
        self.socket = self.context.socket(kind)
        self.socket.linger = 0
        self.socket.rcvtimeo = int(PATIENT_S * 1000)
        self.socket.connect(address)

    def send(self, payload):
        self.socket.send_multipart([payload] if isinstance(payload, bytes) else payload)
        return json.loads(self.socket.recv())

    def ask(self, op, **body):
        return self.send(json.dumps({"v": 1, "id": "q1", "op": op, "body": body}).encode())

    def next_job(self):
        return eventually(lambda: self.ask("next")["body"])

    def report(self, job, state, **body):
        return self.ask("report", job=job["job"] if isinstance(job, dict) else job, state=state, **body)

    def close(self):
        self.context.destroy(linger=0)


class Answerer:
    """A controller that listens, word by word."""

    def __init__(self, address):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.rcvtimeo = int(PATIENT_S * 1000)
        self.socket.bind(address)

    def take(self):
        """The next request, whatever it is."""
        return json.loads(self.socket.recv())

    def answer(self, request, **body):
        self.socket.send_json({"v": 1, "id": request["id"], "body": body})

    def next_job(self):
        while (request := self.take())["op"] == "beat":
            self.answer(request)
        return request

    def close(self):
        self.context.destroy(linger=0)
