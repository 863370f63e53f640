"""Options of the commands that do many runs: seeds, names, worker processes, a Dask cluster."""

import os
import re
from collections.abc import Callable
from typing import Any

import click

LARGEST_SEED = 2**31
MOST_SEEDS = 100_000
MOST_JOBS = 256
_WORKERS = "tuner.workers"
_SEEDS = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")


def seeds(_: click.Context | None, __: click.Parameter | None, value: str | None) -> tuple[int, ...]:
    """Read seeds such as 0-49 or 3,7,10-12; none if none are given."""
    found: list[int] = []
    for word in [] if value is None else value.split(","):
        match = _SEEDS.fullmatch(word.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if not match or last < first or last > LARGEST_SEED:
            raise click.BadParameter(f"{value!r} is not a list of seeds such as 0-49 or 3,7,10-12")
        if len(found) + last - first >= MOST_SEEDS:
            raise click.BadParameter(f"{value!r} is more than {MOST_SEEDS} seeds")
        found += range(first, last + 1)
    return tuple(dict.fromkeys(found))


def words(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Read what is comma separated, given several times, or both; nothing twice."""
    return tuple(dict.fromkeys(word.strip() for value in values for word in value.split(",") if word.strip()))


def cores() -> int:
    """As many worker processes as this process may use cores, which may be fewer than the host has."""
    return min(len(os.sched_getaffinity(0)), MOST_JOBS)


def jobs_option(*, most: int | None = MOST_JOBS, **how: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--jobs` of a command that took `--workers` up to 0.2.0, which is accepted until 0.5.0."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        kind = click.IntRange(1, most)
        old = click.option("--workers", type=kind, hidden=True, expose_value=False, is_eager=True, callback=_workers)
        return click.option("--jobs", type=kind, callback=_jobs, **how)(old(command))

    return add


def _workers(ctx: click.Context, _: click.Parameter, value: int | None) -> None:
    if value is not None:
        click.echo("Warning: --workers is called --jobs now, and goes away in 0.5.0", err=True)
        ctx.meta[_WORKERS] = value


def _jobs(ctx: click.Context, param: click.Parameter, value: int) -> int:
    given = ctx.get_parameter_source(str(param.name)) is click.core.ParameterSource.COMMANDLINE
    return value if given else ctx.meta.get(_WORKERS, value)


def scheduler(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Refuse what is no address: Dask would look for a host of that name, and without any we would run here."""
    if value is not None and not re.fullmatch(r"\w+://\S+:[0-9]+", value):
        raise click.BadParameter(f"{value!r} is no address such as tcp://host:8786")
    return value
