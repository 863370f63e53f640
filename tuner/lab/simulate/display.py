"""What the user of `tuner simulate` sees: a bar for each run under way, then a summary."""

import math
import statistics
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from tuner.basics.text import counted
from tuner.campaign.contract_words import told_why
from tuner.lab.simulate.contract import Kept
from tuner.lab.simulate.goals import Goal
from tuner.lab.simulate.results import RunResult

PLAIN_WIDTH = 120
_SHOWN = (("regret", "regret of the champion"), ("recommended_regret", "regret of the recommendation"))
_COUNTS = (("scrap", "scrap"), ("judgments", "judgments"), ("seconds", "seconds"))


class Watcher(Protocol):
    """Shows how far the runs are; `told` may be called from any thread."""

    def told(self, seed: int, trials: int) -> None:
        """Take the number of trials done."""

    def ended(self, run: RunResult) -> None:
        """Take a run's end."""


@contextmanager
def watcher(runs: int, trials: int) -> Iterator[Watcher]:
    """Bars on a terminal; elsewhere a line for each run, both on stderr."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(runs)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console, transient=True) as progress:
        yield _Bars(progress, runs, trials)


class _Lines:
    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._count = 0

    def told(self, seed: int, trials: int) -> None:
        pass

    def ended(self, run: RunResult) -> None:
        self._count += 1
        end = "" if run.complete else f", {run.mode}: {told_why(run.reason)}"
        sys.stderr.write(
            f"{self._count}/{self._runs} seed {run.seed}: regret {run.regret:.4g}, {run.scrap} scrap of "
            f"{counted(run.trials, 'trial')}, {run.seconds:.1f} s{end}\n"
        )


class _Bars:
    def __init__(self, progress: Progress, runs: int, trials: int) -> None:
        self._progress = progress
        self._trials = trials
        self._lock = threading.Lock()
        self._tasks: dict[int, TaskID] = {}
        self._over: set[int] = set()
        self._all = progress.add_task("runs", total=runs)

    def told(self, seed: int, trials: int) -> None:
        with self._lock:
            if seed in self._over:
                return
            if seed not in self._tasks:
                self._tasks[seed] = self._progress.add_task(f"seed {seed}", total=self._trials)
            self._progress.update(self._tasks[seed], completed=trials)

    def ended(self, run: RunResult) -> None:
        with self._lock:
            self._over.add(run.seed)
            task = self._tasks.pop(run.seed, None)
            if task is not None:
                self._progress.remove_task(task)
            self._progress.advance(self._all)


def summary(runs: Sequence[RunResult], goals: Sequence[Goal], title: str, contract: Kept | None = None) -> bool:
    """Print medians, means and worst values, then what came of contract and goals; return whether all is well."""
    console = Console()
    console = console if console.is_terminal else Console(width=PLAIN_WIDTH)
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in ("median", "mean", "worst"):
        table.add_column(name, justify="right")
    for metric, label in (*_SHOWN, *_COUNTS):
        values = [float(getattr(run, metric)) for run in runs]
        numbers = (statistics.median(values), math.fsum(values) / len(values), max(values))
        table.add_row(label, *(f"{number:.4g}" for number in numbers))
    console.print(table)
    broken = [run for run in runs if not run.complete]
    for run in broken:
        why = told_why(run.reason)
        console.print(f"seed {run.seed} did not come to its end: {run.mode}: {why}", markup=False, soft_wrap=True)
    for line in [] if contract is None else contract.lines(runs):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    missed = False
    for goal in goals:
        values = [float(getattr(run, goal.metric)) for run in runs]
        missed |= not goal.met(values)
        console.print(goal.sentence(values), markup=False, highlight=False)
    return not broken and not missed
