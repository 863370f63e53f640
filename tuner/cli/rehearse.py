"""`tuner rehearse`: simulates a campaign's own space before its machine is touched, and says what to expect."""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tuner.basics.text import span
from tuner.basics.threads import one_blas_thread
from tuner.cli.run_options import MOST_JOBS, cores

if TYPE_CHECKING:
    from rich.progress import Progress

    from tuner.config import Campaign
    from tuner.lab.rehearse.run import Pace, Rehearsal, Task

F = TypeVar("F", bound=Callable[..., Any])
RUNS = 50  # that are enough, if there is time
MINUTES = 2.0
LARGER = 2  # times the budget, to see what more would buy
FEWER = 5  # of so many rehearsals one is made with it


def _minutes(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of minutes")
    return value


def _of_time(name: str, what: str) -> Callable[[F], F]:
    return click.option(name, type=click.FloatRange(0, 10_080), callback=_minutes, metavar="MINUTES", help=what)


@click.command()
@click.argument("config", type=click.Path(readable=False, path_type=Path), metavar="CONFIG")
@click.option("--campaign", metavar="NAME", help="Which campaign of the file; by default the first.")
@click.option("--runs", type=click.IntRange(1, 1000), help="How many rehearsals, however long they take.")
@_of_time("--minutes", f"Up to {RUNS} rehearsals, as many as end in time, but one at least; by default {MINUTES:g}.")
@click.option("--trials", type=click.IntRange(1, 1000), help="How many trials; by default the campaign's budget.")
@_of_time("--part-minutes", "What a part takes; by default 2, or what a simulated machine says.")
@_of_time("--look-minutes", "What a look at two parts takes; by default 1.")
@_of_time("--approve-minutes", "What an approval takes, where the policy wants one; by default 5.")
@_of_time("--change-minutes", "What a person takes for a change by hand, where a parameter is manual; by default 10.")
@click.option("--jobs", type=click.IntRange(1, MOST_JOBS), default=cores, show_default="all cores")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def rehearse(
    config: Path,
    campaign: str | None,
    runs: int | None,
    minutes: float | None,
    trials: int | None,
    part_minutes: float | None,
    look_minutes: float | None,
    approve_minutes: float | None,
    change_minutes: float | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Rehearse a campaign on processes drawn for its own space, whatever its adapter; no machine is touched.

    Says what to expect: parts, looks, hours, scrap, the chance to end better than the known-good setting, and what a
    larger budget buys; and warns of traps. The processes are made up: they have borders of scrap, effects of choices,
    and people who see differences with noise and slip now and then. Yours will be another one.

    It takes two minutes on all cores, and says how sure its answer is; --minutes or --runs make more of them.
    """
    one_blas_thread()
    from tuner.lab.rehearse.expectation import as_text, expectation
    from tuner.lab.rehearse.run import Pace, typical_part_min
    from tuner.lab.rehearse.traps import configured, rehearsed
    from tuner.lab.simulate.contract import Kept
    from tuner.lab.simulate.prepare import named_campaign

    chosen = named_campaign(config, campaign)
    budget = trials or chosen.budget.trials
    usual = Pace(part_min=typical_part_min(chosen))
    pace = Pace(
        usual.part_min if part_minutes is None else part_minutes,
        usual.look_min if look_minutes is None else look_minutes,
        (usual.approve_min if approve_minutes is None else approve_minutes) if chosen.policy.approval else 0.0,
        (usual.change_min if change_minutes is None else change_minutes)
        if any(one.manual for one in chosen.parameters)
        else 0.0,
    )
    traps = list(configured(chosen, budget))
    if runs is None and minutes is None:
        minutes = MINUTES
    found = sorted(_all(_tasks(chosen, budget, pace, runs or RUNS), jobs, minutes), key=lambda r: (r.budget, r.seed))
    own = [run for run in found if run.budget == budget]
    larger = [run for run in found if run.budget != budget]
    traps += rehearsed(chosen, own)
    about = (chosen.name, chosen.machine, len(chosen.parameters))
    result = expectation(about, pace, own, larger, traps, Kept.of(chosen, budget))
    click.echo(json.dumps(result.as_json(), indent=1) if as_json else as_text(result), nl=as_json)


def _tasks(campaign: "Campaign", budget: int, pace: "Pace", runs: int) -> "list[Task]":
    """The budget's own and those with a larger one in turn, so that there are some of both whenever time is up."""
    from tuner.config.campaign import AdapterChoice
    from tuner.lab.rehearse.run import Task

    # no machine is moved, and not all that adapters' settings are made of can be sent to another process
    adapter = AdapterChoice(name="simulated", deadlines=campaign.adapter.deadlines)
    campaign, tasks = campaign.model_copy(update={"adapter": adapter}), []
    for seed in range(runs):
        tasks.append(Task(campaign, seed, budget, pace))
        if seed % FEWER == 0:
            tasks.append(Task(campaign, seed // FEWER, LARGER * budget, pace))
    return tasks


def _all(tasks: "Sequence[Task]", jobs: int, minutes: float | None) -> "list[Rehearsal]":
    """What came of the tasks that end in time."""
    from tuner.lab.rehearse.run import rehearse as one_rehearsal
    from tuner.lab.simulate.seeds import side_by_side

    found: list[Rehearsal] = []
    began_s = time.monotonic()

    def in_time(task: "Task") -> bool:
        needs_s = task.trials * max((run.took_s / run.budget for run in found), default=0.0)
        return minutes is None or time.monotonic() - began_s + needs_s < 60.0 * minutes

    limit_s = None if minutes is None else 60.0 * minutes
    with _bar(sum(task.trials for task in tasks), limit_s) as bar:

        def over() -> bool:
            bar.draw()
            own = any(run.budget == tasks[0].trials for run in found)
            return own and limit_s is not None and time.monotonic() - began_s >= limit_s

        named = {f"seed {t.seed}, {t.trials} trials": t for t in tasks}
        for run in side_by_side(one_rehearsal, named, jobs, bar.told, in_time, over):
            found.append(run)
    if len(found) < len(tasks):
        took_s = time.monotonic() - began_s
        late = limit_s is not None and len(found) == 1 and took_s > 1.2 * limit_s
        alone = "the first alone took longer than the time there was; " if late else ""
        click.echo(
            f"{len(found)} of {len(tasks)} rehearsals in {span(took_s)}: {alone}more of them with --minutes", err=True
        )
    return found


class _Bar:
    """How far all trials are, or the time there is, whatever comes first."""

    def __init__(self, progress: "Progress", total: int, limit_s: float | None) -> None:
        self._progress, self._total, self._limit_s = progress, total, limit_s
        self._task = progress.add_task("rehearsing", total=total)
        self._known: dict[int, int] = {}
        self._began_s = time.monotonic()

    def told(self, seed: int, trials: int) -> None:
        """A rehearsal has come so far."""
        self._known[seed] = trials
        self.draw()

    def draw(self) -> None:
        """Show it; when the time is over and no rehearsal has ended yet, that this is waited for."""
        done, limit_s = sum(self._known.values()), self._limit_s
        if limit_s is None:
            self._progress.update(self._task, completed=done)
            return
        spent_s = time.monotonic() - self._began_s
        if spent_s >= limit_s:
            self._progress.update(self._task, description="time is up, waiting for the first rehearsal")
            self._progress.tasks[0].total = None  # `update` takes None for no change
        else:
            share = max(spent_s, limit_s * done / self._total)
            self._progress.update(self._task, total=limit_s, completed=min(limit_s, share))


@contextmanager
def _bar(total: int, limit_s: float | None) -> "Iterator[_Bar]":
    """A bar of all trials, or of the time there is, on a terminal; elsewhere nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield _Bar(progress, total, limit_s)
