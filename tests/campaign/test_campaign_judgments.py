"""What answers do to a campaign, and what is asked next."""

import pytest

from tests.campaign.helpers import ANNA, BEN, ENGINEER, Driver, terms
from tuner.campaign import commands as c
from tuner.campaign.effects import ComputeNext, basis, wanted
from tuner.campaign.model_input import model_input
from tuner.campaign.speculate import futures


@pytest.fixture
def asked(campaign):
    campaign.propose()
    campaign.make()
    return campaign


def test_the_second_answer_to_a_duel_is_told_who_was_first(asked):
    asked.judge(new_wins=True, actor=ANNA)
    refusal = asked.refused(c.Judge(duel=1, winner=1), BEN)
    assert refusal.code == "already_answered"
    assert "anna" in refusal.text
    assert "P2 is better" in refusal.text


def test_a_winner_must_be_one_of_the_two(asked):
    assert asked.refused(c.Judge(duel=1, winner=7), ANNA).code == "bad_request"
    assert asked.refused(c.Judge(duel=9, winner=1), ANNA).code == "not_found"


def test_undo_asks_the_same_parts_again(asked):
    asked.judge(new_wins=True)
    assert asked.tell(c.Retract(judgment=1), ANNA) == ["judgment_retracted", "duel_asked"]
    assert asked.state.duel.pair == {1, 2}
    assert asked.state.champion == 1


def test_operators_undo_their_own_answers_for_ten_minutes_and_engineers_any(asked):
    asked.judge(new_wins=True, actor=ANNA)
    assert asked.refused(c.Retract(judgment=1), BEN).code == "denied"
    asked.now = asked.now.replace(hour=9)
    assert asked.refused(c.Retract(judgment=1), ANNA).code == "too_late"
    asked.tell(c.Retract(judgment=1, reason="wrong hand"), ENGINEER)
    assert asked.state.judgments[0].retracted == "wrong hand"
    assert asked.refused(c.Retract(judgment=1)).code == "unchanged"


def test_a_tie_counts_as_judged(asked):
    asked.tell(c.Tie(duel=1), ANNA)
    assert isinstance(wanted(asked.state), ComputeNext)
    assert asked.state.champion == 1


def test_excluding_a_trial_takes_its_judgments_with_it(asked):
    asked.judge(new_wins=True)
    asked.tell(c.Exclude(trial=2, reason="wrong material"), ANNA)
    assert asked.state.champion == 1
    assert asked.state.active == ()


def test_the_champion_is_judged_again_by_the_calendar(asked):
    asked.judge(new_wins=True)
    asked.propose(x=3.0)
    asked.make()
    asked.tell(c.Reduel())
    assert asked.judge(new_wins=False) == ["judgment_given", "duel_asked"]
    assert asked.state.duel.pair == {1, 2}
    assert asked.state.duel.why == "reduel"


def test_an_old_duel_is_asked_again_now_and_then():
    driver = Driver(terms(policy={"repeat_after": 2})).begun()
    for x in (1.0, 2.0):
        driver.propose(x=x)
        driver.make()
        driver.judge(new_wins=True)
    assert driver.state.duel.why == "repeat"
    driver.judge(new_wins=True)
    assert driver.state.duel is None


def test_the_side_of_the_new_part_is_not_always_the_same():
    driver = Driver(terms(trials=30)).begun()
    sides = set()
    for step in range(12):
        driver.propose(x=step / 10)
        driver.make()
        sides.add(driver.state.duel.left < driver.state.duel.right)
        driver.judge(new_wins=False)
    assert sides == {True, False}


def test_a_clear_answer_needs_the_policy_and_the_refusal_names_its_key(asked):
    refusal = asked.refused(c.Judge(duel=1, winner=2, clearly=True), ANNA)
    assert refusal.code == "not_allowed"
    assert "graded = true" in refusal.text
    asked.tell(c.Judge(duel=1, winner=2), ANNA)
    assert asked.state.judgments[0].clearly is None  # nobody could have said more
    assert asked.refold() == asked.state


def test_a_graded_campaign_keeps_what_was_clear_and_what_was_not():
    driver = Driver(terms(policy={"graded": True})).begun()
    for said in (c.Judge(duel=1, winner=2, clearly=True), c.Judge(duel=2, winner=2), c.Tie(duel=3)):
        driver.propose(x=len(driver.state.trials) / 10)
        driver.make()
        driver.tell(said, ANNA)
    assert [judgment.clearly for judgment in driver.state.judgments] == [True, False, None]
    assert [told["clearly"] for told in model_input(driver.state)["state"]["judgments"]] == [True, False, None]
    assert "P2 is clearly better" in driver.refused(c.Judge(duel=1, winner=1), BEN).text
    driver.tell(c.Retract(judgment=1), ANNA)
    assert driver.state.judgments[0].clearly is True
    assert driver.refold() == driver.state


def test_clear_answers_are_foreseen_where_they_may_come():
    for graded, count in ((False, 3), (True, 5)):
        driver = Driver(terms(policy={"graded": graded})).begun()
        driver.propose()
        driver.make()
        foreseen = {basis(future) for future in futures(driver.state, driver.now, (ANNA.name,))}
        assert len(foreseen) == count
        driver.tell(c.Judge(duel=1, winner=2, clearly=graded), ANNA)
        assert basis(driver.state) in foreseen
