"""Register maps that cannot work."""

import json

import pytest
from pydantic import ValidationError

from adapters.modbus import ModbusAdapter
from adapters.modbus.register_map import ModbusSettings
from tests.adapters.helpers import PARAMETERS
from tests.adapters.modbus.moulding_machine import table

HALF = {"address": 102, "scale": 0.5}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"host": None}, "either host or serial must be given, and not both"),
        ({"serial": {"port": "/dev/ttyS0"}}, "either host or serial must be given, and not both"),
        ({"parameters__speed": None}, "parameters.speed is missing: where the machine keeps it"),
        ({"parameters__sped": {"address": 180}}, "parameters.sped is no parameter of the campaign; did you mean"),
        ({"parameters__speed__codes": {"a": 1}}, "parameters.speed is a number, it has no codes"),
        ({"parameters__cooling__codes": None}, 'parameters.cooling.codes lacks "water", "oil"'),
        (
            {"parameters__cooling__codes": {"water": 1, "oil": 70_000}},
            "parameters.cooling: the code 70000 does not fit",
        ),
        ({"parameters__cooling__codes": {"water": 1, "oil": "o"}}, 'parameters.cooling: the code "o" does not fit'),
        (
            {"parameters__temperature": {"address": 100, "type": "int16", "scale": 0.001}},
            "parameters.temperature: 200 to 300 is 200000 to 300000 in the machine, int16 has -32768 to 32767",
        ),
        (
            {"parameters__temperature": {"address": 100, "type": "int16", "offset": 210.0, "scale": 0.2}},
            "parameters.temperature: its values 200, 200.5, ... are not among the register's steps of 0.2",
        ),
        (
            {"parameters__pressure": {"address": 104, "scale": 2.0}},
            "parameters.pressure: its values 200, 201, ... are not",
        ),
        (
            {"parameters__speed": HALF},
            "parameters.speed: the register has steps of 0.5, the tolerance for reading back",
        ),
        (
            {"parameters__speed": {"address": 102, "type": "float32", "offset": 1e6}},
            "parameters.speed: float32 rounds by up to 0.06, more than the tolerance 0.01",
        ),
        ({"parameters__speed": {"address": 3, "table": "coil"}}, "parameters.speed: a number does not fit into bool"),
        (
            {"parameters__speed": {"address": 102, "table": "input", "type": "float32"}},
            "parameters.speed cannot be written: only a holding register or a coil can",
        ),
        ({"trial__start": {"table": "discrete", "address": 3}}, "trial.start cannot be written"),
        ({"trial__done__clear": True}, "trial.done cannot be written"),
        ({"trial__valid__on": 2}, "trial.valid can never be 2"),
        ({"state__ready": {"address": 1, "on": "auto"}}, 'state.ready can never be "auto"'),
        ({"trial__start": {"address": 103}}, "trial.start and parameters.speed are both written at holding 103"),
        ({"trial__tag__address": 98}, "trial.tag and parameters.temperature are both written at holding 100"),
        (
            {"parameters__speed": {"address": 102, "type": "float32", "read_address": 103, "read_table": "input"}},
            "parameters.pressure and parameters.speed are both read back at input 104",
        ),
    ],
)
def test_a_map_that_does_not_fit_is_complained_about(changes, sentence):
    settings = ModbusSettings.model_validate_json(json.dumps(table(**changes)))
    found = ModbusAdapter.complaints(settings, PARAMETERS)
    assert len(found) == 1
    assert found[0].startswith(sentence)


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters__speed": {"address": 70_000}},
        {"parameters__speed": {"address": 1, "scale": 0.0}},
        {"parameters__speed": {"address": 1, "table": "coil", "type": "int16"}},
        {"state__ready": {"address": 1, "type": "float32", "bit": 2}},
        {"state__ready": {"address": 1, "table": "coil", "bit": 2}},
        {"trial__start": None},
        {"unit_id": 256},
    ],
)
def test_settings_that_make_no_sense_are_not_accepted(changes):
    with pytest.raises(ValidationError):
        ModbusSettings.model_validate_json(json.dumps(table(**changes)))
