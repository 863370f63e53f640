"""The `tuner` command with its small commands, in this process."""

from importlib.metadata import EntryPoint, entry_points

import pytest
from click.testing import CliRunner

from tests.cli.odd import OddAdapter
from tuner.adapter import Health
from tuner.cli import adapters as adapters_cli
from tuner.cli import main as cli_module
from tuner.config import plugins
from tuner.config.plugins import GROUP

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


@pytest.fixture
def odd(monkeypatch):
    """Pretend that adapters of third parties are installed, some of them broken; what `odd` does can be set."""
    points = [
        *entry_points(group=GROUP),
        EntryPoint("odd", f"{OddAdapter.__module__}:OddAdapter", GROUP),
        EntryPoint("missing", "no_such_module:Adapter", GROUP),
        EntryPoint("number", "math:pi", GROUP),
        EntryPoint("quitter", "this_program_ends:Adapter", GROUP),
        EntryPoint("twin", f"{OddAdapter.__module__}:OddAdapter", GROUP),
        EntryPoint("twin", "math:pi", GROUP),
    ]

    def find(group, name=None):
        return [point for point in points if name in (None, point.name)]

    for module in (plugins, adapters_cli):
        monkeypatch.setattr(module, "entry_points", find)

    def behave(**calls):
        for name, call in calls.items():
            monkeypatch.setattr(OddAdapter, f"{name}_", staticmethod(call))

    behave(health=lambda: Health(True, "idle"), read_back=lambda: {"x": 1.0})
    return behave


@pytest.fixture
def config(tmp_path):
    """A configuration with the adapter `odd`."""
    file = tmp_path / "odd.toml"
    file.write_text(
        '[[campaign]]\nname = "c"\nmachine = "m"\nbudget.trials = 3\nadapter.name = "odd"\n'
        '[[campaign.parameter]]\nkind = "continuous"\nname = "x"\nlow = 0\nhigh = 2\nstart = 1\nunit = "bar"\n'
    )
    return str(file)
