"""`tuner recipe`: prints the recommended setting of a campaign with the evidence for it."""

from pathlib import Path

import click

from tuner.basics.threads import one_blas_thread
from tuner.cli.campaign_source import read_campaign
from tuner.cli.connection import found


@click.command()
@click.argument("campaign", metavar="CAMPAIGN")
@click.option("--format", "format_", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True)
@click.option("--to", "target", metavar="FILE", type=click.Path(path_type=Path), help="Else it is printed.")
@found
def recipe(
    campaign: str, format_: str, target: Path | None, connect: str | None, key: Path | None, state: Path | None
) -> None:
    """Print the setting that the model believes best, beside champion and known-good, and what that rests on.

    It is computed here from the journal on this machine, whether its daemon runs or not, or from what a daemon
    elsewhere tells (--connect).
    """
    one_blas_thread()
    from tuner.basics.files import check_writable, write_text
    from tuner.campaign.model_input import model_input
    from tuner.compute.tasks import recommend
    from tuner.tables.recipe import NoRecipeError
    from tuner.tables.recipe import recipe as recipe_of

    if target is not None:
        check_writable(target)
    known = read_campaign(campaign, connect, key, state)
    if known.state.champion is None:  # before the model is asked: without a part it knows nothing
        raise NoRecipeError(f"{campaign}: no part was made yet, so nothing can be recommended")
    made = recipe_of(campaign, known.state, recommend(model_input(known.state)))
    text = {"text": made.as_text, "json": made.as_json, "csv": made.as_csv}[format_]()
    if target is None:
        click.echo(text, nl=False)
    else:
        write_text(target, text)
        click.echo(f"{target}: recipe of {campaign}")
