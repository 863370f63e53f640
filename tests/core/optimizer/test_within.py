"""Proposals under a restriction: every one lies inside, whatever kind it is, and the champion may lie outside."""

import pytest

from tests.core.helpers import LIGHT, MIXED, run, tell
from tuner import Optimizer
from tuner.compute.tasks import fallback, next_step
from tuner.compute.tasks import space_json as plain_space


def quality(setting):
    return -((setting["x"] - 1.2) ** 2) - 0.05 * (setting["k"] - 6) ** 2 - (setting["c"] != "b")


RESTRICTIONS = [
    {"c": "a", "x": (-0.2, 0.31)},
    {"x": 0.5, "k": 2},
    {"c": ["a", "c"], "s": (0.2, 0.4), "k": (3, 5)},
]


def allowed(setting, restriction):
    for name, wanted in restriction.items():
        value = setting[name]
        if isinstance(wanted, tuple | list) and not isinstance(value, str):
            assert wanted[0] <= value <= wanted[1]
        else:
            assert value in wanted if isinstance(wanted, list) else value == wanted


@pytest.mark.parametrize("restriction", RESTRICTIONS)
def test_every_proposal_lies_inside_and_the_champion_stays_where_it_is(restriction):
    optimizer = Optimizer(MIXED, seed=3, budget=30, strategy=LIGHT)
    best = optimizer.add({"x": 1.2, "k": 6, "s": 0.5, "c": "b"})
    optimizer.tell_outcome(best, True)
    run(optimizer, 4, quality)
    kinds = set()
    for _ in range(8):
        proposal = optimizer.ask(within=restriction)
        kinds.add(proposal.kind)
        allowed(proposal.setting, restriction)
        tell(optimizer, proposal, quality, lambda setting: setting["x"] < 1.9)
    assert optimizer.champion == best
    assert {"improve", "refine"} & kinds
    assert optimizer.recommend()["c"] == "b"  # the recommendation is not restricted


def test_a_restriction_of_one_question_binds_no_other():
    optimizer = Optimizer(MIXED, seed=5, strategy=LIGHT)
    assert {one.setting["c"] for one in optimizer.ask(4, within={"c": "a"})} == {"a"}
    assert {one.setting["c"] for one in optimizer.ask(6)} != {"a"}


def test_no_restriction_leaves_a_proposal_as_it_was_bit_for_bit():
    one, other = (Optimizer(MIXED, seed=7, strategy=LIGHT) for _ in range(2))
    run(one, 6, quality)
    run(other, 6, quality)
    assert one.ask() == other.ask(within={})


def test_workers_and_their_fallback_obey_it():
    optimizer = Optimizer(MIXED, seed=2, strategy=LIGHT, looks_per_part=1.0)
    run(optimizer, 5, quality)
    light = {"draws": 60, "uniform": 100, "near": [30, 10]}
    payload = {"space": plain_space(MIXED), "state": optimizer.state(), "strategy": light}
    restriction = {"c": ["c"], "x": [0.0, 0.25], "s": [0.3, 0.3]}
    for task in (next_step, fallback):
        setting = task({**payload, "within": restriction})["proposal"]["setting"]
        allowed(setting, restriction)


def test_every_acquisition_obeys_it():
    restriction = {"c": "c", "x": (0.0, 0.25)}
    for acquisition in ("ucb", "thompson", "eiig", "ei", "eubo", "hb-ei"):
        optimizer = Optimizer(MIXED, seed=4, acquisition=acquisition, strategy=LIGHT)
        run(optimizer, 5, quality)
        allowed(optimizer.ask(within=restriction).setting, restriction)
