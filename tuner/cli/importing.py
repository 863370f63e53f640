"""`tuner import`: lets the model of a campaign know what an earlier one found."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.basics.text import counted
from tuner.cli.campaign_source import read_campaign
from tuner.cli.connection import found, open_client

if TYPE_CHECKING:
    from tuner.campaign.earlier import ImportEarlier

ROOM_BYTES = 150_000  # for the rows of one request: the daemon takes 256,000 with all that is around them


@click.command("import")
@click.argument("campaign", metavar="CAMPAIGN")
@click.option("--from", "source", required=True, metavar="FILE|DIR|CAMPAIGN", help="Tables, or another campaign.")
@click.option(
    "--discount",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="What an earlier answer counts for; 1: all of it becomes the campaign's own.",
)
@click.option("--id", "request_id", metavar="ID", help="Ask again for what got no answer, by its id.")
@click.option("--actor", envvar="TUNER_ACTOR", metavar="NAME", help="Who you are, for the journal.")
@found
def import_(
    campaign: str,
    source: str,
    discount: float,
    request_id: str | None,
    actor: str | None,
    connect: str | None,
    key: Path | None,
    state: Path | None,
) -> None:
    """Let the model know what an earlier campaign found: from tables of `tuner export`, or from another campaign.

    With a discount below 1 the earlier trials only inform the model: an answer of then is expected to be that much
    noisier. With 1 they become the campaign's own, which must not have begun; it goes on where the other was, and its
    parts are compared with new ones. Settings that this campaign could not have are refused, and nothing is imported.
    """
    from tuner.campaign.earlier import pieces
    from tuner.wire.operation import Call
    from tuner.wire.operations import Operations

    with open_client(connect, key, state, actor) as client:
        kinds = {one.name: one.kind for one in client.snapshot(campaign).parameters}
        brought = _brought(source, kinds, discount, connect, key, state)
        row = Operations.import_earlier
        parts = list(pieces(brought, ROOM_BYTES))
        for place, piece in enumerate(parts):
            own_id = request_id if request_id is None or len(parts) == 1 else f"{request_id}-{place + 1}"
            answer = client.call(Call(row.name, row.answer, piece, campaign), request_id=own_id)
    said = f"{counted(len(brought.trials), 'trial')} and {counted(len(brought.judgments), 'judgment')}"
    became = "are its own now" if discount == 1.0 else f"inform the model, at a discount of {discount:g}"
    click.echo(f"{campaign}: {said} of {brought.source} {became} (event {answer.n})")


def _brought(
    source: str, kinds: dict[str, str], discount: float, connect: str | None, key: Path | None, state: Path | None
) -> "ImportEarlier":
    from tuner.campaign.importing import import_of
    from tuner.tables.earlier import is_file, read_earlier

    if is_file(Path(source)):
        return read_earlier(Path(source), kinds, discount)
    return import_of(read_campaign(source, connect, key, state).state, discount)
