"""What a Modbus register would round out of the limits, or too far, is complained about and never written."""

import json

import pytest

from adapters.modbus import ModbusAdapter
from adapters.modbus.register_map import ModbusSettings
from tests.adapters.helpers import GOOD, PARAMETERS
from tests.adapters.modbus.moulding_machine import table
from tuner.adapter import ParameterInfo, RefusedError

TENTHS = {"address": 102, "type": "uint16", "scale": 0.1}
WHOLE = {"address": 102, "type": "uint16"}


def settings_for(port, speed):
    changes = {"parameters__speed": speed, "port": port}
    return ModbusSettings.model_validate_json(json.dumps(table(**changes)))


def with_speed(low, high, tolerance):
    speed = ParameterInfo("speed", "continuous", 80.0, low, high, tolerance=tolerance)
    return tuple(speed if info.name == "speed" else info for info in PARAMETERS)


@pytest.mark.parametrize(
    ("low", "high", "sentence"),
    [
        (20.0, 150.0, None),
        (20.0, 149.97, "its limit 149.97 would be 150 there, outside of its limits"),
        (20.04, 150.0, "its limit 20.04 would be 20 there, outside of its limits"),
    ],
)
def test_a_limit_that_the_register_rounds_outwards_is_complained_about(low, high, sentence):
    found = ModbusAdapter.complaints(settings_for(1502, TENTHS), with_speed(low, high, 0.05))
    assert not found if sentence is None else any(sentence in line for line in found)


@pytest.mark.parametrize(
    ("speed", "sentence"),
    [(149.97, "would be 150.0 in the machine, outside of its limits"), (99.4, "off by more than its tolerance 0.05")],
)
def test_a_value_that_the_register_rounds_away_is_refused_and_nothing_is_written(plant, press, speed, sentence):
    parameters = with_speed(20.0, 149.97, 0.05)
    adapter = ModbusAdapter(settings_for(plant.port, TENTHS if speed > 100 else WHOLE), parameters)
    adapter.open(5.0)
    before = [list(words) for words in press.memory.values()]
    with pytest.raises(RefusedError, match=sentence):
        adapter.apply({**GOOD, "speed": speed}, 5.0)
    assert [list(words) for words in press.memory.values()] == before
    adapter.close()


@pytest.mark.parametrize("unit_id", [0, 248])
def test_on_a_serial_line_no_setting_may_go_to_all_devices_at_once(unit_id):
    changes = {"host": None, "serial": {"port": "/dev/ttyS0"}, "unit_id": unit_id}
    settings = ModbusSettings.model_validate_json(json.dumps(table(**changes)))
    found = ModbusAdapter.complaints(settings, PARAMETERS)
    assert found == ["unit_id must be 1 to 247 on a serial line: 0 is all devices at once"]
