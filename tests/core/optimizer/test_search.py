import numpy as np
import pytest

from tuner import Choice, Continuous, Integer, Space
from tuner.core.optimizer.search import candidates, maximise, untried

NOTHING = np.empty((0, 2))


class Bowl:
    """A quadratic with its top at `top`; counts how many rows were valued."""

    def __init__(self, top, *, cheap=False):
        self.top, self.valued = np.asarray(top), 0
        if cheap:
            self.screen = lambda X: -np.abs(X - self.top).sum(axis=1)

    def values(self, X):
        self.valued += len(X)
        return -((X - self.top) ** 2).sum(axis=1)

    def gradient(self, x):
        return float(-((x - self.top) ** 2).sum()), -2 * (x - self.top)


def square(constraints=()):
    return Space([Continuous("x", 0, 1), Continuous("y", 0, 1)], constraints)


def some(space, count=500):
    rng = np.random.default_rng(0)
    return candidates(space, space.sample(2, rng), [50, 50], np.full(space.dimension, 0.3), count, rng)


def test_the_top_is_reached_in_the_middle_and_at_the_border():
    for top, expected in (([0.3, 0.6], [0.3, 0.6]), ([1.5, -2.0], [1.0, 0.0])):
        row, _ = maximise(Bowl(top), square(), some(square()), NOTHING)
        assert row == pytest.approx(np.array(expected), abs=1e-4)


def test_a_constraint_is_never_broken_on_the_way_up():
    space = square(["x + y <= 1"])
    row, _ = maximise(Bowl([0.8, 0.8]), space, some(space, 2000), NOTHING)
    assert space.feasible(row[None])[0]
    assert row == pytest.approx([0.5, 0.5], abs=0.05)


def test_integers_and_choices_climb_by_single_steps():
    space = Space([Continuous("x", 0, 1), Integer("k", 0, 40), Choice("c", ["a", "b", "c"])])
    top = space.encode({"x": 0.25, "k": 17, "c": "b"})
    row, _ = maximise(Bowl(top), space, some(space, 20), np.empty((0, space.dimension)))
    assert space.decode(row)["k"] == 17
    assert space.decode(row)["c"] == "b"


def test_candidates_lie_on_the_grid_and_keep_the_constraints():
    space = Space([Continuous("x", 0, 1), Integer("k", 0, 4), Choice("c", ["a", "b"])], ["x + k <= 3"])
    U = some(space)
    assert np.array_equal(space.snap(U), U)
    assert space.feasible(U).all()


def test_settings_that_were_tried_are_left_out_while_there_are_others():
    U = np.array([[0.1, 0.1], [0.5, 0.5]])
    assert untried(U, U[:1]).tolist() == [[0.5, 0.5]]
    assert untried(U, U).tolist() == U.tolist()
    grid = Space([Integer("k", 0, 4), Integer("m", 0, 4)])
    top = grid.encode({"k": 2, "m": 2})
    row, _ = maximise(Bowl(top), grid, grid.every, top[None])
    assert not np.array_equal(row, top)


def test_only_the_best_by_the_cheap_stand_in_are_valued():
    costly, screened = Bowl([0.3, 0.6]), Bowl([0.3, 0.6], cheap=True)
    U = some(square(), 3000)
    plain, _ = maximise(costly, square(), U, NOTHING)
    row, _ = maximise(screened, square(), U, NOTHING)
    assert screened.valued < 200
    assert row == pytest.approx(plain, abs=1e-5)


def test_values_that_are_not_finite_are_never_chosen():
    class Broken(Bowl):
        def values(self, X):
            return np.where(X[:, 0] < 0.5, np.nan, super().values(X))

    row, value = maximise(Broken([0.0, 0.0]), square(), some(square()), NOTHING)
    assert row[0] >= 0.5
    assert np.isfinite(value)
