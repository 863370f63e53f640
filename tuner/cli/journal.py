"""`tuner journal`: look at the journal, check it, copy it; all but `restore` only read, also while the daemon runs."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import takewhile
from pathlib import Path
from typing import cast

import click
from click.core import ParameterSource

from tuner.basics.files import whole_file
from tuner.basics.text import counted, nearest, shown
from tuner.cli.anchors import check_anchors
from tuner.cli.doctor_checks import unreadable
from tuner.cli.state_option import state_directory, state_option
from tuner.errors import TunerError
from tuner.journal import backup as backups
from tuner.journal import export as exports
from tuner.journal.store import FILE_NAME, Store

Progress = Callable[[int, int], None]

_PLAIN_WIDTH = 140  # where there is no terminal to fit into
_PATH = click.Path(path_type=Path)


@click.group()
def journal() -> None:
    """Look at the journal of all campaigns, check it, copy it."""


def _found(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
    return None if file is None else file.expanduser().absolute()


_journal = click.option("--journal", "file", type=_PATH, callback=_found, help="The journal's file, or a backup.")
_campaign = click.option("--campaign", metavar="NAME", help="Only the events of this campaign.")
_after = click.option("--after", type=click.IntRange(0), metavar="EVENT", help="Only events after this number.")


def _place(state: Path | None, file: Path | None = None) -> Path:
    if file is None:
        return state_directory(state) / FILE_NAME
    if click.get_current_context().get_parameter_source("state") is ParameterSource.COMMANDLINE:
        raise click.UsageError("give --state or --journal, not both")
    return file


@contextmanager
def _progress(what: str) -> Iterator[Progress | None]:
    """Show a bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def _hash(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    if text is not None and not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise click.BadParameter("a hash has 64 characters from 0-9 and a-f")
    return text and text.lower()


@journal.command()
@state_option
@_journal
@click.option("--expect-head", metavar="HASH", callback=_hash, help="A hash that was written down elsewhere.")
@click.option(
    "--anchor", metavar="FILE", type=_PATH, callback=_found, help="The anchors that the daemon wrote elsewhere."
)
def verify(state: Path | None, file: Path | None, expect_head: str | None, anchor: Path | None) -> None:
    """Check every event and reply, the tables and the file, and read all campaigns; exit code 1 if something is wrong.

    Write the printed hash down in another place from time to time: with --expect-head even a journal that was
    written anew as a whole is found. The daemon does that by itself where anchor_file is configured: --anchor.
    """
    path = _place(state, file)
    with Store.open_reading(path) as store:
        with _progress("verifying") as progress:
            verdict = store.verify(progress, expect_head=expect_head)
        faults = unreadable(store) if verdict.ok else {}
    if not verdict.ok:
        raise TunerError(f"{path}: {verdict.fault}\n{counted(verdict.events, 'event')} before that follow each other")
    if faults:
        lines = [f"campaign {name}: {why}" for name, why in faults.items()]
        raise TunerError(
            f"{path}: {counted(verdict.events, 'event')} follow each other, but {counted(len(faults), 'campaign')} "
            "cannot be read:\n" + "\n".join(lines)
        )
    click.echo(f"{path}: ok: {counted(verdict.events, 'event')}\nhead: {verdict.head[1]}")
    if anchor is not None:
        click.echo(check_anchors(path, anchor))


def _check_campaign(store: Store, campaign: str | None) -> None:
    known = [row.name for row in store.campaigns()] if campaign is not None else []
    if campaign is not None and campaign not in known:
        raise TunerError(f"the journal has no campaign {shown(campaign)}{nearest(campaign, known)}")


@journal.command()
@state_option
@_journal
@_campaign
@_after
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many events.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
def show(
    state: Path | None, file: Path | None, campaign: str | None, after: int | None, limit: int, as_json: bool
) -> None:
    """Show the newest events, or those after an event, oldest first."""
    with Store.open_reading(_place(state, file)) as store:
        _check_campaign(store, campaign)
        if after is None:
            rows = store.page(campaign, None, limit)[::-1]
        else:
            rows = list(store.rows(campaign=campaign, after=after, limit=limit))
    if as_json:
        for row in rows:
            click.echo(exports.json_line(row))
        return
    from rich.console import Console

    console = Console()
    (console if console.is_terminal else Console(width=_PLAIN_WIDTH)).print(exports.table(rows))


@journal.command()
@state_option
@_journal
@_campaign
@_after
@click.option("--format", "format_", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.argument("target", metavar="[FILE]", default="-", type=click.Path(allow_dash=True))
def export(
    state: Path | None, file: Path | None, campaign: str | None, after: int | None, format_: str, target: str
) -> None:
    """Write events to a file or, without one, to standard output."""
    with Store.open_reading(_place(state, file)) as store:
        # up to the head of this moment: a busy daemon must not keep the export from ending
        last = store.head[0]
        rows = takewhile(lambda row: row.seq <= last, store.rows(campaign=campaign, after=after or 0))
        with click.open_file("-", "wb") if target == "-" else whole_file(Path(target)) as binary:
            text = TextIOWrapper(binary, encoding="utf-8", newline="")
            count = exports.write(rows, text, cast("exports.Format", format_))
            text.detach()
    if target != "-":
        click.echo(f"{target}: {counted(count, 'event')}")


@journal.command()
@state_option
@_journal
@click.argument("target", type=_PATH, callback=_found)
def backup(state: Path | None, file: Path | None, target: Path) -> None:
    """Write a checked copy of the journal to a new file."""
    with Store.open_reading(_place(state, file)) as store:
        info = store.backup(target)
    click.echo(f"{info.path}: {counted(info.seq, 'event')}, {info.size_bytes} bytes\nhead: {info.hash}")


@journal.command()
@state_option
@click.argument("source", metavar="BACKUP", type=_PATH, callback=_found)
def restore(state: Path | None, source: Path) -> None:
    """Check a backup and put it in the place of a journal that is gone; the daemon must not run."""
    with _progress("checking") as progress:
        info = backups.restore(source, _place(state), progress)
    click.echo(f"{info.path}: {counted(info.seq, 'event')}\nhead: {info.hash}")
