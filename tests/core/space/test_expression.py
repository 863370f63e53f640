import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.core.space.expression import DEPTH_LIMIT, LENGTH_LIMIT, ExpressionError, parse_constraint

FUNCTIONS = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos}
FUNCTIONS |= {"abs": abs, "min": min, "max": max}

# a tree is (its text, the texts of all its parts): the parts tell whether Python could compute every step
Tree = tuple[str, tuple[str, ...]]


def tree(text: str, *parts: Tree) -> Tree:
    return text, (*(sub for part in parts for sub in part[1]), text)


leaves = st.sampled_from(["a", "b", "c", "0", "1", "2.5", ".5", "3e-1", "7"]).map(tree)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", " ** "]), inner).map(
            lambda t: tree(f"({t[0][0]}){t[1]}({t[2][0]})", t[0], t[2])
        ),
        st.tuples(
            leaves, st.sampled_from([" + ", "-", " *", "/ "]), leaves, st.sampled_from(["*", "**", "-"]), leaves
        ).map(lambda t: tree(f"({t[0][0]}{t[1]}{t[2][0]}{t[3]}{t[4][0]})", t[0], t[2], t[4])),
        inner.map(lambda t: tree(f"-({t[0]})", t)),
        leaves.map(lambda t: tree(f"-{t[0]}**-2", tree(f"{t[0]}**-2", t))),
        st.tuples(st.sampled_from(["sin", "cos", "abs", "sqrt", "exp", "log"]), inner).map(
            lambda t: tree(f"{t[0]}({t[1][0]})", t[1])
        ),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner, leaves).map(
            lambda t: tree(f"{t[0]}({t[1][0]}, {t[2][0]},{t[3][0]})", *t[1:])
        ),
    ),
    max_leaves=8,
)
values = st.fixed_dictionaries({name: st.floats(-10, 10).map(lambda x: round(x, 3)) for name in "abc"})


def python(text: str, at: dict[str, float]) -> float:
    """Python's own opinion; nan where it has none."""
    try:
        value = eval(text, {"__builtins__": {}} | FUNCTIONS | at)  # noqa: S307 - the judge in this test, on our own text
    except (ZeroDivisionError, OverflowError, ValueError):
        return math.nan
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else math.nan


@given(left=trees, right=trees, comparison=st.sampled_from(["<=", ">=", "<", ">"]), at=values)
def test_a_constraint_agrees_with_python_wherever_python_can_compute_every_step(left, right, comparison, at):
    text = f"{left[0]} {comparison} {right[0]}"
    if len(text) > LENGTH_LIMIT:
        return
    constraint = parse_constraint(text)
    margin = float(constraint.margin(at))
    if any(math.isnan(python(part, at)) for part in left[1] + right[1]):
        assert margin == -math.inf
        return
    a, b = python(left[0], at), python(right[0], at)
    expected = b - a if comparison[0] == "<" else a - b
    if math.isfinite(expected):
        assert margin == pytest.approx(expected, rel=1e-9, abs=1e-9 * max(1.0, abs(a), abs(b)))
    if abs(a - b) > 1e-9 * max(1.0, abs(a), abs(b)):
        assert bool(constraint.holds(at)) == eval(f"{a} {comparison} {b}".replace("inf", "1e400"))  # noqa: S307


@given(st.text(alphabet="ab1.e+-*/()<>=, ^\x00sinmax", max_size=40))
def test_any_text_is_either_a_constraint_or_an_error_with_a_column_inside_it(text):
    try:
        constraint = parse_constraint(text)
    except ExpressionError as error:
        column = error.column
    else:
        column = 1
        constraint.holds(dict.fromkeys(constraint.names, 1.0))
    assert 1 <= column <= len(text) + 1


@given(values, values)
def test_evaluation_on_arrays_is_evaluation_of_each_element(first, second):
    constraint = parse_constraint("0 <= a + b*c <= 20")
    together = constraint.margin({name: np.array([first[name], second[name]]) for name in "abc"})
    assert together.tolist() == [float(constraint.margin(first)), float(constraint.margin(second))]


def test_scalars_and_arrays_can_be_mixed():
    assert parse_constraint("2*a + b <= 140").margin({"a": np.array([1.0, 70.0]), "b": 10}).tolist() == [128.0, -10.0]


def test_strict_comparisons_fail_at_equality_and_margin_says_so_too():
    at = {"a": 2}
    assert parse_constraint("a <= 2").holds(at)
    assert not parse_constraint("a < 2").holds(at)
    assert parse_constraint("a < 2").margin(at) < 0
    assert parse_constraint("a > 2").margin({"a": 2.0000001}) >= 0


def test_a_chain_of_comparisons_means_all_of_them():
    chain = parse_constraint("0 <= a <= b")
    assert chain.holds({"a": 1, "b": 2})
    assert not chain.holds({"a": -1, "b": 2})
    assert not chain.holds({"a": 3, "b": 2})


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("text", ["a <= 5", "a >= 5", "a**0 <= 5", "min(a, 1) <= 5", "max(a, 1) >= 0", "1/a <= 5"])
def test_a_value_that_is_not_a_number_never_satisfies_a_constraint(text, bad):
    assert not parse_constraint(text).holds({"a": bad})


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("", 1, "expected a number"),
        ("a +", 4, "found the end"),
        ("a + b", 6, "a comparison (<=, >=, <, >)"),
        ("a <= 2)", 7, "found ')'"),
        ("(a <= 2", 4, "expected ')'"),
        ("a = 2", 3, "write <= or >="),
        ("a ^ 2 <= 1", 3, "a power is written **"),
        ("a b <= 1", 3, "expected an operator"),
        ("min(a) <= 1", 6, "takes two or more"),
        ("sin(a, b) <= 1", 6, "expected ')'"),
        ("sin <= 1", 5, "after the function sin"),
        ("open(a) <= 1", 1, "not a function"),
        ("a.__class__ <= 1", 2, "not allowed"),
        ("__import__('os') <= 1", 12, "not allowed"),
        ("0 <= a >= b", 1, "one way"),
        ("a <= 1e999", 6, "too large"),
        ("-" * (DEPTH_LIMIT + 1) + "a <= 1", DEPTH_LIMIT + 1, "deep"),
        ("(" * 400 + "a", DEPTH_LIMIT + 1, "deep"),
        ("a" * (LENGTH_LIMIT + 1), 1, "at most"),
    ],
)
def test_an_error_says_where_and_what_is_expected(text, column, reason):
    with pytest.raises(ExpressionError) as caught:
        parse_constraint(text)
    assert caught.value.column == column
    assert reason in caught.value.sentence


def test_a_long_sum_is_no_deep_nesting():
    assert parse_constraint(" + ".join(["a"] * 100) + " <= 100").holds({"a": 1})
