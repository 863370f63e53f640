import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from tests.compute.helpers import LIGHT, payload, told
from tests.core.helpers import MIXED
from tuner import Choice, Continuous, Integer, Optimizer, Space, Stepped
from tuner.compute import tasks
from tuner.compute.backend import ComputeError, canonical, job_key
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.strategy import Strategy
from tuner.core.space.parameters import SpaceError

STRATEGY = Strategy(draws=60, uniform=100, near=(30, 10))


def through_json(task, data):
    return json.loads(json.dumps(task(json.loads(json.dumps(data))), allow_nan=False))


def test_a_space_survives_its_json_form():
    space = Space(
        [
            Continuous("x", 1, 100, unit="bar", log=True),
            Integer("n", 2, 64, log=True),
            Stepped("s", 0.1, 0.7, 0.1, unit="mm"),
            Choice("c", ["a", "b"]),
        ],
        ["x + s <= 90", "n >= 3"],
    )
    data = json.loads(json.dumps(tasks.space_json(space)))
    again = tasks.space_from_json(data)
    assert again.parameters == space.parameters
    assert [type(p) for p in again.parameters] == [type(p) for p in space.parameters]
    assert again.constraints == space.constraints
    assert tasks.space_json(again) == data


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ({"parameters": [{"kind": "dial", "name": "x", "low": 0, "high": 1}]}, "no kind of parameter 'dial'"),
        ({"parameters": [{"kind": "integer", "name": "x", "low": 0}]}, "lacks 'high'"),
        ({}, "lacks 'parameters'"),
        ({"parameters": 3}, "damaged"),
    ],
)
def test_a_damaged_space_is_refused_with_a_sentence(damage, sentence):
    with pytest.raises(SpaceError, match=sentence):
        tasks.space_from_json(damage)


def test_a_proposal_is_the_optimizers_own_and_carries_what_asking_changed():
    optimizer = told(seed=3)
    found = through_json(tasks.next_step, payload(optimizer))
    reference = Optimizer.from_state(MIXED, optimizer.state(), strategy=STRATEGY)
    proposal = reference.ask()
    assert found["proposal"] == proposal.to_json()
    state = reference.state()
    assert found["model"] == {name: state[name] for name in ("asks", "leader", "doubted", "fits")}
    assert found["model"]["asks"] == 1


def test_a_campaign_without_fits_may_leave_them_out():
    data = payload(told())
    bare = {**data, "state": {**data["state"], "fits": {}}}
    assert through_json(tasks.question, bare) == through_json(tasks.question, data)


def test_the_recommendation_is_the_optimizers_own_with_its_probabilities():
    optimizer = told()
    found = through_json(tasks.recommend, payload(optimizer))
    assert found["setting"] == Optimizer.from_state(MIXED, optimizer.state(), strategy=STRATEGY).recommend()
    assert found["champion"] == 3
    assert 0.0 <= found["p_valid"] <= 1.0
    assert 0.0 <= found["p_better"] <= 1.0


def test_nothing_is_recommended_or_cut_before_there_is_a_champion():
    data = payload(Optimizer(MIXED))
    assert through_json(tasks.recommend, data) is None
    assert through_json(tasks.question, data) is None
    assert through_json(tasks.slices, data) == {"champion": None, "mass": 0.9, "slices": []}
    assert through_json(tasks.maps, data) == {"champion": None, "maps": [], "standing": []}


def test_an_explanation_says_what_the_optimizer_says():
    optimizer = told()
    found = through_json(tasks.explain, payload(optimizer))
    reference = Optimizer.from_state(MIXED, optimizer.state(), strategy=STRATEGY)
    assert found["importance"] == reference.importance()
    assert found["outlook"] == vars(reference.outlook())
    assert [(c["trials"], c["judgment"]) for c in found["contradictions"]] == reference.contradictions()
    assert found["contradictions"], "the campaign has answers that go round in a circle"
    assert {o["operator"]: o["noise"] for o in found["operators"]} == reference.operators()


def test_a_question_is_the_optimizers_own():
    optimizer = told()
    new = optimizer.add({"x": 1.0, "k": 5, "s": 0.2, "c": "a"})
    optimizer.tell_outcome(new, True)
    assert through_json(tasks.question, payload(optimizer)) == asdict(Question(new, 3))


def test_slices_go_through_the_champion():
    optimizer = told()
    found = through_json(tasks.slices, payload(optimizer, points=9))
    champion = optimizer.ledger.trials[found["champion"]].setting
    assert [s["name"] for s in found["slices"]] == ["x", "k", "s", "c"]
    assert [len(s["values"]) for s in found["slices"]] == [10, 8, 7, 3]
    for cut in found["slices"]:
        lists = [cut[name] for name in ("mean", "low", "high", "better", "valid", "feasible")]
        assert all(len(column) == len(cut["values"]) for column in lists)
        assert cut["at"] == champion[cut["name"]]
        own = cut["values"].index(cut["at"])
        assert abs(cut["mean"][own]) < 1e-6 * max(map(abs, cut["mean"]))
        assert cut["better"][own] == pytest.approx(0.5)
        assert all(low <= mean <= high for low, mean, high in zip(cut["low"], cut["mean"], cut["high"], strict=True))
        assert all(0.0 <= p <= 1.0 for p in cut["valid"])


def test_slices_agree_with_the_models_own_statistics():
    optimizer = told()
    cut = through_json(tasks.slices, payload(optimizer, points=5, mass=0.5))["slices"][0]
    known = Optimizer.from_state(MIXED, optimizer.state(), strategy=STRATEGY).learned()
    champion = optimizer.ledger.trials[3].setting
    for index, value in enumerate(cut["values"]):
        row = MIXED.encode({**champion, "x": value}) if cut["feasible"][index] else None
        if row is not None:
            gain = known.model.difference(row[None], known.champion)
            assert cut["better"][index] == pytest.approx(float(gain.probability_positive()[0]), abs=1e-9)
            mass = gain.cdf(gain.mean * 0 + cut["high"][index]) - gain.cdf(gain.mean * 0 + cut["low"][index])
            if value != cut["at"]:
                assert float(mass[0]) == pytest.approx(0.5, abs=1e-6)


def test_feasible_points_of_a_slice_are_those_that_satisfy_the_constraints():
    optimizer = told()
    champion = optimizer.ledger.trials[3].setting
    cut = through_json(tasks.slices, payload(optimizer, points=9))["slices"][0]
    expected = [x + champion["s"] <= 2 and champion["k"] + 4 * x >= 0 for x in cut["values"]]
    assert cut["feasible"] == expected


def test_the_warm_up_runs_every_task():
    tasks.warm_up()


def test_equal_jobs_have_equal_keys_whatever_the_order_of_their_words():
    one = canonical("ping", {"a": 1, "b": [1.5, "é"]})
    assert job_key(one) == job_key(canonical("ping", {"b": [1.5, "é"], "a": 1}))
    assert job_key(one) != job_key(canonical("ping", {"a": 1, "b": [1.5, "e"]}))
    assert job_key(one) != job_key(canonical("pong", {"a": 1, "b": [1.5, "é"]}))
    assert json.loads(one) == {"name": "ping", "payload": {"a": 1, "b": [1.5, "é"]}}


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"bytes"])
def test_a_payload_that_is_not_json_is_refused(value):
    with pytest.raises(ComputeError, match="'ping' is not JSON"):
        canonical("ping", {"value": value})


def test_the_light_strategy_of_these_tests_is_the_one_that_is_compared_with():
    assert Strategy(**{**LIGHT, "near": tuple(LIGHT["near"])}) == STRATEGY


def test_the_next_step_is_a_question_where_an_answer_is_doubtful_and_no_proposal_once_the_budget_is_used_up():
    optimizer = told()
    doubtful = payload(optimizer)
    doubtful["state"]["looks_per_part"] = 3.0
    asked = through_json(tasks.next_step, doubtful)
    reference = Optimizer.from_state(MIXED, doubtful["state"], strategy=STRATEGY)
    assert asked["question"] == vars(reference.question())
    assert asked["question"]["why"] == "again"
    assert asked["proposal"] is None
    assert asked["model"]["asks"] == 0
    assert asked["model"]["fits"]["preference"] is not None
    over = through_json(tasks.next_step, payload(optimizer, ended=True))
    assert (over["proposal"], over["question"]) == (None, None)
    assert through_json(tasks.fallback, payload(optimizer, ended=True))["proposal"] is None


def test_maps_show_the_pairs_that_matter_and_agree_with_the_slices():
    optimizer = told()
    found = through_json(tasks.maps, payload(optimizer, points=5))
    cuts = {cut["name"]: cut for cut in through_json(tasks.slices, payload(optimizer, points=5))["slices"]}
    for one in found["maps"]:
        shape = (len(one["lines"]), len(one["columns"]))
        assert all(np.shape(one[name]) == shape for name in ("better", "valid", "feasible"))
        cut = cuts[one["across"]]
        if cuts[one["down"]]["at"] in one["lines"]:  # a line of the map through the champion is a slice
            line = one["lines"].index(cuts[one["down"]]["at"])
            for place, value in enumerate(one["columns"]):
                if value in cut["values"]:
                    believed = cut["valid"][cut["values"].index(value)]
                    assert one["valid"][line][place] == pytest.approx(believed, abs=2e-3)
    shares = dict(map(tuple, found["standing"]))
    assert set(shares) == {trial.number for trial in optimizer.ledger.usable}
    assert all(0.0 <= share <= 1.0 for share in shares.values())
