"""The whole of `tuner bench suite`: run what is not finished yet, then compare method by method, group by group."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.errors import TunerError
from tuner.lab.bench.run_file import RunFile
from tuner.lab.bench.suite.groups import REPORTED_FROM
from tuner.lab.bench.suite.methods import OURS
from tuner.lab.bench.suite.runs import CHECKED, SuiteRun
from tuner.lab.bench.suite.statistics import Paired, Summary, paired, summary
from tuner.lab.bench.suite.tasks import Finished, Task, code_checksum, execute, key_of, run_file

Progress = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
Process = tuple[str, int, int]  # group, seed, and the checksum of what was drawn
STEADY = "steady"  # the group whose processes the judged groups share


@dataclass(frozen=True)
class Plan:
    """What is run.

    Attributes:
        groups: Names.
        seeds: Of the processes.
        parts: Made in each run.
        ours: The method that is looked at.
        rivals: Methods that it is paired with.
        elsewhere: Directories of other suites' runs that it is paired with.
    """

    groups: tuple[str, ...]
    seeds: tuple[int, ...]
    parts: int
    ours: str = OURS
    rivals: tuple[str, ...] = ()
    elsewhere: tuple[Path, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """All that are run, each once."""
        return tuple(dict.fromkeys((self.ours, *self.rivals)))

    @property
    def tasks(self) -> list[Task]:
        """All runs, seed by seed, so that those of an interrupted suite are still paired."""
        return [
            Task(group, seed, self.parts, method)
            for seed in self.seeds
            for group in self.groups
            for method in self.methods
        ]

    @property
    def checked(self) -> tuple[int, ...]:
        """The numbers of parts after which results are looked at."""
        return tuple(sorted({*(n for n in CHECKED if n < self.parts), self.parts}))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        seeds = {"seeds": list(self.seeds), "seeds_are": self.purpose}
        return {"ours": self.ours, "groups": list(self.groups), "parts": self.parts, **seeds, "code": code_checksum()}

    @property
    def purpose(self) -> str:
        """What seeds such as these are for."""
        if min(self.seeds) >= REPORTED_FROM:
            return "for reporting"
        return "for choosing" if max(self.seeds) < REPORTED_FROM else "some for choosing, some for reporting"


@dataclass(frozen=True)
class Results:
    """What came of a plan.

    Attributes:
        plan: What was run.
        runs: Each method's runs by process, those of other directories under the name of theirs.
    """

    plan: Plan
    runs: Mapping[str, Mapping[Process, SuiteRun]]

    @property
    def rivals(self) -> tuple[str, ...]:
        """All that ours is paired with."""
        return tuple(name for name in self.runs if name != self.plan.ours)

    def of(self, method: str, group: str | None) -> dict[Process, SuiteRun]:
        """Return a method's runs of a group, or all."""
        return {key: run for key, run in self.runs[method].items() if group in (None, key[0])}

    def summary(self, method: str, group: str | None, parts: int) -> Summary | None:
        """Return what a method's runs of a group come to, or None if there are none."""
        runs = list(self.of(method, group).values())
        return summary(runs, parts) if runs else None

    def paired(self, rival: str, group: str | None, parts: int) -> Paired | None:
        """Compare ours with a rival on a group, or on all processes."""
        return paired(self.of(self.plan.ours, group), self.of(rival, group), parts)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        plan = self.plan
        groups: tuple[str | None, ...] = (*plan.groups, None)
        rows = []
        for group in groups:
            for parts in plan.checked:
                made = {method: self.summary(method, group, parts) for method in self.runs}
                found = {rival: self.paired(rival, group, parts) for rival in self.rivals}
                rows.append(
                    {
                        "group": group or "all",
                        "parts": parts,
                        "methods": {name: one.to_json() for name, one in made.items() if one},
                        "paired": {name: one.to_json() for name, one in found.items() if one},
                    }
                )
        return {**plan.to_json(), "rows": rows}


def run_suite(plan: Plan, out: Path, *, jobs: int, dask: str | None = None, progress: Progress) -> Results:
    """Do every run of the plan that the file of finished runs lacks, and return what came of all.

    Raises:
        TunerError: A directory to compare with has no runs of these processes.
    """
    others = {str(path): _elsewhere(plan, path) for path in plan.elsewhere}
    code = code_checksum()
    done = run_file(out).load()
    if any(key_of(task, code) not in done for task in plan.tasks):
        done = _run_missing(plan, run_file(out), jobs, dask, progress)
    wanted = [done[key_of(task, code)] for task in plan.tasks]
    ours = {method: _by_process([one for one in wanted if one.task.method == method]) for method in plan.methods}
    return Results(plan, {**ours, **others})


def _run_missing(
    plan: Plan, store: RunFile[Finished], jobs: int, dask: str | None, progress: Progress
) -> dict[str, Finished]:
    """Do the runs that the file lacks, add them there, and return all that are finished."""
    with store.writing() as writer:
        done = store.load()
        missing = [task for task in plan.tasks if key_of(task, code_checksum()) not in done]
        with progress("runs", len(missing)) as advance:
            for finished in execute(missing, jobs, dask):
                writer.append(finished)
                done[key_of(finished.task, finished.code)] = finished
                advance()
    return done


def _by_process(finished: Sequence[Finished]) -> dict[Process, SuiteRun]:
    return {(one.task.group, one.task.seed, one.process): one.run for one in finished}


def _elsewhere(plan: Plan, path: Path) -> dict[Process, SuiteRun]:
    """Return the runs of the optimiser as it is in another directory; of several codes the last."""
    tasks = {Task(group, seed, plan.parts, OURS) for group in plan.groups for seed in plan.seeds}
    found = [one for one in run_file(path).load().values() if one.task in tasks]
    if not found:
        raise TunerError(
            f"{path} has no runs of these groups and seeds with {plan.parts} parts: "
            f"make them first with `tuner bench suite --out {path}` and the same options"
        )
    return _by_process(found)
