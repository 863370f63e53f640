"""`tuner config`: what the keys of a configuration mean."""

from typing import TYPE_CHECKING

import click

from tuner.basics.text import counted, nearest, shown

if TYPE_CHECKING:
    from tuner.setup.keys import Table


@click.group()
def config() -> None:
    """Look up what a configuration can say."""


@config.command()
@click.argument("key", metavar="[KEY]", required=False)
def explain(key: str | None) -> None:
    """Explain a key: type, limits, default, unit, meaning, example; of a table also its keys. Without one: list all.

    KEY is the key or table alone or with its tables, as in trials, budget.trials or campaign.budget.trials; before a
    key of an adapter its name may stand: modbus.unit_id.
    """
    from tuner.setup.keys import SEE_ALSO, all_tables

    tables = list(all_tables())
    known = [one for table in tables for one in table.keys]
    if key is None:
        for table in tables:
            if table.heading:
                click.echo(
                    f"{table.heading}{f' ({table.owner})' if table.owner else ''}: {table.about or table.meaning}"
                )
            for one in table.keys:
                click.echo(f"{one.path}{f' ({one.owner})' if one.owner else ''}: {one.meaning}")
        return
    meant = [one for one in tables if _meant(key, one.path, one.owner)]
    found = [one for one in known if _meant(key, one.path, one.owner)]
    if not found and not meant:
        paths = [*(one.path for one in tables), *(one.path for one in known)]
        names = {name for path in paths for name in (path, path.rpartition(".")[2]) if name}
        raise click.UsageError(
            f"there is no key or table {shown(key)}{nearest(key, names)}; `tuner config explain` lists them"
        )
    for table in meant:
        _explain_table(table)
    for one in found:
        whose = f", {one.owner}" if one.owner else ""
        click.echo(f"{one.path}  in {one.table}{whose}")
        click.echo(f"  {one.meaning}")
        click.echo(
            f"  type: {', '.join(filter(None, (one.kind, one.limits)))}{f'; unit: {one.unit}' if one.unit else ''}"
        )
        click.echo(f"  default: {one.default}" if one.default is not None else "  must be there")
        click.echo(f"  example: {one.example}")
        if one.name in SEE_ALSO:
            click.echo(f"  see also: {', '.join(SEE_ALSO[one.name])}")
    if len(found) + len(meant) > 1:
        all_of = " and ".join(counted(len(some), what) for some, what in ((meant, "table"), (found, "key")) if some)
        click.echo(f"{all_of} with this name; more of its tables before it says which")


def _explain_table(table: "Table") -> None:
    """Tell what a table is for, what may stand in it, and the least of it."""
    click.echo(f"{table.path}  the table {table.heading}{f', {table.owner}' if table.owner else ''}")
    for sentence in filter(None, (table.about, table.meaning)):
        click.echo(f"  {sentence}")
    click.echo("  must be there" if table.needed else "  may be left out")
    for key in table.keys:
        click.echo(f"  {key.name}: {key.meaning}{' (must be there)' if key.default is None else ''}")
    for heading in table.below:
        click.echo(f"  {heading}")
    click.echo("  example:")
    for line in table.example:
        click.echo(f"    {line}")


def _meant(asked: str, path: str, owner: str) -> bool:
    """Whether the words asked for are the last ones of a path; its owner may stand before them."""
    words = asked.strip("[] ").split(".")
    if owner and words[0] == owner:
        words = words[1:] or ["settings"]  # an adapter's name alone: its table
    return words != [""] and path.split(".")[-len(words) :] == words
