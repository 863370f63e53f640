"""The one way to name a state directory: `--state`, else `TUNER_STATE`, else where the daemon keeps it by itself."""

import os
from pathlib import Path

import click

from tuner.basics.places import places

VARIABLE = "TUNER_STATE"

state_option = click.option(
    "--state",
    envvar=VARIABLE,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help=f"State directory of the daemon on this machine; else {VARIABLE} names it.",
)


def elsewhere(state: Path | None) -> str:
    """What to add where something was not found in the directory that nobody named."""
    return "" if state is not None else f". Is it in another state directory? Name it with --state DIR or {VARIABLE}"


def state_directory(state: Path | None) -> Path:
    """The directory that the option means."""
    return places(os.environ, Path.home(), state).state_directory
