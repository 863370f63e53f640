"""`tuner people ...`: who may sign in with PIN or badge, and who is signed in."""

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from tuner.basics.vocabulary import Role
from tuner.cli.connection import connected

if TYPE_CHECKING:
    from tuner.wire.client import Client
    from tuner.wire.people import PeopleBody, SessionsBody

_ROLES = [Role.VIEWER.value, Role.OPERATOR.value, Role.ENGINEER.value]
_LANGUAGES = ["en", "de", "es", "zh"]


@click.group()
def people() -> None:
    """Who may sign in with PIN or badge: the daemon keeps them, for the page, the console and `tuner ask`."""


def _secret(question: str, *, twice: bool) -> str:
    """A secret from the terminal, unseen, or the first line of the input; never from the command line."""
    if sys.stdin.isatty():
        return str(click.prompt(question, hide_input=True, confirmation_prompt=twice))
    line = sys.stdin.readline().strip()
    if not line:
        raise click.UsageError(f"the {question} is read from the terminal, or from the first line of the input")
    return line


@people.command()
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), default=Role.OPERATOR.value, show_default=True)
@click.option("--language", type=click.Choice(_LANGUAGES), default=None, help="Of the page; default: the browser's.")
@click.option("--badge", is_flag=True, help="With a badge instead of a PIN: hold it to the reader when asked.")
@connected
def add(client: "Client", name: str, role: str, language: str | None, badge: bool) -> None:
    """Let NAME sign in; the PIN is asked for, or read from the first line of the input."""
    secret = _secret("badge" if badge else "PIN", twice=not badge)
    pin, code = (None, secret) if badge else (secret, None)
    _show(client.add_person(name, Role(role), language or "", pin, code))


@people.command(name="list")
@connected
def list_(client: "Client") -> None:
    """List everybody, also who may sign in no more."""
    _show(client.list_people())


@people.command()
@click.argument("name")
@click.option("--enable", is_flag=True, help="Let the person sign in again.")
@connected
def disable(client: "Client", name: str, enable: bool) -> None:
    """Let NAME sign in no more; who is signed in is signed out."""
    _show(client.disable_person(name, not enable))


@people.command()
@click.argument("name")
@connected
def pin(client: "Client", name: str) -> None:
    """Give NAME another PIN."""
    _show(client.set_pin(name, _secret("PIN", twice=True)))


@people.command()
@click.argument("name")
@click.option("--take-away", is_flag=True, help="NAME has no badge any more.")
@connected
def badge(client: "Client", name: str, take_away: bool) -> None:
    """Give NAME another badge."""
    _show(client.set_badge(name, None if take_away else _secret("badge", twice=False)))


@people.command()
@click.option("--end", type=click.IntRange(1), metavar="NUMBER", help="Sign somebody out.")
@connected
def sessions(client: "Client", end: int | None) -> None:
    """List who is signed in and where, or end a session."""
    body: SessionsBody = client.list_sessions() if end is None else client.end_session(end)
    if not body.sessions:
        click.echo("nobody is signed in")
        return
    rows = [
        (str(one.number), one.name, one.role, one.via or "-", _time(one.opened_at), _time(one.used_at))
        for one in body.sessions
    ]
    _print(("Number", "Name", "Role", "By key", "Since", "Last did something"), rows)


def _show(body: "PeopleBody") -> None:
    if not body.people:
        click.echo("there is nobody yet: tuner people add NAME --role engineer")
        return
    rows = [
        (
            one.name,
            one.role,
            one.language or "-",
            _yes(one.pin),
            _yes(one.badge),
            _time(one.since),
            _yes(not one.disabled),
        )
        for one in body.people
    ]
    _print(("Name", "Role", "Language", "PIN", "Badge", "Since", "May sign in"), rows)


def _print(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False, width=None if Console().is_terminal else 160).print(table)


def _yes(there: bool) -> str:
    return "yes" if there else "no"


def _time(at: str) -> str:
    """A moment where the reader is."""
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M}"
