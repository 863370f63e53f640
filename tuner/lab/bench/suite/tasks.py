"""What a suite runs: methods on processes, as independent tasks, and the file of those that are finished."""

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tuner
from tuner.lab.bench.run_file import RunFile
from tuner.lab.bench.suite.instances import draw_instance
from tuner.lab.bench.suite.methods import run_method
from tuner.lab.bench.suite.runs import SuiteRun
from tuner.lab.bench.workers import run_all, run_on_dask

PROTOCOL = 2  # part of every key: raise it when processes, judges or runs change, and old runs are not mixed with new


@dataclass(frozen=True)
class Task:
    """One run: all that determines its result but the code."""

    group: str
    seed: int
    parts: int
    method: str


@dataclass(frozen=True)
class Finished:
    """A finished run with its task.

    Attributes:
        process: A checksum of the process: runs of different ones are not compared.
        code: A checksum of the optimiser that ran it.
    """

    task: Task
    run: SuiteRun
    process: int
    code: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        key = key_of(self.task, self.code)
        return {"key": key, **vars(self.task), "process": self.process, "code": self.code, **self.run.to_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Finished":
        """Return what `to_json` wrote."""
        task = Task(data["group"], data["seed"], data["parts"], data["method"])
        return cls(task, SuiteRun.from_json(data), data["process"], data["code"])


def key_of(task: Task, code: str) -> str:
    """Return what a finished run is found by: other code is another run."""
    return f"{code}/{task.group}/{task.seed}/{task.parts}/{task.method}"


@cache
def code_checksum() -> str:
    """Return a checksum of the optimiser's code, with the number of the suite's own protocol."""
    root = Path(tuner.__file__).parent / "core"
    together = hashlib.sha256(str(PROTOCOL).encode())
    for file in sorted(root.rglob("*.py")):
        together.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return together.hexdigest()[:12]


def run_task(task: Task) -> Finished:
    """Do one run."""
    instance = draw_instance(task.group, task.seed)
    drawn = json.dumps([instance.start, instance.best, instance.start_cost])
    run = run_method(task.method, instance, task.seed, task.parts)
    return Finished(task, run, zlib.crc32(drawn.encode()), code_checksum())


def execute(tasks: Sequence[Task], jobs: int, dask: str | None) -> Iterator[Finished]:
    """Yield every run in the order in which they are done."""
    if not tasks:
        return iter(())
    alone = [(task,) for task in tasks]
    if dask:
        return run_on_dask(run_task, alone, [f"tuner-suite-{key_of(task, code_checksum())}" for task in tasks], dask)
    return (finished for _, finished in run_all(run_task, alone, jobs))


def run_file(directory: Path) -> RunFile[Finished]:
    """Return the file of finished runs in a directory."""
    return RunFile(directory, Finished.from_json)
