"""What an OPC UA node would round out of the limits, or too far, is refused before anything is written."""

import json

import pytest

from adapters.opcua import OpcuaAdapter
from adapters.opcua.node_map import OpcuaSettings
from tests.adapters.helpers import PARAMETERS
from tests.adapters.opcua.moulding_machine import GOOD, table
from tuner.adapter import ParameterInfo, RefusedError


@pytest.mark.parametrize(
    ("high", "value", "node", "sentence"),
    [
        (150.6, 150.6, "Mode", "speed = 150.6 would be 151.0 in the machine, outside of its limits"),
        (150.0, 99.4, "Mode", "speed = 99.4 would be 99.0 in the machine, off by more than its tolerance 0"),
        (150.0, 99.4, "Speed", r"speed = 99.4 would be 99.400001\d+ in the machine, off by more than its tolerance 0"),
    ],
)
def test_a_value_that_its_node_rounds_away_is_refused_and_nothing_is_written(press, high, value, node, sentence):
    speed = ParameterInfo("speed", "continuous", 80.0, 20.0, high, tolerance=0.5 if high > 150 else 0.0)
    parameters = tuple(speed if info.name == "speed" else info for info in PARAMETERS)
    settings = {"endpoint": press.endpoint, **table(parameters__speed={"node": f"s={node}"}, state__ready=None)}
    adapter = OpcuaAdapter(OpcuaSettings.model_validate_json(json.dumps(settings)), parameters)
    adapter.open(10.0)
    before = {name: press.get(name) for name in ("Temperature", node, "Pressure", "Cooling")}
    with pytest.raises(RefusedError, match=sentence):
        adapter.apply({**GOOD, "speed": value}, 10.0)
    assert {name: press.get(name) for name in before} == before
    adapter.close()
