"""The resolution in a campaign's terms: the usual one for those that begin now, what it was for those under way."""

import pytest

from tests.campaign.helpers import Driver
from tests.daemon.running import campaign_text
from tuner.campaign import commands as c
from tuner.campaign.terms import Terms
from tuner.config import parse_config
from tuner.gate.plan import GateRefusal, checked, plan


def configured(**changes) -> Terms:
    text = campaign_text(autostart=False)
    for key, value in changes.items():
        text = text.replace("start = 3.5", f"start = 3.5\n{key} = {value}")
    return Terms.of(parse_config(text, "test").campaigns[0])


def plain(terms: Terms) -> Terms:
    """As a journal of an earlier version has it."""
    text = terms.model_dump_json().replace('"resolution":0.001', '"resolution":null')
    return Terms.model_validate_json(text)


def test_a_campaign_that_begins_now_has_the_usual_resolution_in_its_journal():
    campaign = Driver(configured())
    assert [p.resolution for p in campaign.state.terms.parameters] == [0.001, 0.001]
    assert campaign.refold().terms.parameters[0].resolution == 0.001
    assert campaign.state.terms.space_json()["parameters"][0]["resolution"] == 0.001


def test_one_that_began_without_goes_on_without():
    campaign = Driver(plain(configured()))
    assert campaign.tell(c.ChangeTerms(terms=configured())) == []
    assert campaign.tell(c.ChangeTerms(terms=configured(step_limit=2.0))) == ["terms_changed"]
    assert [p.resolution for p in campaign.state.terms.parameters] == [None, None]
    assert "resolution" not in campaign.state.terms.space_json()["parameters"][0]


def test_the_usual_resolution_of_a_campaign_under_way_does_not_follow_its_limits():
    campaign = Driver(configured())
    campaign.state = campaign.refold()
    assert campaign.tell(c.ChangeTerms(terms=configured())) == []
    assert campaign.tell(c.ChangeTerms(terms=configured(step_limit=0.05))) == ["terms_changed"]
    assert campaign.state.terms.parameters[0].resolution == 0.001
    refusal = campaign.refused(c.ChangeTerms(terms=configured(step_limit=0.0005)))
    assert refusal.text == "x1: step_limit: must be at least the resolution (0.001)"


def test_another_one_cannot_be_configured_for_a_campaign_under_way():
    for begun in (configured(), plain(configured())):
        assert Driver(begun).refused(c.ChangeTerms(terms=configured(resolution=0.05))).code == "fixed_terms"
    campaign = Driver(configured(resolution=0.05))
    assert campaign.tell(c.ChangeTerms(terms=configured(resolution=0.05, label='"gap"'))) == ["terms_changed"]


def test_the_gate_sends_nothing_finer_on_its_way_either():
    terms = configured(resolution=0.05, step_limit=0.33)
    moves = plan(terms, {"x1": 1.017, "x2": 1.5}, {"x1": 2.0, "x2": 1.5})
    assert [move.setting["x1"] for move in moves] == [1.3, 1.6, 1.9, 2.0]
    with pytest.raises(GateRefusal, match=r"x1 must be a multiple of its resolution 0.05: 2 or 2.05, not 2.01"):
        checked(terms, {"x1": 2.01, "x2": 1.5})
