"""Foreign servers in processes of their own, the wire to them that can be cut, and how tuner is told to reach them."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zmq.auth

from tests.adapters.mqtt.moulding_machine import Broker
from tests.patience import PATIENT_S
from tests.system.sites import toml

HERE = Path(__file__).parent
INSTALLED = Path(os.environ.get("TUNER_FOREIGN", HERE.parents[1] / ".venv" / "foreign")) / "node_modules"
HOME = {"temperature": 230.0, "speed": 80.0, "pressure": 400}
STEPS = {"temperature": 10.0, "pressure": 100}  # largest change in one move
RATES = {"temperature": 1200.0}  # largest change in a minute
PARAMETERS = [
    {"kind": "stepped", "name": "temperature", "low": 200.0, "high": 260.0, "step": 0.5, "start": 230.0,
     "step_limit": STEPS["temperature"], "rate_limit": RATES["temperature"], "tolerance": 0.05},
    {"kind": "continuous", "name": "speed", "low": 20.0, "high": 150.0, "start": 80.0, "resolution": 0.1,
     "tolerance": 0.01},
    {"kind": "integer", "name": "pressure", "low": 200, "high": 700, "start": 400, "step_limit": STEPS["pressure"]},
]  # fmt: skip
CAMPAIGN = """
[[campaign]]
name = "press"
machine = "machine"
budget = {{ trials = {trials} }}
policy = {{ autostart = {autostart}, approval = false, repeat_after = 0{policy} }}
adapter = {{ name = "{name}", settings = {settings} }}
parameter = {parameters}
"""


def version_of(package: str) -> str:
    """What npm has installed."""
    return str(json.loads((INSTALLED / package / "package.json").read_text())["version"])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def node(script: str, *arguments: object, **options) -> subprocess.Popen[str]:
    """Run a script of this folder with the packages that `make test-foreign` has installed."""
    program = shutil.which("node")
    if program is None or not INSTALLED.is_dir():
        pytest.skip("needs Node and packages of npm: make test-foreign installs them")
    command = [program, str(HERE / script), *map(str, arguments)]
    environ = {**os.environ, "NODE_PATH": str(INSTALLED)}
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True, **options)


class Cable:
    """A TCP connection that can be pulled out: what goes through it ends, and nothing listens until it is back."""

    def __init__(self, port: int) -> None:
        self.to = port
        self.port = free_port()
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener: socket.socket | None = None
        self.mend()

    def mend(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._run(self._accept, self._listener)

    def cut(self) -> None:
        with self._lock:
            listener, self._listener = self._listener, None
            for end in (listener, *self._ends):
                if end is not None:
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENT_S)
        self._threads.clear()

    def _run(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        with listener, contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self.to))
                except OSError:
                    near.close()
                    continue
                with self._lock:
                    if self._listener is not listener:
                        near.close()
                        far.close()
                        return
                    self._ends |= {near, far}
                    self._run(self._pump, near, far)
                    self._run(self._pump, far, near)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._ends.discard(source)
        source.close()


class Site:
    """A foreign server with the press behind it; it tells what is written to it and which parts it makes."""

    name = ""  # of the adapter
    package = ""
    label = ""  # in the table
    script = ""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.cable = Cable(self.port)
        self.told: list[dict] = []
        self._news = threading.Condition()
        self.start()

    def arguments(self) -> tuple[object, ...]:
        return (self.port,)

    def settings(self) -> dict:
        raise NotImplementedError

    def start(self) -> None:
        number = self.count("serves")
        with (self.directory / "node.log").open("ab") as log:
            self.process = node(
                self.script, self.directory / "memory", *self.arguments(), stdin=subprocess.PIPE, stderr=log
            )
        self._reader = threading.Thread(target=self._read, args=(self.process,))
        self._reader.start()
        self.wait_for("serves", number + 1)

    def _read(self, process: subprocess.Popen[str]) -> None:
        for line in process.stdout:
            if line.startswith("{"):
                with self._news:
                    self.told.append(json.loads(line))
                    self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def count(self, event: str) -> int:
        return sum(one["event"] == event for one in self.told)

    def events(self, event: str) -> list[dict]:
        return [one for one in self.told if one["event"] == event]

    def wait_for(self, event: str, number: int, so_long=lambda: True) -> None:
        """Wait until it has told this so often; `so_long` raises if that cannot happen any more."""
        end_s = time.monotonic() + PATIENT_S
        while self.count(event) < number:
            so_long()
            assert self.process.poll() is None, (self.directory / "node.log").read_text()
            assert time.monotonic() < end_s, f"{event} {number} did not come: {self.told[-5:]}"
            with self._news:
                if self.count(event) < number:
                    self._news.wait(0.2)

    def outside(self, **change) -> None:
        """Somebody does something at the machine."""
        number = self.count("from_outside")
        self.process.stdin.write(json.dumps(change) + "\n")
        self.process.stdin.flush()
        self.wait_for("from_outside", number + 1)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdin.close()
        self.process.stdout.close()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.cable.cut()
        self.kill()

    def campaign(self, trials: int, *, autostart: bool = True, policy: str = "") -> str:
        return CAMPAIGN.format(
            trials=trials,
            autostart="true" if autostart else "false",
            policy=policy,
            name=self.name,
            settings=toml(self.settings()),
            parameters=toml(PARAMETERS),
        )

    def first_contact(self) -> str:
        """What an engineer does before the daemon runs; what was printed, if nothing was wrong."""
        file = self.directory / "tuner.toml"
        file.write_text(self.campaign(1))
        trust = ["--trust"] if "security" in self.settings() else []
        command = [sys.executable, "-m", "tuner", "adapters", "check", self.name, "--config", str(file), *trust]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def home(self) -> bool:
        """Whether the press is at its known-good setting."""
        return bool(json.loads((self.directory / "memory").read_text())["actual"] == HOME)


class Opcua(Site):
    name, package, label, script = "opcua", "node-opcua", "node-opcua", "opcua.js"

    def arguments(self) -> tuple[object, ...]:
        return (self.port, self.directory / "keys")

    def settings(self) -> dict:
        nodes = ("start", "done", "valid", "reason", "busy", "tag", "made")
        return {
            "endpoint": f"opc.tcp://127.0.0.1:{self.cable.port}",
            "namespace": "urn:example:press",
            "parameters": {name: {"node": f"s=Set.{name}", "read_node": f"s=Actual.{name}"} for name in HOME},
            "trial": {name: {"node": f"s={name.capitalize()}"} for name in nodes},
            "state": {"ready": {"node": "s=Ready"}},
            "interlocks": {"guard": {"node": "s=Guard"}},
            "measurements": {"objective": {"node": "s=Objective"}},
        }


class OpcuaEncrypted(Opcua):
    """The same with certificates, tuner's own and the server's from the first contact; done is on for one scan only."""

    label = "node-opcua, encrypted"

    def settings(self) -> dict:
        files = ("certificate_file", "key_file", "server_certificate_file")
        own = {key: str(self.directory / f"{key}.der") for key in files}
        settings = super().settings()
        settings["trial"]["done"] = {"node": "s=Pulse", "pulse": True}
        return {**settings, "security": {"policy": "Basic256Sha256", **own}}


class Modbus(Site):
    name, package, label, script = "modbus", "modbus-serial", "modbus-serial", "modbus.js"

    def settings(self) -> dict:
        def bit(address: int) -> dict:
            return {"table": "discrete", "address": address}

        return {
            "host": "127.0.0.1",
            "port": self.cable.port,
            "parameters": {
                "temperature": {"address": 100, "type": "int16", "scale": 0.1, "read_table": "input"},
                "speed": {"address": 102, "type": "float32", "read_table": "input"},
                "pressure": {"address": 104, "read_table": "input"},
            },
            "trial": {
                "start": {"table": "coil", "address": 0},
                "done": bit(0),
                "valid": bit(1),
                "busy": bit(2),
                "reason": {"table": "input", "address": 20, "codes": {"1": "burnt"}},
                "tag": {"address": 120, "length": 8},
                "made": {"table": "input", "address": 60, "length": 8},
            },
            "state": {"ready": bit(3)},
            "interlocks": {"guard": bit(8)},
            "measurements": {"objective": {"table": "input", "address": 30, "type": "float32"}},
        }


class Mqtt(Site):
    """The cable is tuner's own to the broker; the press has another."""

    name, package, label, script = "mqtt", "mqtt", "mqtt.js", "mqtt.js"

    def __init__(self, directory: Path) -> None:
        self.broker = Broker(directory)
        super().__init__(directory)
        self.cable.to = self.broker.port

    def arguments(self) -> tuple[object, ...]:
        return (self.broker.port,)

    def settings(self) -> dict:
        topics = ("set", "accepted", "ask", "actual", "trigger", "result", "status")
        return {
            "host": "127.0.0.1",
            "port": self.cable.port,
            **{name: f"press/{name}" for name in topics},
            "interlocks": {
                "guard": {"topic": "press/guard", "holds": "closed"},
                "ready": {"topic": "press/ready", "holds": "yes"},
            },
        }

    def close(self) -> None:
        super().close()
        self.broker.stop()


class Line(Site):
    """tuner listens; the controller reaches it through the cable."""

    name, package, label, script = "line", "zeromq", "zeromq.js, CURVE", "line.js"

    def __init__(self, directory: Path) -> None:
        for who in ("tuner", "controller"):
            zmq.auth.create_certificates(directory, who)
            (directory / f"{who}.key_secret").chmod(0o600)
        super().__init__(directory)

    def arguments(self) -> tuple[object, ...]:
        tuners, _ = zmq.auth.load_certificate(self.directory / "tuner.key")
        public, secret = zmq.auth.load_certificate(self.directory / "controller.key_secret")
        return (f"tcp://127.0.0.1:{self.cable.port}", *(key.decode() for key in (tuners, public, secret or b"")))

    def settings(self) -> dict:
        return {
            "mode": "listen",
            "address": f"tcp://127.0.0.1:{self.port}",
            "secret_key": str(self.directory / "tuner.key_secret"),
            "controller_keys": [str(self.directory / "controller.key")],
        }


@contextmanager
def opened(kind: type[Site]) -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="foreign-") as directory:
        site = kind(Path(directory))
        try:
            yield site
        finally:
            site.close()
