"""`tuner check-config`: tell whether configuration files are right, before a machine depends on them."""

from pathlib import Path

import click

from tuner.basics.text import counted
from tuner.config import Campaign, load_config
from tuner.config.campaign import shared_machines
from tuner.config.to_space import narrow
from tuner.errors import ConfigError


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
        campaigns = counted(len(config.campaigns), "campaign")
        parameters = counted(sum(len(campaign.parameters) for campaign in config.campaigns), "parameter")
        click.echo(f"{click.format_filename(file)}: ok: {campaigns}, {parameters}")
    for campaign in read:
        if campaign.constraints and (text := narrow(campaign)):
            click.echo(f"warning: {campaign.name}: {text}", err=True)
    for sentence in shared_machines([(one.name, one.machine, one.adapter.occupies) for one in read]):
        click.echo(f"warning: {sentence}", err=True)
    if errors:
        raise ConfigError("\n".join(errors))
