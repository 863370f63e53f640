"""`tuner bench scrap`: whether the scrap contract holds, and what it costs."""

import json
from collections.abc import Callable
from pathlib import Path

import click

from tuner.basics.text import listed, nearest, shown
from tuner.basics.threads import one_blas_thread
from tuner.cli.run_options import MOST_JOBS, cores, words
from tuner.cli.run_options import seeds as read_seeds

# the bench's names, which would cost a second to import; a test keeps them equal
FAMILIES = ("model", "border", "ring", "islands", "bands", "steps", "drift", "chance")
METHODS = ("expected", "certain", "floor", "laplace", "ei")
JUDGES = ("exact", "slips")
RATES = ("0.02", "0.05", "0.1", "0.2")
_LIST = "Comma separated or repeated: {}; by default all."
SEEDS, PARTS = range(1000, 1004), 25


def _names(known: tuple[str, ...]) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], tuple[str, ...]]:
    """Return what reads some of the known names; all of them if none is given."""

    def read(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
        chosen = words(ctx, param, values) or known
        for name in chosen:
            if name not in known:
                hint = nearest(name, known) or ","
                raise click.BadParameter(f"{shown(name)} is not known{hint} known: {listed(known)}", ctx, param)
        return chosen

    return read


def _rates(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[float, ...]:
    try:
        rates = tuple(float(word) for word in words(ctx, param, values) or RATES)
    except ValueError:
        rates = ()
    if not rates or not all(0.0 < rate < 0.5 for rate in rates):
        raise click.BadParameter(
            f"{','.join(values)!r} is not a list such as 0.02,0.05 of rates above 0 and below 0.5", ctx, param
        )
    return tuple(dict.fromkeys(rates))


@click.command()
@click.option("--family", "families", multiple=True, callback=_names(FAMILIES), help=_LIST.format(", ".join(FAMILIES)))
@click.option("--method", "methods", multiple=True, callback=_names(METHODS), help=_LIST.format(", ".join(METHODS)))
@click.option("--judge", "judges", multiple=True, callback=_names(JUDGES), help="exact, slips (10 %) or both.")
@click.option("--rate", "rates", multiple=True, callback=_rates, metavar="R,R", help=f"By default {','.join(RATES)}.")
@click.option("--seeds", callback=read_seeds, metavar="A-B", help="Runs of each cell; 1000-1199 is the whole bench.")
@click.option("--parts", type=click.IntRange(2, 1000), default=PARTS, show_default=True, help="Made in each run.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("scrap-out"),
    show_default=True,
    help="Directory of the finished runs; the same command again goes on.",
)
@click.option("--jobs", type=click.IntRange(1, MOST_JOBS), help="Worker processes; by default one for each core.")
@click.option("--show", "show_only", is_flag=True, help="Run nothing: show what is finished.")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of tables.")
def scrap(
    families: tuple[str, ...],
    methods: tuple[str, ...],
    judges: tuple[str, ...],
    rates: tuple[float, ...],
    seeds: tuple[int, ...],
    parts: int,
    out: Path,
    jobs: int | None,
    show_only: bool,
    as_json: bool,
) -> None:
    """Count scrap against the scrap contract, also where the model is wrong, beside other methods.

    By default four runs a cell, some hours; choose cells, or interrupt it: the same command goes on.
    """
    one_blas_thread()
    from tuner.lab.bench.display import printer, progress
    from tuner.lab.bench.scrap.bench import Plan, run_bench
    from tuner.lab.bench.scrap.display import show_scrap

    plan = Plan(families, rates, judges, methods, seeds or tuple(SEEDS), parts)
    found = run_bench(plan, out, jobs=jobs or cores(), progress=progress, show_only=show_only)
    if as_json:
        click.echo(json.dumps(found.to_json(), allow_nan=False))
    else:
        show_scrap(found, printer())
