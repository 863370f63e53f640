"""A template that writes a limit as a number beyond it is complained about when the configuration is checked."""

import pytest

from adapters.serial import SerialAdapter
from adapters.serial.adapter import SerialSettings
from tuner.adapter import ParameterInfo


@pytest.mark.parametrize(
    ("low", "high", "complaint"),
    [
        (20.0, 90.0, None),
        (20.0, 89.97, "set writes heat = 89.97 as 90.0, which is outside of its limits"),
        (20.04, 90.0, "set writes heat = 20.04 as 20.0, which is outside of its limits"),
    ],
)
def test_a_limit_that_the_template_rounds_outwards_is_complained_about(low, high, complaint):
    heat = ParameterInfo("heat", "continuous", 60.0, low, high, tolerance=0.05)
    found = SerialAdapter.complaints(SerialSettings(port="/dev/ttyS0", set="SET {name} {value:.1f}"), [heat])
    assert list(found) == ([] if complaint is None else [complaint])
