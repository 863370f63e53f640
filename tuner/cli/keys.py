"""`tuner keys ...`: who may reach the daemon over the network, and what for."""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from tuner.basics.vocabulary import Role
from tuner.cli.state_option import state_directory, state_option
from tuner.errors import TunerError
from tuner.wire.endpoint import Link
from tuner.wire.key_ring import DIRECTORY, KeyRing
from tuner.wire.keyfiles import SUFFIX


@click.group()
def keys() -> None:
    """Make, list and revoke the keys of clients that connect over tcp.

    The commands work on the files in the state directory; a running daemon notices by itself.
    """


@keys.command()
@click.argument("name")
@click.option("--role", type=click.Choice([str(role) for role in Role]), required=True, help="What the client may do.")
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help=f"Where to write it; default NAME{SUFFIX}."
)
@click.option("--connect", metavar="ENDPOINT", help="Where this client finds the daemon, such as tcp://host:5555.")
@click.option("--events", metavar="ENDPOINT", help="Where it finds the events; default: the daemon says so.")
@state_option
def new(name: str, role: str, out: Path | None, connect: str | None, events: str | None, state: Path | None) -> None:
    """Make a key and write the one file that its client needs.

    The file is a secret: hand it over on a safe way, and keep no copy.
    """
    if connect is not None:
        Link(connect, events)  # says what is wrong with an endpoint before a key is made
    elif events is not None:
        raise click.UsageError("--events needs --connect")
    target = out or Path(f"{name}{SUFFIX}")
    ring = KeyRing.open(state_directory(state))
    key = ring.new(name, Role(role), requests=connect, events=events)
    try:
        key.save(target)
    except TunerError:
        ring.remove_new(name)
        raise
    click.echo(f"{target}: the key of {name}, {role}. It is a secret; use it with --key {target}")
    if connect is None:
        click.echo("It does not say where the daemon is: give --connect ENDPOINT too when you use it.")


@keys.command("list")
@state_option
def list_keys(state: Path | None) -> None:
    """List all keys, also the revoked ones."""
    directory = state_directory(state)
    if not (directory / DIRECTORY).exists():
        click.echo(f"there are no keys in {directory}")
        return
    ring = KeyRing.open(directory, create=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("Name", "Role", "Created", "Revoked", "Public key"):
        table.add_column(title, no_wrap=True)
    for key in ring.list():
        table.add_row(
            key.name, key.role, key.created, key.revoked or "-", key.public, style="dim" if key.revoked else ""
        )
    Console(markup=False, highlight=False, width=None if Console().is_terminal else 160).print(table)
    if ring.problems:
        raise TunerError("\n".join(ring.problems))


@keys.command()
@click.argument("name")
@state_option
def revoke(name: str, state: Path | None) -> None:
    """Accept a key no more, from the next request on."""
    key = KeyRing.open(state_directory(state), create=False).revoke(name)
    click.echo(f"{name}: not accepted since {key.revoked}")
