import json
from dataclasses import replace

import numpy as np
import pytest

from tests.core.helpers import LIGHT, MIXED, run, tell
from tuner import Choice, Continuous, Integer, Optimizer, Space
from tuner.core.optimizer.ledger import TellError
from tuner.core.optimizer.optimizer import ACQUISITIONS, VALIDITIES
from tuner.core.optimizer.records import REJECTED

LINE = Space([Continuous("x", 0, 1)])

SLOW_UCB = pytest.param("ucb", marks=pytest.mark.slow)  # a root is found for every candidate
SPACES = [pytest.param(MIXED, id="mixed"), pytest.param(LINE, id="line", marks=pytest.mark.slow)]
WITHOUT_UCB = [name for name in ACQUISITIONS if name != "ucb"]
OTHERS = [name for name in ACQUISITIONS if name != "auto"]


def quality(setting):
    return -((setting["x"] - 0.4) ** 2) - 0.02 * (setting.get("k", 5) - 5) ** 2 + 0.2 * (setting.get("c") == "b")


def valid(setting):
    return setting["x"] < 0.8


@pytest.mark.thorough
@pytest.mark.parametrize("acquisition", [*WITHOUT_UCB, SLOW_UCB, pytest.param("eiig-0.5", marks=pytest.mark.slow)])
@pytest.mark.parametrize("space", SPACES)
def test_every_acquisition_works(space, acquisition):
    optimizer = Optimizer(space, acquisition=acquisition, budget=9, strategy=LIGHT)
    proposals = run(optimizer, 9, quality, valid)
    assert acquisition == "auto" or acquisition in {p.kind for p in proposals}
    for proposal in proposals:
        assert space.checked(proposal.setting) == proposal.setting


@pytest.mark.thorough
@pytest.mark.parametrize("mode", VALIDITIES)
@pytest.mark.parametrize("acquisition", ["auto", SLOW_UCB, pytest.param("eubo", marks=pytest.mark.slow)])
@pytest.mark.parametrize("space", SPACES)
def test_every_validity_model_works(space, acquisition, mode):
    optimizer = Optimizer(space, acquisition=acquisition, validity=mode, budget=7, strategy=LIGHT)
    run(optimizer, 7, quality, valid)
    assert 0.0 <= optimizer.ask().p_valid <= 1.0
    assert space.checked(optimizer.recommend())


@pytest.mark.parametrize("acquisition", ["auto", *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)])
@pytest.mark.parametrize("outcomes", [[], [True], [False], [False] * 4, [True] * 4], ids=str)
def test_it_starts_from_nothing_from_scrap_only_and_from_parts_nobody_judged(outcomes, acquisition):
    optimizer = Optimizer(MIXED, acquisition=acquisition, budget=0, strategy=LIGHT)
    for made in outcomes:
        proposal = optimizer.ask()
        optimizer.tell_outcome(proposal.number, made)
    proposal = optimizer.ask()
    assert proposal.opponent == (1 if True in outcomes else None)
    assert proposal.p_better is None  # nobody has said anything yet
    if True in outcomes:
        assert MIXED.checked(optimizer.recommend())
    else:
        with pytest.raises(TellError, match="before there is a valid trial"):
            optimizer.recommend()


def test_several_machines_get_different_settings_and_those_under_way_count():
    optimizer = Optimizer(MIXED, strategy=LIGHT, seed=3)
    run(optimizer, 10, quality)
    proposals = optimizer.ask(4)
    assert len({tuple(p.setting.values()) for p in proposals}) == 4
    assert [p.number for p in proposals] == [11, 12, 13, 14]
    assert [t.number for t in optimizer.ledger.pending] == [11, 12, 13, 14]
    rows = np.array([MIXED.encode(p.setting) for p in proposals])
    gaps = np.abs(rows[:, None] - rows[None]).max(axis=2) + np.eye(4)
    assert gaps.min() > 1e-3
    for proposal in proposals:
        tell(optimizer, proposal, quality)
    assert not optimizer.ledger.pending


def test_six_settings_are_all_tried_before_one_is_repeated_and_the_reason_says_so():
    for acquisition in ("auto", "ucb", "thompson", "hb-ei"):
        space = Space([Integer("k", 1, 3), Choice("c", ["a", "b"])])
        optimizer = Optimizer(space, acquisition=acquisition, strategy=LIGHT)
        proposals = run(optimizer, 9, lambda s: s["k"] + (s["c"] == "b"), lambda s: s["k"] < 3)
        assert len({tuple(p.setting.values()) for p in proposals[:6]}) == 6
        assert not any("Repeats" in p.reason for p in proposals[:6])
        assert all("Repeats a setting" in p.reason for p in proposals[6:])


def test_a_grid_with_a_constraint_is_exhausted_without_a_repeat():
    space = Space([Integer("k", 0, 6), Integer("m", 0, 6)], ["k + m <= 4"])
    proposals = run(Optimizer(space, strategy=LIGHT), 15, lambda s: -abs(s["k"] - 2) - abs(s["m"] - 1))
    assert len({tuple(p.setting.values()) for p in proposals}) == 15


def test_proposals_never_repeat_in_a_continuous_space():
    optimizer = Optimizer(LINE, strategy=LIGHT)
    proposals = run(optimizer, 20, quality)
    assert len({p.setting["x"] for p in proposals}) == 20
    assert min(p.distance for p in proposals[1:]) > 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("acquisition", "pending"),
    [
        ("auto", 2),
        pytest.param("auto", 0, marks=pytest.mark.slow),
        *(pytest.param(one, under, marks=pytest.mark.slow) for one in ("eubo", "thompson") for under in (0, 2)),
    ],
)
def test_a_state_goes_on_bit_for_bit_also_through_text(acquisition, pending):
    optimizer = Optimizer(MIXED, seed=np.int64(5), acquisition=acquisition, budget=10, strategy=LIGHT)
    run(optimizer, 8, quality, valid)
    optimizer.tell_tie(*[t.number for t in optimizer.ledger.usable][:2], operator="ann")
    if pending:
        optimizer.ask(pending)
    state = optimizer.state()
    text = json.dumps(state, allow_nan=False)
    assert json.loads(text) == state
    for copy in (
        Optimizer.from_state(MIXED, state, strategy=LIGHT),
        Optimizer.from_state(MIXED, json.loads(text), strategy=LIGHT),
    ):
        assert copy.state() == state
        assert copy.recommend() == optimizer.recommend()
        other = Optimizer.from_state(MIXED, state, strategy=LIGHT)
        assert copy.ask(2) == other.ask(2)
        assert copy.state() == other.state()
    mine, theirs = Optimizer.from_state(MIXED, state, strategy=LIGHT).ask(2), optimizer.ask(2)
    assert mine == theirs


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"version": 99}, "no state of version 2: 99"),
        ({"seed": None}, "seed must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"asks": "many"}, "asks must be a whole number"),
        ({"acquisition": "magic"}, "no acquisition 'magic'"),
        ({"acquisition": None}, "no acquisition None"),
        ({"validity": "magic"}, "no validity model 'magic'"),
        ({"budget": 1.5}, "budget must be a whole number"),
        ({"trials": 3}, "damaged"),
        ({"trials": [{"number": 1}]}, "damaged"),
        ({"trials": [{"number": 1, "setting": {}, "colour": "red"}]}, "damaged"),
        ({"trials": []}, "no trial"),
        ({"judgments": [None]}, "damaged"),
        ({"fits": {}}, "lacks 'preference'"),
        ({"fits": {"preference": {"lengthscales": [0.1, 0.2]}, "validity": None}}, "2 lengthscales, the space 1"),
    ],
)
def test_a_damaged_state_is_refused_in_a_clear_sentence(damage, words):
    optimizer = Optimizer(LINE, strategy=LIGHT)
    run(optimizer, 3, quality)
    with pytest.raises(ValueError, match=words):
        Optimizer.from_state(LINE, {**optimizer.state(), **damage})


def test_a_state_of_version_1_is_read():
    optimizer = Optimizer(LINE, strategy=LIGHT)
    run(optimizer, 4, quality)
    optimizer.tell_tie(2, 1, operator="ann")
    optimizer.retract(1)
    optimizer.exclude(4)
    state = optimizer.state()
    old = {**state, "version": 1, "trials": [], "judgments": []}
    for trial in state["trials"]:
        one = dict(trial)
        one |= {"trial_id": one.pop("number"), "opponent_id": one.pop("opponent"), "reason": None}
        del one["outcome_reason"]
        old["trials"].append({**one, "excluded": one["excluded"] is not None})
    for judgment in optimizer.ledger.judgments.values():
        winner, loser = judgment.order
        one = {"judgment_id": judgment.number, "winner": winner, "loser": loser, "tie": judgment.tie}
        one |= {"operator": judgment.operator, "discount": 1.0, "retracted": judgment.retracted is not None}
        old["judgments"].append(one)
    assert Optimizer.from_state(LINE, old, strategy=LIGHT).state() == state


def test_what_is_no_state_at_all_is_refused():
    for garbage in ({}, None, [], "state", 3):
        with pytest.raises(ValueError, match="no state of version 2"):
            Optimizer.from_state(LINE, garbage)
    with pytest.raises(ValueError, match="lacks 'asks'"):
        Optimizer.from_state(LINE, {"version": 2})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"acquisition": "best"}, "no acquisition 'best'; choose one of auto"),
        ({"acquisition": "eiig-x"}, "no acquisition 'eiig-x'"),
        ({"acquisition": "eiig--1"}, "no acquisition"),
        ({"acquisition": "eiig-nan"}, "no acquisition"),
        ({"validity": "maybe"}, "no validity model 'maybe'"),
        ({"seed": -1}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": "1"}, "seed"),
        ({"budget": 1.5}, "budget"),
        ({"budget": True}, "budget"),
        ({"scrap_budget": -1}, "scrap_budget"),
    ],
)
def test_impossible_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Optimizer(LINE, **options)


def test_the_expected_best_pair_may_have_another_opponent_than_the_champion():
    optimizer = Optimizer(LINE, acquisition="eubo", budget=0, strategy=LIGHT)
    # the champion wins by the rule; the model, with every other answer against it, believes in trial 2
    for x in (0.2, 0.7, 0.22, 0.18):
        optimizer.tell_outcome(optimizer.add({"x": x}), True)
    for winner, loser in ((2, 3), (2, 4), (2, 3), (2, 4), (2, 3)):
        optimizer.tell_judgment(winner, loser)
    assert optimizer.champion == 1
    proposal = optimizer.ask()
    assert proposal.kind == "eubo"
    assert proposal.opponent == 2
    assert optimizer.ledger.trials[proposal.number].opponent == 2
    optimizer.tell_outcome(proposal.number, True)
    assert Optimizer.from_state(LINE, optimizer.state(), strategy=LIGHT).question().opponent == 2


def test_a_careless_operator_counts_less():
    rng = np.random.default_rng(0)
    optimizer = Optimizer(LINE, strategy=LIGHT)
    xs = rng.random(16)
    for x in xs:
        optimizer.tell_outcome(optimizer.add({"x": float(x)}), True)
    for number in range(80):
        first, second = (int(i) for i in rng.choice(16, 2, replace=False))
        name = ("careful", "careless")[number % 2]
        right = abs(xs[first] - 0.4) < abs(xs[second] - 0.4)
        if name == "careless" and rng.random() < 0.4:
            right = not right
        pair = (first + 1, second + 1) if right else (second + 1, first + 1)
        optimizer.tell_judgment(*pair, operator=name)
    noise = optimizer.operators()
    assert list(noise) == ["careful", "careless"]
    assert noise["careful"] == 1.0
    assert noise["careless"] > 2.0
    # the same answer moves the belief less if the careless one gives it
    best, worst = 1 + int(np.argmin(np.abs(xs - 0.4))), 1 + int(np.argmax(np.abs(xs - 0.4)))
    believed = []
    for name in noise:
        copy = Optimizer.from_state(LINE, optimizer.state(), strategy=LIGHT)
        for _ in range(3):
            copy.tell_judgment(worst, best, operator=name)
        model = copy.learned().model
        gap = model.difference(LINE.encode({"x": xs[best - 1]})[None], LINE.encode({"x": xs[worst - 1]}))
        believed.append(float(gap.mean[0] / np.sqrt(model.hyper.kernel.variance)))
    assert believed[1] > believed[0]


def test_nobody_has_judged_at_first():
    assert Optimizer(LINE, strategy=LIGHT).operators() == {}


@pytest.mark.thorough
def test_a_scrap_budget_that_is_used_up_turns_proposals_back_to_valid_ground():
    risks = []
    for scrap_budget in (0, 10):
        optimizer = Optimizer(LINE, budget=20, scrap_budget=scrap_budget, strategy=LIGHT, seed=1)
        proposals = run(optimizer, 16, lambda s: s["x"], lambda s: s["x"] < 0.5)
        risks.append(np.mean([1 - p.p_valid for p in proposals[8:]]))
    assert risks[0] < risks[1]


@pytest.mark.thorough
@pytest.mark.parametrize("acquisition", ["auto", *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)])
@pytest.mark.parametrize("best", [pytest.param(0.42, marks=pytest.mark.slow), 0.7], ids=["inside", "beyond"])
def test_no_acquisition_runs_a_greater_risk_than_is_left(acquisition, best):
    optimizer = Optimizer(LINE, acquisition=acquisition, budget=60, scrap_budget=0)
    for x in np.linspace(0.05, 0.95, 10):
        number = optimizer.add({"x": float(x)})
        optimizer.tell_outcome(number, x < 0.5)
        if 0.05 < x < 0.5:
            optimizer.tell_judgment(number, number - 1)  # the further to the right, the better
    proposals = run(optimizer, 8, lambda s: -abs(s["x"] - best), lambda s: s["x"] < 0.5)
    assert {p.kind for p in proposals} - {"design"}
    assert min(p.p_valid for p in proposals) > 0.8


@pytest.mark.parametrize("excluded", [True, False])
def test_an_excluded_trial_that_made_no_part_is_no_scrap_to_keep_away_from(excluded):
    optimizer = Optimizer(LINE, budget=50, strategy=LIGHT)
    run(optimizer, 4, lambda s: s["x"])
    scrap = optimizer.ask().number
    optimizer.tell_outcome(scrap, False)
    if excluded:
        optimizer.exclude(scrap)
    known = optimizer.learned()
    assert (known.border is None) == excluded
    assert (known.passable(np.array([[0.0], [0.5], [1.0]])).min() < 1.0) != excluded


def test_the_design_leaves_less_ground_far_from_a_trial_than_the_farthest_points_do():
    space = Space([Continuous("x", 0, 1), Continuous("y", 0, 1)])
    optimizer = Optimizer(space, budget=45, seed=2)
    proposals = [optimizer.ask() for _ in range(12)]
    assert {p.kind for p in proposals} == {"design"}
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 41)] * 2), axis=-1).reshape(-1, 2)

    def distances(points):
        return np.sqrt(((grid[:, None] - np.array(points)[None]) ** 2).sum(axis=2)).min(axis=1)

    ours = [list(p.setting.values()) for p in proposals]
    farthest = ours[:1]
    while len(farthest) < len(ours):
        farthest.append(grid[int(np.argmax(distances(farthest)))].tolist())
    assert distances(ours).mean() < 0.9 * distances(farthest).mean()


def test_a_rejected_setting_is_no_scrap_and_its_like_is_avoided():
    optimizer = Optimizer(LINE, budget=30, strategy=LIGHT, scrap_budget=1)
    run(optimizer, 6, lambda s: -abs(s["x"] - 0.4))
    state = optimizer.state()
    refused = optimizer.ask()
    state["trials"].append({**state["trials"][-1], "number": 7, "setting": refused.setting, "valid": None})
    state["trials"][-1] |= {"excluded": REJECTED, "opponent": None}
    state["asks"] += 1
    rejected = Optimizer.from_state(LINE, state, strategy=LIGHT)
    assert not rejected.ledger.warned
    assert rejected.ledger.scrap == 0
    assert [t.number for t in rejected.ledger.avoided] == [7]
    reach = LIGHT.acquiring.reach * float(rejected.learned().model.hyper.kernel.lengthscales[0])
    again = rejected.ask().setting["x"]
    assert abs(again - refused.setting["x"]) > 0.1 * reach


def test_once_a_part_was_scrap_or_with_many_parameters_draws_are_believed_and_nothing_is_refined():
    def quality(setting):
        return -sum((value - 0.3) ** 2 for value in setting.values())

    def kinds(count, valid):
        space = Space([Continuous(f"x{place}", 0, 1) for place in range(count)])
        optimizer = Optimizer(space, seed=3, budget=14, strategy=LIGHT)
        optimizer.tell_outcome(optimizer.add(dict.fromkeys(space.names, 0.5)), True)
        return [proposal.kind for proposal in run(optimizer, 12, quality, valid)]

    def below(setting):
        return setting["x0"] < 0.6

    assert "refine" in kinds(2, lambda setting: True)
    assert set(kinds(6, lambda setting: True)) == {"design", "improve"}
    assert "refine" not in kinds(2, below)[4:]


@pytest.mark.parametrize(("count", "near"), [(6, True), (5, False)])
def test_with_many_parameters_improving_steps_may_stay_near_the_champion(count, near):
    space = Space([Continuous(f"x{place}", 0, 1) for place in range(count)])
    close = replace(LIGHT, improving=replace(LIGHT.improving, near=1.0, reach=(0.01, 0.02)))
    optimizer = Optimizer(space, seed=3, budget=14, strategy=close)
    gaps = []
    for _ in range(12):
        champion = optimizer.champion
        (proposal,) = run(optimizer, 1, lambda setting: -sum((value - 0.3) ** 2 for value in setting.values()))
        if proposal.kind == "improve":
            before = optimizer.ledger.trials[champion].setting
            gaps.append(max(abs(proposal.setting[name] - before[name]) for name in space.names))
    assert len(gaps) >= 2
    assert (max(gaps) < 0.1) == near
