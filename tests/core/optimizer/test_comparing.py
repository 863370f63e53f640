"""Further comparisons are asked while what they tell is worth a look."""

from dataclasses import replace

import numpy as np
import pytest

from tests.core.helpers import LIGHT
from tuner import Continuous, Optimizer, Space
from tuner.core.optimizer.comparing import expected_gains
from tuner.core.optimizer.strategy import Asking

LINE = Space([Continuous("x", 0, 1)])


def chain(tray=None, **asking):
    """Four parts along a line, each better than the one before it, which is all that was asked."""
    numbers = Asking(suspicious=1.0, crowning=1.0, **asking)
    optimizer = Optimizer(LINE, strategy=replace(LIGHT, asking=numbers), looks_per_part=3.0, tray=tray)
    for number, x in enumerate((0.1, 0.9, 0.3, 0.5), 1):
        optimizer.tell_outcome(optimizer.add({"x": x}), True)
        if number > 1:
            optimizer.tell_judgment(number, number - 1)
    return optimizer


def gains(optimizer, numbers, slips=0.0):
    known = optimizer.learned()
    rows = known.ledger.rows([known.ledger.trials[number] for number in numbers])
    return expected_gains(known, rows, slips, optimizer.strategy.asking)


def test_an_answer_that_nobody_doubts_tells_nothing_and_an_open_one_does():
    optimizer = chain()
    optimizer.tell_outcome(optimizer.add({"x": 0.7}), True)
    asked, open_one = gains(optimizer, (4, 3, 5))  # 4 was judged better than 3; nobody knows of 5
    assert asked == pytest.approx(0.0, abs=0.05)
    assert 0.2 < open_one <= np.log(2.0)


def test_an_answer_of_somebody_who_slips_tells_less_and_that_of_a_coin_nothing():
    optimizer = chain()
    optimizer.tell_outcome(optimizer.add({"x": 0.7}), True)
    sure, careless, coin = (float(gains(optimizer, (4, 5), slips)[0]) for slips in (0.0, 0.2, 0.5))
    assert coin == pytest.approx(0.0, abs=1e-12)
    assert 0.05 < careless < 0.6 * sure
    assert careless < Asking().price < sure


def test_a_comparison_is_asked_while_it_is_worth_its_price():
    question = chain(price=0.0, comparisons=1).question()
    assert (question.why, question.number, question.repeat) == ("compare", 4, False)
    assert question.opponent in (1, 2)
    assert chain(price=1.0, comparisons=1).question() is None
    assert chain(price=0.0, comparisons=0).question() is None


def test_there_are_so_many_comparisons_of_a_part_and_no_more():
    optimizer = chain(price=-1.0, comparisons=2)
    for _ in range(2):
        question = optimizer.question()
        optimizer.tell_judgment(question.number, question.opponent)
    assert optimizer.question() is None
    one = chain(price=-1.0, comparisons=1)
    one.tell_judgment(4, one.question().opponent)
    assert one.question() is None


def test_only_parts_that_are_kept_are_compared_and_the_same_words_give_the_same_question():
    assert chain(price=0.0).question() == chain(price=0.0).question()
    assert chain(tray=2, price=0.0).question() is None
