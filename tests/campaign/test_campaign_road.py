"""The road of a trial, from its proposal to its question."""

import json

import numpy as np
import pytest

from tests.campaign.helpers import ANNA, Driver, terms
from tuner.campaign import commands as c
from tuner.campaign.effects import ComputeNext, ReturnHome, Run, Send, wanted
from tuner.campaign.model_input import model_input
from tuner.campaign.state import Mode
from tuner.compute.spaces import space_from_json
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.proposer import next_kind


def test_the_first_trial_is_the_known_good_setting_and_needs_no_model():
    driver = Driver()
    assert driver.tell(c.Start()) == ["campaign_started", "proposal_made", "proposal_approved"]
    assert driver.state.trial.setting == driver.state.terms.known_good
    assert wanted(driver.state) == Send(1)


def test_a_trial_goes_its_road_and_ends_in_a_question(campaign):
    assert isinstance(wanted(campaign.state), ComputeNext)
    campaign.propose(x=7.0)
    assert wanted(campaign.state) == Send(2)
    campaign.tell(c.SendSetting(trial=2))
    assert campaign.state.machine.requested == {"x": 7.0, "n": 2}
    assert not campaign.state.machine.verified
    campaign.tell(c.AnswerSetting(trial=2, result="applied", read_back={"x": 7.0, "n": 2}))
    assert campaign.state.machine.verified
    assert wanted(campaign.state) == Run(2)
    campaign.tell(c.BeginTrial(trial=2))
    assert wanted(campaign.state) == Run(2)
    assert campaign.tell(c.MachineOutcome(trial=2, valid=True)) == ["outcome_told", "duel_asked"]
    assert campaign.state.duel.pair == {1, 2}
    assert wanted(campaign.state) is None
    campaign.judge(new_wins=True)
    assert campaign.state.champion == 2
    assert isinstance(wanted(campaign.state), ComputeNext)


def test_a_non_valid_trial_is_not_asked_about(campaign):
    campaign.propose()
    assert campaign.make(valid=False) == ["outcome_told"]
    assert campaign.state.scrap == 1
    assert isinstance(wanted(campaign.state), ComputeNext)


def test_with_approval_nothing_is_sent_before_an_engineer_agrees():
    driver = Driver(terms(policy={"approval": True}))
    driver.tell(c.Start())
    assert wanted(driver.state) is None
    assert driver.refused(c.SendSetting(trial=1)).code == "stale"
    driver.tell(c.Approve(trial=1))
    assert wanted(driver.state) == Send(1)
    assert driver.refused(c.Approve(trial=1)).code == "not_open"


def test_a_rejected_proposal_is_neither_trial_nor_scrap_and_another_one_is_wanted():
    driver = Driver(terms(policy={"approval": True}))
    driver.tell(c.Start())
    assert driver.refused(c.Reject(trial=1, reason="no")).code == "not_allowed"
    driver.tell(c.Approve(trial=1))
    driver.make()
    driver.propose(x=9.0)
    driver.tell(c.Reject(trial=2, reason="too hot"))
    assert driver.state.spent == 1
    assert driver.state.scrap == 0
    assert isinstance(wanted(driver.state), ComputeNext)


def test_the_model_keeps_away_from_a_rejected_setting_and_takes_it_for_no_scrap():
    driver = Driver(terms(policy={"approval": True}))
    driver.tell(c.Start())
    driver.tell(c.Approve(trial=1))
    driver.make()
    driver.propose(x=9.0)
    driver.tell(c.Reject(trial=2, reason="too hot"))
    told = model_input(driver.state)
    optimizer = Optimizer.from_state(space_from_json(told["space"]), told["state"])
    assert [trial.number for trial in optimizer.ledger.avoided] == [2]
    assert optimizer.ledger.scrap == 0
    assert optimizer.learned().border is None  # nothing says that parts may fail
    before = Optimizer.from_state(optimizer.space, {**told["state"], "trials": told["state"]["trials"][:1]})
    luck = np.random.default_rng(0)
    kinds = [next_kind(one.learned(), one.strategy, "auto", 10, luck) for one in (before, optimizer)]
    assert kinds == ["design", "design"]


@pytest.mark.parametrize("result", ["refused", "failed", "unverified"])
def test_what_is_not_applied_holds_the_campaign_and_brings_the_machine_home(campaign, result):
    campaign.propose()
    campaign.tell(c.SendSetting(trial=2))
    campaign.tell(c.AnswerSetting(trial=2, result=result, text="the door is open"))
    assert campaign.state.mode is Mode.HELD
    assert "the door is open" in campaign.state.fault
    assert isinstance(wanted(campaign.state), ReturnHome)
    campaign.home()
    assert campaign.state.machine.home
    campaign.tell(c.Resume())
    assert wanted(campaign.state) == Send(2)


def test_the_first_fault_is_kept(campaign):
    campaign.propose()
    campaign.send()
    campaign.tell(c.Fault(text="the fuse"))
    campaign.tell(c.Fault(text="everything after it"))
    assert campaign.state.fault == "the fuse"


def test_a_return_home_that_failed_is_stated(campaign):
    campaign.propose()
    campaign.tell(c.Stop())
    campaign.home(result="failed")
    assert not campaign.state.machine.home
    assert campaign.state.machine.home_failed is not None
    assert wanted(campaign.state) is None
    campaign.tell(c.GoHome())
    assert isinstance(wanted(campaign.state), ReturnHome)


def test_no_more_parts_are_promised_again_than_the_budget_has():
    driver = Driver(terms(trials=4)).begun()
    driver.propose()
    driver.make()
    driver.judge(new_wins=False)
    driver.propose(x=3.0)
    driver.tell(c.Repeat(trial=1))
    refusal = driver.refused(c.Repeat(trial=2))
    assert refusal.code == "budget_used_up"
    assert refusal.text == "1 part to be made again will use up the budget; part P2 cannot be made again"


def test_terms_that_give_trials_their_meaning_cannot_change():
    driver = Driver()
    other = json.loads(driver.state.terms.model_dump_json())
    other["parameters"][0]["high"] = 20.0
    refusal = driver.refused(c.ChangeTerms(terms=type(driver.state.terms).model_validate_json(json.dumps(other))))
    assert refusal.code == "fixed_terms"
    assert f"cannot change {other['parameters'][0]['name']}.high: " in refusal.text


def test_in_a_dry_run_somebody_tells_the_outcome():
    driver = Driver(terms(policy={"dry_run": True}))
    driver.tell(c.Start())
    driver.send()
    assert wanted(driver.state) is None
    assert not driver.state.machine.verified
    driver.tell(c.TellOutcome(trial=1, valid=True))
    assert driver.state.champion == 1


def test_scrap_told_later_corrects_the_outcome_and_closes_the_question(campaign):
    campaign.propose()
    campaign.make()
    assert campaign.tell(c.TellOutcome(trial=2, valid=False, reason="crack"), ANNA) == ["outcome_told", "duel_closed"]
    assert campaign.state.scrap == 1
    assert campaign.refused(c.TellOutcome(trial=2, valid=False, reason="crack")).code == "unchanged"


def test_making_a_part_again_takes_its_setting(campaign):
    campaign.propose(x=9.0)
    campaign.make()
    campaign.judge(new_wins=True)
    campaign.tell(c.Repeat(trial=1), ANNA)
    assert campaign.state.trial.setting == campaign.state.trials[0].setting
    assert campaign.state.trial.source == "repeat"
    assert campaign.state.repeat == ()


def test_a_part_of_an_open_question_that_is_made_again_closes_it_and_takes_its_place(campaign):
    campaign.propose(x=9.0)
    campaign.make()
    pair = campaign.state.duel.pair
    assert campaign.tell(c.Repeat(trial=2), ANNA)[:3] == ["repeat_wanted", "duel_closed", "proposal_made"]
    assert campaign.state.trial.setting == campaign.state.trials[1].setting
    campaign.make()
    assert campaign.state.duel.pair == {1, 3} != pair, "the new part is compared, the old one is gone"
    campaign.tell(c.Repeat(trial=1), ANNA)
    campaign.make()
    assert campaign.state.duel.pair == {3, 4}
    campaign.judge(new_wins=False)
    assert campaign.state.champion == 2, "what is said of a part counts for its setting"
    asked = Optimizer.from_state(
        space_from_json(model_input(campaign.state)["space"]), model_input(campaign.state)["state"]
    )
    assert asked.question() is None, "the model asks about no part that stands for another"
    assert campaign.refold() == campaign.state


def test_a_part_that_is_made_again_and_becomes_scrap_leaves_the_old_one_in_the_question(campaign):
    campaign.propose(x=9.0)
    campaign.make()
    campaign.tell(c.Repeat(trial=2), ANNA)
    campaign.make(valid=False)
    assert campaign.state.duel.pair == {1, 2}


def test_the_lot_is_written_on_the_parts_made_after_it(campaign):
    campaign.tell(c.ChangeLot(lot="L7"), ANNA)
    campaign.propose()
    assert [trial.lot for trial in campaign.state.trials] == ["", "L7"]


def test_every_part_that_somebody_wants_again_is_made(campaign):
    campaign.propose(x=9.0)
    campaign.make()
    campaign.judge(new_wins=True)
    campaign.tell(c.Repeat(trial=1))
    campaign.tell(c.Repeat(trial=2))
    campaign.tell(c.Stop())
    campaign.home()
    campaign.tell(c.Start())
    made = []
    for _ in range(2):
        made.append(campaign.state.trial.repeats)
        campaign.make(valid=False)
    assert made == [1, 2], "also the one that was dropped by the stop"


def test_the_known_good_part_is_made_even_if_tuning_was_stopped_before_it():
    driver = Driver(terms(policy={"approval": True}))
    for order in (c.Start(), c.Stop(), c.Start()):
        driver.tell(order)
    assert driver.state.trial.source == "start"


def test_a_dry_run_never_says_that_it_moved_the_machine_but_brings_home_what_was_moved_before(campaign):
    campaign.propose()
    campaign.make(valid=False)
    before = campaign.state.machine
    pretending = campaign.state.terms.model_copy(update={"policy": terms(policy={"dry_run": True}).policy})
    campaign.tell(c.ChangeTerms(terms=pretending))
    campaign.propose(x=9.0)
    campaign.tell(c.SendSetting(trial=3))
    assert campaign.state.machine == before
    campaign.tell(c.Stop())
    assert isinstance(wanted(campaign.state), ReturnHome)
    fresh = Driver(terms(policy={"dry_run": True}))
    fresh.tell(c.Start())
    fresh.tell(c.SendSetting(trial=1))
    fresh.tell(c.Stop())
    assert wanted(fresh.state) is None
    assert fresh.refused(c.GoHome()).code == "dry_run"


def test_a_part_that_was_pretended_is_sent_when_the_dry_run_ends():
    driver = Driver(terms(policy={"dry_run": True}))
    driver.tell(c.Start())
    driver.send()
    driver.tell(c.ChangeTerms(terms=terms()))
    assert wanted(driver.state) == Send(1)
