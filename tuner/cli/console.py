"""The commands `tuner console`, `tuner ask` and `tuner handover`."""

import functools
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tuner.cli.connection import found, typed_first

if TYPE_CHECKING:
    from tuner.wire.endpoint import Link

F = TypeVar("F", bound=Callable[..., Any])


def linked(function: F) -> F:
    """The options by which a console finds the daemon; the command gets a `Link` as its first argument."""

    @found
    @click.option("--campaign", envvar="TUNER_CAMPAIGN", metavar="NAME", help="Which campaign; default: the only one.")
    @click.option("--language", metavar="LANGUAGE", help="en, de, es or zh; default: the environment's.")
    @functools.wraps(function)
    def command(*args: Any, connect: str | None, key: Path | None, state: Path | None, **kwargs: Any) -> Any:
        from tuner.wire.client import Client

        where, key, state = typed_first(connect, key, state)
        client = Client.local(state) if where is None and key is None else Client.connect(where, key=key)
        return function(client.link, *args, **kwargs)

    return command  # type: ignore[return-value]


def operator_option(function: F) -> F:
    """Who is signed in from the start."""
    return click.option(
        "--operator", envvar="TUNER_OPERATOR", metavar="NAME", help="Who you are; default: you are asked."
    )(function)


def signed_in(operator: str | None) -> str | None:
    """A name that the journal takes."""
    from tuner.basics.text import on_one_line
    from tuner.console.requests import NAME_LENGTH, CannotError, person

    if len(on_one_line(operator or "")) > NAME_LENGTH:
        raise click.UsageError(f"an operator's name has {NAME_LENGTH} characters at most")
    try:
        return person(operator or "") or None
    except CannotError as error:
        raise click.UsageError(f"{operator} is not a name for a person: {error.__cause__}") from None


def need_terminal(environ: Mapping[str, str]) -> None:
    """Refuse to paint where nobody would see it or no key would ever come."""
    instead = "`tuner ask` is the console in plain lines"
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        raise click.UsageError(f"the console needs a terminal for its keys and its screen; {instead}")
    if environ.get("TERM") == "dumb":
        raise click.UsageError(f"a terminal of the kind TERM=dumb cannot show the screen; {instead}")


@click.command()
@linked
@operator_option
@click.pass_context
def console(
    context: click.Context,
    link: "Link",
    campaign: str | None,
    language: str | None,
    operator: str | None,
) -> None:
    """Compare parts and watch the machine: the operator's console."""
    from tuner.console.language import choose_language

    chosen = choose_language(language)
    need_terminal(os.environ)
    from tuner.console.screen.app import ConsoleApp
    from tuner.console.ui import Options
    from tuner.wire.aio import AsyncClient

    app = ConsoleApp(lambda: AsyncClient(link), Options(chosen, signed_in(operator), campaign))
    app.run()
    if app.return_code:
        context.exit(app.return_code)


@click.command()
@linked
@operator_option
def ask(link: "Link", campaign: str | None, language: str | None, operator: str | None) -> None:
    """Compare parts in plain lines, for serial terminals and screen readers."""
    from tuner.console.language import choose_language
    from tuner.console.lines import run_lines
    from tuner.console.ui import Options

    run_lines(link, Options(choose_language(language), signed_in(operator), campaign))


@click.command()
@linked
@click.option(
    "--hours", default=8.0, show_default=True, type=click.FloatRange(0, 24 * 366, min_open=True), help="How far back."
)
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write a page as well.")
def handover(link: "Link", campaign: str | None, language: str | None, hours: float, html: Path | None) -> None:
    """Print the shift handover: what was tried, the champion, what is pending, what was undone and why."""
    from tuner.console.handover import run_handover
    from tuner.console.language import choose_language

    run_handover(link, choose_language(language), campaign, hours, html)
