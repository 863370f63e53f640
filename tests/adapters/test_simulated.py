import math

import pytest

from adapters.simulated import SimulatedAdapter, SimulatedSettings
from tuner.adapter import DeadlineError, LinkError, RefusedError
from tuner.plugins import load_adapter


@pytest.fixture
def slept():
    return []


@pytest.fixture
def machine(slept):
    adapter = SimulatedAdapter(SimulatedSettings(seconds_per_trial=2.0), ["x1", "x2"], sleep=slept.append)
    adapter.open(1.0)
    yield adapter
    adapter.close()


def test_it_is_found_by_its_entry_point():
    assert load_adapter("simulated") is SimulatedAdapter


def test_a_valid_setting_makes_a_part_with_the_problems_objective(machine):
    machine.apply({"x2": 2.35225194, "x1": 2.74495108}, 1.0)
    outcome = machine.run_trial(5.0)
    assert outcome.valid
    assert outcome.measurements["objective"] == pytest.approx(-1.1743, abs=1e-4)


def test_a_non_valid_setting_makes_none_and_says_why(machine):
    machine.apply({"x1": 2.5, "x2": 2.6}, 1.0)
    outcome = machine.run_trial(5.0)
    assert not outcome.valid
    assert outcome.reason
    assert not outcome.measurements


def test_a_trial_takes_its_time_but_never_longer_than_the_deadline(machine, slept):
    machine.apply({"x1": 3.5, "x2": 1.5}, 1.0)
    machine.run_trial(5.0)
    with pytest.raises(DeadlineError) as caught:
        machine.run_trial(1.0)
    assert caught.value.retry
    assert slept == [2.0, 1.0]


def test_what_was_applied_is_read_back(machine):
    assert machine.read_back(1.0) == {}
    machine.apply({"x1": 3.5, "x2": 1.5}, 1.0)
    machine.go_to({"x1": 1.0, "x2": 0.5}, 1.0)
    assert machine.read_back(1.0) == {"x1": 1.0, "x2": 0.5}


@pytest.mark.parametrize("bad", [math.nan, math.inf, "3", True])
def test_what_is_not_a_finite_number_is_refused_and_nothing_changes(machine, bad):
    machine.apply({"x1": 3.5, "x2": 1.5}, 1.0)
    with pytest.raises(RefusedError) as caught:
        machine.apply({"x1": bad, "x2": 1.0}, 1.0)
    assert not caught.value.retry
    assert machine.read_back(1.0) == {"x1": 3.5, "x2": 1.5}


@pytest.mark.parametrize("setting", [{}, {"x1": 1.0}, {"x1": 1.0, "x2": 1.0, "x3": 1.0}])
def test_an_incomplete_setting_is_refused(machine, setting):
    with pytest.raises(RefusedError):
        machine.apply(setting, 1.0)


def test_a_trial_before_any_setting_is_refused(machine):
    with pytest.raises(RefusedError):
        machine.run_trial(5.0)


def test_a_machine_that_is_switched_off_does_not_answer(machine):
    assert machine.health(1.0).ok
    machine.close()
    machine.close()
    assert not machine.health(1.0).ok
    with pytest.raises(LinkError) as caught:
        machine.read_back(1.0)
    assert caught.value.retry


def test_the_noise_is_the_same_for_the_same_seed():
    def measured(seed):
        adapter = SimulatedAdapter(SimulatedSettings(problem="branin", noise=1.0, seed=seed), ["a", "b"])
        adapter.open(1.0)
        adapter.apply({"a": 1.0, "b": 1.0}, 1.0)
        return [adapter.run_trial(1.0).measurements["objective"] for _ in range(3)]

    assert measured(1) == measured(1) != measured(2)
    assert len(set(measured(1))) == 3
