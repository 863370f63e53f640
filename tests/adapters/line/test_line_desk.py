"""What counts as a controller's silence: not what this process itself came late."""

import itertools

import pytest
from pydantic import ValidationError

from adapters.line.desk import Desk
from adapters.line.protocol import Valid
from tuner.adapter import MOST_MEASUREMENTS, LinkError


def desk_whose_looks_take(looks_s):
    """A desk on a clock of which the test says how much passes in each wait, and how often it has waited."""
    waits = []
    looks = iter(looks_s)
    desk = Desk(5.0, wake=lambda: None, clock=lambda: sum(waits))
    desk._changed.wait = lambda _: waits.append(next(looks))
    return desk, waits


def test_a_controller_is_not_silent_because_this_process_came_late():
    desk, waits = desk_whose_looks_take([0.25, 1000.0, 0.25])
    desk._wait(lambda: len(waits) == 3, 1e6, "did not finish", 5.0)


def test_a_controller_that_says_nothing_in_time_is_silent_however_late_this_process_was():
    desk, waits = desk_whose_looks_take([1000.0, *itertools.repeat(0.25, 100)])
    with pytest.raises(LinkError, match="has not been heard yet"):
        desk._wait(lambda: False, 1e6, "did not finish", 5.0)
    assert len(waits) == 20  # 5 s in looks of 0.25 s, of which the first took too long


def test_outcomes_that_nobody_asked_for_take_little_memory():
    desk = Desk(5.0, wake=lambda: None)
    for part in range(300):
        desk.take(Valid(state="valid", job=f"run-{part}"))
    assert len(desk._outcomes) <= 100
    assert "run-299" in desk._outcomes
    with pytest.raises(ValidationError):
        Valid(state="valid", job="run-1", measurements={f"m{one}": 1.0 for one in range(MOST_MEASUREMENTS + 1)})
