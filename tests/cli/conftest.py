"""The `tuner` command with its small commands, in this process."""

import pytest
from click.testing import CliRunner

from tuner.cli import main as cli_module

COMMANDS = {
    name: (f"tuner.cli.{name}:{name}", name) for name in ("status", "stop", "campaign", "keys", "schema", "doctor")
}


@pytest.fixture
def tuner(monkeypatch):
    """Run the command; it does not see the environment of whoever runs the tests."""
    for name, entry in COMMANDS.items():
        monkeypatch.setitem(cli_module.COMMANDS, name, entry)
    for name in ("TUNER_CONNECT", "TUNER_KEY", "TUNER_STATE", "TUNER_ACTOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, **environ):
        return CliRunner().invoke(cli_module.cli, [str(one) for one in arguments], env=environ)

    return run
