"""`tuner security`: look at the security events and check them; both only read, also while the daemon runs."""

from collections import deque
from pathlib import Path

import click

from tuner.basics.text import counted
from tuner.cli.state_option import state_directory, state_option
from tuner.journal import security as events
from tuner.journal.chain import GENESIS

_NONE = "there are no security events yet: the daemon writes them from its first start on"


@click.group()
def security() -> None:
    """Look at the security events: refused keys, denied roles, changes of keys and configuration, clock, restarts."""


@security.command()
@state_option
@click.option("--category", metavar="NAME", help="Only events of this category, such as key, role or keys.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many events.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
def show(state: Path | None, category: str | None, limit: int, as_json: bool) -> None:
    """Show the newest events, oldest first; they are checked on the way."""
    path = state_directory(state) / events.FILE_NAME
    if not path.exists():
        click.echo(_NONE, err=True)
        return
    found = deque((one for one in events.read(path) if category in (None, one.category)), maxlen=limit)
    for one in found:
        if as_json:
            click.echo(events.line_of(one))
            continue
        times = f"  {one.count} times" if one.count > 1 else ""
        click.echo(f"{one.at}  {one.category} {one.result}  {one.source}{times}{'  ' + one.text if one.text else ''}")


@security.command()
@state_option
def verify(state: Path | None) -> None:
    """Check that each event follows from the one before it; exit code 1 if one was changed, added or removed.

    Events that are missing at the end are found by anchors only: `tuner journal verify --anchor FILE`.
    """
    path = state_directory(state) / events.FILE_NAME
    if not path.exists():
        click.echo(_NONE, err=True)
        return
    count, head = 0, GENESIS
    for one in events.read(path):
        count, head = one.seq, one.hash
    click.echo(f"{path}: ok: {counted(count, 'event')}\nhead: {head}")
