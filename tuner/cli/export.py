"""`tuner export`: writes a campaign's trials, judgments, looks and events as tables for other programs."""

from pathlib import Path

import click

from tuner.basics.text import counted
from tuner.cli.campaign_source import read_campaign
from tuner.cli.connection import found

TABLES = ("trials", "judgments", "looks", "events", "columns")


@click.command()
@click.argument("campaign", metavar="CAMPAIGN")
@click.option("--to", "target", required=True, metavar="FILE|DIR", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "named",
    type=click.Choice(["csv", "xlsx", "parquet", "json"]),
    help="By default as the name ends; without an ending csv.",
)
@click.option("--table", "only", type=click.Choice(TABLES), multiple=True, help="Only this one; may be given again.")
@found
def export(
    campaign: str,
    target: Path,
    named: str | None,
    only: tuple[str, ...],
    connect: str | None,
    key: Path | None,
    state: Path | None,
) -> None:
    """Write a campaign as tables: trials, judgments, looks, events, and columns, which says what every column means.

    xlsx and json are one file. csv and parquet are a directory with a file for each table; a name that ends with
    .csv or .parquet is one file, with the trials unless --table says otherwise. The journal on this machine is read,
    whether its daemon runs or not; with --connect a daemon elsewhere is asked.
    """
    from tuner.tables import formats
    from tuner.tables.campaign_tables import campaign_tables

    chosen = formats.format_of(target, named)
    names = [name for name in TABLES if not only or name in only]
    files = formats.files_of(target, chosen, names)
    if len(files) == 1 and len(only) > 1 and chosen not in formats.ONE_FILE:
        raise click.UsageError(f"{target} has room for one table; name a directory, or give --table once")
    history = read_campaign(campaign, connect, key, state)
    formats.check(list(files), target)
    tables = {table.name: table for table in campaign_tables(history)}
    for file, held in files.items():
        formats.write(file, [tables[name] for name in held], chosen)
        rows = ", ".join(counted(len(tables[name].rows), "row") + f" of {name}" for name in held)
        click.echo(f"{file}: {rows}")
