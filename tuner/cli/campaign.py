"""`tuner campaign ...`: what people do with a campaign, from the command line."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tuner.cli.connection import connected
from tuner.config import load_config
from tuner.errors import TunerError
from tuner.wire import calls
from tuner.wire.calls import Call
from tuner.wire.client import Client
from tuner.wire.messages import EventsAfter

F = TypeVar("F", bound=Callable[..., Call[EventsAfter]])

NUMBER = click.IntRange(1, 2**31)
name_argument = click.argument("name", metavar="CAMPAIGN")
trial_argument = click.argument("trial", type=NUMBER)
reason_option = click.option("--reason", default="", help="Why, for the record.")
needed_reason = click.option("--reason", required=True, help="Why, for the record.")


@click.group()
def campaign() -> None:
    """Start, pause, stop and correct campaigns of a running daemon.

    \b
    Every command is done once only. If no answer came, repeat it with the --id that the error names.
    """  # noqa: D301 - \b is click's mark for text that must not be wrapped


def order(done: str) -> Callable[[F], Callable[..., None]]:
    """Make a command of a function that returns a call; `done` says what was done, with the options' names in it."""

    def decorate(function: F) -> Callable[..., None]:
        @connected
        @click.option("--id", "request_id", metavar="ID", help="Ask again for what got no answer, by its id.")
        @functools.wraps(function)
        def command(client: Client, request_id: str | None, **kwargs: Any) -> None:
            call = function(**kwargs)
            answer = client.call(call, request_id=request_id)
            click.echo(f"{done.format(**kwargs)} (event {answer.n})")

        return command

    return decorate


@campaign.command()
@name_argument
@order("{name}: started")
def start(name: str) -> Call[EventsAfter]:
    """Begin tuning, or begin again after a stop."""
    return calls.start(name)


@campaign.command()
@name_argument
@reason_option
@order("{name}: held")
def hold(name: str, reason: str) -> Call[EventsAfter]:
    """Pause: the part under way is finished, nothing more is sent."""
    return calls.hold(name, reason)


@campaign.command()
@name_argument
@order("{name}: resumed")
def resume(name: str) -> Call[EventsAfter]:
    """Go on after a pause."""
    return calls.resume(name)


@campaign.command()
@name_argument
@reason_option
@order("{name}: stopped; the machine goes to its known-good setting")
def stop(name: str, reason: str) -> Call[EventsAfter]:
    """Stop tuning: finish the part under way, then bring the machine home."""
    return calls.stop(name, reason)


@campaign.command()
@name_argument
@reason_option
@order("{name}: aborted; the machine is sent nothing more")
def abort(name: str, reason: str) -> Call[EventsAfter]:
    """Let go of the machine at once; it is not even brought home."""
    return calls.abort(name, reason)


@campaign.command()
@name_argument
@order("{name}: the machine goes to its known-good setting")
def home(name: str) -> Call[EventsAfter]:
    """Bring the machine to its known-good setting; only while it is not tuning."""
    return calls.go_home(name)


@campaign.command()
@click.argument("config", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@order("{config}: created")
def create(config: Path) -> Call[EventsAfter]:
    """Create the campaign of a configuration file, which must have exactly one.

    The daemon takes it only with `create_over_wire = true` in its table [daemon]; else they come from its own files.
    """
    load_config(config)  # errors with file and line come from here
    try:
        return calls.create(config.read_text("utf-8-sig"))
    except OSError as error:
        raise TunerError(f"{config} cannot be read: {error.strerror}") from None


@campaign.command()
@name_argument
@click.argument("lot", metavar="LOT")
@order("{name}: the material is lot {lot} from now on")
def lot(name: str, lot: str) -> Call[EventsAfter]:
    """The material is another one from now on."""
    return calls.change_lot(name, lot)


@campaign.command()
@name_argument
@trial_argument
@order("{name}: trial {trial} approved")
def approve(name: str, trial: int) -> Call[EventsAfter]:
    """Allow the proposed setting to be sent."""
    return calls.approve(name, trial)


@campaign.command()
@name_argument
@trial_argument
@needed_reason
@order("{name}: trial {trial} rejected")
def reject(name: str, trial: int, reason: str) -> Call[EventsAfter]:
    """Forbid the proposed setting; another one will be proposed."""
    return calls.reject(name, trial, reason)


@campaign.command()
@name_argument
@trial_argument
@click.argument("what", type=click.Choice(["valid", "non-valid"]))
@reason_option
@order("{name}: trial {trial} is {what}")
def outcome(name: str, trial: int, what: str, reason: str) -> Call[EventsAfter]:
    """Say whether a trial made a part that can be judged, or correct it."""
    return calls.tell_outcome(name, trial, what == "valid", reason)


@campaign.command()
@name_argument
@trial_argument
@needed_reason
@order("{name}: trial {trial} is left out of account")
def exclude(name: str, trial: int, reason: str) -> Call[EventsAfter]:
    """Leave a trial and everything said about it out of account."""
    return calls.exclude(name, trial, reason)


@campaign.command()
@name_argument
@trial_argument
@order("{name}: trial {trial} will be made again")
def repeat(name: str, trial: int) -> Call[EventsAfter]:
    """Make a part again at the setting of an old trial."""
    return calls.repeat(name, trial)


@campaign.command()
@name_argument
@click.argument("duel", type=NUMBER)
@click.argument("winner", type=NUMBER)
@order("{name}: in duel {duel} trial {winner} is better")
def judge(name: str, duel: int, winner: int) -> Call[EventsAfter]:
    """Say which trial of a duel made the better part."""
    return calls.judge(name, duel, winner)


@campaign.command()
@name_argument
@click.argument("duel", type=NUMBER)
@order("{name}: duel {duel} cannot be told")
def tie(name: str, duel: int) -> Call[EventsAfter]:
    """Say that neither part of a duel can be told to be better."""
    return calls.tie(name, duel)


@campaign.command()
@name_argument
@click.argument("judgment", type=NUMBER)
@reason_option
@order("{name}: judgment {judgment} is taken back")
def retract(name: str, judgment: int, reason: str) -> Call[EventsAfter]:
    """Take a judgment back."""
    return calls.retract(name, judgment, reason)
