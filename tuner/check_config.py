"""`tuner check-config`: tell whether configuration files are right, before a machine depends on them."""

from pathlib import Path

import click

from tuner.config import load_config
from tuner.errors import ConfigError
from tuner.text import counted


@click.command("check-config")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(readable=False, path_type=Path))
def check_config(files: tuple[Path, ...]) -> None:
    """Check configuration files; every error is shown as file:line: key: what is wrong."""
    errors = []
    for file in files:
        try:
            config = load_config(file)
        except ConfigError as error:
            errors.append(str(error))
            continue
        campaigns = counted(len(config.campaigns), "campaign")
        parameters = counted(sum(len(campaign.parameters) for campaign in config.campaigns), "parameter")
        click.echo(f"{click.format_filename(file)}: ok: {campaigns}, {parameters}")
    if errors:
        raise ConfigError("\n".join(errors))
