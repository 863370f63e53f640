"""`tuner doctor`: looks at the whole installation and tells in one line each what is right and what is not."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import click

from tuner.basics.places import places
from tuner.cli import doctor_checks, doctor_files
from tuner.cli.doctor_checks import Finding
from tuner.cli.state_option import state_option
from tuner.config import Config
from tuner.config.daemon import Daemon
from tuner.wire.client import Client

_COLOURS = {"ok": "green", "warn": "yellow", "bad": "red"}


@click.command()
@click.argument("configs", nargs=-1, type=click.Path(path_type=Path), metavar="[CONFIG]...")
@state_option
@click.option("--files/--no-files", default=True, help="Compare the installed files with their hashes.")
@click.option("--machines/--no-machines", default=True, help="Ask the machines of the configurations how they are.")
@click.option(
    "--deadline", "deadline_s", type=click.FloatRange(0.1), default=10.0, show_default=True, metavar="SECONDS"
)
@click.pass_context
def doctor(
    context: click.Context, configs: Sequence[Path], state: Path | None, files: bool, machines: bool, deadline_s: float
) -> None:
    """Check the program's files, configuration, state, keys, journal, disk, clock, sockets, daemon and machines.

    Nothing is changed and no machine is moved. Exit code 1 if something is bad.
    """
    bad = 0
    for finding in chain(doctor_files.program() if files else (), examine(configs, state, machines, deadline_s)):
        bad += finding.level == "bad"
        level = click.style(f"{finding.level:4}", fg=_COLOURS[finding.level])
        click.echo(f"{level}  {finding.what}: {finding.text}")
    if bad:
        context.exit(1)


def examine(paths: Sequence[Path], state: Path | None, machines: bool, deadline_s: float) -> Iterator[Finding]:
    """Everything that is found, in the order in which it is best put right."""
    yield from doctor_files.adapters()
    good, findings = doctor_checks.configs(paths)
    yield from findings
    settings = _daemon_table(good, state)
    there = places(os.environ, Path.home(), settings.state_directory, settings.requests, settings.events)
    local = places(os.environ, Path.home(), there.state_directory)
    campaigns = [campaign for config in good for campaign in config.campaigns]
    now = datetime.now(UTC)
    yield from doctor_checks.state_directory(there.state_directory)
    yield from doctor_checks.keys(there.state_directory, there)
    yield from doctor_checks.disk(there.state_directory)
    yield from doctor_checks.journal(there.state_directory, now)
    yield from doctor_checks.clock(campaigns, now)
    found = list(doctor_checks.sockets(there if there.requests.startswith("ipc://") else local))
    yield from found
    running = False
    if not any(finding.level == "bad" for finding in found):
        endpoint = there.requests if there.requests.startswith("ipc://") else local.requests
        with Client.connect(endpoint) as client:
            running, finding = doctor_checks.daemon(client)
        yield finding
    if running and campaigns:
        yield Finding("ok", "machines", "not asked: the daemon speaks with them; see `tuner status`")
    elif machines:
        yield from doctor_checks.machines(campaigns, deadline_s)


def _daemon_table(configs: Sequence[Config], state: Path | None) -> Daemon:
    """The table [daemon] that counts: only one file may have it."""
    table = next((config.daemon for config in configs if "daemon" in config.model_fields_set), Daemon())
    return table if state is None else table.model_copy(update={"state_directory": state.absolute()})
