"""Handshakes of real PLCs over OPC UA: words, arrays, pulses, frozen values, heartbeats; inspecting and browsing."""

from itertools import count
from types import SimpleNamespace

import pytest
from asyncua import ua

from adapters.opcua import OpcuaAdapter, browsing
from adapters.opcua.node_map import OpcuaConnection
from tests.adapters.helpers import wait_until
from tests.adapters.opcua.moulding_machine import GOOD
from tests.patience import PATIENT_S
from tuner.adapter import LinkError, RefusedError
from tuner.handshake import tag_number


def test_a_method_that_is_given_the_tag_and_a_made_tag_need_no_place_for_the_tag(adapters, press):
    method = {"object": "s=Press", "method": "s=MakePart", "pass_tag": True}
    adapter = adapters(trial__start=method, trial__tag=None, trial__made={"node": "s=Made"})
    for tag in ("A1", "A2", "A2"):
        assert adapter.run_trial(tag, PATIENT_S).valid
    assert press.parts == ["A1", "A2"]


def test_bits_of_a_word_are_written_one_by_one(adapters, press):
    press.put("Alarm", -1)  # a signed word with all its bits
    adapter = adapters(heartbeat={"write": {"node": "s=Alarm", "bit": 31}, "every_s": 60.0}, state__alarm=None)
    write = adapter.settings.heartbeat.write
    adapter._begin(PATIENT_S)
    adapter._put([("heartbeat.write", write, False)])
    assert press.get("Alarm") == 2**31 - 1
    adapter._put([("heartbeat.write", write, True)])
    assert press.get("Alarm") == -1
    with pytest.raises(LinkError, match="has no bits"):
        adapter._put([("heartbeat.write", write.model_copy(update={"node": "s=Guard"}), True)])


def test_elements_of_one_array_are_parameters_of_their_own(adapters, press):
    adapter = adapters(
        parameters__temperature={"node": "s=Numbers", "index": 0},
        parameters__pressure={"node": "s=Numbers", "index": 1},
    )
    adapter.apply(GOOD, PATIENT_S)
    assert press.get("Numbers") == [230.0, 400.0]
    assert adapter.read_back(PATIENT_S)["pressure"] == 400
    with pytest.raises(RefusedError, match="has 2 elements, there is no element 5"):
        adapters(parameters__temperature={"node": "s=Numbers", "index": 5}).apply(GOOD, PATIENT_S)


def test_a_tag_is_a_number_where_its_node_is_one(adapters, press):
    adapter = adapters(trial__tag={"node": "s=Order"}, trial__made={"node": "s=Order"})
    assert adapter.run_trial("abcdef-P1", PATIENT_S).valid
    assert press.get("Order") == tag_number("abcdef-P1", 32)


def test_a_done_that_is_shorter_than_the_poll_is_not_missed(adapters, press):
    press.pulse = True
    adapter = adapters(trial__done={"node": "s=Done", "pulse": True}, trial__made={"node": "s=Made"})
    for tag in ("A1", "A2", "A2"):
        assert adapter.run_trial(tag, PATIENT_S).valid
    assert press.parts == ["A1", "A2"]
    again = adapters(trial__done={"node": "s=Done", "pulse": True}, trial__made={"node": "s=Made"})
    assert again.run_trial("A2", PATIENT_S).valid, "a tuner that was restarted finds its part"
    assert press.parts == ["A1", "A2"]


def test_a_value_that_was_measured_long_ago_is_frozen(adapters, press):
    adapter = adapters(interlocks__guard={"node": "s=Guard", "fresh_s": 3600.0})
    press.age("Guard", hours=0)
    assert adapter.health(PATIENT_S).interlocks == {"guard": True}
    press.age("Guard", hours=2)
    with pytest.raises(LinkError, match=r"guard has not been measured for 72\d\d\.\d s"):
        adapter.health(PATIENT_S)


def test_a_value_of_uncertain_quality_is_not_believed(adapter, press):
    press.put("Guard", True, ua.StatusCodes.UncertainLastUsableValue)
    with pytest.raises(LinkError, match="guard: UncertainLastUsableValue"):
        adapter.health(PATIENT_S)


def test_the_heartbeat_goes_on_while_nobody_calls(adapters, press):
    adapters(heartbeat={"write": {"node": "s=Busy"}, "every_s": 0.01})
    for on in (True, False, True):
        wait_until(lambda on=on: press.get("Busy") is on)


def test_every_node_of_the_handshake_is_looked_at_and_nothing_is_written(adapter, press):
    found = adapter.inspect(PATIENT_S)
    rows = {row.name: row for row in found}
    assert all(row.ok for row in found), [row for row in found if not row.ok]
    assert rows["trial.start"].text == "Boolean, written, now false"
    assert rows["parameters.pressure read back"].text.startswith("UInt16, read")
    assert press.parts == []


@pytest.mark.parametrize("key", ["start", "done", "valid", "reason", "busy", "tag", "made"])
def test_a_wrong_node_anywhere_in_the_handshake_is_found(adapters, key):
    bad = [row for row in adapters(**{f"trial__{key}": {"node": "s=Wrong"}}).inspect(PATIENT_S) if not row.ok]
    assert [row.name for row in bad] == [f"trial.{key}"]
    assert "BadNodeIdUnknown" in bad[0].text


@pytest.mark.parametrize(
    ("change", "name", "sentence"),
    [
        ({"trial__start": {"node": "s=Guard"}}, "trial.start", "it cannot be written"),
        ({"trial__start": {"node": "s=Press"}}, "trial.start", "is no variable, but: Object"),
        ({"trial__start": {"node": "s=Text"}}, "trial.start", 'reads "twelve", and can never be true'),
        ({"trial__valid": {"node": "s=Valid", "on": 3}}, "trial.valid", "reads false, and can never be 3"),
        (
            {"trial__start": {"object": "s=Press", "method": "s=MakeAny", "pass_tag": True}},
            "trial.start",
            "takes 0 arg",
        ),
        (
            {"trial__start": {"object": "s=Other", "method": "s=MakePart", "pass_tag": True}},
            "trial.start",
            "s=Other has no",
        ),
        ({"parameters__temperature": {"node": "s=Pressure2"}}, "parameters.temperature", "BadNodeIdUnknown"),
        ({"parameters__temperature": {"node": "s=Text"}}, "parameters.temperature", "does not fit into its node"),
        ({"parameters__pressure": {"node": "s=Pressure", "scale": 0.001}}, "parameters.pressure", "does not fit"),
        ({"trial__tag": {"node": "s=Weight"}}, "trial.tag", "it cannot be written"),
        ({"trial__tag": {"node": "s=Number"}}, "trial.tag", "a tag needs one of them"),
        ({"measurements__weight_g": {"node": "s=Text"}}, "measurements.weight_g", "which is not a number"),
        (
            {"heartbeat": {"watch": {"node": "s=Busy"}, "silent_s": 0.02, "every_s": 0.01}},
            "heartbeat.watch",
            "stays false for 0.02 s",
        ),
    ],
)
def test_what_cannot_be_used_as_the_configuration_wants_is_found(adapters, change, name, sentence):
    bad = {row.name: row.text for row in adapters(**change).inspect(PATIENT_S) if not row.ok}
    assert list(bad) == [name]
    assert sentence in bad[name]


def test_browsing_says_that_there_is_more_than_it_has_time_or_room_for(press, monkeypatch):
    connection = OpcuaConnection(endpoint=press.endpoint)
    monkeypatch.setattr(browsing, "_MOST", 2)
    *found, more = OpcuaAdapter.browse(connection, PATIENT_S)
    assert (len(found), more.looked_at, more.value) == (2, False, "not listed, they are over 2")
    monkeypatch.setattr(browsing, "time", SimpleNamespace(monotonic=count(step=PATIENT_S).__next__))
    (more,) = OpcuaAdapter.browse(connection, PATIENT_S)
    assert "not looked at, the time was over" in more.value


def test_browsing_lists_variables_and_methods_as_they_are_written_in_a_configuration(press):
    connection = OpcuaConnection(endpoint=press.endpoint, namespace="urn:example:press")
    rows = {row.where: row for row in OpcuaAdapter.browse(connection, PATIENT_S)}
    assert (rows["s=Temperature"].kind, rows["s=Temperature"].access) == ("Double", "read, write")
    assert rows["s=Guard"].access == "read"
    assert rows["s=Numbers"].kind == "Double[2]"
    assert (rows["s=MakePart"].kind, rows["s=MakePart"].access) == ("method of s=Press", "call")
    assert rows["s=Temperature"].name == "Press.Temperature"
    unnamed = OpcuaAdapter.browse(OpcuaConnection(endpoint=press.endpoint), PATIENT_S)
    assert "nsu=urn:example:press;s=Temperature" in [row.where for row in unnamed]
