"""The options by which commands find the daemon, as one decorator."""

import functools
import getpass
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from tuner.basics.names import LONGEST, NameProblemError, person_name
from tuner.cli.state_option import state_option
from tuner.wire.client import Client

F = TypeVar("F", bound=Callable[..., Any])
_FIND_S = 3.0  # a person waits: where no daemon is, none will be in a moment


def connected(function: F) -> F:
    """Give a command the options and, as its first argument, a client that is closed afterwards."""

    @click.option("--connect", envvar="TUNER_CONNECT", metavar="ENDPOINT", help="Where the daemon answers requests.")
    @click.option(
        "--key",
        envvar="TUNER_KEY",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Key file; needed over tcp, see `tuner keys new`.",
    )
    @state_option
    @click.option("--actor", envvar="TUNER_ACTOR", metavar="NAME", help="Who you are, for the journal.")
    @functools.wraps(function)
    def command(
        *args: Any, connect: str | None, key: Path | None, state: Path | None, actor: str | None, **kwargs: Any
    ) -> Any:
        with open_client(connect, key, state, actor) as client:
            return function(client, *args, **kwargs)

    return command  # type: ignore[return-value]


def open_client(connect: str | None, key: Path | None, state: Path | None, actor: str | None) -> Client:
    """A client as the options say; what was typed goes before what the environment says."""
    if state is not None and (connect is not None or key is not None):
        typed = _typed()
        if "state" not in typed:
            state = None
        elif not typed & {"connect", "key"}:
            connect = key = None
        else:
            raise click.UsageError("give either --state, for a daemon on this machine, or --connect and --key")
    if connect is None and key is None:
        return Client.local(state, actor=actor or login_name(), find_s=_FIND_S)
    who = actor or (login_name() if key is None else None)
    return Client.connect(connect, key=key, actor=who, find_s=_FIND_S)


def login_name() -> str | None:
    """Who is logged in; None where that is not known or no name for a person, such as the daemon's own user."""
    try:
        return person_name(getpass.getuser()[:LONGEST])
    except (OSError, KeyError, ImportError, NameProblemError):
        return None


def _typed() -> set[str]:
    context = click.get_current_context()
    return {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
