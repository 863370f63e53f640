import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner import Choice, Continuous, Integer, Space, Stepped
from tuner.core.space.parameters import SpaceError

MIXED = Space(
    [
        Continuous("x", -2, 3, unit="bar"),
        Continuous("y", 0.01, 100, log=True),
        Integer("k", -3, 4),
        Integer("n", 1, 1000, log=True),
        Stepped("s", 0.1, 0.7, 0.1),
        Choice("c", ["a", "b", "c"]),
    ],
    ["x + s <= 2.5", "k*x <= 4"],
)


@given(st.integers(0, 2**32), st.floats(1e-4, 3.0))
def test_what_is_snapped_and_feasible_is_a_setting_and_nothing_is_lost(seed, scale):
    rng = np.random.default_rng(seed)
    U = MIXED.snap(MIXED.sample(20, rng) + scale * rng.standard_normal((20, MIXED.dimension)))
    assert np.array_equal(MIXED.snap(U), U)
    for row, feasible in zip(U, MIXED.feasible(U), strict=True):
        setting = MIXED.decode(row)
        if feasible:
            assert MIXED.checked(setting) == setting
            assert MIXED.encode(setting) == pytest.approx(row, abs=1e-12)
        else:
            with pytest.raises(SpaceError, match="breaks the constraint"):
                MIXED.encode(setting)


def test_samples_and_neighbours_honour_the_constraints():
    rng = np.random.default_rng(0)
    U = MIXED.sample(500, rng)
    assert len(U) == 500
    assert MIXED.feasible(U).all()
    for row in U[:50]:
        around = MIXED.neighbours(row)
        assert MIXED.feasible(around).all()
        for other in around:
            now, then = MIXED.decode(row), MIXED.decode(other)
            changed = [name for name in MIXED.names if now[name] != then[name]]
            assert len(changed) == 1
            assert changed[0] in ("k", "n", "s", "c")
            MIXED.encode(then)


def test_neighbours_lead_from_any_setting_of_a_grid_to_any_other():
    space = Space([Integer("k", -1, 2), Stepped("s", 0, 1, 0.5), Choice("c", ["a", "b", "c"])])
    reached, todo = set(), [space.encode({"k": -1, "s": 0, "c": "a"})]
    while todo:
        row = todo.pop()
        key = tuple(space.decode(row).values())
        if key not in reached:
            reached.add(key)
            todo.extend(space.neighbours(row))
    assert len(reached) == space.size == 36
    assert len(space.every) == 36


def test_a_constraint_at_a_decimal_of_the_grid_means_the_decimal():
    space = Space([Stepped("s", 0.1, 0.7, 0.1), Continuous("x", 0, 1)], ["s <= 0.3"])
    seen = {space.decode(row)["s"] for row in space.sample(200, np.random.default_rng(0))}
    assert seen == {0.1, 0.2, 0.3}


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"x": 0.5}, "k: the setting gives no value"),
        ({"x": 0.5, "k": 2, "z": 1}, "no parameter 'z'"),
        ({"x": 5, "k": 2}, r"x: must lie between low .0. and high .1., not 5"),
        ({"x": 0.5, "k": 2.5}, "k: must be a whole number, not 2.5"),
        ({"x": 1.0, "k": 4}, "breaks the constraint 'x . k <= 3'"),
        (None, "by name"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_is_wrong(setting, words):
    space = Space([Continuous("x", 0, 1), Integer("k", 0, 4)], ["x * k <= 3"])
    with pytest.raises(SpaceError, match=words.replace("*", r"\*")):
        space.encode(setting)


def test_impossible_spaces_are_refused():
    x = Continuous("x", 0, 1)
    with pytest.raises(SpaceError, match="at least one"):
        Space([])
    with pytest.raises(SpaceError, match="two parameters are called 'x'"):
        Space([x, Integer("x", 0, 1)])
    with pytest.raises(SpaceError, match="'c' is not a numeric parameter"):
        Space([x, Choice("c", ["a", "b"])], ["x <= c"])
    with pytest.raises(SpaceError, match="'z' is not a numeric parameter"):
        Space([x], ["x <= z"])


@pytest.mark.parametrize(
    ("parameters", "constraint"),
    [
        ([Continuous("x", 0, 1), Continuous("y", 0, 1)], "x + y >= 3"),
        ([Integer("x", 0, 3), Integer("y", 0, 3)], "x + y >= 7"),
        ([Continuous("x", 0, 1)], "log(x - 2) <= 0"),
    ],
)
def test_a_space_without_settings_is_a_clear_error_at_once(parameters, constraint):
    with pytest.raises(SpaceError, match="no setting satisfies"):
        Space(parameters, [constraint])


def test_one_that_nobody_can_prove_to_have_none_is_a_clear_error_when_one_is_wanted():
    space = Space([Continuous("x", 0, 1), Continuous("y", 0.1, 0.9)], ["(x - 2)**y >= 0"])
    with pytest.raises(SpaceError, match="a search finds no setting that satisfies"):
        space.sample(5, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("constraints", "centre"),
    [
        (["x + y + z <= 0.1"], [0.025, 0.025, 0.025]),
        (["(x - 0.3)**2 + (y - 0.7)**2 <= 1e-7"], [0.3, 0.7, 0.5]),
        (["abs(x - y) <= 1e-4", "abs(y - z) <= 1e-4"], [0.5, 0.5, 0.5]),
        (["x >= 0.999", "1e6*y <= 1000"], [0.9995, 0.0005, 0.5]),
    ],
)
@pytest.mark.parametrize("count", [1, 400])
def test_tiny_feasible_regions_are_found_and_filled_evenly(constraints, centre, count):
    space = Space([Continuous(name, 0, 1) for name in "xyz"], constraints)
    U = space.sample(count, np.random.default_rng(1))
    assert U.shape == (count, 3)
    assert space.feasible(U).all()
    if count > 1:
        assert U.mean(axis=0) == pytest.approx(centre, abs=0.06)
        assert len(np.unique(U[:, 2])) > 0.9 * count


def test_a_tiny_region_of_a_mixed_space_is_found_with_all_its_options():
    space = Space(
        [Continuous("x", 0, 1), Integer("k", 0, 100), Choice("c", ["a", "b"])], ["abs(100*x - k) <= 0.2", "k >= 80"]
    )
    settings = [space.decode(row) for row in space.sample(400, np.random.default_rng(0))]
    assert {s["c"] for s in settings} == {"a", "b"}
    assert len({s["k"] for s in settings}) > 10


def test_a_fully_discrete_space_lists_every_feasible_setting():
    space = Space([Integer("k", 0, 9), Integer("m", 0, 9)], ["k + m <= 3"])
    assert len(space.every) == 10
    assert Space([Integer("k", 0, 9), Continuous("x", 0, 1)]).every is None
    assert len(Space([Integer("k", 0, 9), Integer("m", 0, 9)], ["k + m <= 0"]).sample(3, np.random.default_rng(0))) == 3
