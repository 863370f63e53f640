"""`tuner bench suite` and `tuner bench calibration`: processes drawn by seed, and whether what is said is so."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.basics.threads import one_blas_thread
from tuner.cli.run_options import MOST_JOBS, cores, scheduler, words
from tuner.cli.run_options import seeds as read_seeds

if TYPE_CHECKING:
    from tuner.lab.bench.suite.suite import Plan

QUICK_SEEDS, FULL_SEEDS = range(1000, 1008), range(1000, 1020)
QUICK_PARTS, FULL_PARTS = 40, 80
# the suite's names, which would cost a second to import; a test keeps them equal
GROUPS = (
    "numbers, many, border, rings, islands, scrap, choices, integers, constraints, steady, close, slips5, slips10, "
    "slips20, ties, operators, tires, shop; for several slips, judges, borders, all"
)


_SHARED = (
    click.option(
        "--full", "scale", flag_value="full", help="20 seeds, 80 parts, paired with the paper's rivals (hours)."
    ),
    click.option(
        "--quick", "scale", flag_value="quick", default="quick", help="8 seeds, 40 parts (minutes); the default."
    ),
    click.option("--group", "groups", multiple=True, callback=words, help=f"Comma separated or repeated: {GROUPS}."),
    click.option(
        "--seeds",
        callback=read_seeds,
        metavar="A-B",
        help="Below 1000 for choosing, from 1000 on (default) for reporting.",
    ),
    click.option("--parts", type=click.IntRange(2, 1000), help="Made in each run, after the known-good setting's."),
    click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="A number of the strategy: islands=0.3."),
    click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("suite-out"),
        show_default=True,
        help="Directory of the finished runs; the same command again goes on.",
    ),
    click.option("--jobs", type=click.IntRange(1, MOST_JOBS), help="Worker processes; by default one for each core."),
    click.option(
        "--dask", callback=scheduler, metavar="ADDRESS", help="Run on this Dask scheduler instead of local processes."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print plain data instead of tables."),
)


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what is run."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


def _plan(
    scale: str,
    groups: tuple[str, ...],
    seeds: tuple[int, ...],
    parts: int | None,
    sets: tuple[str, ...],
    **others: Any,
) -> "Plan":
    """Return what is run; what cannot be is wrong usage."""
    from tuner.lab.bench.suite.groups import UnknownGroupError, get_groups
    from tuner.lab.bench.suite.methods import method_of
    from tuner.lab.bench.suite.overrides import OverrideError
    from tuner.lab.bench.suite.suite import Plan

    try:
        chosen = tuple(group.name for group in get_groups(groups or ("all",)))
        ours = method_of(sets)
    except UnknownGroupError as error:
        raise click.BadParameter(str(error), param_hint="--group") from None
    except OverrideError as error:
        raise click.BadParameter(str(error), param_hint="--set") from None
    full = scale == "full"
    return Plan(
        groups=chosen,
        seeds=seeds or tuple(FULL_SEEDS if full else QUICK_SEEDS),
        parts=parts or (FULL_PARTS if full else QUICK_PARTS),
        ours=ours,
        **others,
    )


def _rivals(against: tuple[str, ...], *, everybody: bool, ours: str) -> tuple[str, ...]:
    """Return the methods to pair with; of the packages that some need, those named must be there."""
    from tuner.lab.bench.rivals.all_rivals import RIVALS, gather
    from tuner.lab.bench.suite.methods import PUBLISHED, UnknownMethodError, checked_rival

    try:
        named = [checked_rival(name) for name in against]
    except UnknownMethodError as error:
        raise click.BadParameter(str(error), param_hint="--against") from None
    if ours in named:
        raise click.BadParameter("default is what runs already: give --set NAME=VALUE too", param_hint="--against")
    if any(name in RIVALS for name in named):
        gather([name for name in named if name in RIVALS])
    if everybody:
        field = gather(None)
        for sentence in field.left_out.values():
            click.echo(sentence, err=True)
        named += [*PUBLISHED, *field.rivals]
    return tuple(dict.fromkeys(named))


@click.command()
@_shared
@click.option(
    "--against",
    multiple=True,
    callback=words,
    metavar="NAME|DIR",
    help="Pair with: default, hb-ei, eiig, ucb, botorch, optuna, or another suite's --out.",
)
@click.option("--rivals", is_flag=True, help="Pair with all rivals, also BoTorch and Optuna (extra `peers`).")
def suite(
    scale: str,
    against: tuple[str, ...],
    rivals: bool,
    out: Path,
    jobs: int | None,
    dask: str | None,
    as_json: bool,
    **what: Any,
) -> None:
    """Tune processes drawn by seed and tell what the user is given.

    Each run starts at a known-good setting and is judged as people judge. Choose on seeds below 1000, report on others:
    what was tuned on a seed says nothing by it.
    """
    one_blas_thread()
    from tuner.lab.bench.display import printer, progress
    from tuner.lab.bench.suite.display import show_suite
    from tuner.lab.bench.suite.methods import PUBLISHED
    from tuner.lab.bench.suite.suite import run_suite

    elsewhere = tuple(Path(name) for name in against if Path(name).is_dir())
    named = tuple(name for name in against if not Path(name).is_dir())
    if scale == "full" and not against and not rivals:
        named = PUBLISHED
    plan = _plan(scale, elsewhere=elsewhere, **what)
    plan = replace(plan, rivals=_rivals(named, everybody=rivals, ours=plan.ours))
    found = run_suite(plan, out, jobs=jobs or cores(), dask=dask, progress=progress)
    if as_json:
        click.echo(json.dumps(found.to_json(), allow_nan=False))
    else:
        show_suite(found, printer())


@click.command()
@_shared
def calibration(scale: str, out: Path, jobs: int | None, dask: str | None, as_json: bool, **what: Any) -> None:
    """Compare the chances that proposals came with, P(better) and P(valid), with what happened in the suite's runs.

    The runs are those of `tuner bench suite` with the same options; what is not finished is run first.
    """
    one_blas_thread()
    from tuner.lab.bench.display import printer, progress
    from tuner.lab.bench.suite.calibration import of_better, of_valid
    from tuner.lab.bench.suite.display import show_calibration
    from tuner.lab.bench.suite.suite import run_suite

    plan = _plan(scale, **what)
    found = run_suite(plan, out, jobs=jobs or cores(), dask=dask, progress=progress)
    forecasts = [one for run in found.runs[plan.ours].values() for one in run.forecasts]
    better, valid = of_better(forecasts), of_valid(forecasts)
    if as_json:
        data = {"p_better": better.to_json(), "p_valid": valid.to_json(), **plan.to_json()}
        click.echo(json.dumps(data, allow_nan=False))
    else:
        show_calibration(better, valid, plan, printer())
