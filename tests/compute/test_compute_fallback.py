import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compute.helpers import SETTINGS, payload, told
from tests.core.helpers import MIXED
from tuner import Choice, Continuous, Integer, Optimizer, Space
from tuner.compute.tasks import fallback
from tuner.core.space.parameters import SpaceError


def propose(optimizer):
    return fallback(json.loads(json.dumps(payload(optimizer))))


def why(proposal):
    return proposal["told"]["reason"]["code"]


def test_a_fallback_is_a_small_new_step_from_the_champion():
    optimizer = told()
    found = propose(optimizer)
    proposal = found["proposal"]
    assert proposal["kind"] == "fallback"
    assert why(proposal) == "why.small_step"
    assert (proposal["number"], proposal["opponent"]) == (9, 3)
    assert (proposal["p_better"], proposal["p_valid"]) == (None, None)
    assert proposal["setting"] == MIXED.checked(proposal["setting"])
    assert proposal["setting"] not in SETTINGS
    champion = MIXED.encode(SETTINGS[2])
    assert np.linalg.norm(MIXED.encode(proposal["setting"]) - champion) < 0.5
    rows = np.array([MIXED.encode(setting) for setting in SETTINGS])
    assert proposal["distance"] == np.linalg.norm(rows - MIXED.encode(proposal["setting"]), axis=1).min()


def test_of_the_model_only_the_count_of_proposals_changes():
    optimizer = told()
    optimizer.ask()
    state = optimizer.state()
    model = propose(optimizer)["model"]
    assert model == {name: state[name] for name in ("leader", "doubted", "fits")} | {"asks": state["asks"] + 1}


def test_the_same_state_gives_the_same_fallback_and_the_next_one_another():
    optimizer = told()
    state = optimizer.state()
    first = propose(optimizer)
    assert propose(optimizer) == first
    later = Optimizer.from_state(MIXED, {**state, "asks": state["asks"] + 1})
    assert propose(later)["proposal"]["setting"] != first["proposal"]["setting"]


def test_without_a_champion_the_fallback_is_far_from_everything_tried():
    square = Space([Continuous("x", 0, 1), Continuous("y", 0, 1)])
    optimizer = Optimizer(square)
    assert propose(optimizer)["proposal"]["distance"] is None
    optimizer.tell_outcome(optimizer.add({"x": 0.1, "y": 0.1}), False)
    proposal = propose(optimizer)["proposal"]
    assert why(proposal) == "why.no_champion"
    assert proposal["opponent"] is None
    assert proposal["distance"] > 0.8


def test_a_fallback_keeps_away_from_scrap():
    line = Space([Continuous("x", 0, 1)])
    optimizer = Optimizer(line)
    optimizer.tell_outcome(optimizer.add({"x": 0.5}), True)
    optimizer.tell_outcome(optimizer.add({"x": 0.501}), False)
    for asks in range(20):
        later = Optimizer.from_state(line, {**optimizer.state(), "asks": asks})
        assert propose(later)["proposal"]["setting"]["x"] < 0.5005


def test_a_champion_at_a_constraint_is_left_inwards():
    corner = Space([Continuous("x", 0, 1), Continuous("y", 0, 1)], ["x + y <= 1"])
    optimizer = Optimizer(corner)
    optimizer.tell_outcome(optimizer.add({"x": 0.5, "y": 0.5}), True)
    for asks in range(20):
        later = Optimizer.from_state(corner, {**optimizer.state(), "asks": asks})
        proposal = propose(later)["proposal"]
        assert why(proposal) == "why.small_step"
        assert sum(proposal["setting"].values()) <= 1


def test_a_grid_is_used_up_near_the_champion_first_and_repeated_only_at_the_end():
    grid = Space([Integer("n", 1, 3), Choice("c", ["a", "b"])], ["n <= 3"])
    optimizer = Optimizer(grid)
    optimizer.tell_outcome(optimizer.add({"n": 1, "c": "a"}), True)
    reasons, settings = [], [{"n": 1, "c": "a"}]
    for _ in range(6):
        proposal = propose(optimizer)["proposal"]
        reasons.append(why(proposal))
        settings.append(proposal["setting"])
        optimizer.tell_outcome(optimizer.add(proposal["setting"]), True)
    assert [tuple(s.values()) for s in settings[:4]].count((1, "a")) == 1
    assert len({tuple(s.values()) for s in settings[:6]}) == 6
    assert reasons[-1] == "why.repeated"
    assert set(reasons[:-1]) <= {"why.small_step", "why.farther_off"}
    assert grid.checked(settings[-1]) == settings[-1]


def test_a_space_without_any_setting_is_an_error():
    empty = Space([Continuous("x", 0, 1), Continuous("y", 0.1, 0.9)], ["(x - 2)**y >= 0"])
    with pytest.raises(SpaceError, match="a search finds no setting that satisfies"):
        propose(Optimizer(empty))


@given(seed=st.integers(0, 2**31), asks=st.integers(0, 1000), scrap=st.sets(st.integers(1, 8)))
def test_a_fallback_is_always_allowed_and_new(seed, asks, scrap):
    optimizer = Optimizer(MIXED, seed=seed)
    for setting in SETTINGS:
        trial = optimizer.add(setting)
        optimizer.tell_outcome(trial, trial not in scrap)
    later = Optimizer.from_state(MIXED, {**optimizer.state(), "asks": asks})
    setting = propose(later)["proposal"]["setting"]
    assert MIXED.checked(setting) == setting
    assert setting not in SETTINGS
