"""How much of the budget looks for other valid ground, and what is said of validity before the first scrap."""

import numpy as np
import pytest

from tests.core.helpers import LIGHT, run
from tuner import Continuous, Optimizer, Space
from tuner.core.optimizer.ground import other_ground
from tuner.core.optimizer.strategy import Ground

SQUARE = Space([Continuous("x", 0, 1), Continuous("y", 0, 1)])


def share(valid, chance):
    """The share of other ground, of a champion at the first of the valid trials."""
    rows = np.array(valid, dtype=float)
    return other_ground(SQUARE, rows[0], rows, chance, Ground(), np.random.default_rng(0))


def disc(U, x, y, radius):
    return np.hypot(U[:, 0] - x, U[:, 1] - y) < radius


def test_ground_that_is_connected_with_the_champion_needs_no_search():
    assert share([[0.2, 0.5]], lambda U: np.where(U[:, 0] < 0.6, 0.9, 0.01)) < 0.05


def test_a_likely_region_that_nobody_has_seen_is_worth_a_search():
    def chance(U):
        return np.where(disc(U, 0.2, 0.2, 0.15) | disc(U, 0.75, 0.75, 0.2), 0.9, 0.01)

    unseen, seen = share([[0.2, 0.2]], chance), share([[0.2, 0.2], [0.75, 0.75], [0.65, 0.8], [0.85, 0.7]], chance)
    assert unseen > 0.5
    assert seen < 0.5 * unseen


def test_a_gap_between_two_regions_is_seen_although_it_is_narrow():
    def chance(U):
        return np.where(np.abs(U[:, 0] - 0.5) < 0.06, 0.05, 0.95)

    assert share([[0.1, 0.5]], chance) > 0.3


@pytest.mark.slow
@pytest.mark.thorough
def test_the_design_takes_less_of_the_budget_in_one_region_than_beside_islands():
    def designs(valid):
        optimizer = Optimizer(SQUARE, strategy=LIGHT, budget=41, scrap_budget=10, seed=3)
        optimizer.tell_outcome(optimizer.add({"x": 0.5, "y": 0.5}), True)
        kinds = [p.kind for p in run(optimizer, 40, lambda s: s["x"], valid)]
        return kinds.count("design")

    one = designs(lambda s: s["x"] < 0.7)
    assert one < 15
    assert one < designs(lambda s: np.sin(14 * s["x"]) > 0.2)


def test_before_the_first_scrap_p_valid_is_a_prior_that_says_so():
    optimizer = Optimizer(SQUARE, strategy=LIGHT)
    first = optimizer.ask()
    assert first.p_valid == 1.0  # nothing was made: there is nothing to say it from
    optimizer.tell_outcome(first.number, True)
    known = optimizer.learned()
    tried = known.tried[0]
    near, far = known.valid_probability(np.array([tried + 0.01, 1.0 - np.rint(tried)]))
    assert 0.5 < far < near < 1.0


def test_p_valid_of_unseen_ground_rises_with_each_valid_part():
    optimizer = Optimizer(SQUARE, strategy=LIGHT)
    corner, said = np.array([[1.0, 1.0]]), []
    for x in (0.1, 0.3, 0.5):
        for y in (0.1, 0.4):
            optimizer.tell_outcome(optimizer.add({"x": x, "y": y}), True)
        said.append(float(optimizer.learned().valid_probability(corner)[0]))
    assert said == sorted(said)
    assert said[-1] < 0.97


def test_before_the_first_scrap_proposals_do_not_depend_on_p_valid():
    with_model, without = (Optimizer(SQUARE, strategy=LIGHT, validity=name, seed=4) for name in ("separate", "none"))
    settings = [[p.setting for p in run(o, 12, lambda s: -abs(s["x"] - 0.3))] for o in (with_model, without)]
    assert settings[0] == settings[1]


@pytest.mark.parametrize("validity", ["separate", "shared"])
def test_after_scrap_p_valid_is_low_there(validity):
    optimizer = Optimizer(SQUARE, strategy=LIGHT, validity=validity)
    for x, valid in ((0.1, True), (0.2, True), (0.3, True), (0.9, False)):
        optimizer.tell_outcome(optimizer.add({"x": x, "y": 0.5}), valid)
    at = optimizer.learned().valid_probability(np.array([[0.2, 0.5], [0.9, 0.5]]))
    assert at[0] > 0.7 > 0.5 > at[1]


def test_before_the_first_scrap_a_long_campaign_s_p_valid_comes_from_trials_far_from_each_other():
    optimizer = Optimizer(SQUARE, strategy=LIGHT)
    for place in range(200):
        optimizer.tell_outcome(optimizer.add({"x": (place % 20) / 40, "y": (place // 20) / 10}), True)
    labels = optimizer.ledger.labels(60)
    assert labels.m == 60
    assert labels.points[-1].tolist() == [19 / 40, 9 / 10]  # the last
    near, far = optimizer.learned().valid_probability(np.array([[0.25, 0.5], [1.0, 0.5]]))
    assert near > 0.97 > far
