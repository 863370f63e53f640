"""`tuner run`: starts the daemon in the foreground."""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from tuner.basics.processes import allow_many_files
from tuner.basics.threads import one_blas_thread
from tuner.campaign.earlier import ImportEarlier
from tuner.campaign.terms import Terms
from tuner.cli.state_option import state_option
from tuner.config import Config, load_config
from tuner.config.campaign import Earlier
from tuner.daemon.logs import setup as set_up_logs
from tuner.daemon.service import Service, Setup
from tuner.daemon.service_manager import Notifier
from tuner.daemon.state_lock import DaemonLock
from tuner.errors import ConfigError

_OF_ONE = ("daemon", "compute", "notify")

log = logging.getLogger(__name__)


@click.command()
@click.argument("configs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CONFIG...")
@state_option
def run(configs: Sequence[Path], state: Path | None) -> None:
    """Run the daemon in the foreground until SIGTERM or Ctrl-C; SIGHUP reads the configuration again.

    Several files may each have campaigns; only one of them may have the tables [daemon], [compute] and [[notify]].
    --state and TUNER_STATE go before the configuration's state_directory.
    """
    one_blas_thread()
    allow_many_files()
    files = Files(configs)
    as_read, campaigns = files.read()
    config = as_read
    if state is not None:
        daemon = config.daemon.model_copy(update={"state_directory": state.expanduser().absolute()})
        config = config.model_copy(update={"daemon": daemon})
    logs = set_up_logs(config.daemon.log, sys.stderr, os.environ)

    def _bring(name: str, terms: Terms) -> ImportEarlier | None:
        return files.earlier_of(name, terms, setup.places.state_directory)

    setup = Setup(config, campaigns, files.read, logs.reopen, as_read, os.environ, Path.home(), _bring)
    notifier = Notifier.from_environ(os.environ)
    try:
        with DaemonLock(setup.places.state_directory):
            if setup.places.state_directory.stat().st_mode & 0o077:
                log.warning("others may look into %s: make it mode 0700", setup.places.state_directory)
            asyncio.run(_main(setup, notifier))
    finally:
        notifier.close()
        logs.close()


async def _main(setup: Setup, notifier: Notifier) -> None:
    await Service(setup, notifier).run()


class Files:
    """The configuration's files, and what they said when they were read last."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._earlier: dict[str, tuple[Earlier, Path]] = {}

    def read(self) -> tuple[Config, tuple[tuple[str, Terms], ...]]:
        """Read them as one."""
        configs = [load_config(path) for path in self._paths]
        merged = _merged(self._paths, configs)
        self._earlier = {
            campaign.name: (campaign.earlier, path.parent)
            for path, config in zip(self._paths, configs, strict=True)
            for campaign in config.campaigns
            if campaign.earlier is not None
        }
        return merged

    def earlier_of(self, name: str, terms: Terms, state: Path) -> ImportEarlier | None:
        """What a campaign is to import, from tables or from another campaign of the journal; or None."""
        from tuner.campaign.importing import import_of
        from tuner.tables.earlier import configured
        from tuner.tables.history import history_of_journal, in_state

        if name not in self._earlier:
            return None
        earlier, directory = self._earlier[name]
        found = configured(earlier, directory, terms)
        return found or import_of(history_of_journal(in_state(state), earlier.source).state, earlier.discount)


def _merged(paths: Sequence[Path], configs: Sequence[Config]) -> tuple[Config, tuple[tuple[str, Terms], ...]]:
    campaigns: dict[str, Terms] = {}
    machines: dict[str, str] = {}
    main = configs[0]
    for path, config in zip(paths, configs, strict=True):
        own = {name for name in _OF_ONE if name in config.model_fields_set}
        if own and config is not main:
            if main.model_fields_set & set(_OF_ONE):
                raise ConfigError(
                    f"{path}:1: daemon: only one of the files may have [daemon], [compute] and [[notify]]"
                )
            main = config
        for campaign in config.campaigns:
            if campaign.name in campaigns:
                raise ConfigError(f"{path}:1: campaign: another file has a campaign {campaign.name} too")
            if campaign.machine in machines:
                raise ConfigError(
                    f"{path}:1: campaign[{campaign.name}].machine: the campaign {machines[campaign.machine]} "
                    f"of another file has the machine {campaign.machine} too"
                )
            campaigns[campaign.name] = Terms.of(campaign)
            machines[campaign.machine] = campaign.name
    return main, tuple(campaigns.items())
