"""MQTT machines whose values are in JSON, what can be heard at a broker, and a first contact with one."""

import gc
import json

import pytest

from adapters.mqtt import MqttAdapter
from adapters.mqtt.link import BrokerSettings, Tls
from adapters.mqtt.topics import MqttSettings
from tests.adapters.certificates import self_signed
from tests.adapters.mqtt.moulding_machine import GOOD, HEAT, OTHER, SPEED, TALK, VALUES, Broker
from tests.patience import PATIENT_S
from tuner.adapter import LinkError

WRAPPED = {"value_path": "reading.value", "set_template": {"set": {"to": "{value}"}, "of": "{name}"}}


def wrapped(machine):
    """The machine tells {"reading": {"value": 200, "ts": ...}}, and is told {"set": {"to": 200}, "of": "heat"}."""

    def taken(text):
        message = json.loads(text)
        told = {"reading": {"value": message["set"]["to"], "ts": 1}}
        return [(f"m/actual/{message['of']}", told, True)]

    for name, value in GOOD.items():
        machine.special[f"m/set/{name}"] = taken
        machine.tell(f"m/actual/{name}", {"reading": {"value": value, "ts": 0}}, retain=True)


def test_a_value_can_stand_at_a_path_of_its_message(opened, machine):
    wrapped(machine)
    adapter = opened(**VALUES, **WRAPPED)
    adapter.apply(OTHER, PATIENT_S)
    assert adapter.read_back(PATIENT_S) == OTHER
    assert ("m/set/heat", '{"set": {"to": 170.5}, "of": "heat"}') in machine.received


def test_a_message_without_the_path_says_what_is_there_instead(opened, machine):
    wrapped(machine)
    machine.tell("m/actual/heat", {"reading": {"amount": 1}}, retain=True)
    adapter = opened(**VALUES, **WRAPPED)
    with pytest.raises(LinkError, match=r'message on m/actual/heat has nothing at "reading\.value".*only amount'):
        adapter.read_back(PATIENT_S)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({**TALK, "value_path": "value"}, "value_path needs an actual with {name}"),
        ({**TALK, "set_template": {"value": "{value}"}}, "set_template needs a set with {name}"),
        ({**VALUES, "set_template": {"value": "{tag}"}}, 'set_template: "{tag}" has the field {tag}'),
    ],
)
def test_paths_and_templates_that_cannot_work_are_complained_about(changes, sentence):
    found = MqttAdapter.complaints(MqttSettings(**changes), (SPEED, HEAT))
    assert len(found) == 1
    assert found[0].startswith(sentence)


def test_browsing_tells_the_topics_that_are_heard_and_the_paths_into_them(broker, machine):
    machine.tell("m/sensor", {"reading": {"value": 1.5}, "ts": 3}, retain=True)
    found = {row.where: row for row in MqttAdapter.browse(BrokerSettings(host="127.0.0.1", port=broker.port), 2.0)}
    assert found["m/sensor"].kind == "JSON: reading.value, ts"
    assert found["m/actual/heat"].kind == "one value"
    assert found["m/status"].access == "retained"


def test_every_topic_is_looked_at_and_nothing_is_sent(opened, machine):
    adapter = opened(**VALUES)
    rows = {row.name: row for row in adapter.inspect(PATIENT_S)}
    assert rows["actual of heat"].text == "heard '0.0'"
    assert rows["result"].text == "nothing heard yet"
    assert machine.received == []


# paho leaves the socket of a handshake that failed to the garbage collector
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_broker_that_wants_tls_and_one_that_has_none_are_told_apart(broker, tmp_path):
    plain = MqttSettings(host="127.0.0.1", port=broker.port, tls=Tls(), **VALUES)
    with pytest.raises(LinkError, match="does not speak TLS"):
        MqttAdapter(plain, (SPEED, HEAT)).open(PATIENT_S)
    certificate, key = self_signed(tmp_path, "127.0.0.1")
    options = (f"cafile {certificate}", f"certfile {certificate}", f"keyfile {key}", "allow_anonymous true")
    directory = tmp_path / "tls"
    directory.mkdir()
    secure = Broker(directory, *options)
    adapter = MqttAdapter(MqttSettings(host="127.0.0.1", port=secure.port, **VALUES), (SPEED, HEAT))
    try:
        with pytest.raises(LinkError, match="wants encryption: add the table tls"):
            adapter.open(5.0)
        with pytest.raises(LinkError, match="its certificate is not trusted"):
            MqttAdapter(MqttSettings(host="127.0.0.1", port=secure.port, tls=Tls(), **VALUES), (SPEED, HEAT)).open(
                PATIENT_S
            )
    finally:
        adapter.close()
        secure.stop()
        gc.collect()  # here and not in another test
