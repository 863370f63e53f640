from datetime import UTC, datetime

import pytest

from tests.lab.simulate.helpers import MIXED, quiet, tuner
from tuner.lab.judges.by_name import make_judge
from tuner.lab.local_daemon import LocalDaemon
from tuner.lab.simulate.prepare import as_toml, chosen_campaign, scripted
from tuner.lab.simulate.wired import Wired
from tuner.report.story import story_of_daemon, story_of_journal

NOW = datetime(2026, 3, 3, tzinfo=UTC)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A state directory after a run, and the story its daemon told while it was running."""
    place = tmp_path_factory.mktemp("r")
    (place / "mixed.toml").write_text(MIXED)
    campaign = scripted(chosen_campaign(place / "mixed.toml"), 2, trials=5)
    (place / "tuner.toml").write_text(as_toml(campaign))
    with LocalDaemon(place / "tuner.toml", place / "s") as running, running.client() as client:
        run = Wired(client, campaign, running.alive).run(make_judge("oracle", 2), quiet, lambda: False)
        assert run.complete
        story = story_of_daemon(client, "press-2", NOW)
    return place / "s", story


@pytest.mark.slow
def test_the_running_daemon_and_the_journal_tell_the_same_story(told):
    state, story = told
    read = story_of_journal(state, "press-2", NOW)
    assert read.champions == story.champions
    assert read.state.trials == story.state.trials
    assert read.state.judgments == story.state.judgments
    assert read.state.champion == story.state.champion
    assert read.state.memory.asks == story.state.memory.asks


def test_a_report_is_written_from_the_journal_when_no_daemon_runs(told, tmp_path):
    shown = tuner("report", "press-2", "--state", told[0], "--out", tmp_path / "page.html")
    assert shown.exit_code == 0, shown.output
    page = (tmp_path / "page.html").read_text()
    assert "press-2" in page
    assert "true cost" in page
    assert "known optimum" in page
    assert "at its known-good setting" in page
    assert "http" not in page.replace("&", "")


def test_a_state_directory_that_was_typed_goes_before_an_endpoint_of_the_environment(told, tmp_path, monkeypatch):
    monkeypatch.setenv("TUNER_CONNECT", "ipc:///nowhere/requests.sock")
    monkeypatch.setattr("tuner.report.page.report_page", lambda story: f"{len(story.state.trials)} trials")
    shown = tuner("report", "press-2", "--state", told[0], "--out", tmp_path / "page.html")
    assert shown.exit_code == 0, shown.output
    assert (tmp_path / "page.html").read_text() == "5 trials"


def test_a_wrong_name_is_answered_with_the_nearest(told):
    shown = tuner("report", "pres-2", "--state", told[0])
    assert shown.exit_code == 1
    assert 'there is no campaign "pres-2"; did you mean "press-2"?' in shown.stderr


def test_without_journal_and_daemon_the_daemon_is_unreachable(tmp_path):
    shown = tuner("report", "press-2", "--state", tmp_path)
    assert shown.exit_code == 69


def test_a_page_that_cannot_be_written_is_one_sentence(told, tmp_path):
    shown = tuner("report", "press-2", "--state", told[0], "--out", tmp_path / "no" / "page.html")
    assert shown.exit_code == 1
    assert "cannot be written: there is no directory" in shown.stderr
