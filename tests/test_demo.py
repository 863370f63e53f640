import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tuner.cli import cli
from tuner.demo import session as session_module
from tuner.demo.session import Session, sample_config
from tuner.errors import ConfigError

ROOT = Path(__file__).parents[1]
SASENA = ROOT / "configs" / "sasena.toml"


class Calls:
    """Stands before the machine and writes down what is asked of it."""

    def __init__(self, adapter):
        self.adapter = adapter
        self.names = []
        self.settings = []

    def __getattr__(self, name):
        self.names.append(name)
        if name in ("apply", "go_to"):
            return lambda setting, deadline_s: (
                self.settings.append(dict(setting)),
                getattr(self.adapter, name)(setting, deadline_s),
            )
        return getattr(self.adapter, name)


def watched(trials=5, file=SASENA, seed=0):
    session = Session.from_file(file, trials=trials, seed=seed)
    session.adapter = Calls(session.adapter)
    return session


def changed(tmp_path, old, new):
    file = tmp_path / "changed.toml"
    text = SASENA.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return file


def test_the_machine_is_spoken_to_by_its_contract_and_brought_home():
    session = watched(trials=3)
    assert session.run(lambda: None) is False
    assert session.adapter.names == ["open", *["apply", "run_trial"] * 3, "go_to", "close"]
    assert session.adapter.settings[0] == session.adapter.settings[-1] == session.campaign.known_good


def test_the_champion_is_the_valid_trial_of_the_lowest_measured_cost():
    session = watched(trials=12)
    session.run(lambda: None)
    valid = [step for step in session.steps if step.valid]
    assert session.champion == min(valid, key=lambda step: step.measured)
    assert session.champion.measured == pytest.approx(session.true_cost(session.champion.setting))
    assert session.scrap == len(session.steps) - len(valid)


def test_the_same_seed_gives_the_same_history():
    first, second, other = watched(), watched(), watched(seed=1)
    for session in (first, second, other):
        session.run(lambda: None)
    assert first.steps == second.steps
    assert first.steps != other.steps


def test_an_interrupt_ends_it_with_what_was_reached_and_the_machine_at_home():
    session = watched(trials=20)

    def interrupt():
        if len(session.steps) == 4:
            raise KeyboardInterrupt

    assert session.run(interrupt) is True
    assert session.adapter.names[-2:] == ["go_to", "close"]
    assert session.champion is not None
    assert len(session.steps) == 4


def test_the_scrap_of_the_budget_ends_it(tmp_path):
    file = changed(tmp_path, "scrap = 20", "scrap = 1")
    session = watched(trials=40, file=file)
    session.run(lambda: None)
    assert session.scrap <= 1
    assert len(session.steps) == 40 or session.steps[-1].valid is False


def test_without_a_terminal_it_prints_a_line_a_trial_and_what_was_reached():
    shown = CliRunner().invoke(cli, ["demo", "--trials", "3", "--seed", "1"])
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["1/3", "2/3", "3/3"]
    assert "The known-good setting" in lines[0]
    assert lines[3].startswith("Ended after 3 trials")
    assert lines[-2].startswith("Recommended:")
    assert lines[-1] == "Known optimum: x1 = 2.7450, x2 = 2.3523: true cost -1.1743"


def test_a_demo_that_is_interrupted_exits_with_130_after_its_summary(monkeypatch):
    trial = Session._trial

    def interrupted(self, update):
        if len(self.steps) == 2:
            raise KeyboardInterrupt
        trial(self, update)

    monkeypatch.setattr(Session, "_trial", interrupted)
    shown = CliRunner().invoke(cli, ["demo"])
    assert shown.exit_code == 130
    assert "Interrupted after 2 trials" in shown.stdout
    assert "Recommended:" in shown.stdout
    assert shown.stderr == ""


def test_without_any_part_nothing_is_recommended(tmp_path):
    # a narrow corner in which no part is made
    text = SASENA.read_text().replace("high = 5.0", "high = 1.0").replace("start = 3.5", "start = 0.0")
    file = tmp_path / "scrap.toml"
    file.write_text(text.replace("start = 1.5", "start = 0.0").replace("low = 0.0", "low = -0.001"))
    shown = CliRunner().invoke(cli, ["demo", "--config", str(file), "--trials", "1"])
    assert shown.exit_code == 0, shown.output
    assert "nothing can be recommended" in shown.stdout


def test_on_a_terminal_the_page_shows_progress_champion_scrap_and_reasons():
    leader, follower = pty.openpty()
    done = subprocess.Popen(  # our own command
        [sys.executable, "-m", "tuner", "demo", "--trials", "3"],
        stdout=follower,
        stderr=follower,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "140", "LINES": "50"},
    )
    os.close(follower)
    seen = bytearray()
    try:
        while chunk := os.read(leader, 65536):
            seen += chunk
    except OSError:  # Linux says so when the other end is closed
        pass
    os.close(leader)
    assert done.wait(timeout=60) == 0
    text = seen.decode()
    for words in ("trials", "3/3", "champion", "known optimum", "scrap", "Explores ground", "Recommended:"):
        assert words in text


def test_a_machine_that_is_not_simulated_is_refused(monkeypatch):
    monkeypatch.setattr(session_module, "SIMULATED", "another")
    with pytest.raises(ConfigError, match="runs on the adapter 'another' only, not on 'simulated'"):
        Session.from_file(SASENA, trials=1, seed=0)


@pytest.mark.parametrize(("arguments", "code"), [(["--config", "missing.toml"], 78), (["--trials", "0"], 2)])
def test_wrong_options_are_one_sentence_and_an_exit_code(arguments, code):
    shown = CliRunner().invoke(cli, ["demo", *arguments])
    assert shown.exit_code == code
    assert "Traceback" not in shown.output


def test_the_sample_configuration_is_found_in_the_checkout_or_where_it_was_installed(monkeypatch, tmp_path):
    class Entry(type(Path("x"))):
        def locate(self):
            return self

    def install(root):
        file = root / "share" / "process-tuner" / "configs" / "sasena.toml"
        file.parent.mkdir(parents=True)
        file.write_text(SASENA.read_text())
        return file

    assert sample_config() == SASENA
    prefix, target = tmp_path / "prefix", tmp_path / "target"
    monkeypatch.setattr(session_module, "__file__", str(target / "tuner" / "demo" / "session.py"))
    monkeypatch.setattr(session_module, "files", lambda _: None)
    with pytest.raises(ConfigError, match="--config"):
        sample_config()
    installed = install(prefix)
    monkeypatch.setattr(session_module, "files", lambda _: [Entry("tuner/cli.py"), Entry(installed)])
    assert sample_config() == installed
    beside = install(target)
    assert sample_config() == beside
