"""After a change of lot the champion is made again, so that new parts meet one of the same material."""

from tests.campaign.helpers import ANNA, Driver, terms
from tuner.campaign import commands as c
from tuner.campaign.effects import ComputeNext, wanted
from tuner.campaign.model_input import optimizer_state
from tuner.campaign.state import Stage


def tuned(*, remake=True, trials=10):
    """Two parts of the lot A, of which the second is the champion."""
    campaign = Driver(terms(trials=trials, policy={"remake_after_lot": remake}))
    campaign.tell(c.ChangeLot(lot="A"))
    campaign.begun()
    campaign.propose(x=1.0)
    campaign.make()
    campaign.judge(new_wins=True)
    assert campaign.state.champion == 2
    return campaign


def test_without_the_policy_the_old_lot_s_champion_stays_the_reference():
    campaign = tuned(remake=False)
    assert campaign.tell(c.ChangeLot(lot="B")) == ["lot_changed"]
    assert isinstance(wanted(campaign.state), ComputeNext)


def test_the_champion_is_made_again_with_the_reason_said():
    campaign = tuned()
    assert campaign.tell(c.ChangeLot(lot="B")) == ["lot_changed", "proposal_made", "proposal_approved"]
    again = campaign.state.trial
    assert again.setting == campaign.state.trials[1].setting
    assert (again.source, again.repeats, again.lot) == ("lot", 2, "B")
    assert again.reason.startswith("The lot is another one: the champion P2 is made again")
    assert campaign.tell(c.ChangeLot(lot="B")) == []


def test_new_parts_are_compared_with_the_part_of_their_lot_and_a_win_makes_them_champion():
    campaign = tuned()
    campaign.tell(c.ChangeLot(lot="B"))
    assert campaign.make() == ["outcome_told"]  # nobody is asked to compare a setting with itself
    assert campaign.state.champion == 2
    campaign.propose(x=2.0)
    campaign.make()
    assert campaign.state.duel.pair == {3, 4}
    campaign.judge(new_wins=True)
    assert campaign.state.champion == 4
    assert campaign.refold() == campaign.state
    told = optimizer_state(campaign.state).judgments
    assert [(one.pair, one.winner) for one in told] == [({1, 2}, 2), ({2, 4}, 4)]


def test_a_loss_leaves_the_champion_and_the_next_lot_has_it_made_again():
    campaign = tuned()
    campaign.tell(c.ChangeLot(lot="B"))
    campaign.make()
    campaign.propose(x=2.0)
    campaign.make()
    campaign.judge(new_wins=False)
    assert campaign.state.champion == 2
    campaign.tell(c.ChangeLot(lot="C"))
    assert campaign.state.trial.repeats == 2
    campaign.make()
    campaign.propose(x=3.0)
    campaign.make()
    assert campaign.state.duel.pair == {5, 6}


def test_back_to_the_champion_s_own_lot_nothing_is_made_again():
    campaign = tuned()
    campaign.tell(c.ChangeLot(lot="B"))
    campaign.make()
    assert campaign.tell(c.ChangeLot(lot="A")) == ["lot_changed"]
    campaign.propose(x=2.0)
    campaign.make()
    assert campaign.state.duel.pair == {2, 4}


def test_scrap_of_the_new_lot_is_not_tried_again_and_the_old_part_stays_the_reference():
    campaign = tuned()
    campaign.tell(c.ChangeLot(lot="B"))
    campaign.make(valid=False)
    assert isinstance(wanted(campaign.state), ComputeNext)
    campaign.propose(x=2.0)
    campaign.make()
    assert campaign.state.duel.pair == {2, 4}


def test_one_that_a_stop_dropped_is_made_after_the_next_start():
    campaign = tuned()
    campaign.tell(c.ChangeLot(lot="B"))
    campaign.tell(c.Stop())
    assert campaign.state.trials[2].stage is Stage.DROPPED
    campaign.home()
    campaign.tell(c.Start())
    assert (campaign.state.trial.source, campaign.state.trial.repeats) == ("lot", 2)


def test_a_budget_that_is_used_up_makes_nothing_again():
    campaign = tuned(trials=2)
    assert str(campaign.state.mode) == "Complete"
    assert campaign.tell(c.ChangeLot(lot="B"), ANNA) == ["lot_changed"]
