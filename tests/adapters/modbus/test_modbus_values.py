"""What a Modbus machine refuses or says, in every type and order of bytes."""

import math

import pytest
from pymodbus.constants import ExcCodes
from pymodbus.simulator import DataType

from adapters.modbus.register_map import Register
from tests.adapters.helpers import GOOD
from tests.adapters.modbus.moulding_machine import MODE, WEIGHT
from tuner.adapter import LinkError, RefusedError


def test_a_tag_that_does_not_fit_is_refused_before_a_part_is_made(adapter, press):
    with pytest.raises(RefusedError, match="room for 8 characters"):
        adapter.run_trial("A123456789", 5.0)
    assert press.parts == []


@pytest.mark.parametrize("code", [ExcCodes.ILLEGAL_VALUE, ExcCodes.ILLEGAL_ADDRESS, ExcCodes.ILLEGAL_FUNCTION])
def test_what_the_machine_refuses_is_refused_and_named(adapter, press, code):
    press.refused["holding", 102] = code
    with pytest.raises(RefusedError, match=r"refuses speed = 81\.25 .*illegal") as caught:
        adapter.apply(GOOD, 5.0)
    assert not caught.value.retry


@pytest.mark.parametrize("code", [ExcCodes.DEVICE_BUSY, ExcCodes.DEVICE_FAILURE, ExcCodes.GATEWAY_NO_RESPONSE])
def test_a_machine_in_trouble_is_worth_another_try(adapter, press, code):
    press.refused["holding", 102] = code
    with pytest.raises(LinkError, match="cannot answer to speed") as caught:
        adapter.read_back(5.0)
    assert caught.value.retry
    press.refused.clear()
    adapter.apply(GOOD, 5.0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_nonsense_with_the_parameters_name(adapter, press, value):
    adapter.apply(GOOD, 5.0)
    press.put("holding", 102, value, DataType.FLOAT32)
    with pytest.raises(LinkError, match=r"speed reads .* not a finite number"):
        adapter.read_back(5.0)


def test_a_measurement_that_is_not_finite_is_nonsense_with_its_name(adapter, press):
    adapter.run_trial("A1", 5.0)
    press.put("input", WEIGHT, math.nan, DataType.FLOAT32)
    with pytest.raises(LinkError, match="weight_g reads nan"):
        adapter.run_trial("A1", 5.0)


def test_a_code_that_stands_for_no_choice_is_nonsense(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.memory["holding"][106] = 9
    with pytest.raises(LinkError, match='cooling reads 9, which stands for none of "water", "oil"'):
        adapter.read_back(5.0)


def test_a_register_of_another_type_than_configured_is_told(adapters, press):
    adapter = adapters(state__ready={"address": MODE, "type": "bool"})
    press.memory["holding"][MODE] = 1234
    with pytest.raises(LinkError, match=r"a bool is 0 or 1: is its type right\?"):
        adapter.health(5.0)


def test_an_integer_that_is_no_whole_number_is_told(adapters, press):
    adapter = adapters(parameters__pressure={"address": 140, "type": "float32"})
    adapter.apply(GOOD, 5.0)
    press.put("holding", 140, 400.5, DataType.FLOAT32)
    with pytest.raises(LinkError, match=r"pressure reads 400\.5, which is not a whole number"):
        adapter.read_back(5.0)


def test_an_answer_that_is_too_short_is_nonsense(adapter, press):
    press.short_answer = True
    with pytest.raises(LinkError, match="speed with 1 values instead of 2"):
        adapter.read_back(5.0)


@pytest.mark.parametrize("bad", [{"speed": math.nan}, {"speed": "3"}, {"cooling": "air"}, {"pressure": 400.5}])
def test_a_setting_that_makes_no_sense_is_refused_and_nothing_is_written(adapter, press, bad):
    with pytest.raises(RefusedError):
        adapter.apply({**GOOD, **bad}, 5.0)
    assert press.memory["holding"][100] == 0


def test_a_value_too_large_for_its_register_is_refused_and_nothing_is_written(adapter, press):
    with pytest.raises(RefusedError, match="pressure = 70000 does not fit into uint16"):
        adapter.apply({**GOOD, "pressure": 70_000}, 5.0)
    assert press.memory["holding"][100] == 0


@pytest.mark.parametrize("word_order", ["big", "little"])
@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("int16", -7),
        ("uint16", 65_000),
        ("int32", -70_000),
        ("uint32", 4_000_000_000),
        ("int64", -(2**40)),
        ("uint64", 2**63),
        ("float32", 0.5),
        ("float64", 0.1),
    ],
)
def test_every_type_and_word_order_agrees_with_pymodbus(adapters, press, form, value, word_order):
    adapter, register = adapters(word_order=word_order), Register(address=150, type=form)
    datatype = DataType[form.upper()]
    adapter._begin(5.0)
    adapter._write([("speed", register, value)])
    assert press.get("holding", 150, datatype, int(form[-2:]) // 16, word_order) == value
    press.put("holding", 160, value, datatype, word_order)
    assert adapter._get({"speed": Register(address=160, type=form)}) == {"speed": value}


def test_little_byte_order_swaps_the_bytes_of_every_word(adapters, press):
    adapter = adapters(byte_order="little", trial__tag=None)
    adapter.apply({**GOOD, "pressure": 0x0201}, 5.0)
    assert press.memory["holding"][104] == 0x0102
    assert adapter.read_back(5.0)["pressure"] == 0x0201
