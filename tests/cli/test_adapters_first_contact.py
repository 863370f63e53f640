"""`tuner adapters browse` and `rehearse`: one way to name a machine, and the daemon's patience with it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.daemon.running import campaign_text
from tuner.adapter import Offered
from tuner.cli.main import cli
from tuner.machine import offers

SASENA = str(Path(__file__).parents[2] / "configs" / "sasena.toml")


def run(*arguments: str, answer: str = ""):
    return CliRunner().invoke(cli, ["adapters", *arguments], input=answer)


@pytest.mark.parametrize("machine", [[SASENA], ["simulated", "--config", SASENA]])
def test_rehearse_makes_one_part_at_the_known_good_setting_after_a_confirmation(machine):
    refused = run("rehearse", *machine, answer="n\n")
    assert refused.exit_code == 1
    assert "ms" not in refused.stdout
    shown = run("rehearse", *machine, answer="y\n")
    assert shown.exit_code == 0, shown.output
    assert "x1 = 3.5" in shown.stdout
    assert "known-good setting, sent and read back" in shown.stdout
    assert "a valid part" in shown.stdout


def test_rehearse_waits_for_a_machine_as_the_daemon_does(tmp_path):
    """It is elsewhere, shows the setting after a scan, and is away before it tells of its part."""
    memory = tmp_path / "memory"
    memory.write_text('{"setting": {"x1": 1.0, "x2": 1.5}, "parts": {}, "calls": 0}')
    config = tmp_path / "slow.toml"
    config.write_text(campaign_text(machine=f'scan_s = 0.15\nlink_away_s = 0.3\nmemory = "{memory}"'))
    shown = run("rehearse", str(config), "--yes")
    assert shown.exit_code == 0, shown.output
    assert "  waits for the link: the link to the simulated machine is away, 0:00 of 1:00\n" in shown.stdout
    assert "a valid part" in shown.stdout


def test_rehearse_gives_up_when_the_patience_is_over(tmp_path):
    config = tmp_path / "open.toml"
    policy = "waiting = { ready_s = 0.1 }"
    config.write_text(campaign_text(policy=policy, machine="open_guard_every = 1"))
    shown = run("rehearse", str(config), "--yes")
    assert shown.exit_code == 75, shown.output
    assert 'the known-good setting was refused: interlock "guard closed" does not hold' in shown.stderr


def test_what_only_people_can_change_is_said_before_a_part_is_made(tmp_path):
    config = tmp_path / "gate.toml"
    text = f"{campaign_text()}\nmanual = true\n"
    config.write_text(
        text.replace('name = "simulated"', 'name = "command"').replace('problem = "sasena"', 'argv = ["/bin/true"]')
    )
    shown = run("rehearse", str(config), answer="n\n")
    assert "  x1 = 3.5 mm\n  x2 = 1.5  (by hand: see to it now)\n" in shown.stdout
    assert "  changed by hand, not looked at: x2\n" in run("check", str(config)).stdout


def test_what_was_not_sent_is_not_timed_as_sent(tmp_path):
    memory = tmp_path / "memory"
    memory.write_text('{"setting": {"x1": 9.0, "x2": 9.0}, "parts": {}, "calls": 0}')
    config = tmp_path / "elsewhere.toml"
    config.write_text(campaign_text(machine=f'memory = "{memory}"'))
    shown = run("rehearse", str(config), "--yes")
    assert shown.exit_code == 1
    assert "the known-good setting was refused: the machine says x1 is 9.0, outside of its limits" in shown.stderr
    assert "sent and read back" not in shown.stdout
    checked = run("check", str(config))
    assert checked.exit_code == 75
    assert "x1, x2 are outside of their limits, bring them back by hand" in checked.stderr


def test_a_list_that_the_time_was_too_short_for_says_so(monkeypatch):
    told = [Offered("holding 0 to 9", value="all 0"), Offered("coil 0 to 9", value="not looked at", looked_at=False)]
    monkeypatch.setattr(offers, "offers", lambda *_: told)
    machine = ("browse", "modbus", "host=127.0.0.1")
    shown = run(*machine)
    assert (shown.exit_code, shown.stderr) == (0, "warning: coil 0 to 9: not looked at\n")
    assert "coil" not in shown.stdout
    assert [json.loads(line)["looked_at"] for line in run(*machine, "--json").stdout.splitlines()] == [True, False]
    shown = run(*machine, "--find", "7")
    assert shown.exit_code == 1
    assert 'the machine offers nothing with "7" in it, as far as was looked' in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["browse", "nothing"], 2, 'no adapter "nothing" is installed'),
        (["browse", "simulated"], 1, 'the adapter "simulated" cannot tell what a machine offers'),
        (["browse", SASENA], 1, 'the adapter "simulated" cannot tell what a machine offers'),
        (["browse", "modbus", "host"], 78, 'is not KEY=VALUE; the keys are "host"'),
        (["browse", "modbus", "prot=1"], 78, "prot: Extra inputs are not permitted; the keys are"),
        (["browse", "modbus", "host=127.0.0.1", "port=1"], 75, "nothing listens on its port 1"),
        (["browse", SASENA, "host=x"], 2, "KEY=VALUE goes with the name of an adapter"),
        (["rehearse", "missing.toml"], 78, "missing.toml:1: file: does not exist"),
        (["rehearse", SASENA, "--campaign", "x"], 2, 'has no campaign "x"'),
        (["rehearse", "simulated"], 2, "which machine? Give its configuration: tuner adapters rehearse simulated"),
        (["rehearse", "modbus", "--config", SASENA], 2, 'uses the adapter "modbus"; used: "simulated"'),
        (["check", "simulated"], 2, "which machine? Give its configuration: tuner adapters check simulated"),
        (["check", "simulated", "--config", SASENA, "--trust"], 0, ""),
        (["check", SASENA], 0, ""),
    ],
)
def test_machines_are_named_alike_and_bad_input_is_answered_with_a_sentence(arguments, code, sentence):
    shown = run(*arguments)
    assert shown.exit_code == code, shown.output
    assert sentence in " ".join(shown.stderr.split())


def test_what_machines_call_their_places_moves_no_cursor(monkeypatch):
    told = [Offered("ns=2;s=heat\x1b[2J", "heat\x1b]0;mine\x07", value="1"), Offered("\x1b[31m", looked_at=False)]
    monkeypatch.setattr(offers, "offers", lambda *_: told)
    shown = run("browse", "modbus", "host=127.0.0.1")
    assert "ns=2;s=heat [2J" in shown.stdout
    assert "\x1b" not in shown.stdout + shown.stderr
