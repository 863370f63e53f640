import numpy as np
import pytest
from scipy.optimize import minimize

from tuner.problems import PROBLEMS, UnknownProblemError, get_problem

EVERY = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


@EVERY
def test_the_minimisers_are_valid_and_reach_the_minimum(problem):
    at = np.array(problem.minimisers)
    assert at.shape == (len(problem.minimisers), problem.d)
    assert problem.is_valid(at).all()
    assert (at >= problem.bounds[:, 0]).all()
    assert (at <= problem.bounds[:, 1]).all()
    assert problem.evaluate(at) == pytest.approx(problem.minimum, abs=1e-6)


@EVERY
def test_nothing_valid_is_better_than_the_minimum(problem):
    rng = np.random.default_rng(1)
    X = rng.uniform(problem.low, problem.high, (5000, problem.d))
    near = np.clip(
        np.array(problem.minimisers[0]) + 1e-3 * rng.standard_normal((5000, problem.d)), problem.low, problem.high
    )
    for candidates in (X, near):
        valid = candidates[problem.is_valid(candidates)]
        assert len(valid) > 0
        assert problem.evaluate(valid).min() >= problem.minimum - 1e-6


@EVERY
def test_a_local_search_from_the_best_of_many_points_ends_at_the_minimum(problem):
    rng = np.random.default_rng(2)
    X = rng.uniform(problem.low, problem.high, (4000, problem.d))
    X = X[problem.is_valid(X)]
    starts = X[np.argsort(problem.evaluate(X))[:5]]

    def penalised(x):
        # a step outside costs more than any objective near the minimum can win
        return float(problem.evaluate(x)[0] if problem.is_valid(x)[0] else 1e3)

    found = min(
        minimize(
            penalised,
            x,
            method="Nelder-Mead",
            bounds=problem.bounds,
            options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
        ).fun
        for x in starts
    )
    # a search that only knows "not valid" sticks to the border where the minimum lies on it
    on_border = problem.name in ("sasena", "gramacy")
    assert found == pytest.approx(problem.minimum, abs=0.05 if on_border else 1e-6)


@EVERY
def test_rows_are_independent_of_each_other(problem):
    X = np.random.default_rng(3).uniform(problem.low, problem.high, (7, problem.d))
    assert problem.evaluate(X).tolist() == [problem.evaluate(x)[0] for x in X]
    assert problem.is_valid(X).tolist() == [problem.is_valid(x)[0] for x in X]


def test_sasena_is_the_papers():
    sasena = get_problem("sasena")
    assert sasena.minimum == pytest.approx(-1.1743, abs=1e-4)
    assert sasena.minimisers[0] == pytest.approx((2.7450, 2.3523), abs=1e-4)
    assert not sasena.is_valid(np.array([2.5044, 2.5778]))[0]  # the better minimum without the limit


def test_the_one_dimensional_example_has_its_maximum_two_at_zero_and_may_lose_its_left_side():
    assert get_problem("waves").evaluate(np.array([[0.0]])).tolist() == [-2.0]
    assert get_problem("waves_right").is_valid(np.array([[-0.3], [-0.2], [-0.1]])).tolist() == [False, False, True]


def test_the_two_discs_of_branin_are_islands():
    discs = get_problem("branin_discs")
    between = np.linspace(discs.minimisers[0], discs.minimisers[1], 100)
    assert discs.is_valid(between[[0, -1]]).all()
    assert not discs.is_valid(between).all()


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownProblemError, match='did you mean "hartmann6"'):
        get_problem("hartman6")
