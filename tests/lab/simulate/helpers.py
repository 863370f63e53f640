"""Configurations and commands for tests of scripted runs."""

from pathlib import Path

from click.testing import CliRunner, Result

from tuner.cli.main import cli
from tuner.lab.simulate.prepare import chosen_campaign, scripted

SASENA = Path(__file__).parents[3] / "configs" / "sasena.toml"

MIXED = """
[[campaign]]
name = "press"
machine = "press"
constraints = ["temperature + 0.05*strokes <= 1.2"]
[campaign.budget]
trials = 6
[campaign.policy]
approval = true
settling_parts = 1
[campaign.policy.questions]
quiet_hours = ["00:00-23:59"]
[campaign.adapter]
name = "simulated"
[campaign.adapter.settings]
problem = "press_mixed"
noise = 0.05
[[campaign.parameter]]
kind = "integer"
name = "strokes"
low = 1
high = 8
start = 2
step_limit = 2
[[campaign.parameter]]
kind = "choice"
name = "cavities"
choices = ["a", "b", "c", "d", "e", "\\"f\\""]
start = "b"
[[campaign.parameter]]
kind = "continuous"
name = "temperature"
low = 0.05
high = 1.0
start = 0.3
unit = "°C"
log = true
[[campaign.parameter]]
kind = "stepped"
name = "time"
low = 0.0
high = 1.0
step = 0.05
start = 0.5
unit = "s"
"""


def sasena(seed=0, trials=6):
    return scripted(chosen_campaign(SASENA), seed, trials=trials)


def quiet(seed, trials):
    """Takes news of a run and tells nobody."""


def tuner(*words) -> Result:
    """Run a command as a shell would."""
    return CliRunner().invoke(cli, [str(word) for word in words])
