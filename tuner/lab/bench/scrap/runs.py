"""One run of `tuner bench scrap`: a campaign under a contract, from the known-good setting on; a pure function."""

import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tuner.core.linalg import NotPositiveDefiniteError
from tuner.core.optimizer.contract import ContractHold
from tuner.core.optimizer.optimizer import Optimizer
from tuner.lab.bench.run_file import RunFile
from tuner.lab.bench.scrap.methods import optimizer_of
from tuner.lab.bench.scrap.processes import Process, draw_process
from tuner.lab.bench.suite.people import PEOPLE
from tuner.lab.bench.suite.runs import judge_rng
from tuner.lab.bench.suite.tasks import code_checksum

PROTOCOL = 1  # part of every key: raise it when processes or runs change
JUDGES = {"exact": "exact", "slips": "slips 10 %"}


@dataclass(frozen=True)
class Cell:
    """What runs are counted together."""

    family: str
    rate: float
    judge: str
    method: str


@dataclass(frozen=True)
class Task:
    """One run: all that determines its result but the code."""

    cell: Cell
    seed: int
    parts: int

    @property
    def key(self) -> str:
        """What a finished run is found by: other code is another run."""
        cell = self.cell
        where = f"{cell.family}/{cell.rate:g}/{cell.judge}/{cell.method}/{self.seed}/{self.parts}"
        return f"{code()}/{where}"


@cache
def code() -> str:
    """Return a checksum of the optimiser's code, with the number of this bench's own protocol."""
    return f"{code_checksum()}.{PROTOCOL}"


@dataclass(frozen=True)
class ScrapRun:
    """A finished run.

    Attributes:
        task: What was run.
        made: Parts made after the known-good setting's; fewer than planned where tuning held.
        scrap: How many of them were scrap.
        said: What was expected of them, added up: the sum of the risks as they were said.
        held: Whether tuning held before the end, because no setting kept the contract.
        failed: Proposals that could not be computed; the run ends there.
        reachable: The champion's cost above the best that can be reached within the rate, in units of the start's cost.
        free: The same above the best of all valid settings.
        seconds: Processor time.
    """

    task: Task
    made: int
    scrap: int
    said: float
    held: bool
    failed: int
    reachable: float
    free: float
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        own = {name: value for name, value in vars(self).items() if name != "task"}
        task = {**vars(self.task.cell), "seed": self.task.seed, "parts": self.task.parts}
        return {"key": self.task.key, **task, **own, "code": code()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "ScrapRun":
        """Return what `to_json` wrote."""
        cell = Cell(data["family"], data["rate"], data["judge"], data["method"])
        names = ("made", "scrap", "said", "held", "failed", "reachable", "free", "seconds")
        return cls(Task(cell, data["seed"], data["parts"]), **{name: data[name] for name in names})


def run_task(task: Task) -> ScrapRun:
    """Do one run."""
    cell = task.cell
    process = draw_process(cell.family, task.seed)
    optimizer = optimizer_of(cell.method, process, cell.rate, task.parts)
    begin = time.process_time()
    made, scrap, said, held, failed = _campaign(process, optimizer, task)
    seconds = time.process_time() - begin
    champion = optimizer.champion
    instance = process.instance
    cost = instance.cost(instance.start if champion is None else optimizer.ledger.trials[champion].setting)
    above = [max(cost - other, 0.0) / instance.start_cost for other in _goals(process, cell.rate)]
    return ScrapRun(task, made, scrap, round(said, 4), held, failed, above[0], above[1], round(seconds, 2))


def _goals(process: Process, rate: float) -> tuple[float, float]:
    return process.reachable_cost(rate), process.free_cost()


def _campaign(process: Process, optimizer: Optimizer, task: Task) -> tuple[int, int, float, bool, int]:
    """Make the parts and have them judged; return what came of them."""
    instance = process.instance
    person = PEOPLE[JUDGES[task.cell.judge]]()
    optimizer.tell_outcome(optimizer.add(instance.start), True)
    costs = {1: instance.start_cost}
    made, scrap, said = 0, 0, 0.0
    for part in range(1, task.parts + 1):
        try:
            proposal = optimizer.ask()
        except ContractHold:
            return made, scrap, said, True, 0
        except (ArithmeticError, NotPositiveDefiniteError, np.linalg.LinAlgError):
            return made, scrap, said, False, 1
        valid = process.makes_part(proposal.setting, proposal.number, part / task.parts)
        optimizer.tell_outcome(proposal.number, valid)
        made, scrap = made + 1, scrap + (not valid)
        said += 0.0 if proposal.p_valid is None else 1.0 - proposal.p_valid
        if valid:
            costs[proposal.number] = instance.cost(proposal.setting)
            question = optimizer.question()
            if question is not None:
                new, old = question.number, question.opponent
                better, operator = person.answer(costs[new], costs[old], judge_rng(task.seed, part))
                winner, loser = (new, old) if better == "new" else (old, new)
                optimizer.tell_judgment(winner, loser, operator)
    return made, scrap, said, False, 0


def run_file(directory: Any) -> RunFile[ScrapRun]:
    """Return the file of finished runs in a directory."""
    return RunFile(directory, ScrapRun.from_json)
