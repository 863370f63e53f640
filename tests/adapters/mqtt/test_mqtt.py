"""Settings, values and results of a machine on an MQTT broker."""

import json
import signal

import pytest

from adapters.mqtt import MqttAdapter
from adapters.mqtt.topics import MqttSettings, ResultWords
from tests.adapters.mqtt.moulding_machine import COLOUR, GOOD, HEAT, OTHER, ROOT, SPEED, TALK, VALUES, Machine
from tests.patience import PATIENT_S
from tuner.adapter import DeadlineError, LinkError, RefusedError
from tuner.config import load_config
from tuner.config.parameters import parameter_info
from tuner.config.plugins import load_adapter
from tuner.testing import LinkConformance


class TestConformanceOfRequestsInJson(LinkConformance):
    adapter = MqttAdapter
    parameters = (SPEED, HEAT, COLOUR)
    topics = TALK

    @pytest.fixture
    def settings(self, broker):
        self.broker = broker
        self.machine = Machine(broker.port)
        yield MqttSettings(host="127.0.0.1", port=broker.port, presence="tuner/status", **self.topics)
        self.machine.stop()

    def lose_machine(self):
        self.machine.stop()
        self.broker.stop()

    def return_machine(self):
        self.broker.start()
        self.machine.start()

    def mute_machine(self):
        self.machine.mute = True


class TestConformanceOfSingleValues(TestConformanceOfRequestsInJson):
    topics = VALUES

    def mute_machine(self):
        """Here the broker is silent: a machine that tells its values by itself has the same ones as before."""
        self.broker.process.send_signal(signal.SIGSTOP)


def test_it_is_found_by_its_entry_point():
    assert load_adapter("mqtt") is MqttAdapter


def test_the_sample_configuration_fits_its_own_parameters():
    campaign = load_config(ROOT / "configs" / "mqtt.toml").campaigns[0]
    infos = [parameter_info(parameter) for parameter in campaign.parameters]
    assert MqttAdapter.complaints(campaign.adapter.settings, infos) == []


def test_a_setting_in_json_has_the_machines_names_and_an_id(opened, machine):
    adapter = opened(**TALK, names={"heat": "T1"})
    adapter.apply(GOOD, PATIENT_S)
    (_, first), *_ = machine.received
    assert json.loads(first).keys() == {"speed", "T1", "id"}
    assert adapter.read_back(PATIENT_S) == GOOD


def test_single_values_have_their_own_topics(opened, machine):
    opened(**VALUES).apply(GOOD, PATIENT_S)
    assert machine.received == [("m/set/speed", "120"), ("m/set/heat", "180.0")]


def test_a_refused_setting_says_why(opened, machine):
    machine.special["m/set"] = lambda text: [
        ("m/accepted", {"id": "another request"}),
        ("m/accepted", {"id": json.loads(text)["id"], "refused": "too hot"}),
    ]
    with pytest.raises(RefusedError, match="the machine refuses the setting: too hot"):
        opened(**TALK).apply(GOOD, PATIENT_S)


def test_a_machine_that_keeps_another_value_has_not_taken_the_setting(opened, machine):
    machine.special["m/set/heat"] = lambda _: [("m/actual/heat", "150.0")]
    with pytest.raises(DeadlineError, match=r"does not have the setting within 1 s: heat is 150.0 instead of 180.0"):
        opened(**VALUES).apply(GOOD, 1.0)


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ("{}", "told its values without"),
        ("no json", "which is not a JSON object"),
        ('{"speed": 120, "heat": NaN}', "heat is nan, which is not a finite number"),
        ('{"speed": 120, "heat": "180"}', 'heat is "180", which is not a finite number'),
        ('{"speed": 120.5, "heat": 180.0}', "speed is 120.5, which is not a whole number"),
        ('{"speed": true, "heat": 180.0}', "speed is true"),
        ("x" * 1_000_001, "1000001 bytes"),
    ],
)
def test_values_that_are_none_are_a_fault_of_the_link(opened, machine, told, complaint):
    machine.special["m/ask"] = lambda _: [("m/actual", told)]
    with pytest.raises(LinkError, match=complaint):
        opened(**TALK).read_back(PATIENT_S)


@pytest.mark.parametrize("told", ["nan", "warm", ""])
def test_a_single_value_that_is_none_is_a_fault_of_the_link(opened, machine, told):
    adapter = opened(**VALUES)
    machine.special["m/set/heat"] = lambda _: [("m/actual/heat", told)]
    with pytest.raises(LinkError, match="the machine says heat is"):
        adapter.apply(GOOD, PATIENT_S)


def test_a_retained_value_is_no_answer_to_a_question(opened, machine):
    machine.tell("m/actual", GOOD, retain=True)
    machine.special["m/ask"] = lambda _: []
    with pytest.raises(DeadlineError, match="did not tell all its values within"):
        opened(**TALK).read_back(0.5)


def test_an_answer_to_another_question_is_not_taken(opened, machine):
    machine.special["m/ask"] = lambda text: [
        ("m/actual", {"id": "another question", **OTHER}),
        ("m/actual", {**json.loads(text), **GOOD}),
    ]
    assert opened(**TALK).read_back(PATIENT_S) == GOOD


def test_a_stale_retained_result_is_not_the_new_part(opened, machine):
    machine.tell("m/result", {"tag": "old", "valid": False, "reason": "old"}, retain=True)
    assert opened(**TALK).run_trial("new", PATIENT_S).valid


def test_a_late_result_of_an_earlier_part_is_not_the_new_part(opened, machine):
    machine.special["m/trigger"] = lambda _: [
        ("m/result", {"tag": "a", "valid": False, "reason": "late"}),
        ("m/result", {"tag": "b", "valid": True, "photo": "http://camera/b.jpg"}),
    ]
    outcome = opened(**TALK).run_trial("b", PATIENT_S)
    assert (outcome.valid, outcome.photo) == (True, "http://camera/b.jpg")


def test_a_retained_result_of_the_same_tag_is_that_part_and_it_is_not_made_again(opened, machine):
    first = opened(**TALK).run_trial("a", PATIENT_S)
    assert opened(**TALK).run_trial("a", PATIENT_S) == first
    assert [topic for topic, _ in machine.received].count("m/trigger") == 1


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ("part made", "which is not a JSON object"),
        ('{"valid": true}', "without the tag of its part"),
        ('{"tag": 3, "valid": true}', "without the tag of its part"),
        ('{"tag": "a"}', "did not answer with an outcome: valid"),
        ('{"tag": "a", "valid": "yes"}', "did not answer with an outcome: valid"),
        ('{"tag": "a", "valid": true, "measurements": {"x": null}}', "outcome: measurements.x"),
    ],
)
def test_a_result_that_is_none_is_a_fault_of_the_link(opened, machine, told, complaint):
    machine.special["m/trigger"] = lambda _: [("m/result", told)]
    with pytest.raises(LinkError, match=complaint):
        opened(**TALK).run_trial("a", PATIENT_S)


def test_nonsense_that_lies_on_the_result_topic_does_not_hinder_a_trial(opened, machine):
    machine.tell("m/result", "nonsense", retain=True)
    assert opened(**TALK, status="m/status").run_trial("a", PATIENT_S).valid


def test_results_can_be_single_words_with_what_was_told_on_the_way(opened, machine):
    for topic, stale in {"m/result": "GOOD", "m/weight": "1.0", "m/reason": "stale"}.items():
        machine.tell(topic, stale, retain=True)
    words = ResultWords(valid=("GOOD",), non_valid=("BAD",), reason="m/reason", measurements={"weight_g": "m/weight"})
    adapter = opened(**TALK, result_words=words, trigger_text="part {tag}!")
    machine.special["m/trigger"] = lambda _: [("m/weight", "12.5"), ("m/result", "GOOD")]
    outcome = adapter.run_trial("a", PATIENT_S)
    assert (outcome.valid, outcome.measurements) == (True, {"weight_g": 12.5})
    assert machine.received == [("m/trigger", "part a!")]
    machine.special["m/trigger"] = lambda _: [("m/result", "BAD")]
    assert adapter.run_trial("b", PATIENT_S).reason == "the machine gave no reason"
    machine.special["m/trigger"] = lambda _: [("m/reason", "short shot"), ("m/result", "BAD")]
    assert adapter.run_trial("c", PATIENT_S).reason == "short shot"
    machine.special["m/trigger"] = lambda _: [("m/result", "UGLY")]
    with pytest.raises(LinkError, match="'UGLY', which is neither valid nor non-valid"):
        adapter.run_trial("d", PATIENT_S)
    machine.special["m/trigger"] = lambda _: [("m/weight", "nan"), ("m/result", "GOOD")]
    with pytest.raises(LinkError, match="weight_g is"):
        adapter.run_trial("e", PATIENT_S)
    machine.special["m/trigger"] = lambda _: []
    with pytest.raises(DeadlineError, match="no result for f within"):
        adapter.run_trial("f", 0.3)
