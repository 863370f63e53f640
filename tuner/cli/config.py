"""`tuner config`: what the keys of a configuration mean."""

import click

from tuner.basics.text import counted, nearest, shown


@click.group()
def config() -> None:
    """Look up what a configuration can say."""


@config.command()
@click.argument("key", metavar="[KEY]", required=False)
def explain(key: str | None) -> None:
    """Explain a key: type, limits, default, unit, meaning, example. Without one: list all keys.

    KEY is the key alone or with its tables, as in trials, budget.trials or campaign.budget.trials; before a key of an
    adapter its name may stand: modbus.unit_id.
    """
    from tuner.setup.keys import SEE_ALSO, all_keys

    known = list(all_keys())
    if key is None:
        for one in known:
            click.echo(f"{one.path}{f' ({one.owner})' if one.owner else ''}: {one.meaning}")
        return
    found = [one for one in known if _meant(key, one.path, one.owner)]
    if not found:
        names = {name for one in known for name in (one.name, one.path)}
        raise click.UsageError(f"there is no key {shown(key)}{nearest(key, names)}; `tuner config explain` lists them")
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
    if len(found) > 1:
        click.echo(f"{counted(len(found), 'key')} with this name; more of its tables before it says which")


def _meant(asked: str, path: str, owner: str) -> bool:
    """Whether the words asked for are the last ones of a path; its owner may stand before them."""
    words = asked.strip("[]").split(".")
    if owner and words[0] == owner:
        words = words[1:]
    return bool(words) and path.split(".")[-len(words) :] == words
