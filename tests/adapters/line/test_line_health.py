"""A controller that does not answer is a lost link, not a machine that says no: trying again can help."""

import pytest

from tests.adapters.line.controllers import PATIENT_S, both_ways
from tuner.adapter import LinkError


@both_ways
def test_the_health_of_a_controller_that_is_gone_is_a_lost_link_until_it_is_back(mode, start_controller, make_adapter):
    controller, adapter = start_controller(mode), make_adapter(mode, silent_s=0.5)
    adapter.open(PATIENT_S)
    controller.kill()
    with pytest.raises(LinkError, match="is silent since"):
        adapter.health(PATIENT_S)
    controller.start()
    adapter.open(PATIENT_S)
    assert adapter.health(PATIENT_S).ok
