"""The measurement of the page: real tablets' traffic against a real page and daemon."""

import pytest

from tests.patience import PATIENT_S
from tuner.lab.bench.web import measure


@pytest.mark.slow
def test_tablets_take_turns_and_every_answer_is_timed():
    found = measure(tablets=2, campaigns=1, answers=1, seconds=PATIENT_S, trial_s=0.0)
    assert len(found.answers.milliseconds) >= 2
    assert len(found.looks.milliseconds) >= len(found.answers.milliseconds)
    assert 5_000 < found.weight < 300_000
    assert found.paint_ms is None
