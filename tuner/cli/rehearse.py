"""`tuner rehearse`: simulates a campaign's own space before its machine is touched, and says what to expect."""

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tuner.basics.threads import one_blas_thread

if TYPE_CHECKING:
    from tuner.lab.rehearse.run import Rehearsal, Task
    from tuner.lab.simulate.in_process import TellProgress

F = TypeVar("F", bound=Callable[..., Any])
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
@click.option("--runs", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many rehearsals.")
@click.option("--trials", type=click.IntRange(1, 1000), help="How many trials; by default the campaign's budget.")
@_of_time("--part-minutes", "What a part takes; by default 2, or what a simulated machine says.")
@_of_time("--look-minutes", "What a look at two parts takes; by default 1.")
@_of_time("--approve-minutes", "What an approval takes, where the policy wants one; by default 5.")
@_of_time("--change-minutes", "What a person takes for a change by hand, where a parameter is manual; by default 10.")
@click.option("--jobs", type=click.IntRange(1, 256), default=os.cpu_count() or 1, show_default="all cores")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def rehearse(
    config: Path,
    campaign: str | None,
    runs: int,
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
    """
    one_blas_thread()
    from tuner.lab.rehearse.expectation import as_text, expectation
    from tuner.lab.rehearse.run import Pace, Task, typical_part_min
    from tuner.lab.rehearse.traps import configured, rehearsed
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
    tasks = [Task(chosen, seed, budget, pace) for seed in range(runs)]
    tasks += [Task(chosen, seed, LARGER * budget, pace) for seed in range(-(-runs // FEWER))]
    found = sorted(_all(tasks, jobs), key=lambda run: (run.budget, run.seed))
    own = [run for run in found if run.budget == budget]
    larger = [run for run in found if run.budget != budget]
    traps += rehearsed(chosen, own)
    about = (chosen.name, chosen.machine, len(chosen.parameters))
    result = expectation(about, pace, own, larger, traps)
    click.echo(json.dumps(result.as_json(), indent=1) if as_json else as_text(result), nl=as_json)


def _all(tasks: "Sequence[Task]", jobs: int) -> "list[Rehearsal]":
    from tuner.lab.rehearse.run import rehearse as one_rehearsal
    from tuner.lab.simulate.seeds import side_by_side

    found = []
    with _bar(sum(task.trials for task in tasks)) as told:
        # the long ones first, so that none is left alone at the end
        named = {f"seed {t.seed}, {t.trials} trials": t for t in sorted(tasks, key=lambda task: -task.trials)}
        for run in side_by_side(one_rehearsal, named, jobs, told):
            found.append(run)
    return found


@contextmanager
def _bar(total: int) -> "Iterator[TellProgress]":
    """A bar of all trials, on a terminal; elsewhere nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("rehearsing"), BarColumn(), TaskProgressColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("rehearsing", total=total)
        known: dict[int, int] = {}

        def told(seed: int, trials: int) -> None:
            progress.advance(bar, max(0, trials - known.get(seed, 0)))
            known[seed] = trials

        yield told
