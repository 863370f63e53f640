"""`tuner bundle`: one file about a campaign for whoever helps, without secrets."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from tuner.basics.sentences import no_campaign
from tuner.basics.text import counted
from tuner.cli.state_option import elsewhere, state_directory, state_option
from tuner.errors import TunerError

_DOCTOR_S = 300.0


@click.command()
@click.argument("campaign", metavar="CAMPAIGN")
@click.option("--to", "target", metavar="FILE", type=click.Path(path_type=Path), help="By default CAMPAIGN.tuner.zip.")
@click.option("--logs", metavar="DIR", type=click.Path(path_type=Path), help="Log files to take the ends of.")
@state_option
def bundle(campaign: str, target: Path | None, logs: Path | None, state: Path | None) -> None:
    """Write one file for support: the campaign's events, terms, versions, the doctor's findings, ends of logs.

    Values that a key calls a secret are left out. Names of people stay: look into it before you send it (it is a zip).
    `tuner replay FILE` computes its proposals again, also elsewhere.
    """
    from tuner.basics.files import check_writable
    from tuner.journal.store import FILE_NAME, Store
    from tuner.tables.bundle import write

    place = target or Path(f"{campaign}.tuner.zip")
    check_writable(place)
    directory = state_directory(state)
    with Store.open_reading(directory / FILE_NAME) as store:
        known = [row.name for row in store.campaigns()]
        if campaign not in known:
            raise TunerError(f"{directory}: {no_campaign(campaign, known)}{elsewhere(state)}")
        rows = list(store.rows(campaign=campaign))
    if logs is not None and not logs.is_dir():
        raise click.UsageError(f"--logs: {logs} is no directory")
    files = sorted(one for one in logs.iterdir() if one.is_file() and not one.is_symlink()) if logs else []
    write(place, campaign, rows, datetime.now(UTC).isoformat(), _doctor(directory), files)
    click.echo(f"{place}: {counted(len(rows), 'event')}, {counted(len(files), 'log file')}")


def _doctor(directory: Path) -> str:
    """What `tuner doctor` says, whatever that is."""
    command = [sys.executable, "-m", "tuner", "doctor", "--state", str(directory)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DOCTOR_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"tuner doctor could not be asked: {error}\n"
    return f"{done.stdout}{done.stderr}exit code {done.returncode}\n"
