"""Choices and coarse numbers: how alike their levels are, and which of them a proposal takes."""

import numpy as np
import pytest

from tests.core.helpers import LIGHT, MIXED, run
from tuner import Choice, Continuous, Integer, Optimizer, Space, Stepped
from tuner.core.optimizer.levels import has_levels, level_rows, promising_levels
from tuner.core.optimizer.strategy import Levels, Strategy

GATE = Space([Continuous("x", 0, 1), Choice("gate", ["a", "b", "c"])])


def levels_of(optimizer, count):
    """How often each option of `gate` is liked best by a drawn function."""
    known = optimizer.learned()
    rng = np.random.default_rng(0)
    found = [
        promising_levels(known.model, GATE, known.champion, known.tried, optimizer.strategy, None, None, rng)
        for _ in range(count)
    ]
    return [GATE.decode(kept.row)["gate"] for kept in found]


def told(settings):
    """An optimiser whose first setting has won all of its duels."""
    optimizer = Optimizer(GATE, strategy=LIGHT)
    for setting in settings:
        optimizer.tell_outcome(optimizer.add(setting), True)
    for other in range(2, len(settings) + 1):
        optimizer.tell_judgment(1, other)
    return optimizer


def test_what_is_learned_at_one_option_helps_at_another():
    optimizer = told([{"x": 0.5, "gate": "a"}])
    kernel = optimizer.learned().model.hyper.kernel
    one, other = (GATE.encode({"x": 0.5, "gate": gate})[None] for gate in "ab")
    correlation = kernel.matrix(one, other)[0, 0] / kernel.variance
    assert correlation == pytest.approx(np.exp(-0.5))


def test_an_option_that_lost_once_far_from_the_best_numbers_is_tried_again():
    optimizer = told([{"x": 0.8, "gate": "a"}, {"x": 0.1, "gate": "b"}, {"x": 0.15, "gate": "c"}])
    liked = levels_of(optimizer, 40)
    assert {"a", "b", "c"} == set(liked)


def test_an_option_that_lost_beside_the_champion_is_hardly_tried_again():
    near = [{"x": x, "gate": gate} for gate in "bc" for x in (0.7, 0.75, 0.8, 0.85, 0.9)]
    optimizer = told([{"x": 0.8, "gate": "a"}, *near])
    assert levels_of(optimizer, 40).count("a") > 30


def test_a_space_of_numbers_has_nothing_to_choose_and_draws_nothing():
    optimizer = Optimizer(Space([Continuous("x", 0, 1)]), strategy=LIGHT)
    run(optimizer, 4, lambda s: -abs(s["x"] - 0.4))
    known, rng = optimizer.learned(), np.random.default_rng(3)
    space = optimizer.space
    assert promising_levels(known.model, space, known.champion, known.tried, LIGHT, None, None, rng) is None
    assert rng.random() == np.random.default_rng(3).random()


def test_numbers_of_few_values_count_as_levels():
    kinds = [Choice("c", [str(i) for i in range(20)]), Integer("k", 1, 8), Stepped("s", 0, 0.7, 0.1)]
    assert all(has_levels(one, 8) for one in kinds)
    assert not any(has_levels(one, 8) for one in (Continuous("x", 0, 1), Integer("n", 0, 8), Stepped("t", 0, 4, 0.5)))


def test_every_combination_is_looked_at_and_of_too_many_the_nearest():
    rng = np.random.default_rng(0)
    champion = MIXED.encode({"x": 1.0, "k": 3, "s": 0.4, "c": "b"})
    rows = level_rows(MIXED, champion, [1, 3], Levels(), rng)
    assert len({tuple(row) for row in rows}) == 24
    few = Levels(combinations=30)
    rows = level_rows(MIXED, champion, [1, 2, 3], few, rng)
    assert len(rows) == 30
    changed = [
        (MIXED.decode(row)["k"] != 3) + (MIXED.decode(row)["s"] != 0.4) + (row[3:] != champion[3:]).any()
        for row in rows
    ]
    assert max(changed) <= 2
    assert changed.count(1) == 7 + 6 + 2


def test_proposals_go_on_when_every_setting_was_tried():
    space = Space([Choice("c", ["a", "b"]), Integer("k", 0, 1)])
    optimizer = Optimizer(space, strategy=LIGHT, budget=8)
    settings = [tuple(p.setting.values()) for p in run(optimizer, 6, lambda s: s["k"] + (s["c"] == "b"))]
    assert set(settings[:4]) == {("a", 0), ("a", 1), ("b", 0), ("b", 1)}
    assert optimizer.recommend() == {"c": "b", "k": 1}


def shop_floor():
    """A choice worth a fortieth of the range, beside numbers and a constraint (docs/faults.md)."""
    space = Space(
        [
            Stepped("melt", 180, 260, 1),
            Stepped("hold", 200, 900, 5),
            Continuous("cool", 8, 40),
            Choice("gate", ["edge", "tunnel", "fan"]),
        ],
        ["hold <= 1600 - 4*melt"],
    )
    worth = {"fan": 0.0, "edge": 0.5, "tunnel": 1.0}

    def quality(s):
        far = ((s["melt"] - 235) / 20) ** 2 + ((s["hold"] - 600) / 150) ** 2 + ((s["cool"] - 20) / 8) ** 2
        return -far - worth[s["gate"]]

    return space, quality, {"melt": 220, "hold": 450, "cool": 18.0, "gate": "edge"}


@pytest.mark.slow
def test_a_small_effect_of_a_choice_is_found_beside_numbers_and_a_constraint():
    space, quality, start = shop_floor()
    right = 0
    for seed in range(10):
        optimizer = Optimizer(space, seed=seed, budget=21, strategy=Strategy())
        optimizer.tell_outcome(optimizer.add(start), True)
        run(optimizer, 20, quality)
        right += optimizer.ledger.trials[optimizer.champion].setting["gate"] == "fan"
    assert right >= 9
