"""An integer + choice + continuous problem with a known optimum is solved."""

import numpy as np
import pytest

from tests.core.helpers import run
from tuner import Choice, Continuous, Integer, Optimizer, Space, Stepped

SPACE = Space([Continuous("x", 0, 10), Integer("k", 0, 12), Choice("c", ["a", "b", "c"])])


def quality(setting):
    peak = {"a": 3.0, "b": 6.5, "c": 8.0}[setting["c"]]
    return (
        {"a": 0.0, "b": 1.0, "c": 0.3}[setting["c"]] - ((setting["x"] - peak) / 4) ** 2 - ((setting["k"] - 8) / 5) ** 2
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_mixed_problem_is_solved_within_forty_trials_on_most_seeds():
    regrets = []
    for seed in range(7):
        optimizer = Optimizer(SPACE, seed=seed, budget=40)
        run(optimizer, 40, quality)
        regrets.append(1.0 - quality(optimizer.ledger.trials[optimizer.champion].setting))
    assert np.median(regrets) < 1e-3


@pytest.mark.thorough
def test_a_mixed_problem_is_solved_on_one_seed():
    optimizer = Optimizer(SPACE, seed=11, budget=30)
    run(optimizer, 30, quality)
    best = optimizer.ledger.trials[optimizer.champion].setting
    assert (best["k"], best["c"]) == (8, "b")
    assert best["x"] == pytest.approx(6.5, abs=0.5)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("target", [(0.1, 1, "a"), (0.7, 4, "b"), (0.4, 1, "b"), (0.7, 1, "a")])
def test_whatever_the_best_setting_is_it_is_reached(target):
    space = Space([Stepped("s", 0.1, 0.7, 0.1), Integer("k", 1, 4), Choice("c", ["a", "b"])])

    def nearness(setting):
        return -abs(setting["s"] - target[0]) - 0.1 * abs(setting["k"] - target[1]) - 0.2 * (setting["c"] != target[2])

    optimizer = Optimizer(space, budget=25)
    run(optimizer, 25, nearness)
    assert tuple(optimizer.ledger.trials[optimizer.champion].setting.values()) == target
