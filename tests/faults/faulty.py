"""A simulated machine whose adapter fails in every way; faults are noted before they come, parts when they are made."""

import json
import math
import os
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from adapters.simulated import SimulatedAdapter
from adapters.simulated.adapter import SimulatedSettings
from tuner.adapter import AdapterSettings, Health, LinkError, Outcome, RefusedError

LONG_S = 3600.0
LATE_S = 0.2
BEFORE = ("raise", "drop", "die", "hang", "late")
AFTER = ("drop_after", "die_after", "hang_after")
KINDS = {
    "open": ("raise", "drop", "die"),
    "apply": (*BEFORE, *AFTER, "refuse"),
    "read_back": (*BEFORE, "type", "missing", "garbage", "nan"),
    "run_trial": (*BEFORE, *AFTER, "type", "perhaps", "nan"),
    "health": (*BEFORE, "type", "unwell", "guard"),
}


class FaultySettings(SimulatedSettings):
    """Like a simulated machine's; its own faults are not used."""

    fault_probability: float = Field(0.0, ge=0, le=1, description="of each call")
    notes: Path = Field(description="file for a line on each fault and each part")


class FaultyAdapter(SimulatedAdapter):
    """A simulated machine behind a bad adapter; the machine itself, a file, makes no mistakes."""

    Settings: ClassVar[type[AdapterSettings]] = FaultySettings
    settings: FaultySettings
    _draws = 0

    def open(self, deadline_s: float) -> None:
        self._with_fault("open", deadline_s, lambda: SimulatedAdapter.open(self, deadline_s))

    def apply(self, setting: Any, deadline_s: float) -> None:
        self._with_fault("apply", deadline_s, lambda: SimulatedAdapter.apply(self, setting, deadline_s))

    def read_back(self, deadline_s: float) -> Any:
        return self._with_fault("read_back", deadline_s, lambda: SimulatedAdapter.read_back(self, deadline_s))

    def run_trial(self, tag: str, deadline_s: float) -> Any:
        return self._with_fault("run_trial", deadline_s, lambda: SimulatedAdapter.run_trial(self, tag, deadline_s))

    def health(self, deadline_s: float) -> Any:
        return self._with_fault("health", deadline_s, lambda: SimulatedAdapter.health(self, deadline_s))

    def _make_part(self, tag: str, deadline_s: float) -> Outcome:
        outcome = super()._make_part(tag, deadline_s)
        # made is what the machine knows: noted before, a part whose process is killed in between would count twice
        note(self.settings.notes, part=tag, setting=self._setting, by=os.getpid(), at_s=time.monotonic())
        return outcome

    def _draw(self, call: str) -> str | None:
        """Which fault comes now; the notes so far are part of the seed, so that a new process draws on."""
        self._draws += 1
        so_far = self.settings.notes.stat().st_size if self.settings.notes.exists() else 0
        rng = np.random.default_rng([self.settings.seed, so_far, self._calls, self._draws])
        return str(rng.choice(KINDS[call])) if rng.random() < self.settings.fault_probability else None

    def _with_fault(self, call: str, deadline_s: float, work: Any) -> Any:
        kind = self._draw(call)
        if kind is None:
            return work()
        note(self.settings.notes, fault=kind, call=call)
        if kind in BEFORE:
            _fail(kind, deadline_s)
        if kind == "refuse":
            raise RefusedError("the machine says no")
        answer = work()
        if kind in AFTER:
            _fail(kind.removesuffix("_after"), deadline_s)
        return _spoilt(kind, answer)


def _fail(kind: str, deadline_s: float) -> None:
    if kind == "raise":
        raise ZeroDivisionError("a mistake of the adapter")
    if kind == "drop":
        raise LinkError("the link dropped out")
    if kind == "die":
        os._exit(70)
    time.sleep(deadline_s + (LATE_S if kind == "late" else LONG_S))


def _spoilt(kind: str, answer: Any) -> Any:
    """The answer with something wrong; late ones are right."""
    if kind == "type":
        return "what?"
    if kind == "missing":
        return dict(list(answer.items())[1:])
    if kind == "garbage":
        return {**answer, next(iter(answer)): ["?"]}
    if kind == "perhaps":
        return Outcome("perhaps", "it depends")  # type: ignore[arg-type]
    if kind == "unwell":
        return Health(False, "not well")
    if kind == "guard":
        return Health(True, interlocks={"guard": False})
    if kind == "nan" and isinstance(answer, Outcome):
        wrong = Outcome(answer.valid, answer.reason)  # not the machine's own record
        object.__setattr__(wrong, "measurements", {"objective": math.nan})
        return wrong
    return {**answer, next(iter(answer)): math.nan} if kind == "nan" else answer


def note(file: Path, **what: Any) -> None:
    """Append a line, whole or not at all, whoever dies next."""
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, json.dumps(what).encode() + b"\n")
    finally:
        os.close(handle)


def notes(file: Path) -> list[dict[str, Any]]:
    """All lines."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
