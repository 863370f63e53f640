"""The alarms of a campaign: when each came, what it was, when it was over, and who has acknowledged it."""

from tests.campaign.helpers import ANNA, ENGINEER, Driver
from tuner.campaign import commands as c


def at_fault() -> Driver:
    campaign = Driver()
    campaign.tell(c.Start())
    campaign.tell(c.SendSetting(trial=1))
    campaign.tell(c.AnswerSetting(trial=1, result="unverified", text="read back x 3"))
    return campaign


def test_an_alarm_has_the_time_when_it_came_and_when_it_was_over():
    campaign = at_fault()
    came = campaign.now
    campaign.home("failed")
    campaign.home("failed")
    campaign.home()
    home = campaign.now
    campaign.tell(c.Resume(), ANNA)
    fault, away = campaign.state.alarms
    assert (fault.number, fault.cause, fault.text) == (1, "unverified", "setting unverified: read back x 3")
    assert (fault.at, fault.cleared_at) == (came, campaign.now)
    assert (away.cause, away.cleared_at) == ("home", home)
    assert campaign.refold() == campaign.state


def test_somebody_acknowledges_it_once():
    campaign = at_fault()
    assert campaign.tell(c.Acknowledge(alarm=1), ANNA) == ["alarm_acknowledged"]
    assert campaign.state.alarms[0].acknowledged_by == "anna"
    assert campaign.state.alarms[0].acknowledged_at == campaign.now
    assert campaign.state.fault  # to have seen it mends nothing
    assert "by anna at 08:00" in campaign.refused(c.Acknowledge(alarm=1), ENGINEER).text
    assert campaign.refused(c.Acknowledge(alarm=2)).code == "not_found"


def test_a_person_who_holds_raises_no_alarm():
    campaign = Driver()
    campaign.tell(c.Start())
    campaign.tell(c.Hold(reason="lunch"))
    assert campaign.state.alarms == ()


def test_a_duel_is_asked_again_when_somebody_wants_it():
    campaign = Driver()
    campaign.tell(c.Start())
    campaign.make()
    campaign.propose(x=1.0)
    campaign.make()
    campaign.judge(new_wins=True)
    campaign.propose(x=2.0)
    campaign.make()
    assert campaign.tell(c.AskAgain(judgment=1), ANNA) == ["look_wanted"]
    assert campaign.refused(c.AskAgain(judgment=1)).code == "unchanged"
    assert campaign.judge(new_wins=False) == ["judgment_given", "duel_asked"]
    assert (campaign.state.duel.pair, campaign.state.duel.why) == (frozenset({1, 2}), "again")
    assert campaign.state.looks == ()
    assert campaign.refold() == campaign.state
    assert campaign.refused(c.AskAgain(judgment=9)).code == "not_found"
    campaign.judge(new_wins=True)
    campaign.tell(c.Exclude(trial=2, reason="dirty"))
    assert campaign.refused(c.AskAgain(judgment=1)).code == "not_open"
