"""The one way to name a state directory: `--state`, else `TUNER_STATE`, else where the daemon keeps it by itself."""

import os
from pathlib import Path

import click

VARIABLE = "TUNER_STATE"

state_option = click.option(
    "--state",
    envvar=VARIABLE,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help=f"State directory of the daemon on this machine; else {VARIABLE} names it.",
)


def state_directory(state: Path | None) -> Path:
    """The directory that the option means."""
    from tuner.config.daemon import Daemon, places  # only now: `--help` must not load all of the configuration

    return places(Daemon(state_directory=state), os.environ, Path.home()).state_directory
