import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tuner.lab.bench.suite.ground import Border, Islands
from tuner.lab.bench.suite.groups import GROUPS, REPORTED_FROM, TOGETHER, UnknownGroupError, get_groups
from tuner.lab.bench.suite.instances import LEAST_GAP, draw_instance
from tuner.lab.bench.suite.people import JUST_NOTICEABLE, PEOPLE
from tuner.lab.bench.suite.shapes import FAMILIES

# groups that share their processes are looked at once
DIFFERENT = sorted({group.drawn_as or group.name: group.name for group in GROUPS.values()}.values())
ANY = given(st.sampled_from(DIFFERENT), st.integers(0, 3000))


def valid_rows(instance, count=400, seed=0):
    rows = instance.space.sample(count, np.random.default_rng(seed))
    return rows[instance.valid(rows)]


@ANY
@settings(max_examples=25, deadline=None)
def test_a_start_is_valid_and_feasible_and_neither_best_nor_worst(group, seed):
    instance = draw_instance(group, seed)
    start = instance.space.checked(instance.start)
    row = instance.space.encode(start)[None]
    assert instance.space.feasible(row)[0]
    assert instance.valid(row)[0]
    assert instance.regret(start) == 1.0
    assert instance.start_cost >= LEAST_GAP
    ground = valid_rows(instance)
    if isinstance(instance.ground, Islands):
        islands = instance.ground.which(ground[:, : instance.d])
        assert instance.ground.which(row[:, : instance.d])[0] > 0
        ground = ground[islands > 0]
    costs = instance.costs(ground)
    assert (costs < instance.start_cost).any()
    assert (costs > instance.start_cost).any()


@ANY
@settings(max_examples=25, deadline=None)
def test_the_optimum_is_valid_and_feasible_and_costs_nothing(group, seed):
    instance = draw_instance(group, seed)
    best = instance.space.checked(instance.best)
    assert instance.regret(best) == 0.0
    assert all(instance.right_levels(best, 0.0))


def climbed(instance, row):
    """Where a climb from a row ends among the valid, feasible settings with its levels."""

    def moved(numbers):
        there = row.copy()
        there[: instance.d] = np.clip(numbers, 0.0, 1.0)
        return instance.space.snap(there[None])

    def cost(numbers):
        there = moved(numbers)
        allowed = instance.space.feasible(there)[0] and instance.valid(there)[0]
        return float(instance.costs(there)[0]) if allowed else 1e3

    return moved(minimize(cost, row[: instance.d], method="Nelder-Mead", options={"maxfev": 300}).x)[0]


def search_in_vain(group, seed):
    """Climb from near the optimum and from the best of many settings: everywhere else the cost is more than nothing."""
    instance = draw_instance(group, seed)
    best = instance.space.encode(instance.best)
    ground = valid_rows(instance, 2000)
    costs = instance.costs(ground)
    ends = np.array([climbed(instance, row) for row in (best, *ground[np.argsort(costs)[:3]])])
    everything = np.concatenate([ground, ends])
    elsewhere = everything[np.abs(everything - best).max(axis=1) > 1e-3]
    assert (instance.costs(elsewhere) > 0.0).all()
    # the optimum can be seen: a climb ends on ground that is better than most
    assert instance.costs(ends).min() < np.quantile(costs, 0.1)


@ANY
@settings(max_examples=4, deadline=None)
def test_a_search_does_not_beat_the_optimum(group, seed):
    search_in_vain(group, seed)


@pytest.mark.slow
@ANY
@settings(max_examples=200, deadline=None)
def test_a_strong_search_does_not_beat_the_optimum_of_many_processes(group, seed):
    search_in_vain(group, seed)


@given(st.sampled_from(["choices", "shop"]), st.integers(0, 3000))
@settings(max_examples=20, deadline=None)
def test_a_level_costs_at_least_what_was_drawn_and_the_best_of_its_numbers_just_that(group, seed):
    instance = draw_instance(group, seed)
    for place, effects in enumerate(instance.effects):
        assert 2 <= len(effects) <= 6
        assert sorted(effects)[0] == 0.0
        assert 0.05 <= sorted(effects)[1] <= max(effects) <= 1.0
        name = f"c{place}"
        for level, effect in enumerate(effects):
            setting = {**instance.best, name: f"level {level}"}
            if not instance.shifts[place].any():
                assert instance.cost(setting) == pytest.approx(effect, abs=1e-9)
            rows = valid_rows(instance, 100)
            chosen = rows[instance.levels(rows)[:, place] == level]
            assert (instance.costs(chosen) >= effect).all()


def test_the_right_levels_are_asked_of_choices_worth_it_only():
    instance = next(i for i in (draw_instance("choices", s) for s in range(50)) if len(i.effects) == 3)
    worth = [sorted(effects)[1] for effects in instance.effects]
    assert len(instance.right_levels(instance.best, 0.0)) == 3
    assert len(instance.right_levels(instance.best, sorted(worth)[1])) == 2
    wrong = {**instance.best, "c0": f"level {int(np.argmax(instance.effects[0]))}"}
    assert instance.right_levels(wrong, 0.0) == (False, True, True)


def test_an_instance_is_the_same_whenever_it_is_drawn_and_whoever_judges():
    first, again, slips = (draw_instance(group, 7) for group in ("steady", "steady", "slips10"))
    assert first.start == again.start == slips.start
    assert first.best == again.best == slips.best
    assert slips.group.people == "slips 10 %"
    assert draw_instance("steady", 8).start != first.start


def test_the_seeds_of_a_group_have_every_family_size_and_ground():
    drawn = [draw_instance("rings", seed) for seed in range(60)]
    assert {one.shape.family for one in drawn} == set(FAMILIES)
    assert {one.d for one in drawn} == {1, 2, 3, 4}
    assert {type(one.ground).__name__ for one in drawn} == {"Annulus", "Bands"}
    assert {draw_instance("many", seed).d for seed in range(30)} == {6, 8, 10}
    islands = [draw_instance("islands", seed).ground for seed in range(40)]
    assert {len(one.radii) for one in islands} == {2, 3, 4}


def test_without_its_border_an_optimum_would_lie_beyond():
    instance = draw_instance("border", 3)
    assert isinstance(instance.ground, Border)
    row = instance.space.encode(instance.best)
    inward, outward = (row + side * 1e-3 * instance.ground.normal for side in (1, -1))
    assert instance.valid(inward[None])[0]
    assert not instance.valid(outward[None])[0]
    assert instance.shape.slope @ instance.ground.normal > 0


def test_scrap_by_chance_is_as_rare_as_the_group_says():
    instance = draw_instance("scrap", 0)
    made = [instance.makes_part(instance.best, number) for number in range(600)]
    assert 0.03 - 4 * math.sqrt(0.03 * 0.97 / 600) < 1 - np.mean(made) < 0.03 + 4 * math.sqrt(0.03 * 0.97 / 600)
    assert made == [instance.makes_part(instance.best, number) for number in range(600)]


@pytest.mark.parametrize(("name", "rate"), [("exact", 0.0), ("slips 5 %", 0.05), ("slips 20 %", 0.2)])
def test_people_slip_as_often_as_their_name_says(name, rate):
    person, rng = PEOPLE[name](), np.random.default_rng(1)
    wrong = np.mean([person.answer(0.0, 1.0, rng)[0] == "old" for _ in range(600)])
    assert abs(wrong - rate) <= 4 * math.sqrt(rate * (1 - rate) / 600)


def test_close_calls_go_wrong_and_clear_ones_do_not():
    person, rng = PEOPLE["close calls"](), np.random.default_rng(1)
    assert all(person.answer(0.0, 1.0, rng)[0] == "new" for _ in range(200))
    assert {person.answer(0.500, 0.505, rng)[0] for _ in range(50)} == {"new", "old"}


def test_nobody_notices_a_difference_below_the_just_noticeable_one():
    person, rng = PEOPLE["ties"](), np.random.default_rng(1)
    assert person.answer(0.5, 0.5 + 0.9 * JUST_NOTICEABLE, rng) == ("tie", None)
    assert person.answer(0.5, 0.5 + 1.1 * JUST_NOTICEABLE, rng) == ("new", None)


def test_two_operators_give_their_names():
    person, rng = PEOPLE["two operators"](), np.random.default_rng(1)
    assert {person.answer(0.0, 1.0, rng)[1] for _ in range(50)} == {"careful", "careless"}


def test_groups_are_found_by_name_and_by_names_for_several():
    assert [group.name for group in get_groups(("slips", "slips5", "numbers"))] == [*TOGETHER["slips"], "numbers"]
    with pytest.raises(UnknownGroupError, match='did you mean "border"'):
        get_groups(("bordr",))
    assert REPORTED_FROM == 1000
