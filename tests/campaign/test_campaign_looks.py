"""What the model wants asked: doubtful answers again, further comparisons, and the look before the end."""

from datetime import timedelta

import pytest

from tests.campaign.helpers import ANNA, ENGINEER, Driver, proposed, terms
from tuner.campaign import commands as c
from tuner.campaign.effects import ComputeNext, basis, wake_at, wanted
from tuner.campaign.importing import import_of
from tuner.campaign.model_input import model_input
from tuner.campaign.speculate import futures
from tuner.compute.tasks import space_from_json
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.records import Memory

AGAIN = Question(2, 1, repeat=True, why="again")


def judged(parts=3, *, trials=10, **policy) -> Driver:
    """A campaign whose first part won every duel, and that waits for the model."""
    driver = Driver(terms(trials=trials, policy={"repeat_after": None, **policy})).begun()
    for x in range(1, parts):
        driver.propose(x=float(x))
        driver.make()
        driver.judge(new_wins=False)
    return driver


def ask(driver, question=AGAIN):
    return driver.tell(c.Ask(question=question, model=Memory(asks=7), engine="this"))


def test_what_the_model_wants_asked_is_asked_like_any_question_and_counts_as_a_look():
    driver = judged()
    assert isinstance(wanted(driver.state), ComputeNext)
    assert ask(driver) == ["duel_wanted", "duel_asked"]
    assert driver.state.duel.pair == {1, 2}
    assert driver.state.duel.why == "again"
    assert driver.state.memory.asks == 7
    assert wanted(driver.state) is None
    assert driver.judge(new_wins=True) == ["judgment_given"]
    assert isinstance(wanted(driver.state), ComputeNext)
    assert len(model_input(driver.state)["state"]["judgments"]) == 3
    assert driver.refold() == driver.state


def test_a_further_comparison_may_be_of_any_two_parts():
    driver = judged()
    ask(driver, Question(3, 2, why="compare"))
    assert driver.state.duel.pair == {2, 3}
    assert driver.refold() == driver.state


def test_a_question_of_the_model_waits_for_its_window():
    driver = judged(questions={"quiet_hours": [{"start": "09:00:00", "end": "10:00:00"}]})
    driver.now = driver.now.replace(hour=9, minute=30)
    assert ask(driver) == ["duel_wanted"]
    assert wanted(driver.state) is None
    moment = wake_at(driver.state, driver.now)
    assert (moment.hour, moment.minute) == (10, 0)
    driver.now = moment
    assert driver.tell(c.Tick()) == ["duel_asked"]
    assert driver.state.wanted is None


def test_a_limit_on_questions_holds_for_those_of_the_model():
    driver = judged(questions={"per_hour": 2})
    assert ask(driver) == ["duel_wanted"]
    driver.now += timedelta(hours=1)
    assert driver.tell(c.Tick()) == ["duel_asked"]


@pytest.mark.parametrize(
    "news",
    [
        c.Retract(judgment=1),
        c.Exclude(trial=2, reason="wrong material"),
        c.TellOutcome(trial=2, valid=False, reason="cracked"),
    ],
)
def test_what_the_model_wanted_to_know_is_dropped_when_something_is_told_that_it_did_not_know(news):
    driver = judged(questions={"quiet_hours": [{"start": "09:00:00", "end": "10:00:00"}]})
    driver.now = driver.now.replace(hour=9, minute=30)
    ask(driver)
    driver.tell(news, ENGINEER)
    assert driver.state.wanted is None
    assert driver.refold() == driver.state


def test_a_question_that_comes_too_late_is_refused():
    driver = judged()
    driver.propose(x=9.0)
    assert driver.refused(c.Ask(question=AGAIN, model=Memory())).code == "stale"
    driver.make()
    assert driver.refused(c.Ask(question=AGAIN, model=Memory())).code == "stale"
    driver.judge(new_wins=False)
    driver.tell(c.Exclude(trial=2, reason="wrong material"))
    assert driver.refused(c.Ask(question=AGAIN, model=Memory())).code == "stale"
    driver.tell(c.Hold())
    assert driver.refused(c.Ask(question=Question(3, 1), model=Memory())).code == "stale"


def test_an_excluded_part_closes_the_question_of_the_model():
    driver = judged()
    ask(driver)
    assert driver.tell(c.Exclude(trial=2, reason="wrong material")) == ["trial_excluded", "duel_closed"]
    assert isinstance(wanted(driver.state), ComputeNext)


def test_before_a_campaign_ends_the_model_may_ask_about_doubtful_answers():
    driver = judged(3, trials=3)
    assert driver.state.mode == "Execute"
    assert model_input(driver.state)["ended"] is True
    ask(driver)
    driver.judge(new_wins=True)
    assert isinstance(wanted(driver.state), ComputeNext)
    assert ask(driver, None) == ["campaign_completed"]
    assert "3 trials" in driver.state.reason


@pytest.mark.parametrize("policy", [{"repeat_after": 0}, {"repeat_after": 8}, {"looks_per_part": 1.0}])
def test_where_the_model_is_not_to_ask_a_campaign_ends_with_its_last_answer(policy):
    driver = judged(3, trials=3, **policy)
    assert driver.state.mode == "Complete"
    assert model_input(driver.state)["state"]["looks_per_part"] == 1.0


def test_the_end_knows_whom_the_model_believes_best():
    driver = judged(3, trials=3)
    told = driver.tell(c.Ask(question=None, model=Memory(asks=3, leader=2)))
    assert "campaign_completed" in told
    assert driver.state.champion == 2
    assert driver.refold() == driver.state


def test_every_answer_to_a_question_of_the_model_is_foreseen():
    driver = judged()
    ask(driver)
    foreseen = {basis(future) for future in futures(driver.state, driver.now, (ANNA.name,))}
    assert len(foreseen) == 3
    driver.judge(new_wins=True)
    assert basis(driver.state) in foreseen


def test_what_is_asked_depends_on_tray_and_looks():
    driver = judged()
    before = basis(driver.state)
    driver.tell(c.ChangeTerms(terms=terms(policy={"repeat_after": None, "tray": 3})))
    assert basis(driver.state) != before
    assert model_input(driver.state)["state"]["tray"] == 3


def test_whoever_takes_an_answer_back_is_asked_again_and_a_setting_that_waits_is_computed_anew():
    driver = judged()
    ask(driver)
    driver.judge(new_wins=True, actor=ANNA)
    driver.tell(c.ChangeTerms(terms=terms(policy={"repeat_after": None, "approval": True})))
    driver.propose(x=7.0)
    waiting = driver.state.trial
    assert waiting.stage == "proposed"
    slip = driver.state.judgments[-1]
    said = driver.tell(c.Retract(judgment=slip.number, reason="wrong key"), ANNA)
    assert said == ["judgment_retracted", "trial_dropped", "look_wanted", "duel_asked"]
    assert driver.state.duel.pair == slip.pair
    assert driver.state.trials[waiting.number - 1].stage == "dropped"
    assert driver.refold() == driver.state


def test_a_part_that_the_model_leads_with_is_asked_about_again_when_its_answer_is_taken_back_while_scrap_is_made():
    driver = judged()
    driver.propose(x=6.0)
    driver.make()
    driver.judge(new_wins=True)
    newest, slip = driver.state.champion, driver.state.judgments[-1]
    driver.tell(proposed(driver.state, {"x": 7.0, "n": 1}, leader=newest))
    driver.send()
    driver.tell(c.Retract(judgment=slip.number, reason="wrong key"), ENGINEER)
    assert driver.state.champion != newest, "nobody has said anything of it"
    driver.tell(c.MachineOutcome(trial=driver.state.trial.number, valid=False, reason="no part"))
    assert driver.state.duel.pair == slip.pair


def test_an_engineer_who_takes_the_answer_of_another_back_corrects_and_asks_nobody():
    driver = judged()
    ask(driver)
    driver.judge(new_wins=True, actor=ANNA)
    slip = driver.state.judgments[-1].number
    assert driver.tell(c.Retract(judgment=slip, reason="mixed up"), ENGINEER) == ["judgment_retracted"]


def fallen(tray) -> Driver:
    """A campaign in which each part beat the champion, and people put the others away."""
    driver = judged(parts=1, tray=tray)
    for x in range(1, 5):
        driver.propose(x=float(x))
        driver.make()
        driver.judge(new_wins=True)
    return driver


def test_people_keep_what_the_tray_takes_and_a_reload_with_another_tray_counts_from_then_on():
    driver = fallen(tray=2)
    assert driver.state.hand == (4, 5)
    assert model_input(driver.state)["state"]["hand"] == [4, 5]
    assert driver.refold().hand == driver.state.hand
    assert fallen(tray=None).state.hand == (1, 2, 3, 4, 5)
    assert model_input(fallen(tray=None).state)["state"]["hand"] is None
    driver.tell(c.ChangeTerms(terms=terms(policy={"repeat_after": None, "tray": 3})))
    driver.propose(x=6.0)
    driver.make()
    assert driver.state.hand == (4, 5, 6)


def test_nobody_is_asked_about_parts_that_were_put_away_whatever_is_taken_back_or_left_out():
    slips = (c.Retract(judgment=number, reason="wrong key") for number in (1, 3))
    for late in (*slips, c.Exclude(trial=4, reason="x")):
        driver = fallen(tray=2)
        driver.tell(late, ENGINEER)
        while driver.state.duel is not None:
            assert driver.state.duel.pair <= {4, 5}
            driver.judge(new_wins=True)
        assert wanted(driver.state) == ComputeNext(basis(driver.state))
        assert driver.refold() == driver.state


def test_whoever_takes_an_old_answer_back_is_not_asked_about_parts_that_are_gone_and_says_so_who_asks_for_them():
    driver = fallen(tray=2)
    driver.tell(c.Retract(judgment=1), ANNA)
    assert driver.state.duel is None
    refusal = driver.refused(c.AskAgain(judgment=2), ANNA)
    assert refusal.code == "not_open"
    assert "the tray takes 2" in str(refusal)
    assert driver.tell(c.AskAgain(judgment=4), ANNA) == ["look_wanted", "duel_asked"]


def test_a_part_that_was_made_again_stands_for_its_trial_on_the_tray():
    driver = fallen(tray=2)
    driver.propose(x=6.0)
    driver.make()
    driver.tell(c.Repeat(trial=6), ANNA)
    driver.make()
    assert driver.state.trials[-1].source == "remake"
    assert driver.state.hand == (5, 6)
    assert driver.state.duel.pair == {5, 7}


def test_a_wish_to_compare_again_waits_for_no_part_that_was_put_away_meanwhile():
    driver = fallen(tray=2)
    driver.propose(x=6.0)
    driver.tell(c.AskAgain(judgment=4), ANNA)
    driver.make()
    assert driver.state.hand == (5, 6)
    driver.judge(new_wins=False)
    assert driver.state.duel is None
    assert isinstance(wanted(driver.state), ComputeNext)


def test_a_tray_that_a_reload_takes_away_brings_no_part_back():
    driver = fallen(tray=2)
    driver.tell(c.ChangeTerms(terms=terms(policy={"repeat_after": None})))
    driver.tell(c.Retract(judgment=1, reason="wrong key"), ENGINEER)
    assert driver.state.duel is None
    assert model_input(driver.state)["state"]["hand"] == [4, 5]


def test_a_part_of_the_open_question_is_not_put_away():
    driver = fallen(tray=2)
    driver.propose(x=6.0)
    driver.make(valid=False)
    driver.propose(x=7.0)
    driver.make()
    assert driver.state.duel.pair == {5, 7}
    driver.tell(c.TellOutcome(trial=6, valid=True, reason=""), ANNA)
    assert {5, 6, 7} <= set(driver.state.hand)


def test_parts_of_a_campaign_that_is_gone_on_with_may_be_compared():
    old = fallen(tray=None)
    new = Driver(terms(trials=20, policy={"repeat_after": None, "tray": 3}))
    new.tell(import_of(old.state, 1.0).model_copy(update={"discount": 1.0}))
    assert new.state.champion == 5
    assert new.state.hand == (3, 4, 5)
    new.tell(c.Start())
    new.propose(x=6.0)
    new.make()
    assert new.state.duel.pair == {5, 6}


def test_what_was_said_of_a_remade_part_counts_no_more_when_its_trial_is_out_of_account():
    for late in (c.Exclude(trial=2, reason="measured wrongly"), c.TellOutcome(trial=2, valid=False, reason="burnt")):
        driver = Driver(terms(trials=20, policy={"remake_after_lot": True, "repeat_after": None})).begun()
        driver.propose(x=1.0)
        driver.make()
        driver.judge(new_wins=True)
        driver.tell(c.ChangeLot(lot="b"))
        driver.make()
        driver.propose(x=2.0)
        driver.make()
        driver.judge(new_wins=False)
        driver.tell(late, ENGINEER)
        told = model_input(driver.state)
        optimizer = Optimizer.from_state(space_from_json(told["space"]), told["state"])
        assert len(optimizer.ledger.active) == len(driver.state.told)
        assert optimizer.champion == driver.state.champion
