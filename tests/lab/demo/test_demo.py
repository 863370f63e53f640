import os
import pty
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.lab.simulate.helpers import quiet, sasena
from tests.patience import PATIENT_S
from tuner.campaign.state import Mode, Stage
from tuner.cli.main import cli
from tuner.errors import ConfigError, TunerError, UnreachableError
from tuner.lab.demo import sample as sample_module
from tuner.lab.demo.display import summary
from tuner.lab.demo.sample import sample_config
from tuner.lab.demo.session import LASTS_S, REPORT, Session
from tuner.lab.judges.by_name import make_judge
from tuner.lab.local_daemon import LocalDaemon
from tuner.lab.simulate.in_process import run_in_process
from tuner.report.story import story_of_journal
from tuner.wire.client import Client

ROOT = Path(__file__).parents[3]
SASENA = ROOT / "configs" / "sasena.toml"
NOW = datetime(2026, 3, 3, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path_factory, monkeypatch):
    """What the demo keeps for its user is thrown away with the test; the path is short, for the sake of sockets."""
    place = tmp_path_factory.mktemp("d")
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", str(place))


def session(trials=4, file=SASENA, seed=0, **options):
    return Session.from_file(file, trials=trials, seed=seed, **{"human": False, "fast": True, **options})


def changed(tmp_path, *changes):
    file = tmp_path / "changed.toml"
    text = SASENA.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    return file


def test_a_demo_tunes_through_a_real_daemon_and_ends_with_a_report():
    shown = CliRunner().invoke(cli, ["demo", "--trials", "6", "--seed", "1", "--fast"])
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert [line.split()[0] for line in lines[:6]] == [f"{number}/6" for number in range(1, 7)]
    assert "The known-good setting" in lines[0]
    assert lines[6].startswith("Ended after 6 trials")
    for words in ("Champion:", "Recommended:", "Known optimum: x1 = 2.7450, x2 = 2.3523: true cost -1.1743"):
        assert any(line.startswith(words) for line in lines)
    assert "Machine:       at its known-good setting" in lines
    (report,) = [Path(line.split()[1]) for line in lines if line.startswith("Report:")]
    assert report.name == REPORT
    page = report.read_text()
    assert "known optimum" in page
    assert "https://" not in page
    story = story_of_journal(report.parent, "sasena", NOW)
    assert story.state.mode is Mode.COMPLETE
    assert story.state.machine.home
    own = run_in_process(sasena(1), make_judge("oracle", 1), quiet)
    assert [trial.setting for trial in story.state.trials] == list(own.settings)


@pytest.mark.slow
def test_an_interrupt_ends_it_with_what_was_reached_and_the_machine_at_home():
    one = session(trials=50)

    def interrupt():
        if one.done == 3 and not one.state.machine.home_wanted and one.state.mode is Mode.EXECUTE:
            raise KeyboardInterrupt

    assert one.run(interrupt) is True
    assert one.state.mode is Mode.STOPPED
    assert one.home == "at its known-good setting"
    assert one.champion is not None
    assert one.recommended is not None
    story = story_of_journal(one.place, "sasena", NOW)
    assert story.state.machine.home
    assert sum(trial.stage is Stage.DONE for trial in story.state.trials) in (3, 4)  # a part under way is finished
    one.write_report(lambda: None)
    assert Path(one.report).exists()


@pytest.mark.slow
def test_an_interrupt_while_the_daemon_starts_leaves_none_behind(monkeypatch):
    one = session()
    started = LocalDaemon.start

    def interrupted(self):
        started(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalDaemon, "start", interrupted)
    assert one.run(lambda: None) is True
    assert not answers(one.place)
    assert one.home == "it was not moved"


def answers(place):
    with Client.local(place, find_s=0.5) as client:
        try:
            client.ping()
        except UnreachableError:
            return False
    return True


@pytest.mark.slow
def test_with_human_nobody_judges_but_people_at_their_own_client():
    one = session(trials=3, human=True)
    asked = []

    def judge_as_a_person():
        duel = one.state.duel
        if duel is not None and duel.number not in asked:
            asked.append(duel.number)
            with Client.local(one.place, actor="anna") as client:
                client.judge("sasena", duel.number, max(duel.pair))

    assert one.run(judge_as_a_person) is False
    assert one.state.mode is Mode.COMPLETE
    assert {judgment.operator for judgment in one.state.judgments} == {"anna"}
    assert len(one.state.judgments) == len(asked) > 0


@pytest.mark.slow
def test_with_human_the_command_of_the_console_is_told_and_ctrl_c_ends_it():
    started = subprocess.Popen(
        [sys.executable, "-m", "tuner", "demo", "--human", "--trials", "5", "--fast"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    first, second = started.stdout.readline(), started.stdout.readline()
    started.send_signal(signal.SIGINT)
    rest, errors = started.communicate(timeout=PATIENT_S)
    told = r"tuner web --state \S+ --photos \S+/pictures .* tuner console --state \S+\n"
    assert re.fullmatch(f"Judge the parts in another terminal: {told}", first)
    assert second.split()[0] == "1/5"
    assert started.returncode == 130, errors
    assert "Interrupted after" in rest
    assert "Machine:       at its known-good setting" in rest
    assert Path(re.search(r"Report: +(\S+)", rest)[1]).exists()


@pytest.mark.slow
def test_a_machine_that_cannot_go_on_ends_it_with_the_reason(tmp_path):
    one = session(file=changed(tmp_path, ("noise = 0.0 ", "read_back_error = 0.5\nnoise = 0.0 ")))
    assert one.run(lambda: None) is False
    assert one.state.mode is Mode.HELD
    assert one.home.startswith("NOT at its known-good setting: ")


@pytest.mark.slow
def test_the_scrap_of_the_budget_ends_it_and_spectators_have_time_to_look(tmp_path):
    one = session(trials=40, file=changed(tmp_path, ("scrap = 20", "scrap = 1")), fast=False)
    pauses, phases = [], []

    def look(seconds):
        pauses.append(seconds)
        phases.append(one.phase)

    one.pause = look
    one.run(lambda: None)
    assert one.scrap <= 1
    assert one.done == 40 or one.trials[-1].valid is False
    # after each proposal, outcome and answer
    assert not any("engineer" in phase for phase in phases), "nobody approves"
    assert len(pauses) == 2 * one.done + len(one.state.judgments)
    assert all(0.0 < pause < one.trial_s for pause in pauses)


def test_without_any_part_nothing_is_recommended():
    assert "No part was made, so nothing can be recommended." in summary(session(), interrupted=False)


def test_the_pace_leaves_time_to_look_and_none_is_left_with_fast():
    assert session(trials=40, fast=False).trial_s == pytest.approx(LASTS_S / 40)
    assert session(trials=2, fast=False).trial_s < 2.0
    assert session(trials=2).trial_s == session(trials=2, human=True, fast=False).trial_s == 0.0


@pytest.mark.slow
def test_on_a_terminal_the_page_shows_phase_answers_champion_scrap_and_reasons():
    leader, follower = pty.openpty()
    done = subprocess.Popen(  # our own command
        [sys.executable, "-m", "tuner", "demo", "--trials", "3", "--fast"],
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
    assert done.wait(timeout=PATIENT_S) == 0
    text = seen.decode()
    for words in ("trials", "3/3", "now", "is better than", "champion", "known optimum", "scrap", "Explores ground"):
        assert words in text
    assert "Recommended:" in text
    costs = re.findall(r"progress +(-?[\d.]+(?: > -?[\d.]+)*)", text)[-1].split(" > ")
    assert costs[0] == "6.403"
    assert len(costs) == len(set(costs)), "each champion once"


def test_a_directory_too_long_for_sockets_is_refused(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", f"/{'long' * 20}")
    with pytest.raises(TunerError, match="set TMPDIR to a shorter one"):
        session()


def test_a_machine_that_is_not_simulated_is_refused():
    with pytest.raises(ConfigError, match="runs on the adapter 'simulated' only, not on 'command'"):
        session(file=SASENA.with_name("command.toml"))


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
    monkeypatch.setattr(sample_module, "__file__", str(target / "tuner" / "lab" / "demo" / "sample.py"))
    monkeypatch.setattr(sample_module, "files", lambda _: None)
    with pytest.raises(ConfigError, match="--config"):
        sample_config()
    installed = install(prefix)
    monkeypatch.setattr(sample_module, "files", lambda _: [Entry("tuner/cli/main.py"), Entry(installed)])
    assert sample_config() == installed
    beside = install(target)
    assert sample_config() == beside
