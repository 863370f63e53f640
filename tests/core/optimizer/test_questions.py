from dataclasses import replace

from tests.core.helpers import LIGHT, run
from tuner import Continuous, Optimizer, Space
from tuner.core.optimizer.questions import Asked, Question
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


def test_a_tray_keeps_the_champion_the_newest_part_and_whom_the_champion_beat():
    optimizer = told(8)
    for winner, loser in ((2, 1), (3, 2), (3, 4), (3, 5), (3, 6), (3, 7), (3, 8)):
        optimizer.tell_judgment(winner, loser)
    asked = Asked(list(optimizer.ledger.trials.values()), optimizer.ledger.active, *optimizer.ledger.decided)
    assert sorted(asked.at_hand(None)) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert asked.at_hand(5) == [3, 8, 2, 7, 6]
    assert asked.at_hand(2) == [3, 8]
    assert asked.at_hand(1) == asked.at_hand(0) == [3]


def test_a_part_that_just_became_champion_is_kept_with_the_one_it_beat():
    optimizer = told(3)
    optimizer.tell_judgment(2, 1)
    optimizer.tell_judgment(3, 2)
    asked = Asked(list(optimizer.ledger.trials.values()), optimizer.ledger.active, *optimizer.ledger.decided)
    assert asked.at_hand(2) == [3, 2]


def test_a_part_that_was_thrown_away_does_not_come_back_and_is_asked_about_no_more():
    optimizer = told(4)
    for winner, loser in ((2, 1), (3, 2), (3, 4), (2, 3), (2, 3)):  # two parts are kept: 2 was gone before 4 was judged
        optimizer.tell_judgment(winner, loser)
    asked = Asked(list(optimizer.ledger.trials.values()), optimizer.ledger.active, *optimizer.ledger.decided)
    assert asked.champion == 2
    assert sorted(asked.at_hand(2)) == [3, 4]
    optimizer.tray = 2
    assert optimizer.ask().opponent in (3, 4)
    assert optimizer.question() is None or {optimizer.question().number, optimizer.question().opponent} <= {3, 4}


def test_with_a_tray_a_tie_does_not_make_a_champion_of_a_part_that_people_threw_away():
    optimizer = told(4)
    optimizer.tell_judgment(2, 1)
    optimizer.tell_tie(2, 3)
    optimizer.tell_judgment(2, 4)
    for tray in (1, 2, 3):
        optimizer.tray = tray
        assert optimizer.ask().opponent == 2
