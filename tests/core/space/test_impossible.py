"""Spaces without a setting are refused at once; no space that has one ever is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.core.space.expression import parse_constraint
from tuner.core.space.impossible import impossible
from tuner.core.space.parameters import Choice, Continuous, Integer, SpaceError, Stepped
from tuner.core.space.space import Space

UNIT = [Continuous("a", 0.0, 1.0), Continuous("b", 0.0, 1.0)]
WHOLE = [Integer("n", 0, 100_000), Integer("m", 0, 100_000)]
MIXED = [
    Continuous("a", -1.0, 1.0),
    Integer("n", -3, 40),
    Stepped("s", 0.0, 2.0, 0.1),
    Choice("c", ["x", "y"]),
    Continuous("p", 1e-3, 1e3, log=True),
]


@pytest.mark.parametrize(
    ("parameters", "constraints", "blamed"),
    [
        (UNIT, ["a + b >= 3"], ["a + b >= 3"]),
        (UNIT, ["a <= 0.9", "a + b <= 0.5", "a + b >= 0.6"], ["a + b <= 0.5", "a + b >= 0.6"]),
        (UNIT, ["2 <= a + b <= 1"], ["2 <= a + b <= 1"]),
        (UNIT, ["exp(a) <= 0.5"], ["exp(a) <= 0.5"]),
        (UNIT, ["log(a - 2) <= 5"], ["log(a - 2) <= 5"]),
        (UNIT, ["a * b >= 1.001"], ["a * b >= 1.001"]),
        (UNIT, ["a**2 + b**2 >= 2.1"], ["a**2 + b**2 >= 2.1"]),
        (UNIT, ["(a - 0.5)**2 <= -0.01"], ["(a - 0.5)**2 <= -0.01"]),
        (UNIT, ["a * b >= 0.5", "a + b <= 1.2"], ["a * b >= 0.5", "a + b <= 1.2"]),
        (UNIT, ["sin(a) + cos(b) >= 2.1"], ["sin(a) + cos(b) >= 2.1"]),
        (UNIT, ["max(a, b) >= 1.5"], ["max(a, b) >= 1.5"]),
        (UNIT, ["1 / (1 + a) >= 1.5"], ["1 / (1 + a) >= 1.5"]),
        (WHOLE, ["77777 <= 4*n + 2*m <= 77777"], ["77777 <= 4*n + 2*m <= 77777"]),
        ([Integer("n", 0, 9)], ["4.2 <= n <= 4.8"], ["4.2 <= n <= 4.8"]),
        ([Stepped("s", 0.0, 1000.0, 0.1)], ["0.32 <= s <= 0.38"], ["0.32 <= s <= 0.38"]),
        ([Integer("n", 0, 9), Integer("m", 0, 9)], ["2.5 <= n*m <= 2.9"], ["2.5 <= n*m <= 2.9"]),
        ([Choice("c", ["x", "y"]), *UNIT], ["a > 1"], ["a > 1"]),
    ],
)
def test_a_space_without_a_setting_is_refused_and_the_constraints_to_blame_are_named(parameters, constraints, blamed):
    with pytest.raises(SpaceError, match="no setting satisfies") as caught:
        Space(parameters, constraints)
    named = [text for text in constraints if repr(text) in str(caught.value)]
    assert named == blamed


@pytest.mark.parametrize(
    ("parameters", "constraints"),
    [
        (UNIT, ["a + b <= 0.001"]),
        (UNIT, ["a + b <= 1e-9"]),
        (UNIT, ["a + b <= 0"]),
        (UNIT, ["a <= b <= a"]),
        (UNIT, ["a >= 1", "b >= 1"]),
        (UNIT, ["a * b >= 0.9999"]),
        (UNIT, ["a * b >= 1"]),
        (UNIT, ["a**2 + b**2 >= 2"]),
        (UNIT, ["exp(a) <= 1"]),
        (UNIT, ["(a - 0.5)**2 <= 0"]),
        (WHOLE, ["77777 <= n + 3*m <= 77777"]),
        ([Stepped("s", 0.0, 1000.0, 0.1)], ["0.3 <= s <= 0.3"]),
        ([Continuous("a", 0.0, 1e-9), Continuous("b", 0.0, 1e9)], ["1e9 <= a + b"]),
        ([Continuous(f"x{i}", 0.0, 1.0) for i in range(10)], ["+".join(f"x{i}" for i in range(10)) + " <= 0.01"]),
        ([Continuous(f"x{i}", 0.0, 1.0) for i in range(10)], ["*".join(f"x{i}" for i in range(10)) + " >= 0.99"]),
    ],
)
def test_a_space_with_few_settings_is_not_refused(parameters, constraints):
    space = Space(parameters, constraints)
    assert impossible(space.parameters, space.constraints) is None


names = st.sampled_from(["a", "n", "s", "p"])
numbers = st.floats(-100, 100).map(lambda x: repr(round(x, 3)))
terms = st.recursive(
    st.one_of(names, numbers),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/"]), inner),
        st.builds("{}({})".format, st.sampled_from(["abs", "sqrt", "exp", "log", "sin", "cos"]), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("({})**{}".format, inner, st.sampled_from(["0", "1", "2", "3", "0.5", "-1", "-2", "a", "n"])),
    ),
    max_leaves=8,
)


@pytest.mark.thorough
@given(st.lists(st.tuples(terms, terms, st.sampled_from(["<=", ">=", "<", ">"])), min_size=1, max_size=3))
def test_constraints_that_some_setting_satisfies_are_never_called_impossible(sides):
    constraints = [parse_constraint(f"{one} {sign} {other}") for one, other, sign in sides]
    blamed = impossible(MIXED, constraints)
    if blamed is None:
        return
    space = Space(MIXED)
    U = np.concatenate([space.sample(20_000, np.random.default_rng(1)), corners(space)])
    values = {p.name: p.column(U[:, s]) for p, s in zip(MIXED, space._slices, strict=True) if p.name != "c"}
    assert not np.all([constraint.holds(values) for constraint in blamed], axis=0).any()


def corners(space: Space) -> np.ndarray:
    grid = np.array(np.meshgrid(*[[0.0, 0.5, 1.0]] * 4)).reshape(4, -1).T
    choice = np.tile(space.encode({"a": 0.0, "n": 0, "s": 0.0, "c": "x", "p": 1.0})[3:5], (len(grid), 1))
    return space.snap(np.hstack([grid[:, :3], choice, grid[:, 3:]]))


@pytest.mark.thorough
@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4), min_size=1, max_size=4),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 1e-12, 1e-6, 1.0]),
)
def test_linear_constraints_made_to_hold_at_a_setting_are_possible(rows, seed, room):
    space = Space(MIXED)
    setting = space.decode(space.sample(1, np.random.default_rng(seed))[0])
    values = {name: float(setting[name]) for name in ("a", "n", "s", "p")}
    constraints = []
    for row in rows:
        left = " + ".join(f"({factor!r})*{name}" for factor, name in zip(row, values, strict=True))
        at = sum(factor * value for factor, value in zip(row, values.values(), strict=True))
        constraints.append(parse_constraint(f"{left} <= {at!r} + {room!r}"))
    assert impossible(MIXED, constraints) is None
