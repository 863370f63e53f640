"""Since when a campaign does what it does: waiting anew after a hold, on the way home from when that was wanted."""

from datetime import timedelta

from tests.campaign.helpers import Driver, terms
from tuner.campaign import commands as c
from tuner.daemon.views import phase


def since(campaign):
    return phase(campaign.state, campaign.now)[2]


def test_what_waits_for_approval_waits_anew_after_a_hold():
    campaign = Driver(terms(policy={"approval": True}))
    campaign.tell(c.Start())
    assert since(campaign) == campaign.now
    campaign.tell(c.Hold())
    campaign.now += timedelta(hours=1)
    campaign.tell(c.Resume())
    assert since(campaign) == campaign.now


def test_the_way_home_counts_from_when_it_was_wanted():
    campaign = Driver()
    campaign.tell(c.Start())
    campaign.send()
    campaign.tell(c.Hold())
    campaign.now += timedelta(hours=1)
    campaign.tell(c.MachineOutcome(trial=1, valid=True))
    campaign.tell(c.GoHome())
    assert since(campaign) == campaign.now


def test_a_question_waits_from_when_it_was_asked_and_the_next_setting_from_when_the_last_thing_ended():
    campaign = Driver()
    campaign.tell(c.Start())
    campaign.make()
    assert since(campaign) == campaign.now
    campaign.propose()
    campaign.make()
    asked = campaign.now
    campaign.now += timedelta(minutes=3)
    assert since(campaign) == asked
    campaign.judge(new_wins=True)
    ended = campaign.now
    campaign.tell(c.Retract(judgment=1))
    assert since(campaign) >= ended
