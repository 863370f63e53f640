import numpy as np
import pytest
from scipy.optimize import minimize

from tuner.problems import PROBLEMS, VARIANTS, UnknownProblemError, get_problem

EVERY = pytest.mark.parametrize("problem", VARIANTS.values(), ids=VARIANTS.keys())


def inside(problem, count, seed=1):
    return np.random.default_rng(seed).uniform(problem.low, problem.high, (count, problem.d))


@EVERY
def test_the_minimisers_reach_the_minimum_and_nothing_valid_is_better(problem):
    at = np.array(problem.minimisers, dtype=float)
    assert problem.is_valid(at).all()
    assert problem.evaluate(at) == pytest.approx(problem.minimum, abs=1e-6)
    near = np.clip(at[0] + 1e-2 * np.random.default_rng(2).standard_normal((3000, problem.d)), *problem.bounds.T)
    for rows in (inside(problem, 3000), near):
        valid = rows[problem.is_valid(rows)]
        assert problem.evaluate(valid).min() >= problem.minimum - 1e-6


@pytest.mark.parametrize("name", ["levy10", "levy20", "rosenbrock10", "rosenbrock20", "hartmann6_among_20"])
def test_a_descent_from_near_the_minimum_of_a_large_problem_ends_there(name):
    problem = get_problem(name)
    start = np.clip(np.array(problem.minimisers[0]) + 0.01 * np.ptp(problem.bounds, axis=1), *problem.bounds.T)
    found = minimize(lambda x: float(problem.evaluate(x)[0]), start, method="L-BFGS-B", bounds=problem.bounds)
    assert found.fun == pytest.approx(problem.minimum, abs=1e-4)


def test_every_variant_is_found_by_name_and_none_hides_a_plain_problem():
    assert not VARIANTS.keys() & PROBLEMS.keys()
    assert all(get_problem(name).name == name for name in VARIANTS)
    with pytest.raises(UnknownProblemError, match='did you mean "levy20"'):
        get_problem("levy_20")


def test_there_are_noisy_drifting_mixed_and_large_ones():
    assert sum(problem.noise > 0 for problem in VARIANTS.values()) >= 2
    assert sum(problem.drift is not None for problem in VARIANTS.values()) >= 2
    assert sum(bool(problem.integers) for problem in VARIANTS.values()) >= 2
    assert {problem.d for problem in VARIANTS.values()} >= {10, 20}


def test_a_noisy_part_costs_the_true_cost_on_average_and_a_plain_one_always():
    noisy, plain = get_problem("six_hump_noisy"), get_problem("six_hump")
    X = np.repeat([[0.5, 0.5]], 20_000, axis=0)
    costs = noisy.part_costs(X, np.random.default_rng(0))
    assert costs.mean() == pytest.approx(float(plain.evaluate(X[:1])[0]), abs=0.003)
    assert costs.std() == pytest.approx(noisy.noise, rel=0.03)
    assert noisy.evaluate(X[:5]).tolist() == plain.part_costs(X[:5], np.random.default_rng(0)).tolist()


@pytest.mark.parametrize("name", ["levy2_drifting", "hartmann6_drifting"])
def test_a_drifting_optimum_moves_a_little_each_trial_and_never_leaves_the_box(name):
    problem = get_problem(name)
    places = np.array([problem.at_trial(number).minimisers[0] for number in range(500)])
    steps = np.abs(np.diff(places, axis=0))
    assert (places >= problem.bounds[:, 0]).all()
    assert (places <= problem.bounds[:, 1]).all()
    assert steps.max(axis=0) == pytest.approx(np.array(problem.drift))
    assert (np.ptp(places, axis=0) > 0).all()
    for number in (0, 1, 77, 300):
        moved = problem.at_trial(number)
        assert moved.evaluate(np.array(moved.minimisers)) == pytest.approx(problem.minimum, abs=1e-6)
        assert moved.evaluate(inside(moved, 3000)).min() >= problem.minimum - 1e-6
    # the old optimum is no longer one
    assert problem.at_trial(50).evaluate(np.array(problem.minimisers))[0] > problem.minimum + 1e-6


def test_a_problem_without_drift_is_the_same_at_every_trial():
    assert get_problem("sasena").at_trial(30) is get_problem("sasena")


def test_whole_numbers_are_rounded_and_the_others_are_not():
    press = get_problem("press_mixed")
    assert (
        press.evaluate(np.array([3.6, 3.2, 0.6, 0.45])).tolist() == press.evaluate(np.array([4, 3, 0.6, 0.45])).tolist()
    )
    assert press.evaluate(np.array([4, 3, 0.61, 0.45]))[0] > press.evaluate(np.array([4, 3, 0.6, 0.45]))[0]
    assert press.evaluate(np.array([5, 3, 0.6, 0.45]))[0] > 0.3


def test_evaluating_does_not_change_the_callers_settings():
    rows = np.array([[3.6, 3.2, 0.5, 0.5]])
    get_problem("press_mixed").evaluate(rows)
    assert rows.tolist() == [[3.6, 3.2, 0.5, 0.5]]


def test_fourteen_of_twenty_coordinates_do_nothing():
    problem = get_problem("hartmann6_among_20")
    at = np.array(problem.minimisers[0])
    moved = [problem.evaluate(np.clip(at + 0.2 * unit, 0, 1))[0] > problem.minimum + 1e-6 for unit in np.eye(20)]
    assert sum(moved) == 6
