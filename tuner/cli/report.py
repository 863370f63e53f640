"""`tuner report`: writes the page about a campaign, from its journal or from a daemon elsewhere."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from tuner.basics.files import check_writable, write_text
from tuner.basics.threads import one_blas_thread
from tuner.cli.connection import open_client, typed_first
from tuner.cli.state_option import elsewhere, state_directory, state_option
from tuner.errors import NoCampaignError
from tuner.journal.store import FILE_NAME


@click.command()
@click.argument("campaign", metavar="CAMPAIGN")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="By default CAMPAIGN.html."
)
@state_option
@click.option("--connect", envvar="TUNER_CONNECT", metavar="ENDPOINT", help="Ask a daemon elsewhere.")
@click.option("--key", envvar="TUNER_KEY", metavar="FILE", type=click.Path(path_type=Path), help="Key file, over tcp.")
def report(campaign: str, out: Path | None, state: Path | None, connect: str | None, key: Path | None) -> None:
    """Write a page about a campaign: one HTML file that needs nothing else.

    It is read from the journal on this machine, whether its daemon runs or not; where the journal cannot be read, or
    with --connect, the running daemon is asked.
    """
    one_blas_thread()
    from tuner.report.figures import require_matplotlib
    from tuner.report.page import report_page
    from tuner.report.story import story_of_daemon, story_of_journal

    require_matplotlib()
    target = out or Path(f"{campaign}.html")
    check_writable(target)
    made = datetime.now(UTC)
    connect, key, state = typed_first(connect, key, state)
    directory = state_directory(state)
    if connect is None and key is None and os.access(directory / FILE_NAME, os.R_OK):
        try:
            story = story_of_journal(directory, campaign, made)
        except NoCampaignError as error:
            raise NoCampaignError(f"{error}{elsewhere(state)}") from None
    else:
        with open_client(connect, key, state, None) as client:
            story = story_of_daemon(client, campaign, made)
    if sys.stderr.isatty():
        click.echo("computing what the model believes and drawing it; that takes up to a minute ...", err=True)
    write_text(target, report_page(story))
    click.echo(f"{target}: report of {campaign} after {len(story.state.trials)} trials")
