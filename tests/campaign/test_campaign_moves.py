"""Starting, holding, stopping and ending a campaign."""

from typing import get_args

import pytest

from tests.campaign.helpers import Driver, terms
from tuner.campaign import commands as c
from tuner.campaign.effects import ComputeNext, ReturnHome, Run, Send, wanted
from tuner.campaign.events import Event
from tuner.campaign.moves import LEADS, MOVES
from tuner.campaign.state import Mode, Stage


def test_stop_finishes_the_part_under_way_and_then_goes_home(campaign):
    campaign.propose()
    campaign.send()
    campaign.tell(c.Stop())
    assert wanted(campaign.state) == Run(2)
    campaign.tell(c.MachineOutcome(trial=2, valid=True))
    assert isinstance(wanted(campaign.state), ReturnHome)
    campaign.home()
    assert wanted(campaign.state) is None
    campaign.tell(c.Start())
    assert campaign.state.duel.pair == {1, 2}, "the part that nobody judged is asked about"


def test_stop_drops_a_setting_that_was_not_run(campaign):
    campaign.propose()
    assert "trial_dropped" in campaign.tell(c.Stop())
    assert campaign.state.spent == 1


def test_abort_lets_go_at_once_and_sends_nothing_more(campaign):
    campaign.propose()
    campaign.send()
    campaign.tell(c.Abort())
    assert campaign.state.trials[1].stage is Stage.DROPPED
    assert not campaign.state.machine.verified
    assert wanted(campaign.state) is None


def test_hold_finishes_the_part_and_sends_no_other(campaign):
    campaign.propose()
    campaign.send()
    campaign.tell(c.Hold(reason="lunch"))
    assert wanted(campaign.state) == Run(2)
    campaign.tell(c.MachineOutcome(trial=2, valid=False, reason="short"))
    assert wanted(campaign.state) is None
    campaign.tell(c.Resume())
    assert isinstance(wanted(campaign.state), ComputeNext)


def test_the_table_has_every_command_in_every_mode():
    assert set(MOVES) == set(get_args(c.Command))
    assert set(LEADS) <= set(get_args(get_args(Event)[0]))
    assert set(LEADS.values()) == set(Mode)


def test_every_move_leads_where_the_table_says():
    commands = {kind: kind() for kind, move in MOVES.items() if move.verb}
    for kind, command in commands.items():
        for mode in MOVES[kind].modes:
            driver = Driver().begun()
            object.__setattr__(driver.state, "mode", mode)
            driver.tell(command)
            assert driver.state.mode is (MOVES[kind].to or mode), f"{kind.__name__} from {mode}"


@pytest.mark.parametrize(
    ("order", "command", "said"),
    [
        (c.Hold(), c.Approve(trial=2), "is Held: its proposal cannot be approved now; resume it first"),
        (c.Stop(), c.Approve(trial=2), "is Stopped: its proposal cannot be approved now; start it first"),
        (c.Stop(), c.Reject(trial=2, reason="no"), "is Stopped: there is no proposal to reject now; start it first"),
        (c.Abort(), c.Repeat(trial=1), "is Aborted: no part can be made again now; start it first"),
    ],
)
def test_what_would_not_be_acted_on_is_refused_with_what_to_do_first(order, command, said):
    driver = Driver(terms(policy={"approval": True}))
    driver.tell(c.Start())
    driver.tell(c.Approve(trial=1))
    driver.make()
    driver.propose()
    driver.tell(order)
    refusal = driver.refused(command)
    assert refusal.code == "illegal_state"
    assert said in refusal.text


def test_while_held_an_open_duel_is_answered_a_proposal_rejected_and_a_part_ordered_again(campaign):
    campaign.propose()
    campaign.make()
    campaign.tell(c.Hold())
    assert campaign.judge(new_wins=True) == ["judgment_given"]
    assert campaign.tell(c.Repeat(trial=1)) == ["repeat_wanted"]
    campaign.tell(c.Resume())
    assert campaign.state.trial.repeats == 1


def test_every_move_that_is_not_in_the_table_is_refused_with_what_is_possible():
    for mode in Mode:
        for order, move in MOVES.items():
            if mode in move.modes or not move.verb:
                continue
            driver = Driver().begun()
            object.__setattr__(driver.state, "mode", mode)
            refusal = driver.refused(order())
            assert refusal.code == "illegal_state"
            assert str(mode) in refusal.text


def test_the_campaign_completes_when_its_trials_are_used_up_and_judged():
    driver = Driver(terms(trials=2)).begun()
    driver.propose()
    driver.make()
    assert driver.state.mode is Mode.EXECUTE, "the last part is still to be judged"
    assert driver.judge(new_wins=False)[-1] == "campaign_completed"
    assert isinstance(wanted(driver.state), ReturnHome)
    assert driver.refused(c.Start()).code == "budget_used_up"
    raised = driver.state.terms.model_copy(update={"budget": terms(trials=3).budget})
    driver.tell(c.ChangeTerms(terms=raised))
    driver.home()
    driver.tell(c.Start())
    assert isinstance(wanted(driver.state), ComputeNext)


def test_the_campaign_completes_when_its_scrap_is_used_up():
    driver = Driver(terms(scrap=2)).begun()
    for _ in range(2):
        driver.propose()
        driver.make(valid=False)
    assert driver.state.mode is Mode.COMPLETE
    assert "2 non-valid trials" in driver.state.reason


def test_a_restart_sends_the_same_trial_again(campaign):
    campaign.propose()
    campaign.send()
    campaign.tell(c.Interrupt(reason="power"))
    assert wanted(campaign.state) == Send(2)
    assert campaign.state.spent == 2


def test_parking_brings_the_machine_home_and_the_campaign_goes_on_after_it(campaign):
    campaign.propose()
    campaign.send()
    campaign.tell(c.Park(reason="update"))
    assert isinstance(wanted(campaign.state), ReturnHome)
    campaign.home()
    assert campaign.state.mode is Mode.EXECUTE
    assert wanted(campaign.state) == Send(2)


def test_a_fault_while_held_is_kept_and_brings_the_machine_home(campaign):
    campaign.propose()
    campaign.send()
    campaign.tell(c.Hold(reason="lunch"))
    campaign.tell(c.Fault(text="the link is lost"))
    assert campaign.state.fault == "the link is lost"
    assert isinstance(wanted(campaign.state), ReturnHome)


def test_a_trial_whose_machine_went_home_while_it_was_held_is_sent_again(campaign):
    campaign.propose()
    campaign.tell(c.SendSetting(trial=2))
    campaign.tell(c.AnswerSetting(trial=2, result="applied"))
    campaign.tell(c.Hold())
    campaign.tell(c.GoHome())
    campaign.home()
    campaign.tell(c.Resume())
    assert wanted(campaign.state) == Send(2)
