"""Whole campaigns through every protocol: the real daemon, the real server on loopback."""

import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon.running import daemon, until
from tests.system.plc_sites import S7, Modbus, Opcua
from tests.system.sites import (
    CAMPAIGN,
    NUMBERS,
    Calling,
    Command,
    Example,
    Http,
    Line,
    Mqtt,
    Serial,
    Site,
    sasena,
    toml,
)

KINDS = [Modbus, Opcua, S7, Mqtt, Http, Serial, Command, Line, Calling]


@contextmanager
def opened(kind: type[Site]):
    """Short paths, for sockets."""
    with tempfile.TemporaryDirectory(prefix="site-") as directory:
        site = kind(Path(directory))
        try:
            yield site
        finally:
            site.close()


def run_campaign(site: Site, trials: int) -> list[tuple[dict, dict]]:
    """Tune until the budget is used up; the proposal and the outcome of each trial, from the journal."""
    text = CAMPAIGN.format(
        trials=trials, name=site.name, settings=toml(site.settings()), parameters=toml(site.parameters)
    )
    with daemon(text) as running:
        running.start()
        with running.client() as client:
            while True:
                view = until(client, "press", lambda view: view.duel is not None or view.mode != "Execute")
                assert view.mode in ("Execute", "Complete"), view.reason
                if view.mode == "Complete":
                    break
                client.judge("press", view.duel.number, site.winner(view), took_s=1.0)
            until(client, "press", lambda view: view.phase == "complete" and view.machine.home)
        assert running.stop() == 0
        assert "defect" not in running.log()
        with running.journal() as store:
            assert store.verify().ok
            rows = [(row.type, json.loads(row.body)) for row in store.rows(campaign="press")]
    proposed = {body["trial"]: body for kind, body in rows if kind == "proposal_made"}
    return [(proposed[body["trial"]], body) for kind, body in rows if kind == "outcome_told"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_campaign_runs_to_its_end_and_the_machine_has_the_same_record(kind):
    with opened(kind) as site:
        check(site, run_campaign(site, 30), 30)


@pytest.mark.slow
def test_a_short_campaign_over_a_serial_line():
    with opened(Serial) as site:
        check(site, run_campaign(site, 5), 5)


@pytest.mark.slow
def test_the_example_program_can_be_tuned_though_it_has_no_setting_before_the_first():
    with opened(Example) as site:
        told = run_campaign(site, 4)
    assert len(told) == 4
    for proposal, outcome in told:
        assert outcome["valid"] == (proposal["setting"]["heat"] >= 150)
    assert told[0][0]["setting"] == site.home


def check(site: Site, told: list[tuple[dict, dict]], trials: int) -> None:
    """As many parts as trials, each made once, with the setting and the outcome that the journal has."""
    assert site.setting() == site.home
    parts = {tag.rsplit("-", 1)[1]: (setting, valid) for tag, setting, valid in site.parts()}
    assert len(told) == len(parts) == len(site.parts()) == trials
    for proposal, outcome in told:
        setting, valid = parts[proposal["tag"]]
        assert setting == proposal["setting"]
        assert outcome["valid"] is valid
        if valid and site.parameters is NUMBERS:
            assert outcome["measurements"]["objective"] == pytest.approx(sasena(setting)[1], rel=1e-12)
    assert any(outcome["valid"] for _, outcome in told)
