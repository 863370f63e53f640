import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.core.space.parameters import Choice, Continuous, Integer, SpaceError, Stepped

STEPPED = [
    Stepped("s", 0.1, 0.7, 0.1),
    Stepped("s", -0.3, 0.3, 0.1),
    Stepped("s", -5, 20, 2.5),
    Stepped("s", 1e-13, 9e-13, 1e-13),
    Stepped("s", 1e6, 1e6 + 1e-3, 1e-4),
    Stepped("s", 1 / 3, 1 / 3 + 7 / 30, 1 / 30),
    Stepped("s", 0, 1000, 0.25),
]
GRIDS = [
    *STEPPED,
    Integer("k", 0, 1),
    Integer("k", -7, 12),
    Integer("k", 1, 5000, log=True),
    Integer("k", 2**52, 2**52 + 20),
    Choice("c", ["a", "b"]),
    Choice("c", ["red", "green", "blue", ""]),
]


@pytest.mark.parametrize("parameter", GRIDS, ids=str)
def test_every_value_of_a_grid_survives_the_way_to_the_cube_and_back(parameter):
    for index in range(parameter.levels):
        value = parameter.level(index)
        back = parameter.value(np.array(parameter.encode(value)))
        assert back == value
        assert type(back) is type(value)
        assert parameter.checked(value) == value


@pytest.mark.parametrize("parameter", GRIDS, ids=str)
def test_every_value_of_a_grid_is_reached_by_sampling_or_by_rounding(parameter):
    u = np.linspace(0.0, 1.0, 100_001)[:, None]
    rows = parameter.sample(20_000, np.random.default_rng(0)) if parameter.levels < 1000 else parameter.snap(u)
    seen = {parameter.level(int(i)) for i in parameter.indices(rows)}
    assert seen == {parameter.level(i) for i in range(parameter.levels)}


def test_a_stepped_range_holds_the_decimals_people_write_up_to_its_top():
    assert [STEPPED[0].level(i) for i in range(7)] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert [STEPPED[1].level(i) for i in range(7)] == [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]
    assert STEPPED[0].value(np.array([1.0])) == 0.7


@pytest.mark.parametrize("parameter", STEPPED, ids=str)
def test_a_stepped_column_holds_exactly_the_decoded_values(parameter):
    u = np.linspace(0.0, 1.0, 57)[:, None]
    assert parameter.column(u).tolist() == [parameter.value(row) for row in u]


@given(low=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6), share=st.floats(0, 1))
def test_continuous_values_survive_to_rounding(low, width, share):
    parameter = Continuous("x", low, low + width)
    value = min(low + share * width, low + width)
    assert parameter.value(np.array(parameter.encode(value))) == pytest.approx(value, abs=1e-9 * (abs(low) + width))


@given(low=st.floats(1e-6, 1e3), ratio=st.floats(1.01, 1e6), share=st.floats(0, 1))
def test_continuous_values_on_a_log_scale_survive_to_rounding(low, ratio, share):
    parameter = Continuous("x", low, low * ratio, log=True)
    value = min(max(low * ratio**share, low), low * ratio)
    assert parameter.value(np.array(parameter.encode(value))) == pytest.approx(value, rel=1e-11)


@given(
    low=st.floats(1e-3, 1e3),
    width=st.floats(1e-3, 1e6),
    log=st.booleans(),
    u=st.floats(-3, 3),
)
def test_no_coordinate_leads_out_of_the_bounds(low, width, log, u):
    parameter = Continuous("x", low, low + width, log=log)
    assert parameter.low <= parameter.value(np.array([u])) <= parameter.high
    assert parameter.encode(parameter.value(np.array([u])))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Continuous("x", 1, 1), r"x: high: must be greater than low \(1\), not 1"),
        (lambda: Continuous("x", 2, 1), "x: high: must be greater than low"),
        (lambda: Continuous("x", 0, math.nan), "x: high: must be a finite number, not nan"),
        (lambda: Continuous("x", False, 1), "x: low: must be a finite number, not false"),
        (lambda: Continuous("x", "0", 1), 'x: low: must be a finite number, not "0"'),
        (lambda: Continuous("x", -1e308, 1e308), "x: high: is too far from low to compute with"),
        (lambda: Continuous("x", 0, 1, log=True), "x: log: a log scale needs low greater than 0"),
        (lambda: Continuous("x", 5e-324, 1, log=True), "x: log: a log scale cannot reach from 5e-324 to 1"),
        (lambda: Continuous("", 0, 1), "named by a text"),
        (lambda: Stepped("s", 0, 1, 0.3), "s: step: .* a whole number of steps must give high"),
        (lambda: Stepped("s", 0, 1, 0), "s: step: must be greater than 0"),
        (lambda: Stepped("s", 0, 1, math.inf), "s: step: must be a finite number, not inf"),
        (lambda: Stepped("s", 0, 1, 1e-9), "s: step: gives more than"),
        (lambda: Integer("k", 0, 2.5), "k: high: must be a whole number, not 2.5"),
        (lambda: Integer("k", 0, 2**60), "k: high: .* whole numbers are not exact"),
        (lambda: Integer("k", 0, 10**400), "k: high: must be a whole number"),
        (lambda: Choice("c", ["a"]), "c: choices: must have at least 2 entries"),
        (lambda: Choice("c", ["a", "a"]), 'c: choices.1: "a" is in the list twice'),
        (lambda: Choice("c", "ab"), "c: choices: must be a list of texts"),
        (lambda: Choice("c", [1, 2]), "c: choices: must be a list of texts"),
    ],
)
def test_an_impossible_parameter_is_refused_by_name(make, words):
    with pytest.raises(SpaceError, match=words):
        make()


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        (Continuous("p", 0, 1), [-0.1, 1.1, math.nan, math.inf, True, "0.5", None, 1j, np.complex128(0.5)]),
        (Stepped("p", 0.1, 0.7, 0.1), [0.05, 0.15, 0.8, 0.0, 1e300, -1e300, "0.1", False]),
        (Integer("p", 1, 5), [0, 6, 2.5, True, "3", None, math.nan]),
        (Choice("p", ["a", "b"]), ["c", 0, None, True, ["a"], np.array(["a", "b"])]),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_parameter(parameter, values):
    for value in values:
        with pytest.raises(SpaceError, match=r"^p: "):
            parameter.encode(value)


def test_numbers_of_numpy_become_plain_ones():
    for parameter, value, kind in (
        (Continuous("p", 0, 1), np.float32(0.5), float),
        (Integer("p", 1, 5), np.int64(3), int),
        (Integer("p", 1, 5), 3.0, int),
        (Stepped("p", 0, 1, 0.25), np.float64(0.75), float),
        (Choice("p", ["a", "b"]), np.str_("b"), str),
    ):
        assert type(parameter.checked(value)) is kind
        assert parameter.checked(value) == value


def test_a_value_nearly_on_the_grid_is_put_on_it():
    assert Stepped("s", 0.1, 0.7, 0.1).checked(0.1 + 2 * 0.1) == 0.3
