"""A space of which only a part is allowed for a while: its rows mean the same, whatever comes from it lies inside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.helpers import MIXED
from tuner import Choice, Continuous, Integer, Space, SpaceError, Stepped
from tuner.core.space.restriction import outside

DOMAINS = {one.name: one.domain for one in MIXED.parameters}
RESTRICTIONS = [
    {"c": "b"},
    {"c": ["a", "c"]},
    {"x": 0.125},
    {"x": (0.1, 0.3)},
    {"k": 3, "s": (0.25, None)},
    {"x": (None, 0.5), "k": (2, 5), "s": 0.4, "c": ["b"]},
]


def inside(space, restriction, U):
    limits = {name: space.within({name: wanted}) for name, wanted in restriction.items()}
    assert limits
    for row in U:
        setting = space.decode(row)
        MIXED.checked(setting)
        for name, wanted in restriction.items():
            value = setting[name]
            if isinstance(wanted, tuple):
                low, high = wanted
                assert (low is None or value >= low) is (high is None or value <= high) is True
            else:
                assert value in (wanted if isinstance(wanted, list) else [wanted])


@pytest.mark.parametrize("restriction", RESTRICTIONS)
def test_whatever_is_drawn_or_snapped_lies_inside(restriction):
    space, rng = MIXED.within(restriction), np.random.default_rng(1)
    U = space.sample(50, rng)
    inside(space, restriction, U)
    assert space.feasible(U).all()
    snapped = space.snap(MIXED.sample(50, rng))
    inside(space, restriction, snapped[space.feasible(snapped)])
    inside(space, restriction, space.neighbours(U[0]))


@pytest.mark.parametrize("restriction", RESTRICTIONS)
def test_a_row_means_the_same_as_in_the_whole_space(restriction):
    space, rng = MIXED.within(restriction), np.random.default_rng(2)
    for row in space.sample(20, rng):
        setting = space.decode(row)
        assert MIXED.encode(setting) == pytest.approx(row, abs=1e-12)
        assert space.encode(setting) == pytest.approx(row, abs=1e-12)


def test_what_lies_outside_has_a_row_but_is_not_feasible():
    space = MIXED.within({"c": "a", "x": (0.0, 0.5)})
    row = space.encode({"x": 1.5, "k": 4, "s": 0.2, "c": "b"})
    assert MIXED.feasible(row[None])[0]
    assert not space.feasible(row[None])[0]


def test_an_enumerable_space_has_only_what_is_allowed():
    space = Space([Integer("k", 1, 4), Choice("c", ["a", "b", "c"])]).within({"c": ["a", "b"], "k": (2, 3)})
    assert sorted((one["k"], one["c"]) for one in map(space.decode, space.every)) == [
        (2, "a"),
        (2, "b"),
        (3, "a"),
        (3, "b"),
    ]


def test_where_feasible_settings_are_rare_the_walk_stays_inside():
    space = Space([Continuous("x", 0, 1), Continuous("y", 0, 1), Continuous("z", 0, 1)], ["abs(x - y) <= 0.0001"])
    narrow = space.within({"x": (0.2, 0.3), "z": 0.25})
    found = [narrow.decode(row) for row in narrow.sample(40, np.random.default_rng(0))]
    assert all(0.2 <= one["x"] <= 0.3 and one["z"] == 0.25 and abs(one["x"] - one["y"]) <= 1.1e-4 for one in found)
    assert len({one["x"] for one in found}) > 20


@pytest.mark.parametrize(
    ("restriction", "words"),
    [
        ({"x": 5.0}, "between low"),
        ({"x": (0.5, 0.2)}, "above the highest"),
        ({"x": (-9, 0.2)}, "must lie between -1 and 2"),
        ({"s": (0.41, 0.49)}, "has no value between 0.41 and 0.49: its values are 0.1 apart"),
        ({"c": []}, "no option is left"),
        ({"c": ["a", "d"]}, "must be one of"),
        ({"c": ["a", "b", "c"]}, "all its options"),
        ({"x": (-1, 2)}, "its limits already"),
        ({"q": 1}, "no parameter 'q'"),
        ({"x": (1, 2, 3)}, "a lowest and a highest"),
        ({"k": 1.5}, "whole number"),
        ({"x": (-1.0, -0.9), "k": (1, 2)}, "no setting satisfies"),
    ],
)
def test_a_contradiction_is_refused_with_a_sentence(restriction, words):
    with pytest.raises(SpaceError, match=words):
        MIXED.within(restriction)


def test_no_restriction_is_the_space_itself():
    assert MIXED.within({}) is MIXED


def test_a_space_is_narrowed_anew_and_not_further():
    space = MIXED.within({"k": (2, 3)}).within({"s": 0.4})
    assert {space.decode(row)["k"] for row in space.sample(200, np.random.default_rng(0))} == set(range(1, 9))


@given(st.floats(0, 10), st.floats(0, 10))
def test_limits_are_rounded_inwards_to_values_that_can_be_set(one, other):
    low, high = sorted((one, other))
    for parameter in (Continuous("x", 0, 10, resolution=0.05), Stepped("x", 0, 10, 0.25), Integer("x", 0, 10)):
        space = Space([parameter, Continuous("y", 0, 1)])
        try:
            narrow = space.within({"x": (low, high)})
        except SpaceError:
            continue
        values = [narrow.decode(row)["x"] for row in narrow.sample(5, np.random.default_rng(0))]
        assert all(low - 1e-6 <= value <= high + 1e-6 for value in values)
        assert not outside({"x": (narrow.parameters[0].least, narrow.parameters[0].most)}, {"x": values[0]})
