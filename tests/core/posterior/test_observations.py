import numpy as np
import pytest

from tuner.core import Observations

POINTS = [[0.1, 0.2], [0.3, 0.4], [0.1, 0.2], [0.5, 0.6]]


def test_equal_points_are_merged_and_rows_point_to_the_merged_one():
    data = Observations(POINTS, labels=[(2, True)], duels=[(0, 1), (2, 3)])
    assert data.n == 3
    assert data.index.tolist() == [0, 1, 0, 2]
    assert data.plus.tolist() == [0, 0, 0]
    assert data.minus.tolist() == [3, 1, 2]


def test_a_negative_zero_is_the_same_point_as_zero():
    assert Observations([[0.0], [-0.0]]).n == 1


def test_a_tie_makes_clear_preferences_clearer():
    data = Observations(POINTS, labels=[(0, True)], duels=[(0, 1)], ties=[(1, 3)], jnd=0.7)
    lower, upper = data.intervals()
    assert lower.tolist() == [0.0, 0.7, -0.7]
    assert upper.tolist() == [np.inf, np.inf, 0.7]


def test_without_ties_a_duel_has_no_threshold():
    assert Observations(POINTS, duels=[(0, 1)], jnd=0.7).intervals()[0].tolist() == [0.0]


def test_a_repeat_of_the_same_setting_may_be_judged_though_it_says_nothing_about_f():
    assert Observations(POINTS, duels=[(0, 2)]).m == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": [[0.1], [np.nan]]}, "points row 1"),
        ({"points": [[0.1], [np.inf]]}, "points row 1"),
        ({"points": [0.1, 0.2]}, "one row a point"),
        ({"points": POINTS, "duels": [(0, 1), (0, 4)]}, "duels row 1: there is no point 4"),
        ({"points": POINTS, "duels": [(0, -1)]}, "duels row 0: there is no point -1"),
        ({"points": POINTS, "duels": [(0, 1), (2, 2)]}, "duels row 1: point 2 cannot be compared with itself"),
        ({"points": POINTS, "duels": [(0, 1), (0.5, 1)]}, "duels row 1: 0.5 is not the index"),
        ({"points": POINTS, "duels": [(True, 0)]}, "duels row 0: True is not the index"),
        ({"points": POINTS, "duels": [3]}, "duels row 0: expected a pair"),
        ({"points": POINTS, "ties": [(0, 1), (1, 1)]}, "ties row 1"),
        ({"points": POINTS, "ties": [(0, 1, 0.0)]}, "ties row 0"),
        ({"points": POINTS, "ties": [(0, 1)], "jnd": 0.0}, "ties row 0: a tie needs a positive width"),
        ({"points": POINTS, "ties": [(0, 1)], "jnd": np.nan}, "ties row 0"),
        ({"points": POINTS, "labels": [(0, True), (9, True)]}, "labels row 1: there is no point 9"),
        ({"points": POINTS, "labels": [(0, 2)]}, "labels row 0: 2 is neither valid"),
        ({"points": POINTS, "duels": [(0, 1)], "duel_judges": [0, 1]}, "duel_judges: 2 given for 1 rows"),
        ({"points": POINTS, "duels": [(0, 1)], "duel_judges": [-1]}, "duel_judges row 0"),
    ],
)
def test_bad_input_is_refused_and_the_row_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Observations(**arguments)
