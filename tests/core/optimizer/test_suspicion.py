"""Answers that are probably slips are found and asked again."""

import json
from dataclasses import replace

import pytest

from tests.core.helpers import LIGHT
from tuner import Continuous, Optimizer, Space
from tuner.core.optimizer.looks import duels_of
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.records import Judgment
from tuner.core.optimizer.strategy import Asking
from tuner.core.optimizer.suspicion import slip_rates, suspicions

LINE = Space([Continuous("x", 0, 1)])


PARTS = 6


def ordered(*, slip=None, **options):
    """Parts along a line, the later the better, each judged against all before it; one answer may be a slip."""
    optimizer = Optimizer(LINE, strategy=LIGHT, looks_per_part=options.pop("looks_per_part", 9.0), **options)
    for number in range(1, PARTS + 1):
        optimizer.tell_outcome(optimizer.add({"x": number / 10}), True)
        for other in range(number - 1, 0, -1):
            optimizer.tell_judgment(*((other, number) if {other, number} == slip else (number, other)))
    return optimizer


def test_an_answer_that_all_others_speak_against_is_the_most_suspicious_one():
    found = suspicions(ordered(slip={2, 5}).learned(), LIGHT.asking)
    worst = max(found, key=lambda one: one.p_wrong)
    assert worst.looks.pair == {2, 5}
    assert worst.p_wrong > 0.5
    assert sorted(one.p_wrong for one in found)[-2] < 0.25


def test_a_suspicious_answer_is_asked_again_until_the_looks_say_enough():
    optimizer = ordered(slip={2, 5})
    question = optimizer.question()
    assert question == Question(5, 2, repeat=True, why="again")
    optimizer.tell_judgment(5, 2)
    assert optimizer.question() == question  # one to one: a draw, asked at once
    optimizer.tell_judgment(5, 2)
    assert optimizer.question() is None
    assert all(one.winner == max(one.pair) for one in optimizer.ledger.verdicts)


def test_answers_that_agree_are_not_asked_again():
    assert ordered().question() is None


def test_the_duel_that_made_the_champion_needs_less_suspicion():
    numbers = LIGHT.asking
    optimizer = ordered()
    deciding = optimizer.ledger.decided[1].pair
    thresholds = {one.looks.pair: one.threshold for one in suspicions(optimizer.learned(), numbers)}
    assert thresholds.pop(deciding) == numbers.crowning < numbers.suspicious
    assert set(thresholds.values()) == {numbers.suspicious}


def test_nothing_is_asked_again_whose_parts_are_gone_or_for_which_no_look_is_left():
    assert ordered(slip={2, 5}, tray=3).question() is None
    assert ordered(slip={2, 5}, tray=6).question() is not None
    assert ordered(slip={2, 5}, looks_per_part=1.0).question() is None
    # fifteen looks at six parts; three may be taken in advance
    assert ordered(slip={2, 5}, looks_per_part=(15 - 3) / 6).question() is None
    assert ordered(slip={2, 5}, looks_per_part=(16 - 3) / 6).question() is not None


def test_a_duel_is_looked_at_seven_times_at_most():
    optimizer = ordered(slip={2, 5})
    for winner in (5, 2, 5, 2, 5, 2):
        optimizer.tell_judgment(winner, 7 - winner)
    assert (
        len(next(one for one in duels_of(optimizer.ledger.active) if one.pair == {2, 5}).answers)
        == LIGHT.asking.most_looks
    )
    assert optimizer.question() is None


def look(number, winner, operator):
    return Judgment(number=number, left=1, right=2, winner=winner, operator=operator)


def test_how_often_somebody_is_wrong_is_learned_from_looks_that_were_outvoted():
    numbers = Asking()
    fresh = slip_rates(duels_of([look(1, 1, "ann")]), numbers)
    assert fresh == {"ann": pytest.approx(1.0 / 11.0)}
    answers = [look(1, 1, "ann"), look(2, 2, "bob"), look(3, 1, "ann")]
    rates = slip_rates(duels_of(answers), numbers)
    assert rates == {"ann": pytest.approx(2.0 / 13.0), "bob": pytest.approx(2.0 / 13.0)}  # so few say little
    answers += [replace(look(number, 1, "ann"), left=number) for number in range(4, 40)]
    rates = slip_rates(duels_of(answers), numbers)
    assert rates["bob"] == pytest.approx((1 + 1) / (10 + 1 + 10))
    assert rates["ann"] == pytest.approx((1 + 1) / (10 + 38 + 1))


def test_the_next_step_is_a_question_or_a_proposal_from_one_fit_and_goes_on_bit_for_bit():
    optimizer = ordered(slip={2, 5})
    copy = Optimizer.from_state(LINE, json.loads(json.dumps(optimizer.state())), strategy=LIGHT)
    for _ in range(3):
        step = optimizer.next_step()
        assert step == copy.next_step()
        assert optimizer.state() == copy.state()
        copy = Optimizer.from_state(LINE, json.loads(json.dumps(optimizer.state())), strategy=LIGHT)
        if isinstance(step, Question):
            for one in (optimizer, copy):
                one.tell_judgment(max(step.number, step.opponent), min(step.number, step.opponent))
    assert optimizer.ledger.trials[len(optimizer.ledger.trials)].kind in ("design", "improve", "refine", "told")


def test_a_state_of_before_knows_neither_tray_nor_looks_a_part():
    state = ordered().state()
    del state["tray"], state["looks_per_part"]
    assert Optimizer.from_state(LINE, state, strategy=LIGHT).looks_per_part == 1.5


@pytest.mark.parametrize("options", [{"looks_per_part": 0.5}, {"looks_per_part": "many"}, {"tray": -1}, {"tray": 2.5}])
def test_a_tray_or_a_number_of_looks_that_cannot_be_is_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Optimizer(LINE, **options)


def test_where_some_answers_were_ties_the_champion_is_the_part_that_the_model_believes_best():
    optimizer = Optimizer(LINE, strategy=LIGHT)
    for x in (0.1, 0.3, 0.5):
        optimizer.tell_outcome(optimizer.add({"x": x}), True)
    optimizer.tell_tie(2, 1)
    optimizer.tell_judgment(3, 2)  # so it is better than the first one too, which it never met
    assert optimizer.ledger.champion == 1
    optimizer.ask()
    assert optimizer.champion == 3
