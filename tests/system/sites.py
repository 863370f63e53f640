"""A machine for every protocol: the real server on loopback, and a small process behind it."""

import json
import sys
import textwrap
from pathlib import Path

import numpy as np

from tests.adapters.http import moulding_machine as http
from tests.adapters.line.controllers import Controller
from tests.adapters.mqtt import moulding_machine as mqtt
from tests.adapters.test_serial import PtyMachine
from tests.daemon.running import better
from tuner.problems import get_problem

ROOT = Path(__file__).parents[2]
PROBLEM = get_problem("sasena")
HOME = {"x1": 3.5, "x2": 1.5}
REASON = "no part at this setting"
CAMPAIGN = """
[[campaign]]
name = "press"
machine = "machine"
budget = {{ trials = {trials} }}
policy = {{ autostart = true, approval = false, repeat_after = 0 }}
adapter = {{ name = "{name}", settings = {settings} }}
parameter = {parameters}
"""
NUMBERS = [
    {"kind": "continuous", "name": "x1", "low": 0.0, "high": 5.0, "start": 3.5},
    {"kind": "continuous", "name": "x2", "low": 0.0, "high": 5.0, "start": 1.5},
]
HEATED = [
    {"kind": "integer", "name": "speed", "low": 60, "high": 240, "start": 120},
    {"kind": "continuous", "name": "heat", "low": 120.0, "high": 250.0, "start": 180.0},
    {"kind": "choice", "name": "nozzle", "choices": ["round", "flat"], "start": "round"},
]


def toml(value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def sasena(setting) -> tuple[bool, float]:
    point = np.array([[float(setting["x1"]), float(setting["x2"])]])
    return bool(PROBLEM.is_valid(point)[0]), float(PROBLEM.evaluate(point)[0])


class Site:
    """A machine with its server: how tuner reaches it, which setting it has, what it made; all in its own words."""

    name = ""
    parameters = NUMBERS
    home = HOME

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.made: list[tuple[str, dict, bool]] = []  # tag, setting and validity of each part, in their order

    def settings(self) -> dict:
        raise NotImplementedError

    def setting(self) -> dict:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def parts(self) -> list[tuple[str, dict, bool]]:
        return self.made

    def winner(self, view) -> int:
        return better(view)


class HttpPress(http.Press):
    """The process behind the REST interface."""

    def __init__(self, made) -> None:
        self.made = made
        self.results: dict[str, dict] = {}
        super().__init__()
        self.recipe = dict(HOME)

    def finished(self, tag):
        if tag not in self.results:
            valid, objective = sasena(self.recipe)
            self.made.append((tag, dict(self.recipe), valid))
            self.results[tag] = {"state": "finished", "ok": valid, "why": "" if valid else REASON, "cost": objective}
        return self.results[tag]


class Http(Site):
    name = "http"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.press = HttpPress(self.made)

    def settings(self) -> dict:
        changes = {
            "set__body": {"recipe": {name: f"{{{name}}}" for name in HOME}},
            "parameters": {name: {"path": f"recipe.{name}"} for name in HOME},
            "trial__measurements": {"objective": {"path": "cost"}},
        }
        return {"base": self.press.base, **http.table(**changes)}

    def setting(self) -> dict:
        return dict(self.press.recipe)

    def close(self) -> None:
        self.press.off()


class MqttMachine(mqtt.Machine):
    def __init__(self, port, made) -> None:
        self.made = made
        super().__init__(port)
        self.values = dict(HOME)

    def work(self, client, topic, text):
        tag = json.loads(text)["tag"] if topic == "m/trigger" else ""
        if tag and tag not in self.parts:
            valid, objective = sasena(self.values)
            self.made.append((tag, dict(self.values), valid))
            more = {"measurements": {"objective": objective}} if valid else {"reason": REASON}
            self.parts[tag] = {"tag": tag, "valid": valid, **more}
        super().work(client, topic, text)


class Mqtt(Site):
    name = "mqtt"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.broker = mqtt.Broker(directory)
        self.machine = MqttMachine(self.broker.port, self.made)

    def settings(self) -> dict:
        return {"host": "127.0.0.1", "port": self.broker.port, "status": "m/status", **mqtt.TALK}

    def setting(self) -> dict:
        return dict(self.machine.values)

    def close(self) -> None:
        self.machine.stop()
        self.broker.stop()


class SerialMachine(PtyMachine):
    def __init__(self, path, made) -> None:
        self.made = made
        super().__init__(path)
        self.values = {name: repr(value) for name, value in HOME.items()}

    def answer(self, line):
        word, *rest = line.split()
        if word != "RUN":
            return super().answer(line)
        if rest[0] not in self.parts:
            setting = {name: float(value) for name, value in self.values.items()}
            valid, objective = sasena(setting)
            self.made.append((rest[0], setting, valid))
            self.parts[rest[0]] = f"VALID {rest[0]} {objective!r}" if valid else f"SCRAP {rest[0]} {REASON}"
        return self.parts[rest[0]]


class Serial(Site):
    name = "serial"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.machine = SerialMachine(directory / "port", self.made)

    def settings(self) -> dict:
        valid, scrap = r"VALID (?P<tag>\S+) (?P<objective>\S+)", r"SCRAP (?P<tag>\S+) (?P<reason>.*)"
        return {"port": str(self.machine.path), "valid": valid, "non_valid": scrap, "health": "STATE?"}

    def setting(self) -> dict:
        return {name: float(value) for name, value in self.machine.values.items()}

    def close(self) -> None:
        self.machine.stop()


PROGRAM = """
import json, math, pathlib, sys
request, state = json.load(sys.stdin), pathlib.Path("state.json")
known = json.loads(state.read_text())
answer = {}
if request["op"] == "apply":
    known["setting"] = request["setting"]
elif request["op"] == "read_back":
    answer = {"setting": known["setting"]}
elif request["op"] == "run_trial":
    a, b = known["setting"]["x1"], known["setting"]["x2"]
    valid = -math.sin(a - b - math.pi / 8) <= 0
    cost = 0.01 * (b - a**2) ** 2 + (1 - a) ** 2 + 2 * (2 - b) ** 2
    cost += 2 + 7 * math.sin(0.5 * a) * math.sin(0.7 * a * b)
    known["parts"].append([request["tag"], known["setting"], valid])
    answer = {"valid": valid, "measurements": {"objective": cost}, "reason": "" if valid else "no part at this setting"}
state.write_text(json.dumps(known))
print(json.dumps(answer))
"""


class Command(Site):
    name = "command"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        (directory / "machine.py").write_text(textwrap.dedent(PROGRAM))
        (directory / "state.json").write_text(json.dumps({"setting": HOME, "parts": []}))

    def settings(self) -> dict:
        operations = ["apply", "read_back", "run_trial"]
        return {"argv": [sys.executable, "machine.py"], "directory": str(self.directory), "operations": operations}

    def known(self) -> dict:
        return json.loads((self.directory / "state.json").read_text())

    def setting(self) -> dict:
        return self.known()["setting"]

    def parts(self) -> list[tuple[str, dict, bool]]:
        return [(tag, setting, valid) for tag, setting, valid in self.known()["parts"]]

    def close(self) -> None:
        pass


class Example(Command):
    """The example program, to which tuner gives the setting with each part; it keeps nothing."""

    parameters = HEATED[:2]
    home = {"speed": 120, "heat": 180.0}  # noqa: RUF012 - read only

    def settings(self) -> dict:
        return {"argv": [sys.executable, str(ROOT / "examples" / "command_machine.py")]}

    def winner(self, view) -> int:
        return min((view.duel.left, view.duel.right), key=lambda trial: trial.measurements["cycle_s"]).number


class Line(Site):
    """The example controller; it has no setting until tuner sends the first, and no part below 150 degrees."""

    name = "line"
    parameters = HEATED
    home = {"speed": 120, "heat": 180.0, "nozzle": "round"}  # noqa: RUF012 - read only
    mode = "listen"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.controller = Controller(self.mode, f"ipc://{directory}/link", directory, ("--seconds", "0.02"))
        self.controller.start()

    def settings(self) -> dict:
        return {"mode": self.mode, "address": self.controller.address, "beat_s": 0.2, "silent_s": 20.0}

    def known(self) -> dict:
        return json.loads((self.directory / "state.json").read_text())

    def setting(self) -> dict:
        return self.known()["setting"]

    def parts(self) -> list[tuple[str, dict, bool]]:
        known = self.known()
        assert known["started"] == len(known["parts"])
        return [(tag, part["setting"], part["setting"]["heat"] >= 150) for tag, part in known["parts"].items()]

    def winner(self, view) -> int:
        def cost(trial):
            return abs(trial.setting["heat"] - 210) / 50 + abs(trial.setting["speed"] - 200) / 100

        return min((view.duel.left, view.duel.right), key=cost).number

    def close(self) -> None:
        self.controller.kill()


class Calling(Line):
    mode = "connect"
