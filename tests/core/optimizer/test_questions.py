from dataclasses import replace

import pytest

from tests.core.helpers import LIGHT, run
from tuner import Continuous, Optimizer, Space
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.strategy import Asking

LINE = Space([Continuous("x", 0, 1)])
EIGHT = replace(LIGHT, asking=Asking(repeat_after=8))


def quality(setting):
    return -abs(setting["x"] - 0.4)


def told(count):
    optimizer = Optimizer(LINE, strategy=EIGHT)
    for number in range(count):
        optimizer.tell_outcome(optimizer.add({"x": (number + 0.5) / count}), True)
    return optimizer


def test_there_is_nothing_to_ask_before_there_are_two_parts():
    optimizer = Optimizer(LINE, strategy=LIGHT)
    assert optimizer.question() is None
    optimizer.ask()
    assert optimizer.question() is None
    optimizer.tell_outcome(1, True)
    assert optimizer.question() is None
    optimizer.tell_outcome(optimizer.ask().number, False)
    assert optimizer.question() is None


def test_new_parts_are_asked_about_against_the_present_champion():
    optimizer = told(4)
    assert optimizer.question() == Question(2, 1, repeat=False)
    assert optimizer.question() == Question(2, 1, repeat=False)
    optimizer.tell_judgment(2, 1)
    assert optimizer.question() == Question(3, 2, repeat=False)
    optimizer.tell_tie(3, 2)
    assert optimizer.question() == Question(4, 2, repeat=False)
    optimizer.tell_judgment(2, 4)
    assert optimizer.question() is None


def test_a_trial_whose_only_judgment_was_retracted_is_asked_about_again():
    optimizer = told(2)
    number = optimizer.tell_judgment(2, 1)
    optimizer.retract(number)
    assert optimizer.question() == Question(2, 1, repeat=False)


def test_an_excluded_opponent_is_replaced_by_the_champion():
    optimizer = told(3)
    optimizer.tell_judgment(2, 1)
    optimizer.exclude(2)
    assert optimizer.question() == Question(3, 1, repeat=False)


def test_a_plain_loop_never_has_an_open_question_but_the_repeats():
    optimizer = Optimizer(LINE, strategy=EIGHT)
    for _ in range(8):
        run(optimizer, 1, quality)
        assert optimizer.question() is None
    run(optimizer, 1, quality)
    assert optimizer.question().repeat


def test_every_eighth_judgment_is_followed_by_one_repeat():
    optimizer, repeats = told(30), []
    while (question := optimizer.question()) is not None:
        repeats.append(question.repeat)
        xs = [optimizer.ledger.trials[i].setting for i in (question.number, question.opponent)]
        pair = question.number, question.opponent
        optimizer.tell_judgment(*(pair if quality(xs[0]) > quality(xs[1]) else pair[::-1]))
        assert len(repeats) < 100
    # 29 new parts come first; then one repeat, and no more before eight further answers
    assert repeats == [False] * 29 + [True]


def test_never_two_repeats_within_eight_judgments_of_a_campaign():
    optimizer, repeats = Optimizer(LINE, strategy=EIGHT), []
    for _ in range(26):
        run(optimizer, 1, quality)
        repeats.append(False)
        question = optimizer.question()
        if question is not None:
            assert question.repeat
            optimizer.tell_judgment(question.number, question.opponent)
            repeats.append(True)
    places = [i for i, repeat in enumerate(repeats) if repeat]
    assert places == [9, 18, 27]


def test_the_duel_that_made_the_champion_is_repeated_first_then_one_that_was_asked_once():
    optimizer = told(9)
    for winner, loser in ((2, 1), (3, 2), (3, 4), (3, 5), (3, 6), (3, 7), (3, 8), (3, 9)):
        optimizer.tell_judgment(winner, loser)
    assert optimizer.question() == Question(3, 2, repeat=True, why="repeat")
    copy = Optimizer.from_state(LINE, optimizer.state(), strategy=EIGHT)
    assert copy.question() == optimizer.question()
    optimizer.tell_judgment(3, 2)
    assert optimizer.question() is None
    for other in (1, 4, 5, 6, 7, 8, 9, 1):
        number = optimizer.add({"x": 0.05 + other / 100})
        optimizer.tell_outcome(number, True)
        optimizer.tell_judgment(3, number)
    question = optimizer.question()
    assert question.repeat
    assert {question.number, question.opponent} != {2, 3}
    asked = [j for j in optimizer.ledger.active if j.pair == {question.number, question.opponent}]
    assert len(asked) == 1


def tuned(tray, *judged):
    """An optimiser that was told one part after the other, each with what was said before the next was made."""
    optimizer = Optimizer(LINE, strategy=LIGHT, tray=tray, looks_per_part=1.0)
    for number, said in enumerate(judged, 1):
        optimizer.tell_outcome(optimizer.add({"x": number / 10}), True)
        for winner, loser in said:
            optimizer.tell_judgment(winner, loser)
    return optimizer


FALLEN = [], [(2, 1)], [(3, 2)], [(3, 4)], [(3, 5)], [(3, 6)], [(3, 7)], [(3, 8)]


def test_a_tray_keeps_the_champion_the_newest_part_and_whom_the_champion_beat():
    assert tuned(None, *FALLEN).hand is None
    assert tuned(8, *FALLEN).hand == (1, 2, 3, 4, 5, 6, 7, 8)
    assert tuned(4, *FALLEN).hand == (2, 3, 7, 8)
    assert tuned(2, *FALLEN).hand == (3, 8)
    assert tuned(1, *FALLEN).hand == tuned(0, *FALLEN).hand == (3,)


def test_a_part_that_just_became_champion_is_kept_with_the_one_it_beat():
    assert tuned(2, [], [(2, 1)], [(3, 2)]).hand == (2, 3)


@pytest.mark.parametrize("tray", [1, 2, 3])
def test_what_was_put_away_is_asked_about_no_more_whatever_is_taken_back_or_left_out(tray):
    for late in (lambda one: one.retract(3), lambda one: one.retract(2), lambda one: one.exclude(3)):
        optimizer = tuned(tray, *FALLEN)
        hand = set(optimizer.hand)
        late(optimizer)
        asked = []
        while (question := optimizer.question()) is not None:
            assert {question.number, question.opponent} <= hand
            asked.append(question)
            optimizer.tell_judgment(question.number, question.opponent)
        assert len(asked) <= 1
        assert set(optimizer.hand) <= hand


def test_the_next_part_is_compared_with_one_that_is_kept_although_a_champion_of_before_reigns_again():
    optimizer = tuned(2, *FALLEN)
    optimizer.retract(2)
    assert optimizer.ledger.champion == 2
    proposal = optimizer.ask()
    assert proposal.opponent in (3, 8)
    optimizer.tell_outcome(proposal.number, True)
    question = optimizer.question()
    assert {question.number, question.opponent} <= {3, 8, proposal.number}


def test_with_a_tray_a_tie_does_not_make_a_champion_of_a_part_that_people_threw_away():
    for tray in (1, 2, 3):
        optimizer = tuned(tray, [], [(2, 1)], [], [])
        optimizer.tell_tie(2, 3)
        optimizer.tell_judgment(2, 4)
        assert optimizer.ask().opponent == 2


def test_what_is_kept_is_part_of_the_state():
    optimizer = tuned(3, *FALLEN)
    optimizer.retract(2)
    copy = Optimizer.from_state(LINE, optimizer.state(), strategy=LIGHT)
    assert copy.hand == optimizer.hand
    assert copy.question() == optimizer.question()
    before = {**optimizer.state()}
    del before["hand"]
    assert Optimizer.from_state(LINE, before, strategy=LIGHT).hand == (1, 2, 3, 4, 5, 6, 7, 8)


def test_the_champion_is_the_one_that_a_recommendation_names_as_soon_as_something_was_asked():
    optimizer = Optimizer(LINE, strategy=LIGHT, seed=3)
    for part in range(8):
        number = optimizer.add({"x": (0.37 * part) % 1.0})
        optimizer.tell_outcome(number, True)
        while (question := optimizer.question()) is not None:
            if (question.number + question.opponent) % 2:
                optimizer.tell_tie(question.number, question.opponent)
            else:
                optimizer.tell_judgment(question.number, question.opponent)
        assert optimizer.champion == optimizer.recommendation().champion


@pytest.mark.parametrize("out_of_account", [lambda one: one.exclude(3), lambda one: one.exclude(8)])
def test_the_model_compares_with_no_part_that_is_out_of_account(out_of_account):
    for tray in (3, 5):
        optimizer = Optimizer.from_state(LINE, {**tuned(tray, *FALLEN).state(), "looks_per_part": 9.0}, strategy=LIGHT)
        out_of_account(optimizer)
        for _ in range(6):
            question = optimizer.question()
            if question is None:
                break
            optimizer.tell_judgment(question.number, question.opponent)  # is refused for what is out of account


def test_winners_are_kept_also_after_an_answer_of_before_was_taken_back():
    optimizer = tuned(1, [], [(2, 1)])
    optimizer.retract(1)
    for number in range(3, 8):
        optimizer.tell_outcome(optimizer.add({"x": number / 10}), True)
        question = optimizer.question()
        assert {question.number, question.opponent} == {number - 1, number}
        optimizer.tell_judgment(number, number - 1)
        assert optimizer.hand == (number,)


def test_what_nobody_has_judged_is_not_put_away_however_many_come_at_once():
    optimizer = tuned(2, [])
    numbers = [optimizer.add({"x": number / 10}) for number in (3, 5, 7)]
    for number in numbers:
        optimizer.tell_outcome(number, True)
    asked = set()
    while (question := optimizer.question()) is not None:
        asked.add(question.number)
        optimizer.tell_judgment(question.opponent, question.number)
    assert asked == set(numbers)
    assert len(optimizer.hand) == 2


def test_an_outcome_that_is_told_again_brings_no_part_back():
    optimizer = tuned(2, *FALLEN)
    optimizer.tell_outcome(1, True, "as before")
    assert optimizer.hand == (3, 8)


def test_a_setting_is_recommended_although_its_part_is_gone():
    optimizer = tuned(1, [], [(2, 1)], [(3, 2)], [(3, 4)])
    optimizer.tell_outcome(optimizer.add({"x": 0.95}), True)
    optimizer.tell_judgment(3, 5)
    optimizer.exclude(3)  # nothing that is kept is any good
    everything = Optimizer.from_state(LINE, {**optimizer.state(), "tray": None, "hand": None}, strategy=LIGHT)
    assert optimizer.recommend() == everything.recommend()
