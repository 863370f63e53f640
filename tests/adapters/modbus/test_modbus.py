"""Settings, parts and alarms of a machine that speaks Modbus."""

import sys
from pathlib import Path

import pytest
from pymodbus.simulator import DataType

from adapters.modbus import ModbusAdapter
from tests.adapters.helpers import GOOD
from tests.adapters.modbus.moulding_machine import ALARM, GUARD, MADE, MODE, START, TAG, VALID
from tuner.adapter import DeadlineError, RefusedError
from tuner.config import load_config
from tuner.config.plugins import AdapterNotFoundError, load_adapter


def test_it_is_found_by_its_entry_point():
    assert load_adapter("modbus") is ModbusAdapter


def test_without_its_library_it_says_which_extra_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "adapters.modbus")
    monkeypatch.delitem(sys.modules, "adapters.modbus.adapter")
    monkeypatch.setitem(sys.modules, "pymodbus", None)
    with pytest.raises(AdapterNotFoundError, match=r'needs pymodbus: pip install "process-tuner\[modbus\]"'):
        load_adapter("modbus")


def test_the_sample_configuration_is_right():
    config = load_config(Path(__file__).parents[3] / "configs" / "modbus.toml")
    assert config.campaigns[0].adapter.settings.parameters["melt_temperature"].scale == 0.1


def test_a_setting_is_written_in_the_machines_numbers_and_read_back_in_ours(adapter, press):
    adapter.apply(GOOD, 5.0)
    assert press.get("holding", 100, DataType.INT16, 1) == 2105
    assert press.get("holding", 102, DataType.FLOAT32, 2) == 81.25
    assert press.get("holding", 106, DataType.UINT16, 1) == 2
    assert adapter.read_back(5.0) == {**GOOD, "temperature": pytest.approx(230.5)}


def test_a_read_back_address_of_its_own_is_used(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.memory["input"][104] = 399  # the machine took another value than it was told
    assert adapter.read_back(5.0)["pressure"] == 399


def test_a_few_settings_in_a_row_make_parts_with_their_outcomes(adapter, press):
    for number, temperature in enumerate([230.0, 251.0, 240.5]):
        adapter.apply({**GOOD, "temperature": temperature}, 5.0)
        assert adapter.read_back(5.0)["temperature"] == pytest.approx(temperature)
        outcome = adapter.run_trial(f"A{number}", 5.0)
        assert outcome.valid == (temperature <= 250)
        assert outcome.reason == ("" if outcome.valid else "short shot")
        assert outcome.measurements == ({"weight_g": 42.5} if outcome.valid else {})
    assert press.parts == ["A0", "A1", "A2"]


def test_the_same_tag_again_is_the_same_part_also_for_a_new_adapter(adapter, adapters, press):
    adapter.apply(GOOD, 5.0)
    first = adapter.run_trial("A7", 5.0)
    assert adapters().run_trial("A7", 5.0) == first
    assert press.parts == ["A7"]


def test_a_part_in_work_is_waited_for_and_not_ordered_again(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.memory["holding"][TAG] = int.from_bytes(b"A8", "big")
    press.start(True)  # by a tuner that crashed after it had ordered the part
    press.memory["coil"][START] = 1
    assert adapter.run_trial("A8", 5.0).valid
    assert press.parts == ["A8"]


def test_a_tag_that_was_written_without_a_start_is_not_taken_for_a_part(adapter, press):
    press.memory["holding"][TAG] = int.from_bytes(b"A9", "big")  # by a tuner that crashed before it ordered the part
    assert adapter.run_trial("A9", 5.0).valid
    assert press.parts == ["A9"]


def test_without_a_place_for_the_tag_every_trial_is_a_part(adapters, press):
    adapter = adapters(trial__tag=None)
    adapter.run_trial("A1", 5.0)
    adapter.run_trial("A1", 5.0)
    assert len(press.parts) == 2


def test_a_machine_that_tells_no_more_than_done_makes_valid_parts(adapters, press):
    adapter = adapters(state=None, interlocks=None, measurements=None, trial__valid=None, trial__reason=None)
    outcome = adapter.run_trial("A1", 5.0)
    assert outcome.valid
    assert outcome.measurements == {}
    assert adapter.health(5.0).ok


def test_where_the_machine_shows_the_finished_tag_only_that_counts_as_done(hurried, press):
    adapter = hurried(trial__made={"address": MADE, "length": 4})
    assert adapter.run_trial("A1", 20.0).valid
    press.memory["holding"][MADE] = 0
    with pytest.raises(DeadlineError, match="did not finish part A1"):
        adapter.run_trial("A1", 20.0)


def test_a_machine_that_does_not_clear_done_has_it_cleared(adapters, press):
    done = {"address": 50, "clear": True}
    adapter = adapters(trial__done=done, trial__start={"address": 51})
    press.memory["holding"][50] = 1  # of a part before
    press.memory["discrete"][VALID] = 1

    def finish_when_started(seconds):
        press.memory["holding"][50] = press.memory["holding"][51]

    adapter._sleep = finish_when_started
    assert adapter.run_trial("A1", 5.0).valid
    assert press.text(TAG, 4) == "A1"


def test_done_that_never_goes_off_is_told_and_no_part_is_ordered(hurried, press):
    adapter = hurried(trial__done={"table": "discrete", "address": 5})
    press.memory["discrete"][5] = 1
    with pytest.raises(DeadlineError, match=r"done\.clear"):
        adapter.run_trial("A1", 20.0)
    assert press.parts == []


def test_while_the_machine_makes_another_part_none_is_ordered(hurried, press):
    adapter = hurried(trial__busy={"address": 10, "on": 6})
    press.memory["holding"][10] = 6
    with pytest.raises(DeadlineError, match="another part"):
        adapter.run_trial("A1", 20.0)
    assert press.parts == []
    press.memory["holding"][10] = 4
    assert adapter.run_trial("A1", 20.0).valid


def test_a_part_that_takes_too_long_is_a_missed_deadline_and_the_order_is_withdrawn(hurried, press):
    adapter = hurried()
    press.looks_per_part = None
    with pytest.raises(DeadlineError, match=r"did not finish part A1 within 20 s") as caught:
        adapter.run_trial("A1", 20.0)
    assert caught.value.retry
    assert press.memory["coil"][START] == 0


def test_an_alarm_during_the_trial_is_an_outcome_with_its_reason(adapter, press):
    press.alarm_in_part, press.looks_per_part = 101, None
    outcome = adapter.run_trial("A1", 5.0)
    assert not outcome.valid
    assert outcome.reason == "the mould does not close"
    assert press.memory["coil"][START] == 0


def test_an_alarm_without_a_text_is_told_by_its_number(adapter, press):
    press.alarm_in_part, press.looks_per_part = 77, None
    assert adapter.run_trial("A1", 5.0).reason == "alarm 77"


def test_an_alarm_before_the_trial_forbids_it(adapter, press):
    press.memory["input"][ALARM] = 101
    with pytest.raises(RefusedError, match="the mould does not close"):
        adapter.run_trial("A1", 5.0)
    assert press.parts == []
    assert not adapter.health(5.0).ok


def test_health_tells_readiness_and_interlocks(adapter, press):
    health = adapter.health(5.0)
    assert health.ok
    assert health.interlocks == {"guard": True}
    press.memory["discrete"][GUARD] = 0
    assert adapter.health(5.0).interlocks == {"guard": False}
    press.memory["holding"][MODE] = ~(1 << 3) & 0xFFFF
    health = adapter.health(5.0)
    assert not health.ok
    assert "not ready" in health.text
