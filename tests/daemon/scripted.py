"""An adapter that does what a script says, call by call, and notes every call that reached it."""

import gc
import json
import math
import os
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from tuner.adapter import Adapter, AdapterSettings, Health, LinkError, Outcome, ParameterInfo, RefusedError

LONG_S = 3600.0


def set_machine(notes: Path, setting: dict[str, Any]) -> None:
    """Give the machine a setting; whole, for somebody may read it at the same time."""
    written = notes / f"setting.{os.getpid()}"
    written.write_text(json.dumps(setting))
    written.replace(notes / "setting")


class ScriptedSettings(AdapterSettings):
    """What happens in the n-th call of a kind; after the last line of its script everything is well."""

    notes: Path = Field(description="directory for notes of the calls")
    script: dict[str, tuple[str, ...]] = Field(default_factory=dict, description="by call")


class ScriptedAdapter(Adapter[ScriptedSettings]):
    """Its machine is a file, so that it outlives the process."""

    Settings: ClassVar[type[AdapterSettings]] = ScriptedSettings

    def __init__(self, settings: ScriptedSettings, parameters: Sequence[ParameterInfo]) -> None:
        super().__init__(settings, parameters)
        self._do("construct")

    def open(self, deadline_s: float) -> None:
        self._do("open", deadline_s)

    def apply(self, setting: Any, deadline_s: float) -> None:
        self._do("apply", deadline_s)
        set_machine(self.settings.notes, dict(setting))

    def read_back(self, deadline_s: float) -> Any:
        good = {p.name: p.start for p in self.parameters}
        file = self.settings.notes / "setting"
        have = json.loads(file.read_text()) if file.exists() else good
        return self._do("read_back", deadline_s, have)

    def run_trial(self, tag: str, deadline_s: float) -> Any:
        return self._do("run_trial", deadline_s, Outcome(True, measurements={"width": 2.5}))

    def health(self, deadline_s: float) -> Any:
        return self._do("health", deadline_s, Health(True, "well", {"guard": True}))

    def close(self) -> None:
        self._do("close")

    def _do(self, call: str, deadline_s: float = 0.0, answer: Any = None) -> Any:
        before = sum(note["call"] == call for note in read_notes(self.settings.notes))
        with (self.settings.notes / "calls").open("a") as notes:
            notes.write(json.dumps({"call": call, "pid": os.getpid(), "deadline_s": deadline_s}) + "\n")
        script = self.settings.script.get(call, ())
        word = script[before] if before < len(script) else "well"
        return getattr(self, f"_{word}")(answer)

    def _well(self, answer: Any) -> Any:
        return answer

    def _raise(self, answer: Any) -> Any:
        raise ZeroDivisionError("speed of zero")

    def _drop(self, answer: Any) -> Any:
        raise LinkError("the cable is loose")

    def _refuse(self, answer: Any) -> Any:
        raise RefusedError("too hot")

    def _die(self, answer: Any) -> Any:
        os._exit(3)

    def _leave(self, answer: Any) -> Any:
        sys.exit("an adapter has no business here")

    def _hang(self, answer: Any) -> Any:
        time.sleep(LONG_S)

    def _slow(self, answer: Any) -> Any:
        time.sleep(0.5)
        return answer

    def _wait(self, answer: Any) -> Any:
        while not (self.settings.notes / "go on").exists():
            time.sleep(0.005)
        return answer

    def _chatter(self, answer: Any) -> Any:
        print('{"value": {"x": 1}}', flush=True)  # noqa: T201 - this is what is tested
        os.write(1, b"\x00\xff not for the daemon\n")
        return answer

    def _scribble(self, answer: Any) -> Any:
        for found in gc.get_objects():
            if isinstance(found, Connection) and not found.closed and found.writable:
                found.send_bytes(b"\xff\x00 not an answer")
        return answer

    def _begin(self, answer: Any) -> Any:
        """Write the beginning of an answer, and never the rest."""
        for found in gc.get_objects():
            if isinstance(found, Connection) and not found.closed and found.writable:
                os.write(found.fileno(), b"\x00\x00\x01\x00{")
        (self.settings.notes / "begun").touch()
        time.sleep(LONG_S)

    def _twice(self, answer: Any) -> Any:
        """Answer once too often, and in a way that could be believed."""
        for found in gc.get_objects():
            if isinstance(found, Connection) and not found.closed and found.writable:
                found.send_bytes(b'{"value": {"ok": true, "text": "well", "interlocks": {}}}')
        return answer

    def _shout(self, answer: Any) -> Any:
        raise LinkError("too loud " * 10_000_000)

    def _text(self, answer: Any) -> Any:
        return "what?"

    def _nan(self, answer: Any) -> Any:
        return {p.name: math.nan for p in self.parameters}

    def _object(self, answer: Any) -> Any:
        return {p.name: object() for p in self.parameters}

    def _nested(self, answer: Any) -> Any:
        value: list[Any] = []
        for _ in range(100_000):
            value = [value]
        return {p.name: value for p in self.parameters}

    def _truth(self, answer: Any) -> Any:
        return {p.name: True for p in self.parameters}

    def _outcome_nan(self, answer: Any) -> Any:
        outcome = Outcome(True)
        object.__setattr__(outcome, "measurements", {"width": math.nan})
        return outcome

    def _perhaps(self, answer: Any) -> Any:
        return Outcome("perhaps", "it depends")  # type: ignore[arg-type]

    def _garish_names(self, answer: Any) -> Any:
        return Outcome(True, measurements={"cycle\x1b[2J\x1b]0;mine\x07": 1.5}, photo="/parts/\x1b[31m1  a.png")

    def _garish_locks(self, answer: Any) -> Any:
        return Health(True, "well", {"guard\x1b[2J": True})

    def _garish_setting(self, answer: Any) -> Any:
        return {"x\x1b[2J": 5.0, "n": "two\x1b[31m"}

    def _garish(self, answer: Any) -> Any:
        return Outcome(False, "\x1b[2Jtoo\ncold\x07")

    def _no_reason(self, answer: Any) -> Any:
        outcome = Outcome(False, "short shot")
        object.__setattr__(outcome, "reason", "")
        return outcome

    def _endless(self, answer: Any) -> Any:
        return Outcome(True, measurements={f"point {n}": 1.0 for n in range(100_000)})

    def _unwell(self, answer: Any) -> Any:
        return Health("perhaps", interlocks={"guard": "closed"})  # type: ignore[arg-type,dict-item]

    def _undecodable(self, answer: Any) -> Any:
        raise LinkError("the machine said " + b"\xff".decode("ascii", "surrogateescape"))

    def _talkative(self, answer: Any) -> Any:
        raise LinkError("no, " * 100_000)


class OldAdapter(ScriptedAdapter):
    """Written for another version of the contract."""

    api_version: ClassVar[int] = 0


def read_notes(directory: Path) -> list[dict[str, Any]]:
    """The calls that reached the adapter, whole lines only."""
    file = directory / "calls"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def install(directory: Path, **points: str) -> None:
    """Make a directory that, on Python's path, makes adapters known by their names."""
    info = directory / "adapters_of_tests-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: adapters-of-tests\nVersion: 1\n")
    lines = [f"{name} = {place}" for name, place in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[tuner.adapters]", *lines, ""]))
