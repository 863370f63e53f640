"""`tuner bench`: measurements anyone can run again; what a command needs is imported when it is called."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.basics.threads import one_blas_thread
from tuner.cli.bench_daemon import latency, load, scale, start, web
from tuner.cli.bench_scrap import scrap
from tuner.cli.bench_suite import calibration, suite
from tuner.cli.run_options import MOST_JOBS, jobs_option, scheduler

if TYPE_CHECKING:
    from tuner.core.optimizer.proposer import AcquisitionName
    from tuner.lab.bench.protocol import Run

# the optimiser's names, which would cost a second to import; a test keeps them equal
ACQUISITIONS = ("auto", "ucb", "thompson", "eiig", "ei", "eubo", "hb-ei")
LEAST_CAMPAIGN = 5


@click.group()
def bench() -> None:
    """Measure speed, accuracy and the paper's experiments."""


bench.add_command(latency)
bench.add_command(load)
bench.add_command(scale)
bench.add_command(start)
bench.add_command(web)
bench.add_command(suite)
bench.add_command(calibration)
bench.add_command(scrap)


def _words(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(word.strip() for word in value.split(",") if word.strip())


def _dimensions(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    return _numbers(_words(ctx, param, value) or (), 1, 50, f"{value!r} is not a list such as 2,6")


def _counts(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    return _numbers(_words(ctx, param, value) or (), 3, 5000, f"{value!r} is not a list such as 20,50,100")


def _numbers(words: tuple[str, ...], least: int, most: int, wrong: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(word) for word in words)
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < least or max(numbers) > most:
        raise click.BadParameter(f"{wrong} of whole numbers from {least} to {most}")
    return numbers


def _finite(_: click.Context, __: click.Parameter, value: float) -> float:
    """Refuse what no range of numbers excludes: NaN and infinity."""
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number")
    return value


def _chosen(problems: tuple[str, ...] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return the problems to run, each once; a name that no problem has is wrong usage."""
    from tuner.problems import UnknownProblemError, get_problem

    if problems is not None and not problems:
        raise click.BadParameter("name at least one problem", param_hint="--problems")
    chosen = tuple(dict.fromkeys(problems or default))
    try:
        for name in chosen:
            get_problem(name)
    except UnknownProblemError as error:
        raise click.BadParameter(str(error), param_hint="--problems") from None
    return chosen


def _rivals(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the names; one that no rival has is wrong usage."""
    from tuner.lab.bench.rivals.all_rivals import UnknownRivalError, get_rival

    if names is not None and not names:
        raise click.BadParameter("name at least one rival", param_hint="--rivals")
    try:
        for name in names or ():
            get_rival(name)
    except UnknownRivalError as error:
        raise click.BadParameter(str(error), param_hint="--rivals") from None
    return names


@bench.command()
@click.option("--seeds", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Runs of each problem.")
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="The first seed.")
@click.option(
    "--problems", callback=_words, help="Comma separated names; by default those that peers have numbers for."
)
@click.option(
    "--flips", type=click.FloatRange(0, 1), callback=_finite, default=0.0, help="Probability of a wrong answer."
)
@click.option(
    "--noise", type=click.FloatRange(0), callback=_finite, default=0.0, help="The judge's noise, in units of the cost."
)
@click.option("--acquisition", type=click.Choice(ACQUISITIONS), default="auto", show_default=True)
@click.option("--trusting", is_flag=True, help="Never doubt the judge's answers, as published rivals do not.")
@click.option("--trials", type=click.IntRange(1, 1000), default=40, show_default=True, help="Asked trials of a run.")
@click.option("--jobs", type=click.IntRange(1, MOST_JOBS), default=2, show_default=True, help="Worker processes.")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of tables.")
def table(
    seeds: int,
    first: int,
    problems: tuple[str, ...] | None,
    flips: float,
    noise: float,
    acquisition: "AcquisitionName",
    trusting: bool,
    trials: int,
    jobs: int,
    as_json: bool,
) -> None:
    """Compare the optimiser with its peers on the common protocol.

    Each run begins with 11 uniform settings, each judged against the best so far; then come the trials that the
    optimiser asks for. The result depends on the seeds alone, not on the number of jobs.
    """
    if flips and noise:
        raise click.UsageError("a judge either flips answers or has noise: give --flips or --noise, not both")
    one_blas_thread()
    from tuner.lab.bench.display import printer, progress, show_table
    from tuner.lab.bench.protocol import Options
    from tuner.lab.bench.published import PROBLEMS
    from tuner.lab.bench.table import measure_table, table_data

    chosen = _chosen(problems, PROBLEMS)
    options = Options(flips=flips, noise=noise, acquisition=acquisition, trials=trials, trusting=trusting)
    with progress("runs", len(chosen) * seeds) as advance:

        def done(_: "Run") -> None:
            advance()

        rows = measure_table(chosen, range(first, first + seeds), options, jobs, done)
    if as_json:
        click.echo(json.dumps(table_data(rows, options), allow_nan=False))
    else:
        show_table(rows, options, printer())


@bench.command()
@click.option("--rows", callback=_counts, default="20,50,100,200,500", show_default=True, help="Numbers of duels.")
@click.option(
    "--campaign",
    "duels",
    type=click.IntRange(0, 500),
    default=100,
    show_default=True,
    help="Duels of the campaigns in one, two and six dimensions; 0: none.",
)
@click.option("--repeats", type=click.IntRange(1, 1000), default=9, show_default=True, help="Medians over so many.")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of a table.")
def speed(rows: tuple[int, ...], duels: int, repeats: int, as_json: bool) -> None:
    """Time the posterior and a proposal, in units of plain Gaussian draws of the same covariance."""
    if 0 < duels < LEAST_CAMPAIGN:
        raise click.BadParameter(f"a campaign has at least {LEAST_CAMPAIGN} duels", param_hint="--campaign")
    one_blas_thread()
    from tuner.core.posterior.bouncing import compiled
    from tuner.lab.bench.display import printer, progress, show_speed
    from tuner.lab.bench.speed import DIMENSIONS, measure_all, speed_data

    with progress("data", len(rows) + (len(DIMENSIONS) if duels else 0)) as advance:
        found = measure_all(rows, duels, repeats=repeats, done=advance)
    if as_json:
        click.echo(json.dumps(speed_data(found, compiled=compiled()), allow_nan=False))
    else:
        show_speed(found, compiled=compiled(), console=printer())


@bench.command()
@click.option("--rivals", callback=_words, help="Comma separated: botorch, optuna; by default those installed.")
@click.option("--rows", callback=_counts, default="50,100,200", show_default=True, help="Numbers of duels to time at.")
@click.option("--dimensions", callback=_dimensions, default="2,6", show_default=True, help="Of the space to time in.")
@click.option("--repeats", type=click.IntRange(1, 1000), default=7, show_default=True, help="Medians over so many.")
@click.option("--regret", is_flag=True, help="Also run the common protocol for all, paired over seeds (minutes).")
@click.option("--seeds", type=click.IntRange(1, 10_000), default=10, show_default=True, help="With --regret: runs.")
@click.option(
    "--problems", callback=_words, help="With --regret: comma separated names; by default those of the table."
)
@click.option("--trials", type=click.IntRange(1, 1000), default=40, show_default=True, help="With --regret: of a run.")
@click.option(
    "--jobs", type=click.IntRange(1, MOST_JOBS), default=2, show_default=True, help="With --regret: processes."
)
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of tables.")
@click.pass_context
def peers(
    ctx: click.Context,
    rivals: tuple[str, ...] | None,
    rows: tuple[int, ...],
    dimensions: tuple[int, ...],
    repeats: int,
    regret: bool,
    seeds: int,
    problems: tuple[str, ...] | None,
    trials: int,
    jobs: int,
    as_json: bool,
) -> None:
    """Compare with BoTorch's PairwiseGP and EUBO and Optuna's preferential sampler in the same run.

    All propose in turn from the same duels of a smooth function, and the seconds are compared. The rivals come with
    the extra `peers`; one that is not installed is left out, unless --rivals names it.
    """
    if not regret:
        for name in ("seeds", "problems", "trials", "jobs"):
            if ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
                raise click.UsageError(f"--{name} says how --regret is measured: give --regret too")
    one_blas_thread()
    from tuner.lab.bench.display import printer, progress
    from tuner.lab.bench.protocol import Options
    from tuner.lab.bench.published import PROBLEMS
    from tuner.lab.bench.rivals.all_rivals import gather
    from tuner.lab.bench.rivals.display import show_peer_regret, show_peer_speed
    from tuner.lab.bench.rivals.regret import measure_regret
    from tuner.lab.bench.rivals.speed import measure_speed

    chosen = _chosen(problems, PROBLEMS)
    field = gather(_rivals(rivals))
    for sentence in field.left_out.values():
        click.echo(sentence, err=True)
    options = Options(trials=trials)
    with progress("timings", len(rows) * len(dimensions)) as advance:
        timed = measure_speed(field.rivals, rows, dimensions, repeats=repeats, done=advance)
    if not as_json:
        show_peer_speed(timed, field.versions, printer())
    compared = []
    if regret:
        with progress("runs", (1 + len(field.rivals)) * len(chosen) * seeds) as advance:
            compared = measure_regret(field.rivals, chosen, range(seeds), options, jobs, advance)
        if not as_json:
            show_peer_regret(compared, options, printer())
    if as_json:
        data = {"rivals": field.rivals, "left_out": field.left_out, "versions": field.versions}
        measured = {"speed": [row.to_json() for row in timed], "regret": [row.to_json() for row in compared]}
        click.echo(json.dumps({**data, **measured}, allow_nan=False))


@bench.command()
@click.option("--full", "scale", flag_value="full", help="The paper's 20 trials of 100 duels, six functions (hours).")
@click.option(
    "--quick", "scale", flag_value="quick", default="quick", help="Less of everything (minutes); the default."
)
@click.option("--figure", "figures", type=click.IntRange(2, 7), multiple=True, help="Only this one; may be repeated.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("paper-out"),
    show_default=True,
    help="Directory of the finished runs and the pages.",
)
@jobs_option(default=2, show_default=True, help="Worker processes.")
@click.option(
    "--dask", callback=scheduler, metavar="ADDRESS", help="Run on this Dask scheduler instead of local processes."
)
@click.option(
    "--pages", type=click.Path(file_okay=False, path_type=Path), help="Write the pages here instead of --out."
)
@click.option("--pages-only", is_flag=True, help="Run nothing: write the pages from the runs that are finished.")
def paper(
    scale: str,
    figures: tuple[int, ...],
    out: Path,
    jobs: int,
    dask: str | None,
    pages: Path | None,
    pages_only: bool,
) -> None:
    """Repeat the paper's experiments and write its claims beside what we measure (needs the extra `report`).

    Each finished run is a line of OUT/runs.jsonl: the same command again goes on where it was stopped.
    """
    one_blas_thread()
    from tuner.lab.bench.display import progress
    from tuner.lab.paper.figures import require_matplotlib
    from tuner.lab.paper.pages import write_pages
    from tuner.lab.paper.reproduce import run_missing
    from tuner.lab.paper.tasks import FIGURES, SCALES

    require_matplotlib()
    chosen = tuple(sorted(set(figures))) or FIGURES
    if not pages_only:
        run_missing(SCALES[scale], chosen, out, jobs=jobs, dask=dask, progress=progress)
    for path in write_pages(SCALES[scale], chosen, out, pages or out):
        click.echo(path)
