"""`tuner check-config`: tell whether configuration files are right, before a machine depends on them."""

from pathlib import Path

import click

from tuner.basics.text import counted
from tuner.config import Campaign, load_config
from tuner.config.campaign import shared_machines
from tuner.config.to_space import narrow
from tuner.errors import ConfigError, TunerError


def _earlier(campaign: Campaign, file: Path) -> str:
    """Why what it is to import cannot be; nothing if it can, or if it comes from a journal."""
    if campaign.earlier is None:
        return ""
    from tuner.campaign.importing import problems
    from tuner.campaign.terms import Terms
    from tuner.tables.earlier import configured

    terms = Terms.of(campaign)
    try:
        brought = configured(campaign.earlier, file.parent, terms)
        why = "" if brought is None else problems(terms, brought)
    except TunerError as error:
        why = str(error)
    return f"{click.format_filename(file)}: campaign[{campaign.name}].earlier: {why}" if why else ""


@click.command("check-config")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(readable=False, path_type=Path))
def check_config(files: tuple[Path, ...]) -> None:
    """Check configuration files; every error is shown as file:line: key: what is wrong."""
    errors = []
    read: list[Campaign] = []
    for file in files:
        try:
            config = load_config(file)
        except ConfigError as error:
            errors.append(str(error))
            continue
        read += config.campaigns
        wrong = [why for campaign in config.campaigns if (why := _earlier(campaign, file))]
        if wrong:
            errors += wrong
            continue
        campaigns = counted(len(config.campaigns), "campaign")
        parameters = counted(sum(len(campaign.parameters) for campaign in config.campaigns), "parameter")
        click.echo(f"{click.format_filename(file)}: ok: {campaigns}, {parameters}")
    for campaign in read:
        for text in [*campaign.doubts, *([narrow(campaign)] if campaign.constraints else [])]:
            if text:
                click.echo(f"warning: {campaign.name}: {text}", err=True)
    for sentence in shared_machines([(one.name, one.machine, one.adapter.occupies) for one in read]):
        click.echo(f"warning: {sentence}", err=True)
    if errors:
        raise ConfigError("\n".join(errors))
