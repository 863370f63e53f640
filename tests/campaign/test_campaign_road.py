import json
from typing import get_args

import pytest

from tests.campaign.making import ANNA, BEN, ENGINEER, Driver, terms
from tuner.campaign import commands as c
from tuner.campaign.effects import ComputeProposal, ReturnHome, Run, Send, wanted
from tuner.campaign.events import Event
from tuner.campaign.moves import LEADS, MOVES
from tuner.campaign.state import Mode, Stage


@pytest.fixture
def campaign():
    return Driver().begun()


def test_the_first_trial_is_the_known_good_setting_and_needs_no_model():
    driver = Driver()
    assert driver.tell(c.Start()) == ["campaign_started", "proposal_made", "proposal_approved"]
    assert driver.state.trial.setting == driver.state.terms.known_good
    assert wanted(driver.state) == Send(1)


def test_a_trial_goes_its_road_and_ends_in_a_question(campaign):
    assert isinstance(wanted(campaign.state), ComputeProposal)
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
    assert isinstance(wanted(campaign.state), ComputeProposal)


def test_a_non_valid_trial_is_not_asked_about(campaign):
    campaign.propose()
    assert campaign.make(valid=False) == ["outcome_told"]
    assert campaign.state.scrap == 1
    assert isinstance(wanted(campaign.state), ComputeProposal)


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
    assert isinstance(wanted(driver.state), ComputeProposal)


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
    assert isinstance(wanted(campaign.state), ComputeProposal)


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


def test_no_more_parts_are_promised_again_than_the_budget_has():
    driver = Driver(terms(trials=3)).begun()
    driver.propose()
    driver.make()
    driver.tell(c.Repeat(trial=1))
    refusal = driver.refused(c.Repeat(trial=2))
    assert refusal.code == "budget_used_up"
    assert refusal.text == "1 part to be made again will use up the budget; part P2 cannot be made again"


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
    assert isinstance(wanted(driver.state), ComputeProposal)


def test_the_campaign_completes_when_its_scrap_is_used_up():
    driver = Driver(terms(scrap=2)).begun()
    for _ in range(2):
        driver.propose()
        driver.make(valid=False)
    assert driver.state.mode is Mode.COMPLETE
    assert "2 non-valid trials" in driver.state.reason


def test_terms_that_give_trials_their_meaning_cannot_change():
    driver = Driver()
    other = json.loads(driver.state.terms.model_dump_json())
    other["parameters"][0]["high"] = 20.0
    refusal = driver.refused(c.ChangeTerms(terms=type(driver.state.terms).model_validate_json(json.dumps(other))))
    assert refusal.code == "fixed_terms"


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
    campaign.tell(c.Repeat(trial=1), ANNA)
    campaign.judge(new_wins=True)
    assert campaign.state.trial.setting == campaign.state.trials[0].setting
    assert campaign.state.trial.source == "repeat"
    assert campaign.state.repeat == ()


def test_the_lot_is_written_on_the_parts_made_after_it(campaign):
    campaign.tell(c.ChangeLot(lot="L7"), ANNA)
    campaign.propose()
    assert [trial.lot for trial in campaign.state.trials] == ["", "L7"]


class TestJudgments:
    @pytest.fixture
    def asked(self, campaign):
        campaign.propose()
        campaign.make()
        return campaign

    def test_the_second_answer_to_a_duel_is_told_who_was_first(self, asked):
        asked.judge(new_wins=True, actor=ANNA)
        refusal = asked.refused(c.Judge(duel=1, winner=1), BEN)
        assert refusal.code == "already_answered"
        assert "anna" in refusal.text
        assert "P2 is better" in refusal.text

    def test_a_winner_must_be_one_of_the_two(self, asked):
        assert asked.refused(c.Judge(duel=1, winner=7), ANNA).code == "bad_request"
        assert asked.refused(c.Judge(duel=9, winner=1), ANNA).code == "not_found"

    def test_undo_asks_the_same_parts_again(self, asked):
        asked.judge(new_wins=True)
        assert asked.tell(c.Retract(judgment=1), ANNA) == ["judgment_retracted", "duel_asked"]
        assert asked.state.duel.pair == {1, 2}
        assert asked.state.champion == 1

    def test_operators_undo_their_own_answers_for_ten_minutes_and_engineers_any(self, asked):
        asked.judge(new_wins=True, actor=ANNA)
        assert asked.refused(c.Retract(judgment=1), BEN).code == "denied"
        asked.now = asked.now.replace(hour=9)
        assert asked.refused(c.Retract(judgment=1), ANNA).code == "too_late"
        asked.tell(c.Retract(judgment=1, reason="wrong hand"), ENGINEER)
        assert asked.state.judgments[0].retracted == "wrong hand"
        assert asked.refused(c.Retract(judgment=1)).code == "unchanged"

    def test_a_tie_counts_as_judged(self, asked):
        asked.tell(c.Tie(duel=1), ANNA)
        assert isinstance(wanted(asked.state), ComputeProposal)
        assert asked.state.champion == 1

    def test_excluding_a_trial_takes_its_judgments_with_it(self, asked):
        asked.judge(new_wins=True)
        asked.tell(c.Exclude(trial=2, reason="wrong material"), ANNA)
        assert asked.state.champion == 1
        assert asked.state.active == ()

    def test_the_champion_is_judged_again_by_the_calendar(self, asked):
        asked.judge(new_wins=True)
        asked.propose(x=3.0)
        asked.make()
        asked.tell(c.Reduel())
        assert asked.judge(new_wins=False) == ["judgment_given", "duel_asked"]
        assert asked.state.duel.pair == {1, 2}
        assert asked.state.duel.why == "reduel"

    def test_an_old_duel_is_asked_again_now_and_then(self):
        driver = Driver(terms(policy={"repeat_after": 2})).begun()
        for x in (1.0, 2.0):
            driver.propose(x=x)
            driver.make()
            driver.judge(new_wins=True)
        assert driver.state.duel.why == "repeat"
        driver.judge(new_wins=True)
        assert driver.state.duel is None

    def test_the_side_of_the_new_part_is_not_always_the_same(self):
        driver = Driver(terms(trials=30)).begun()
        sides = set()
        for step in range(12):
            driver.propose(x=step / 10)
            driver.make()
            sides.add(driver.state.duel.left < driver.state.duel.right)
            driver.judge(new_wins=False)
        assert sides == {True, False}


def test_a_trial_whose_machine_went_home_while_it_was_held_is_sent_again(campaign):
    campaign.propose()
    campaign.tell(c.SendSetting(trial=2))
    campaign.tell(c.AnswerSetting(trial=2, result="applied"))
    campaign.tell(c.Hold())
    campaign.tell(c.GoHome())
    campaign.home()
    campaign.tell(c.Resume())
    assert wanted(campaign.state) == Send(2)


def test_every_part_that_somebody_wants_again_is_made(campaign):
    campaign.propose(x=9.0)
    campaign.make()
    campaign.tell(c.Repeat(trial=1))
    campaign.tell(c.Repeat(trial=2))
    campaign.judge(new_wins=True)
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


def test_a_fault_while_held_is_kept_and_brings_the_machine_home(campaign):
    campaign.propose()
    campaign.send()
    campaign.tell(c.Hold(reason="lunch"))
    campaign.tell(c.Fault(text="the link is lost"))
    assert campaign.state.fault == "the link is lost"
    assert isinstance(wanted(campaign.state), ReturnHome)


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
