"""Settings, parts, alarms and values of a machine that speaks OPC UA."""

import math
import sys
from pathlib import Path

import pytest
from asyncua import ua

from adapters.opcua import OpcuaAdapter
from tests.adapters.opcua.moulding_machine import GOOD
from tuner.adapter import DeadlineError, LinkError, RefusedError
from tuner.config import load_config
from tuner.config.plugins import AdapterNotFoundError, load_adapter


def test_it_is_found_by_its_entry_point():
    assert load_adapter("opcua") is OpcuaAdapter


def test_without_its_library_it_says_which_extra_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "adapters.opcua")
    monkeypatch.delitem(sys.modules, "adapters.opcua.adapter")
    monkeypatch.delitem(sys.modules, "adapters.opcua.link")
    monkeypatch.setitem(sys.modules, "asyncua", None)
    with pytest.raises(AdapterNotFoundError, match=r'needs asyncua: pip install "process-tuner\[opcua\]"'):
        load_adapter("opcua")


def test_the_sample_configuration_is_right():
    config = load_config(Path(__file__).parents[3] / "configs" / "opcua.toml")
    assert config.campaigns[0].adapter.settings.parameters["injection_speed"].scale == 1000.0


def test_a_setting_is_written_in_the_types_of_the_nodes_and_read_back_in_ours(adapter, press):
    adapter.apply({**GOOD, "temperature": 230}, 5.0)  # an integer for a Double
    assert press.get("Temperature") == 230.0
    assert press.get("Speed") == pytest.approx(0.08125)
    assert press.get("Pressure") == 400
    assert press.get("Cooling") == 2
    back = adapter.read_back(5.0)
    assert back == {**GOOD, "speed": pytest.approx(81.25)}
    assert [type(value) for value in back.values()] == [float, float, int, str]


def test_a_read_back_node_of_its_own_is_used(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.put("ActivePressure", 399)  # the machine took another value than it was told
    assert adapter.read_back(5.0)["pressure"] == 399


def test_a_choice_without_codes_is_written_as_text(adapters, press):
    adapter = adapters(parameters__cooling={"node": "s=Medium"})
    adapter.apply(GOOD, 5.0)
    assert press.get("Medium") == "oil"
    assert adapter.read_back(5.0)["cooling"] == "oil"


@pytest.mark.parametrize("node", ["ns={index};s=Temperature", "nsu=urn:example:press;s=Temperature"])
def test_a_namespace_can_be_given_by_its_number_or_its_uri(adapters, press, node):
    adapter = adapters(parameters__temperature={"node": node.format(index=press.index)})
    adapter.apply(GOOD, 5.0)
    assert press.get("Temperature") == 230.0


def test_where_the_type_of_a_node_is_abstract_that_of_its_value_is_used(adapters, press):
    adapter = adapters(parameters__temperature={"node": "s=Number"})
    adapter.apply(GOOD, 5.0)
    assert press.get("Number") == 230.0


def test_a_localized_text_can_be_the_reason(adapters, press):
    adapter = adapters(trial__reason={"node": "s=Note"})
    adapter.apply({**GOOD, "temperature": 260.0}, 5.0)
    assert adapter.run_trial("A1", 5.0).reason == "part stuck"


def test_a_text_node_takes_no_other_kind(adapters):
    adapter = adapters(parameters__temperature={"node": "s=Note"})
    with pytest.raises(RefusedError, match="of type LocalizedText"):
        adapter.apply(GOOD, 5.0)


def test_a_method_without_the_tag_needs_done_cleared_and_the_tag_is_written(adapters, press):
    start = {"object": "s=Press", "method": "s=MakeAny"}
    adapter = adapters(trial__start=start, trial__done={"node": "s=Done", "clear": True})
    for tag in ("A1", "A2", "A2"):
        assert adapter.run_trial(tag, 5.0).valid
    assert press.parts == ["A1", "A2"]


def test_a_few_settings_in_a_row_make_parts_with_their_outcomes(adapter, press):
    for number, temperature in enumerate([230.0, 251.0, 240.5]):
        adapter.apply({**GOOD, "temperature": temperature}, 5.0)
        assert adapter.read_back(5.0)["temperature"] == temperature
        outcome = adapter.run_trial(f"A{number}", 5.0)
        assert outcome.valid == (temperature <= 250)
        assert outcome.reason == ("" if outcome.valid else "short shot")
        assert outcome.measurements == ({"weight_g": 42.5} if outcome.valid else {})
    assert press.parts == ["A0", "A1", "A2"]


def test_the_same_tag_again_is_the_same_part_also_for_a_new_adapter(adapter, adapters, press):
    first = adapter.run_trial("A7", 5.0)
    assert adapters().run_trial("A7", 5.0) == first
    assert press.parts == ["A7"]


def test_a_method_can_start_a_part_and_be_given_its_tag(adapters, press):
    start = {"object": "s=Press", "method": "s=MakePart", "pass_tag": True}
    adapter = adapters(trial__start=start)
    for tag in ("A1", "A2", "A2"):
        assert adapter.run_trial(tag, 5.0).valid
    assert press.parts == ["A1", "A2"]
    with pytest.raises(RefusedError, match=r"refuses trial\.start: BadInvalidState"):
        adapter.run_trial("no", 5.0)


def test_while_the_machine_makes_another_part_none_is_ordered(hurried, press):
    adapter = hurried(trial__busy={"node": "s=Busy"})
    press.put("Busy", True)
    with pytest.raises(DeadlineError, match="another part"):
        adapter.run_trial("A1", 20.0)
    assert press.parts == []


def test_where_the_machine_shows_the_finished_tag_only_that_counts_as_done(hurried, press):
    adapter = hurried(trial__made={"node": "s=Made"})
    assert adapter.run_trial("A1", 20.0).valid
    press.put("Made", "A0")
    with pytest.raises(DeadlineError, match="did not finish part A1"):
        adapter.run_trial("A1", 20.0)


def test_a_part_that_takes_too_long_is_a_missed_deadline_and_the_order_is_withdrawn(hurried, press):
    adapter = hurried()
    press.looks_per_part = None
    with pytest.raises(DeadlineError, match=r"did not finish part A1 within 20 s") as caught:
        adapter.run_trial("A1", 20.0)
    assert caught.value.retry
    assert press.get("Start") is False


def test_an_alarm_during_the_trial_is_an_outcome_with_its_reason(adapter, press):
    press.alarm_in_part, press.looks_per_part = 101, None
    outcome = adapter.run_trial("A1", 5.0)
    assert not outcome.valid
    assert outcome.reason == "the mould does not close"
    assert press.get("Start") is False


def test_an_alarm_before_the_trial_forbids_it(adapter, press):
    press.put("Alarm", 7)
    with pytest.raises(RefusedError, match="alarm 7"):
        adapter.run_trial("A1", 5.0)
    assert press.parts == []


def test_health_tells_readiness_and_interlocks(adapter, press):
    health = adapter.health(5.0)
    assert health.ok
    assert health.interlocks == {"guard": True}
    press.put("Guard", False)
    assert adapter.health(5.0).interlocks == {"guard": False}
    press.put("Mode", 1)
    health = adapter.health(5.0)
    assert not health.ok
    assert "not ready" in health.text


def test_what_the_machine_refuses_is_refused(adapter, press):
    press.refuse_write = True
    with pytest.raises(RefusedError, match="BadOutOfRange") as caught:
        adapter.apply(GOOD, 5.0)
    assert not caught.value.retry


def test_a_node_that_cannot_be_written_is_refused_and_named(adapters):
    adapter = adapters(parameters__pressure={"node": "s=ActivePressure"})
    with pytest.raises(RefusedError, match=r"refuses pressure = 400: Bad(NotWritable|UserAccessDenied)"):
        adapter.apply(GOOD, 5.0)


def test_a_node_that_is_not_there_is_refused_and_named(adapters):
    adapter = adapters(parameters__pressure={"node": "s=Nothing"})
    with pytest.raises(RefusedError, match="refuses pressure: BadNodeIdUnknown"):
        adapter.read_back(5.0)


def test_a_namespace_that_is_not_there_is_refused(adapters):
    adapter = adapters(opened=False, namespace="urn:example:nowhere")
    adapter.open(5.0)
    with pytest.raises(RefusedError, match='no namespace "urn:example:nowhere"'):
        adapter.read_back(5.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"parameters__temperature": {"node": "s=Text"}}, r"temperature = 230\.0 does not fit .* of type String"),
        ({"parameters__cooling": {"node": "s=Pressure2"}}, "BadNodeIdUnknown"),
        ({"parameters__pressure": {"node": "s=Valid"}}, r"pressure = 400\.0 does not fit .* of type Boolean"),
        ({"parameters__pressure": {"node": "s=Pressure", "scale": 0.001}}, "does not fit .* of type UInt16"),
    ],
)
def test_a_node_of_another_type_takes_no_value_and_nothing_is_written(adapters, press, change, sentence):
    adapter = adapters(**change)
    with pytest.raises(RefusedError, match=sentence):
        adapter.apply(GOOD, 5.0)
    assert press.get("Temperature") == 0.0


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        ("s=Text", 'temperature reads "twelve", which is not a number'),
        ("s=Guard", "temperature reads true, which is not a number"),
        ("s=Numbers", "temperature reads a list, which is neither a number nor a text"),
    ],
)
def test_a_node_of_another_type_is_nonsense_when_it_is_read(adapters, node, sentence):
    adapter = adapters(parameters__temperature={"node": node})
    with pytest.raises(LinkError, match=sentence):
        adapter.read_back(5.0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_nonsense_with_the_parameters_name(adapter, press, value):
    press.put("Temperature", value)
    with pytest.raises(LinkError, match=r"temperature reads .* not a finite number"):
        adapter.read_back(5.0)


def test_a_value_with_a_bad_status_is_worth_another_try(adapter, press):
    press.put("Temperature", 230.0, ua.StatusCodes.BadSensorFailure)
    with pytest.raises(LinkError, match="temperature: BadSensorFailure") as caught:
        adapter.read_back(5.0)
    assert caught.value.retry


def test_a_code_that_stands_for_no_choice_is_nonsense(adapter, press):
    press.put("Cooling", 9)
    with pytest.raises(LinkError, match='cooling reads 9, which stands for none of "water", "oil"'):
        adapter.read_back(5.0)
