"""`tuner campaign ...`: what people do with a campaign, from the command line; made from the table of operations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tuner.cli.connection import connected
from tuner.errors import TunerError
from tuner.wire.client import Client
from tuner.wire.messages import EventsAfter
from tuner.wire.operation import AnyOperation, Call, as_sentence
from tuner.wire.operations import Operations

NUMBER = click.IntRange(1, 2**31)
_VALID, _NOT_VALID = "valid", "non-valid"
_LEFT_OUT = frozenset({"took_s"})  # only a console knows

# command -> (operation, what is told when it was done, with the arguments' names)
ORDERS: dict[str, tuple[AnyOperation, str]] = {
    "start": (Operations.start, "{campaign}: started"),
    "hold": (Operations.hold, "{campaign}: held"),
    "resume": (Operations.resume, "{campaign}: resumed"),
    "stop": (Operations.stop, "{campaign}: stopped; the machine goes to its known-good setting"),
    "abort": (Operations.abort, "{campaign}: aborted; the machine is sent nothing more"),
    "home": (Operations.go_home, "{campaign}: the machine goes to its known-good setting"),
    "confirm": (Operations.confirm_change, "{campaign}: change {change} was made by hand"),
    "lot": (Operations.change_lot, "{campaign}: the material is lot {lot} from now on"),
    "approve": (Operations.approve, "{campaign}: trial {trial} approved"),
    "reject": (Operations.reject, "{campaign}: trial {trial} rejected"),
    "outcome": (Operations.tell_outcome, "{campaign}: trial {trial} is {valid}"),
    "exclude": (Operations.exclude, "{campaign}: trial {trial} is left out of account"),
    "repeat": (Operations.repeat, "{campaign}: trial {trial} will be made again"),
    "judge": (Operations.judge, "{campaign}: in duel {duel} trial {winner} is better"),
    "tie": (Operations.tie, "{campaign}: duel {duel} cannot be told"),
    "freeze": (Operations.freeze, "{campaign}: {parameter} is kept at {value}"),
    "narrow": (Operations.narrow, "{campaign}: {parameter} is narrowed"),
    "free": (Operations.free, "{campaign}: {parameter} is not restricted any more"),
    "acknowledge": (Operations.acknowledge, "{campaign}: alarm {alarm} is acknowledged"),
    "ask-again": (Operations.look_again, "{campaign}: the parts of judgment {judgment} will be compared again"),
    "retract": (Operations.retract, "{campaign}: judgment {judgment} is taken back"),
}


@click.group()
def campaign() -> None:
    """Start, pause, stop and correct campaigns of a running daemon.

    \b
    Every command is done once only. If no answer came, repeat it with the --id that the error names.
    """  # noqa: D301 - \b is click's mark for text that must not be wrapped


def _sent(call: Callable[..., Call[EventsAfter]], done: str) -> Callable[..., None]:
    """A command that sends the call of its arguments and tells that it was done."""

    @connected
    @click.option("--id", "request_id", metavar="ID", help="Ask again for what got no answer, by its id.")
    def command(client: Client, request_id: str | None, **given: Any) -> None:
        answer = client.call(call(**given), request_id=request_id)
        flags = "".join(f", {name}" for name, value in given.items() if value is True)
        click.echo(f"{done.format(**given)}{flags} (event {answer.n})")

    return command


def _parameter(operation: AnyOperation, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A field of the body as an argument or option."""
    field = operation.body.model_fields[name]
    if name == "reason":
        text = as_sentence(field.description)
        if field.is_required():  # a default, be it None, would do for what is required
            return click.option("--reason", required=True, help=text)
        return click.option("--reason", default=field.default, help=text)
    if field.annotation is bool and not field.is_required():
        return click.option(f"--{name}", is_flag=True, help=as_sentence(field.description))
    if name == "options":
        text = "An option that is allowed; give it for each."
        return click.option("--option", "options", multiple=True, metavar="TEXT", help=text)
    if not field.is_required():
        metavar = "TIME" if name == "until" else "VALUE"
        return click.option(f"--{name}", metavar=metavar, help=as_sentence(field.description))
    if name == "valid":
        return click.argument(name, type=click.Choice([_VALID, _NOT_VALID]))
    return click.argument(name, type=NUMBER) if field.annotation is int else click.argument(name, metavar=name.upper())


def _add(name: str, operation: AnyOperation, done: str) -> None:
    def call(**given: Any) -> Call[EventsAfter]:
        return operation(**{field: value == _VALID if field == "valid" else value for field, value in given.items()})

    command = _sent(call, done)
    for field in reversed([field for field in operation.body.model_fields if field not in _LEFT_OUT]):
        command = _parameter(operation, field)(command)
    command = click.argument("campaign", metavar="CAMPAIGN")(command)
    campaign.command(name, help=operation.about)(command)


for _name, (_operation, _done) in ORDERS.items():
    _add(_name, _operation, _done)


def _created(config: Path) -> Call[EventsAfter]:
    from tuner.config import load_config  # only now: no other command here needs the configuration's models

    load_config(config)  # errors with file and line come from here
    try:
        return Operations.create(config.read_text("utf-8-sig"))
    except OSError as error:
        raise TunerError(f"{config} cannot be read: {error.strerror}") from None


campaign.command(
    "create",
    help="""Create the campaign of a configuration file, which must have exactly one.

    The daemon takes it only with `create_over_wire = true` in its table [daemon]; else they come from its own files.
    """,
)(
    click.argument("config", type=click.Path(path_type=Path, dir_okay=False, exists=True))(
        _sent(_created, "{config}: created")
    )
)
