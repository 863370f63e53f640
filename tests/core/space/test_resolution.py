"""A continuous parameter with a resolution: a grid for values, and any number for the model."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.space.parameters import Continuous, SpaceError, parameter_from_json
from tuner.core.space.space import Space
from tuner.core.space.values import Domain, decimals, usual_resolution

RESOLUTIONS = [0.1, 0.05, 0.25, 0.001, 2.0, 50.0, 1e-6]


@st.composite
def continuous(draw) -> Continuous:
    resolution = draw(st.sampled_from(RESOLUTIONS))
    low = draw(st.floats(-1000, 1000)) * resolution
    high = low + draw(st.floats(3, 100_000)) * resolution
    assume(math.isfinite(high) and low < high)
    log = draw(st.booleans()) and low > 0 and math.isfinite(high / low)
    return Continuous("x", low, high, log=log, resolution=resolution)


@given(continuous(), st.integers(0, 2**32))
def test_every_value_is_a_decimal_multiple_within_the_limits_and_space_gate_and_model_agree(parameter, seed):
    u = np.random.default_rng(seed).random((20, 1))
    snapped = parameter.snap(u)
    assert np.array_equal(parameter.snap(snapped), snapped)
    for row, on_grid in zip(u, snapped, strict=True):
        value = parameter.value(row)
        assert parameter.low <= value <= parameter.high
        assert parameter.domain.legal(value) == value, "the gate sends exactly what was proposed"
        assert parameter.encode(value) == [on_grid[0]]
        assert value == parameter.value(on_grid)
        assert len(repr(value).partition(".")[2]) <= max(1, decimals(parameter.resolution)) or "e" in repr(value)


def test_nothing_finer_is_legal_and_the_neighbours_are_told():
    domain = Domain("x", "continuous", 0.0, 5.0, resolution=0.05)
    assert domain.problem(1.15) == ""
    assert domain.problem(0.1 + 0.05) == "", "what decimal fractions lose in binary is no matter"
    assert domain.legal(0.1 + 0.05) == 0.15
    assert domain.problem(1.17) == "must be a multiple of its resolution 0.05: 1.15 or 1.2, not 1.17"
    assert (domain.below(1.17), domain.above(1.17), domain.snapped(9.0), domain.digits) == (1.15, 1.2, 5.0, 2)


def test_limits_need_not_be_multiples_and_are_never_passed():
    parameter = Continuous("x", -math.pi, math.pi, resolution=0.1)
    assert (parameter.value(np.zeros(1)), parameter.value(np.ones(1))) == (-3.1, 3.1)


@pytest.mark.parametrize("resolution", [-0.1, 1 / 3, math.nan, math.inf, 7.0])
def test_a_resolution_that_cannot_be_is_refused(resolution):
    with pytest.raises(SpaceError, match="resolution"):
        Continuous("x", 0.0, 5.0, resolution=resolution)


def test_without_one_everything_is_as_it_was():
    plain = Continuous("x", 0.0, 5.0)
    u = np.random.default_rng(1).random((50, 1))
    assert np.array_equal(plain.snap(u), u)
    assert plain.value(u[0]) == 5.0 * u[0, 0]
    assert plain.domain.to_json("mm", log=False) == {
        "kind": "continuous", "name": "x", "unit": "mm", "low": 0.0, "high": 5.0, "log": False
    }  # fmt: skip


def test_resolution_and_cost_of_change_go_through_plain_data():
    parameter = Continuous("x", 0.0, 5.0, "mm", resolution=0.01, change_cost=2.5)
    assert parameter_from_json(parameter.domain.to_json("mm", log=False, change_cost=2.5)) == parameter


@pytest.mark.parametrize(
    ("low", "high", "start", "usual"),
    [
        (20.0, 80.0, 50.0, 0.01),
        (0.0, 5.0, 3.5, 0.001),
        (0.0, 9.99, 1.0, 0.001),
        (1e6, 1.2e6, 1.1e6, 100.0),
        (0.0, 100.0, 33.333, 0.001),
        (200.0, 900.0, 450.0, 0.1),
    ],
)
def test_the_usual_one_has_three_to_four_digits_of_the_range_and_the_digits_of_the_start(low, high, start, usual):
    assert usual_resolution(low, high, start, log=False, most=math.inf) == usual


def test_the_usual_one_is_as_coarse_as_the_machine_and_as_fine_as_a_step_limit():
    assert usual_resolution(0.0, 500.0, 100.0, log=False, least=1.0, most=math.inf) == 1.0
    assert usual_resolution(0.0, 500.0, 100.5, log=False, least=1.0, most=math.inf) is None
    assert usual_resolution(0.0, 100.0, 50.0, log=False, most=0.05) == 0.01
    assert usual_resolution(1e-3, 1e3, 1.0, log=True, most=math.inf) == 1e-5


def test_the_optimiser_proposes_and_recommends_only_what_can_be_set():
    space = Space(
        [Continuous("x", 0.0, 5.0, resolution=0.05), Continuous("y", 1.0, 900.0, log=True, resolution=0.5)],
        ["x + y/180 <= 8"],
    )
    optimizer, costs = Optimizer(space, seed=3, budget=8), {}
    for _ in range(7):
        proposal = optimizer.ask()
        assert space.checked(proposal.setting) == proposal.setting
        optimizer.tell_outcome(proposal.number, True)
        costs[proposal.number] = abs(proposal.setting["x"] - 2.03)
        if proposal.opponent is not None:
            optimizer.tell_judgment(*sorted((proposal.number, proposal.opponent), key=costs.__getitem__))
    setting = optimizer.recommend()
    assert space.checked(setting) == setting
