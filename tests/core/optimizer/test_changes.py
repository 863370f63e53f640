"""Parameters that cost something to change."""

from itertools import pairwise

import numpy as np
import pytest

from tests.core.helpers import LIGHT, run
from tuner import Choice, Continuous, Integer, Optimizer, Space, SpaceError
from tuner.compute.spaces import space_from_json, space_json
from tuner.core.optimizer.changes import costly_changes


def space(cost):
    return Space([Continuous("x", 0, 1), Choice("gate", ["a", "b", "c"], change_cost=cost)])


def changes(cost, gates, left=None):
    rows = np.array([space(cost).encode({"x": 0.1 * i, "gate": gate}) for i, gate in enumerate(gates)])
    return costly_changes(space(cost), rows, left)


def blocks(settings):
    gates = [s["gate"] for s in settings]
    return sum(one != other for one, other in pairwise(gates))


def quality(s):
    return -abs(s["x"] - 0.4) - {"a": 0.3, "b": 0.0, "c": 0.2}[s["gate"]]


def test_where_nothing_costs_anything_there_is_nothing_to_weigh():
    assert changes(0.0, "ab") is None
    assert costly_changes(space(3.0), np.empty((0, 4)), None) is None


@pytest.mark.parametrize(("gates", "held"), [("aab", True), ("abb", True), ("abbb", False), ("aaa", False)])
def test_what_was_changed_stays_until_as_many_parts_were_made_as_the_change_costs(gates, held):
    assert changes(3.0, gates).held.tolist() == [False, held]


def test_it_stays_to_the_end_once_fewer_parts_are_left_than_a_change_costs():
    assert not changes(3.0, "aaaa", left=4).held.any()
    assert changes(3.0, "aaaa", left=3).held.tolist() == [False, True]


def test_a_rounding_is_no_change():
    by_hand = Space([Continuous("x", 0, 1), Continuous("valve", 0, 3, change_cost=3.0)])
    rows = np.array([[0.1, 0.3], [0.2, 0.3 + 1e-16], [0.3, 0.1 + 0.2]])
    assert not costly_changes(by_hand, rows, None).held.any()


@pytest.mark.slow
@pytest.mark.thorough
def test_it_is_changed_rarely_and_in_blocks_and_still_found():
    found = {}
    for cost in (0.0, 4.0):
        optimizer = Optimizer(space(cost), strategy=LIGHT, budget=25, seed=1)
        optimizer.tell_outcome(optimizer.add({"x": 0.8, "gate": "a"}), True)
        settings = [p.setting for p in run(optimizer, 24, quality)]
        found[cost] = blocks([{"gate": "a"}, *settings])
        assert optimizer.ledger.trials[optimizer.champion].setting["gate"] == "b"
    assert found[4.0] <= 5 < found[0.0]


def test_a_number_that_is_set_by_hand_stays_for_some_parts():
    by_hand = Space([Continuous("x", 0, 1), Continuous("valve", 0, 1, change_cost=3.0)])
    optimizer = Optimizer(by_hand, strategy=LIGHT, budget=20, seed=2)
    optimizer.tell_outcome(optimizer.add({"x": 0.5, "valve": 0.5}), True)
    valves = [0.5] + [p.setting["valve"] for p in run(optimizer, 15, lambda s: -abs(s["x"] - 0.2) - s["valve"])]
    lengths, since = [], 1
    for one, other in pairwise(valves):
        since = since + 1 if one == other else 1
        if one != other:
            lengths.append(since)
    assert 1 <= len(lengths) <= 5


def test_a_constraint_that_shuts_out_what_is_held_ends_no_proposal():
    tight = Space([Continuous("x", 0, 1), Integer("k", 0, 5, change_cost=50.0)], ["x + k >= 3"])
    optimizer = Optimizer(tight, strategy=LIGHT, budget=30)
    optimizer.tell_outcome(optimizer.add({"x": 0.9, "k": 3}), True)
    assert all(p.setting["k"] == 3 for p in run(optimizer, 5, lambda s: s["x"]))


@pytest.mark.parametrize("cost", [-1.0, float("nan"), "much", None])
def test_a_cost_that_is_none_is_refused(cost):
    with pytest.raises(SpaceError, match="change_cost: must be a number of parts"):
        Continuous("x", 0, 1, change_cost=cost)


def test_a_cost_goes_to_compute_processes_and_none_is_not_mentioned():
    data = space_json(Space([Integer("k", 0, 5, change_cost=2.0), Continuous("x", 0, 1)]))
    assert [item.get("change_cost") for item in data["parameters"]] == [2.0, None]
    assert space_from_json(data).parameters[0].change_cost == 2.0
