"""Journals of every version stay readable: each is verified, folded, reported and replayed by the present code."""

import re
from typing import get_args

import pytest
from click.testing import CliRunner

from tests.journals.make import expected, facts, restore, versions
from tuner.campaign.events import Event
from tuner.cli.main import cli
from tuner.daemon.journal_thread import load_state
from tuner.journal import Store

ALL = versions()


def tuner(*arguments: object):
    return CliRunner().invoke(cli, [*map(str, arguments)])


@pytest.fixture(params=ALL)
def kept(request, tmp_path):
    """A state directory with a journal of the corpus, and what is to be read in it."""
    restore(request.param, tmp_path / "state")
    return tmp_path / "state", expected(request.param)


def read(store: Store) -> dict[str, object]:
    states = {row.name: load_state(store, row.name) for row in store.campaigns()}
    return {name: facts(state) for name, state in states.items()}


def test_there_is_a_journal_of_every_release_and_one_of_the_present_code():
    assert {"0.1.0", "0.2.0", "unreleased"} <= set(ALL)


@pytest.mark.parametrize("version", ALL)
def test_a_journal_of_the_corpus_has_every_event_of_its_time(version):
    known = {kind.model_fields["type"].default for kind in get_args(get_args(Event)[0])}
    if version == "unreleased":
        assert set(expected(version)["types"]) == known, "give the new event a part in tests/journals/scenario.py"
    assert set(expected(version)["types"]) <= known


def test_it_is_verified_and_folded_as_it_is_and_as_the_daemon_brings_it_up_to_date(kept):
    state, known = kept
    for opened in (Store.open_reading, Store.open, Store.open_reading):
        with opened(state / "journal.sqlite") as store:
            verdict = store.verify(expect_head=known["head"])
            assert (verdict.ok, verdict.why, verdict.head[1]) == (True, "", known["head"])
            assert verdict.events == sum(known["types"].values())
            assert read(store) == known["campaigns"]
    assert tuner("journal", "verify", "--state", state, "--expect-head", known["head"]).exit_code == 0


def test_it_can_be_backed_up_and_restored(kept, tmp_path):
    state, known = kept
    assert tuner("journal", "backup", tmp_path / "copy.sqlite", "--state", state).exit_code == 0
    assert tuner("journal", "restore", tmp_path / "copy.sqlite", "--state", tmp_path / "new").exit_code == 0
    with Store.open(tmp_path / "new" / "journal.sqlite") as store:
        assert store.verify(expect_head=known["head"]).ok
        assert read(store) == known["campaigns"]


@pytest.mark.parametrize("drawn", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["texts", "figures"])
def test_every_campaign_of_it_is_reported(kept, tmp_path, drawn, monkeypatch):
    state, known = kept
    if not drawn:  # figures take seconds each, and tests/report draws some
        monkeypatch.setattr("tuner.report.page._drawn", lambda *_: "")
    for name, campaign in known["campaigns"].items():
        shown = tuner("report", name, "--state", state, "--out", tmp_path / f"{name}.html")
        assert shown.exit_code == 0, shown.output
        assert f"after {len(campaign['trials'])} trials" in shown.stdout
        assert campaign["trials"][-1][1] in (tmp_path / f"{name}.html").read_text()


def test_every_proposal_of_it_is_computed_again(kept):
    """Another version of the optimiser may propose something else, and says so; it must know what was known then."""
    state, known = kept
    shown = tuner("replay", "--state", state, "--jobs", 2)
    count = known["proposals"]
    assert shown.exit_code == 0, shown.output
    said = re.escape(f"{count} proposals") + r"( and \d+ questions?)? made by another version, tuner corpus: "
    assert re.search(said, shown.stdout), shown.stdout
