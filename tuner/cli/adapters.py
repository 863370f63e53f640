"""`tuner adapters`: which adapters there are, what they want, what a machine offers, whether it works, a new one."""

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from tuner.basics.text import listed, nearest, printable, shown
from tuner.config.plugins import GROUP, adapter_names, load_adapter
from tuner.errors import TunerError

if TYPE_CHECKING:
    from tuner.config import Campaign

_WIDTH = 120


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in adapter_names() if name.startswith(incomplete)]


def _installed(name: str) -> str:
    """A name that is not installed is wrong usage; one that is broken is not."""
    names = adapter_names()
    if name not in names:
        raise click.BadParameter(
            f"no adapter {shown(name)} is installed{nearest(name, names)}; run: tuner adapters list"
        )
    return name


_TARGET = click.argument("target", metavar="NAME|CONFIG", shell_complete=_complete)
_CONFIG = click.option(
    "--config", "file", type=click.Path(readable=False, path_type=Path), help="The configuration, beside a NAME."
)


@click.group()
def adapters() -> None:
    """Adapters: how tuner speaks with machines."""


@adapters.command("list")
def list_() -> None:
    """List all installed adapters; one that cannot be used is shown with the reason."""
    points = sorted(entry_points(group=GROUP), key=lambda point: (point.name, _origin(point)))
    if not points:
        raise TunerError("no adapter is installed, not even those that come with tuner: install tuner again")
    rows = [(point.name, _origin(point), _purpose(point)) for point in points]
    name_width, origin_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    for name, origin, purpose in rows:
        click.echo(f"{name:{name_width}}  {origin:{origin_width}}  {purpose}")


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "unknown origin"


def _purpose(point: EntryPoint) -> str:
    """The first line of the adapter's documentation, or why there is none to read."""
    if len(entry_points(group=GROUP, name=point.name)) > 1:
        return "broken: another distribution has an adapter of this name; remove one of them"
    try:
        return summary(load_adapter(point.name).__doc__)
    except TunerError as error:
        return f"broken: {' '.join(str(error).split())}"
    except SystemExit as error:  # some modules end the program when they miss something
        return f"broken: it ends the program when it is imported, with {error.code!r}"


def summary(text: str | None) -> str:
    """The first line of a docstring."""
    return (text or "").strip().partition("\n")[0] or "(says nothing about itself)"


@adapters.command("info")
@click.argument("name", callback=lambda ctx, param, name: _installed(name), shell_complete=_complete)
def info(name: str) -> None:
    """Show what the table [campaign.adapter.settings] of an adapter may contain."""
    from tuner.machine.describe import setting_rows

    adapter = load_adapter(name)
    origins = [_origin(point) for point in entry_points(group=GROUP, name=name)]
    click.echo(f"{name} ({', '.join(origins)})\n{summary(adapter.__doc__)}\n")
    rows = list(setting_rows(adapter.Settings))
    if not rows:
        click.echo("It has no settings.")
        return
    formatter = click.HelpFormatter(width=_WIDTH)
    with formatter.section("[campaign.adapter.settings]"):
        formatter.write_dl(rows)
    click.echo(formatter.getvalue(), nl=False)


@adapters.command("check")
@_TARGET
@_CONFIG
@click.option("--campaign", help="Only this campaign; by default all that use the adapter.")
@click.option(
    "--deadline-s",
    type=click.FloatRange(0, 3600, min_open=True),
    default=5.0,
    show_default=True,
    help="How long each question to the machine may take.",
)
@click.option("--trust", is_flag=True, help="Take the certificate that the machine shows; you have compared it.")
def check(target: str, file: Path | None, campaign: str | None, deadline_s: float, trust: bool) -> None:
    """Prove the whole handshake of the machines of a configuration: every place is looked at, nothing is moved.

    With NAME --config CONFIG only the campaigns that use this adapter are looked at.

    Exit code 0: all of them can take a setting. 75: one cannot now, or does not answer. 1: something is wrong there.
    """
    from tuner.machine.check import check_campaigns

    chosen = _named(target, file, campaign)
    if chosen is None:
        raise click.UsageError(f"which machine? Give its configuration: tuner adapters check {target} --config CONFIG")
    check_campaigns(chosen, deadline_s, _tell, trust=trust)


def _named(target: str, file: Path | None, campaign: str | None) -> Sequence["Campaign"] | None:
    """The campaigns that NAME|CONFIG and --config mean; None if there is only an adapter's name."""
    if target not in adapter_names():
        if file is not None or not (Path(target).is_file() or target.endswith(".toml")):
            _installed(target)
        return _campaigns(Path(target), campaign)
    if file is None:
        return None
    campaigns = _campaigns(file, campaign)
    chosen = [c for c in campaigns if c.adapter.name == target]
    if not chosen:
        used: Sequence[str] = sorted({c.adapter.name for c in campaigns})
        raise click.BadParameter(f"no campaign of {file} uses the adapter {shown(target)}; used: {listed(used)}")
    return chosen


def _campaigns(file: Path, name: str | None) -> Sequence["Campaign"]:
    """The campaigns of a configuration, or the one of this name."""
    from tuner.config import load_config

    campaigns = load_config(file).campaigns
    known = [c.name for c in campaigns]
    if name is not None and name not in known:
        raise click.BadParameter(
            f"{file} has no campaign {shown(name)}; it has {listed(known)}", param_hint="--campaign"
        )
    return [c for c in campaigns if name in (None, c.name)]


def _one(campaigns: Sequence["Campaign"]) -> "Campaign":
    if len(campaigns) != 1:
        known = listed([c.name for c in campaigns])
        raise click.BadParameter(f"there are the campaigns {known}: say which", param_hint="--campaign")
    return campaigns[0]


def _tell(line: str) -> None:
    """Print a line; what machines call their places, and say, moves no cursor."""
    click.echo(printable(line))


@adapters.command("browse")
@_TARGET
@click.argument("pairs", metavar="[KEY=VALUE]...", nargs=-1)
@_CONFIG
@click.option("--campaign", help="The campaign of CONFIG, if it has several.")
@click.option("--find", default="", help="Only what has this text in its address or name.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, for programs.")
@click.option(
    "--deadline-s",
    type=click.FloatRange(0, 3600, min_open=True),
    default=10.0,
    show_default=True,
    help="How long to look or listen.",
)
def browse(
    target: str,
    pairs: Sequence[str],
    file: Path | None,
    campaign: str | None,
    find: str,
    as_json: bool,
    deadline_s: float,
) -> None:
    """List what a machine offers to pick from, as it is written in a configuration; nothing is moved.

    Either a configuration says how the machine is reached, or an adapter's name and the keys of its connection:
    tuner adapters browse opcua endpoint=opc.tcp://192.0.2.18:4840
    """
    import json
    from dataclasses import asdict

    from tuner.machine.offers import connection_of, offers

    campaigns = _named(target, file, campaign)
    if campaigns is None:
        kind = load_adapter(target)
        connection = connection_of(target, kind, pairs)
    else:
        if pairs:
            raise click.BadParameter("KEY=VALUE goes with the name of an adapter, not with a configuration")
        chosen = _one(campaigns).adapter
        target, kind, connection = chosen.name, load_adapter(chosen.name), chosen.settings
    told = offers(target, kind, connection, deadline_s)
    found = [one for one in told if one.looked_at and find.lower() in f"{one.where} {one.name}".lower()]
    missed = [one for one in told if not one.looked_at]
    if as_json:
        for one in (*found, *missed):
            click.echo(json.dumps(asdict(one)))
        return
    for one in missed:
        click.echo(printable(f"warning: {one.where}: {one.value}"), err=True)
    if not found:
        so_far = ", as far as was looked" if missed else ""
        raise TunerError("the machine offers nothing" + (f" with {shown(find)} in it" if find else "") + so_far)
    keys = ("where", "name", "kind", "access")
    widths = {key: min(60, max(len(getattr(one, key)) for one in found)) for key in keys}
    for one in found:
        _tell("  ".join([*(f"{getattr(one, key):{widths[key]}}" for key in keys), one.value]).rstrip())


@adapters.command("rehearse")
@_TARGET
@_CONFIG
@click.option("--campaign", help="The campaign, if the configuration has several.")
@click.option("--yes", is_flag=True, help="Do not ask: somebody stands at the machine.")
def rehearse_(target: str, file: Path | None, campaign: str | None, yes: bool) -> None:
    """Make ONE part at the known-good setting, as the daemon would, and time each step. The machine moves.

    Exit code 0: a valid part. 1: none, or something is wrong. 75: the machine cannot now.
    """
    import asyncio

    from tuner.campaign.terms import Terms
    from tuner.gate.rehearse import rehearse

    campaigns = _named(target, file, campaign)
    if campaigns is None:
        raise click.UsageError(
            f"which machine? Give its configuration: tuner adapters rehearse {target} --config CONFIG"
        )
    terms = Terms.of(_one(campaigns))
    click.echo(f"machine {terms.machine}, adapter {terms.adapter.name}: one part at the known-good setting")
    for parameter in terms.parameters:
        whose = "  (by hand: see to it now)" if parameter.name in terms.adapter.by_hand else ""
        unit = f" {parameter.unit}" if parameter.unit else ""
        click.echo(f"  {parameter.name} = {shown(parameter.start)}{unit}{whose}")
    if not yes:
        click.confirm("The machine will move, and no daemon may use it meanwhile. Go on?", abort=True)
    if not asyncio.run(rehearse(terms, _tell)).valid:
        raise TunerError("the machine made no valid part at its known-good setting")


@adapters.command("new")
@click.argument("name")
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
def new(name: str, directory: Path | None) -> None:
    """Write the package of a new adapter, with its test, into DIR (by default ./tuner-NAME)."""
    from tuner.machine.new_adapter import check_name, write_package

    try:
        check_name(name, adapter_names())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="NAME") from error
    directory = directory or Path(f"tuner-{name}")
    if directory.is_symlink() or (directory.exists() and (not directory.is_dir() or any(directory.iterdir()))):
        raise click.BadParameter(f"{directory} exists and is not an empty directory", param_hint="DIR")
    for path in write_package(name, directory):
        click.echo(f"wrote {path}")
    click.echo(f"next: cd {directory} && pip install -e '.[test]' && pytest")
