"""`tuner simulate`: a configuration of a simulated machine, tuned by a scripted judge, for many seeds side by side."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.basics.threads import one_blas_thread
from tuner.cli.run_options import MOST_JOBS, cores
from tuner.cli.run_options import seeds as read_seeds

if TYPE_CHECKING:
    from tuner.config import Campaign
    from tuner.lab.simulate.display import Watcher
    from tuner.lab.simulate.results import RunResult

SLOWEST = 0.001


def _speed(_: click.Context, __: click.Parameter, value: float) -> float:
    """Refuse what no range excludes: NaN and infinity."""
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number to divide by")
    return value


@click.command()
@click.argument("config", type=click.Path(readable=False, path_type=Path), metavar="CONFIG")
@click.option(
    "--judge",
    default="oracle",
    show_default=True,
    metavar="JUDGE",
    help="One by name, as docs/simulate.md lists them, FILE.py:FUNCTION or a program.",
)
@click.option("--campaign", metavar="NAME", help="Which campaign of the file; by default the first.")
@click.option("--trials", type=click.IntRange(1, 100_000), help="How many trials; by default the campaign's budget.")
@click.option(
    "--seeds", default="0", show_default=True, callback=read_seeds, metavar="A-B", help="As 0-49 or 3,7,10-12."
)
@click.option(
    "--speed",
    type=click.FloatRange(SLOWEST),
    callback=_speed,
    default=1.0,
    show_default=True,
    help="Divides what a part takes.",
)
@click.option("--in-process", is_flag=True, help="Without a daemon: the same campaign and model called directly.")
@click.option("--jobs", type=click.IntRange(1, MOST_JOBS), default=cores, show_default="all cores")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help=".csv, .json or .parquet")
@click.option(
    "--expect", multiple=True, metavar="GOAL", help='Such as "regret<=0.1" or "median(scrap)<8"; may be repeated.'
)
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="A new directory that keeps the daemons' journals.",
)
def simulate(
    config: Path,
    judge: str,
    campaign: str | None,
    trials: int | None,
    seeds: tuple[int, ...],
    speed: float,
    in_process: bool,
    jobs: int,
    out: Path | None,
    expect: tuple[str, ...],
    state: Path | None,
) -> None:
    """Tune the simulated machine of a configuration with a scripted judge, once for each seed.

    The seed of a run is that of its proposals, its machine and its judge. A goal is a bound on regret,
    recommended_regret, scrap, trials, judgments or seconds that every run must keep, or on the median, mean, worst or
    best of all. Exit code 1 if a goal is missed or a run did not come to its end.
    """
    one_blas_thread()
    from tuner.basics.text import counted
    from tuner.lab.judges.by_name import make_judge
    from tuner.lab.simulate.contract import Kept
    from tuner.lab.simulate.display import summary, watcher
    from tuner.lab.simulate.goals import Goal
    from tuner.lab.simulate.output import check_output, write
    from tuner.lab.simulate.prepare import chosen_campaign, scripted

    _check_state(state, in_process=in_process)
    goals = [Goal.parse(text) for text in expect]
    if out is not None:
        check_output(out)
    make_judge(judge, 0)  # what is wrong with it is said before anything runs
    base = chosen_campaign(config, campaign)
    campaigns = [scripted(base, seed, trials=trials, speed=speed) for seed in seeds]
    runs = []
    with watcher(len(seeds), campaigns[0].budget.trials) as watch:
        for run in _runs(campaigns, judge, jobs, watch, state, in_process=in_process):
            watch.ended(run)
            runs.append(run)
    runs.sort(key=lambda run: run.seed)
    way = "in-process" if in_process else "daemon"
    title = f"{base.name}, {campaigns[0].budget.trials} trials, judge {judge}, {counted(len(runs), 'seed')}, {way}"
    contract = Kept.of(base, campaigns[0].budget.trials)
    well = summary(runs, goals, title, contract)  # before the file: a full disk must not cost this too
    _tell_out_of_reach(base)
    if out is not None:
        write(out, runs, {"config": str(config), "campaign": base.name, "judge": judge, "way": way, "speed": speed})
    if not well:
        raise click.exceptions.Exit(1)


def _check_state(state: Path | None, *, in_process: bool) -> None:
    if in_process and state is not None:
        raise click.UsageError("--state keeps journals, and a run --in-process has none")
    if state is not None and state.exists() and any(state.iterdir()):
        raise click.UsageError(f"--state: {state} is not empty")


def _tell_out_of_reach(campaign: "Campaign") -> None:
    from tuner.campaign.terms import Terms
    from tuner.config.to_space import campaign_space
    from tuner.report.truth import OUT_OF_REACH, Truth

    truth = Truth.of(Terms.of(campaign))
    if truth is not None and not truth.reachable(campaign_space(campaign)):
        click.echo(f"{OUT_OF_REACH} No regret here can be 0.")


def _runs(
    campaigns: "list[Campaign]", judge: str, jobs: int, watch: "Watcher", state: Path | None, *, in_process: bool
) -> "Iterator[RunResult]":
    if in_process:
        from tuner.lab.simulate.seeds import run_pool

        yield from run_pool(campaigns, judge, jobs, watch.told)
    else:
        from tuner.lab.simulate.wired import run_batches

        yield from run_batches(campaigns, judge, jobs, watch.told, state)
