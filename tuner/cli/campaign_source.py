"""How commands that read a whole campaign find it: in a journal on this machine, else from a running daemon."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.cli.connection import open_client, typed_first
from tuner.cli.state_option import elsewhere, state_directory
from tuner.errors import NoCampaignError

if TYPE_CHECKING:
    from tuner.tables.history import History


def read_campaign(campaign: str, connect: str | None, key: Path | None, state: Path | None) -> "History":
    """The campaign's history; the journal is read whether its daemon runs or not."""
    from tuner.tables.history import history_of_daemon, history_of_journal, in_state

    connect, key, state = typed_first(connect, key, state)
    journal = in_state(state_directory(state))
    if connect is None and key is None and os.access(journal, os.R_OK):
        try:
            return history_of_journal(journal, campaign)
        except NoCampaignError as error:
            raise NoCampaignError(f"{error}{elsewhere(state)}") from None
    with open_client(connect, key, state, None) as client:
        return history_of_daemon(client, campaign)
