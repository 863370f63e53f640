"""`tuner status`: what the daemon and its campaigns do now."""

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tuner.basics.sentences import ENGLISH, tell
from tuner.basics.text import counted
from tuner.basics.vocabulary import Mode
from tuner.cli.connection import connected
from tuner.wire.client import Client
from tuner.wire.messages import CampaignLine, EarlierView, StatusBody

_PLAIN_WIDTH = 160
_COLOURS = {"Execute": "green", "Held": "yellow", "Aborted": "red"}


@click.command()
@connected
@click.option("--json", "as_json", is_flag=True, help="Print the daemon's answer as JSON.")
@click.option("--watch", is_flag=True, help="Show it again whenever something happens, until Ctrl-C.")
def status(client: Client, as_json: bool, watch: bool) -> None:
    """Show the daemon and its campaigns; exit code 69 if there is no daemon."""
    _print(client.status(), as_json=as_json)
    if not watch:
        return
    seen = 0
    for _ in client.events():  # also a beat of silence, so that times do not stand still
        body = client.status()
        if body.seq != seen:
            seen = body.seq
            _print(body, as_json=as_json, again=True)


def _print(body: StatusBody, *, as_json: bool, again: bool = False) -> None:
    if as_json:
        click.echo(body.model_dump_json(indent=None if again else 2))
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PLAIN_WIDTH)
    elif again:
        console.clear()
    show(body, console)


def show(body: StatusBody, console: Console) -> None:
    """Write the table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("Campaign", "Machine", "State", "Trials", "Scrap", "Answers", "Champion", "Question", "Now"):
        table.add_column(title, justify="right" if title in ("Trials", "Scrap", "Answers") else "left")
    for line in body.campaigns:
        table.add_row(*_cells(line))
    if body.campaigns:
        console.print(table)
    elif not body.set_aside:
        console.print("There is no campaign yet: put one into the daemon's configuration and reload it.")
    for line in body.campaigns:
        for one in line.earlier:
            console.print(f"{escape(line.name)}: {escape(_earlier(one))}", highlight=False)
        for restriction in line.restrictions:
            console.print(f"{escape(line.name)}: {escape(tell(restriction.text, ENGLISH))}", highlight=False)
        if line.contract is not None:
            said = " ".join(line.contract.texts)
            console.print(f"{escape(line.name)}: scrap contract: {escape(said)}", highlight=False)
        if line.fault:
            console.print(f"[red]{escape(line.name)}: {escape(line.fault)}[/red]", highlight=False)
    for alarm in body.alarms:
        console.print(f"[red]{escape(alarm)}[/red]", highlight=False)
    for aside in body.set_aside:
        sentence = f"{aside.name} is set aside, because it cannot be read: {aside.why}; see `tuner journal verify`"
        console.print(f"[red]{escape(sentence)}[/red]", highlight=False)
    console.print(
        f"tuner {body.tuner}, process {body.pid}, since {body.started_at}, {counted(body.seq, 'event')} in "
        f"{escape(body.state_directory)}",
        highlight=False,
        style="dim",
    )


def _earlier(one: EarlierView) -> str:
    what = f"{counted(one.trials, 'trial')} and {counted(one.judgments, 'judgment')} of {one.source}"
    return f"{what} {'are its own' if one.discount == 1.0 else f'inform the model, discount {one.discount:g}'}"


def _cells(line: CampaignLine) -> list[str]:
    colour = "red" if line.fault else _COLOURS.get(line.mode, "")
    mode = "Tuning" if line.mode == Mode.EXECUTE else escape(line.mode)  # as the console says it
    return [
        escape(line.name),
        escape(line.machine_name),
        f"[{colour}]{mode}[/{colour}]" if colour else mode,
        f"{line.spent}/{line.trials}",
        str(line.scrap) if line.contract is None else f"{line.scrap}/{line.contract.most}",
        str(line.answers),
        "-" if line.champion is None else escape(line.champion_tag or f"trial {line.champion}"),
        "-" if line.duel is None else str(line.duel),
        escape(line.phase_text),
    ]
