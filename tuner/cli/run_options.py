"""Options of the commands that do many runs: seeds, worker processes, a Dask cluster."""

import re

import click

LARGEST_SEED = 2**31
MOST_SEEDS = 100_000
MOST_JOBS = 256
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


def scheduler(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Refuse what is no address: Dask would look for a host of that name, and without any we would run here."""
    if value is not None and not re.fullmatch(r"\w+://\S+:[0-9]+", value):
        raise click.BadParameter(f"{value!r} is no address such as tcp://host:8786")
    return value
