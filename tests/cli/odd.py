"""An adapter of somebody else, which does in each call what a test wants, and the command that looks at adapters."""

from pathlib import Path

from click.testing import CliRunner, Result

from tuner.adapter import Adapter
from tuner.cli.main import cli

ROOT = Path(__file__).parents[2]
SASENA = str(ROOT / "configs" / "sasena.toml")


class OddAdapter(Adapter):
    """Does in each call what the test wants.

    Only the first line is shown.
    """

    open_ = health_ = read_back_ = close_ = staticmethod(lambda: None)
    inspect_ = staticmethod(lambda: ())

    def inspect(self, deadline_s):
        return self.inspect_()

    def open(self, deadline_s):
        self.open_()

    def apply(self, setting, deadline_s):
        raise AssertionError("nothing may be moved")

    go_to = apply

    def run_trial(self, tag, deadline_s):
        raise AssertionError("no part may be made")

    def read_back(self, deadline_s):
        return self.read_back_()

    def health(self, deadline_s):
        return self.health_()

    def close(self):
        self.close_()


def run(*arguments) -> Result:
    """`tuner adapters` with these arguments."""
    return CliRunner().invoke(cli, ["adapters", *arguments])
