"""The options by which commands find the daemon, as decorators."""

import functools
import getpass
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from tuner.basics.names import LONGEST, NameProblemError, person_name
from tuner.cli.state_option import state_option

if TYPE_CHECKING:
    from tuner.wire.client import Client

F = TypeVar("F", bound=Callable[..., Any])
_FIND_S = 3.0  # a person waits: where no daemon is, none will be in a moment


def found(function: F) -> F:
    """Give a command the options --connect, --key and --state."""
    connect = click.option(
        "--connect", envvar="TUNER_CONNECT", metavar="ENDPOINT", help="Where the daemon answers requests."
    )
    key = click.option(
        "--key",
        envvar="TUNER_KEY",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Key file; needed over tcp, see `tuner keys new`.",
    )
    return connect(key(state_option(function)))


def connected(function: F) -> F:
    """Give a command these options and, as its first argument, a client that is closed afterwards."""

    @found
    @click.option("--actor", envvar="TUNER_ACTOR", metavar="NAME", help="Who you are, for the journal.")
    @functools.wraps(function)
    def command(
        *args: Any, connect: str | None, key: Path | None, state: Path | None, actor: str | None, **kwargs: Any
    ) -> Any:
        with open_client(connect, key, state, actor) as client:
            return function(client, *args, **kwargs)

    return command  # type: ignore[return-value]


def typed_first(
    connect: str | None, key: Path | None, state: Path | None
) -> tuple[str | None, Path | None, Path | None]:
    """The options that count: what was typed goes before what the environment says."""
    if state is None or (connect is None and key is None):
        return connect, key, state
    if not _typed("state"):
        return connect, key, None
    if _typed("connect") or _typed("key"):
        raise click.UsageError("give either --state, for a daemon on this machine, or --connect and --key")
    return None, None, state


def open_client(connect: str | None, key: Path | None, state: Path | None, actor: str | None) -> "Client":
    """A client as the options say; without any, of the daemon on this machine."""
    from tuner.wire.client import Client

    connect, key, state = typed_first(connect, key, state)
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


def _typed(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE
