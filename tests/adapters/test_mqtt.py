import contextlib
import datetime
import gc
import ipaddress
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path

import paho.mqtt.client as paho
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import ValidationError

from adapters.mqtt import MqttAdapter
from adapters.mqtt_topics import Interlock, MqttSettings, ResultWords
from adapters.values import Deadline
from tuner.adapter import AdapterError, DeadlineError, LinkError, Outcome, ParameterInfo, RefusedError
from tuner.config import load_config
from tuner.config.parameters import parameter_info
from tuner.plugins import load_adapter
from tuner.testing import LinkConformance

ROOT = Path(__file__).parents[2]
SPEED = ParameterInfo("speed", "integer", 120, 60, 240)
HEAT = ParameterInfo("heat", "continuous", 180.0, 120.0, 260.0, tolerance=0.001)
COLOUR = ParameterInfo("colour", "choice", "red", choices=("red", "blue"))
GOOD = {"speed": 120, "heat": 180.0}
OTHER = {"speed": 100, "heat": 170.5}
PROGRAMS = os.environ["PATH"] + ":/usr/sbin"  # where Debian keeps brokers, and not all users look
TALK = {"set": "m/set", "accepted": "m/accepted", "ask": "m/ask", "actual": "m/actual"}
TALK |= {"trigger": "m/trigger", "result": "m/result"}
VALUES = {"set": "m/set/{name}", "actual": "m/actual/{name}", "trigger": "m/trigger", "result": "m/result"}
VALUES |= {"status": "m/status"}
WAIT_S = 20.0


class Broker:
    """A mosquitto of our own on a free port."""

    def __init__(self, directory, *options):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.config = directory / "mosquitto.conf"
        who = ("user root",) if os.getuid() == 0 else ()
        lines = (
            f"listener {self.port} 127.0.0.1",
            "log_dest stderr",
            "set_tcp_nodelay true",
            *who,
            *(options or ("allow_anonymous true",)),
        )
        self.config.write_text("\n".join(lines))
        self.start()

    def start(self):
        program = shutil.which("mosquitto", path=PROGRAMS)
        if program is None:
            pytest.skip("needs the broker mosquitto (Debian: apt-get install mosquitto)")
        self.process = subprocess.Popen([program, "-c", str(self.config)], stderr=subprocess.PIPE, text=True)
        said = []
        while not said or "running" not in said[-1]:
            said.append(self.process.stderr.readline())
            assert said[-1], f"mosquitto ended: {said}"
        # nobody reads what it says later, and it must not wait for that
        self.drain = threading.Thread(target=self.process.stderr.read)
        self.drain.start()

    def stop(self):
        self.process.kill()  # a polite signal is lost if it comes just when mosquitto says that it is running
        self.process.wait(WAIT_S)
        self.drain.join(WAIT_S)
        self.process.stderr.close()


class Machine:
    """A machine on the broker, with its last will; it knows both ways to be spoken to."""

    def __init__(self, port):
        self.port = port
        self.values = {"speed": 0, "heat": 0.0, "colour": "red"}
        self.parts = {}
        self.received = []
        self.special = {}  # topic -> what to do with a message instead of the usual
        self.mute = False
        self.start()

    def start(self):
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        self.client.on_message = self._hear
        self.client.will_set("m/status", "offline", 1, retain=True)
        ready = threading.Event()
        self.client.on_subscribe = lambda *_: ready.set()
        self.client.on_connect = lambda client, *_: client.subscribe([("m/set/#", 1), ("m/ask", 1), ("m/trigger", 1)])
        self.client.connect("127.0.0.1", self.port)
        self.client.loop_start()
        assert ready.wait(WAIT_S)
        for name, value in self.values.items():
            self.tell(f"m/actual/{name}", value, retain=True)
        self.tell("m/status", "online", retain=True)

    def stop(self):
        self.client.disconnect()
        self.client.loop_stop()

    def die(self):
        """Without a goodbye: the broker publishes the last will."""
        self.client.loop_stop()
        self.client.socket().shutdown(socket.SHUT_RDWR)
        self.client.socket().close()

    def tell(self, topic, message, retain=False):
        text = message if isinstance(message, str | bytes) else json.dumps(message)
        self.client.publish(topic, text, 1, retain).wait_for_publish(WAIT_S)

    def _hear(self, client, _, message):
        text = message.payload.decode()
        self.received.append((message.topic, text))
        if self.mute:
            return
        if message.topic in self.special:
            for topic, answer, *retain in self.special[message.topic](text):
                payload = answer if isinstance(answer, str) else json.dumps(answer)
                client.publish(topic, payload, 1, bool(retain))
        else:
            self.work(client, message.topic, text)

    def work(self, client, topic, text):
        if topic == "m/set":
            setting = json.loads(text)
            request = setting.pop("id", None)
            self.values |= setting
            client.publish("m/accepted", json.dumps({"id": request}), 1)
        elif topic == "m/ask":
            client.publish("m/actual", json.dumps({**self.values, **json.loads(text)}), 1)
        elif topic == "m/trigger":
            tag = json.loads(text)["tag"]
            made = {"tag": tag, "valid": True, "measurements": {"number": len(self.parts)}}
            client.publish("m/result", json.dumps(self.parts.setdefault(tag, made)), 1, retain=True)
        else:
            self.values[topic.removeprefix("m/set/")] = text
            client.publish(topic.replace("set", "actual"), text, 1, retain=True)


@pytest.fixture
def broker(tmp_path):
    broker = Broker(tmp_path)
    yield broker
    broker.stop()


@pytest.fixture
def machine(broker):
    machine = Machine(broker.port)
    yield machine
    machine.stop()


@pytest.fixture
def opened(broker, machine):
    """An open adapter with settings of the test's choice."""
    with contextlib.ExitStack() as stack:

        def make(parameters=(SPEED, HEAT), **settings):
            adapter = MqttAdapter(MqttSettings(port=broker.port, host="127.0.0.1", **settings), parameters)
            stack.callback(adapter.close)
            adapter.open(WAIT_S)
            return adapter

        yield make


def until_heard(adapter, topic, payload, since):
    """Wait until a message has reached the adapter: the broker's confirmation to its sender is no proof of that."""
    adapter._link.wait_for(lambda m: (m.topic, m.payload) == (topic, payload) or None, since, Deadline(WAIT_S), topic)


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
    adapter.apply(GOOD, WAIT_S)
    (_, first), *_ = machine.received
    assert json.loads(first).keys() == {"speed", "T1", "id"}
    assert adapter.read_back(WAIT_S) == GOOD


def test_single_values_have_their_own_topics(opened, machine):
    opened(**VALUES).apply(GOOD, WAIT_S)
    assert machine.received == [("m/set/speed", "120"), ("m/set/heat", "180.0")]


def test_a_refused_setting_says_why(opened, machine):
    machine.special["m/set"] = lambda text: [
        ("m/accepted", {"id": "another request"}),
        ("m/accepted", {"id": json.loads(text)["id"], "refused": "too hot"}),
    ]
    with pytest.raises(RefusedError, match="the machine refuses the setting: too hot"):
        opened(**TALK).apply(GOOD, WAIT_S)


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
        opened(**TALK).read_back(WAIT_S)


@pytest.mark.parametrize("told", ["nan", "warm", ""])
def test_a_single_value_that_is_none_is_a_fault_of_the_link(opened, machine, told):
    adapter = opened(**VALUES)
    machine.special["m/set/heat"] = lambda _: [("m/actual/heat", told)]
    with pytest.raises(LinkError, match="the machine says heat is"):
        adapter.apply(GOOD, WAIT_S)


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
    assert opened(**TALK).read_back(WAIT_S) == GOOD


def test_a_stale_retained_result_is_not_the_new_part(opened, machine):
    machine.tell("m/result", {"tag": "old", "valid": False, "reason": "old"}, retain=True)
    assert opened(**TALK).run_trial("new", WAIT_S).valid


def test_a_late_result_of_an_earlier_part_is_not_the_new_part(opened, machine):
    machine.special["m/trigger"] = lambda _: [
        ("m/result", {"tag": "a", "valid": False, "reason": "late"}),
        ("m/result", {"tag": "b", "valid": True, "photo": "http://camera/b.jpg"}),
    ]
    outcome = opened(**TALK).run_trial("b", WAIT_S)
    assert (outcome.valid, outcome.photo) == (True, "http://camera/b.jpg")


def test_a_retained_result_of_the_same_tag_is_that_part_and_it_is_not_made_again(opened, machine):
    first = opened(**TALK).run_trial("a", WAIT_S)
    assert opened(**TALK).run_trial("a", WAIT_S) == first
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
        opened(**TALK).run_trial("a", WAIT_S)


def test_nonsense_that_lies_on_the_result_topic_does_not_hinder_a_trial(opened, machine):
    machine.tell("m/result", "nonsense", retain=True)
    assert opened(**TALK, status="m/status").run_trial("a", WAIT_S).valid


def test_results_can_be_single_words_with_what_was_told_on_the_way(opened, machine):
    for topic, stale in {"m/result": "GOOD", "m/weight": "1.0", "m/reason": "stale"}.items():
        machine.tell(topic, stale, retain=True)
    words = ResultWords(valid=("GOOD",), non_valid=("BAD",), reason="m/reason", measurements={"weight_g": "m/weight"})
    adapter = opened(**TALK, result_words=words, trigger_text="part {tag}!")
    machine.special["m/trigger"] = lambda _: [("m/weight", "12.5"), ("m/result", "GOOD")]
    outcome = adapter.run_trial("a", WAIT_S)
    assert (outcome.valid, outcome.measurements) == (True, {"weight_g": 12.5})
    assert machine.received == [("m/trigger", "part a!")]
    machine.special["m/trigger"] = lambda _: [("m/result", "BAD")]
    assert adapter.run_trial("b", WAIT_S).reason == "the machine gave no reason"
    machine.special["m/trigger"] = lambda _: [("m/reason", "short shot"), ("m/result", "BAD")]
    assert adapter.run_trial("c", WAIT_S).reason == "short shot"
    machine.special["m/trigger"] = lambda _: [("m/result", "UGLY")]
    with pytest.raises(LinkError, match="'UGLY', which is neither valid nor non-valid"):
        adapter.run_trial("d", WAIT_S)
    machine.special["m/trigger"] = lambda _: [("m/weight", "nan"), ("m/result", "GOOD")]
    with pytest.raises(LinkError, match="weight_g is"):
        adapter.run_trial("e", WAIT_S)
    machine.special["m/trigger"] = lambda _: []
    with pytest.raises(DeadlineError, match="no result for f within"):
        adapter.run_trial("f", 0.3)


def test_a_machine_whose_last_will_speaks_is_not_there(opened, machine):
    adapter = opened(**TALK, status="m/status")
    assert adapter.health(WAIT_S).ok
    machine.special["m/trigger"] = lambda _: [("m/status", "offline", True)]
    with pytest.raises(LinkError, match="the machine is not there: m/status says 'offline'"):
        adapter.run_trial("a", WAIT_S)
    for call in (adapter.health, adapter.read_back):
        with pytest.raises(LinkError, match="the machine is not there"):
            call(WAIT_S)
    since = adapter._link.mark()
    machine.tell("m/status", "online", retain=True)
    until_heard(adapter, "m/status", b"online", since)
    assert adapter.health(WAIT_S).ok


def test_a_machine_that_was_never_there_is_told(opened):
    with pytest.raises(LinkError, match="nobody says on m/other"):
        opened(**TALK, status="m/other").health(0.3)


def test_an_alarm_ends_a_trial_and_is_bad_health_until_it_is_over(opened, machine):
    adapter = opened(**TALK, alarm="m/alarm", status="m/status")
    machine.special["m/trigger"] = lambda _: [("m/alarm", "overpressure", True)]
    assert adapter.run_trial("a", WAIT_S) == Outcome(valid=False, reason="alarm: overpressure")
    for later in (adapter, opened(**TALK, alarm="m/alarm", status="m/status")):
        health = later.health(WAIT_S)
        assert (health.ok, health.text) == (False, "the machine has an alarm: overpressure")
    machine.special = {"m/ask": lambda text: [("m/alarm", "off"), ("m/actual", {**json.loads(text), **GOOD})]}
    with pytest.raises(RefusedError):
        adapter.apply(GOOD, WAIT_S)
    since = adapter._link.mark()
    machine.tell("m/alarm", "", retain=True)
    until_heard(adapter, "m/alarm", b"", since)
    assert adapter.health(WAIT_S).ok


def test_interlocks_hold_if_the_machine_says_so_and_only_then(opened, machine):
    machine.tell("m/guard", "closed", retain=True)
    machine.tell("m/air", "0", retain=True)
    locks = {"guard": Interlock(topic="m/guard", holds="closed"), "air": Interlock(topic="m/air")}
    adapter = opened(**TALK, status="m/status", interlocks={**locks, "oil": Interlock(topic="m/oil")})
    assert adapter.health(WAIT_S).interlocks == {"guard": True, "air": False, "oil": False}


def test_our_presence_is_known_to_the_machine_and_ends_with_us(opened, machine):
    heard = []
    changed = threading.Condition()

    def note(*arguments):
        with changed:
            heard.append(arguments[2].payload.decode())
            changed.notify_all()

    machine.client.message_callback_add("tuner/status", note)
    machine.client.subscribe("tuner/status", 1)
    adapter = opened(**TALK, presence="tuner/status")
    adapter.close()
    with changed:
        assert changed.wait_for(lambda: len(heard) >= 2, WAIT_S)
    assert heard[-2:] == ["online", "offline"]


def test_a_broker_that_hangs_is_given_up_at_the_deadline_and_leaves_nothing_open(opened, broker):
    adapter = opened(**TALK)
    broker.process.send_signal(signal.SIGSTOP)
    with pytest.raises(DeadlineError):
        adapter.read_back(0.3)
    adapter.close()
    with pytest.raises(LinkError, match=r"127.0.0.1:\d+ did not answer within 0.3 s"):
        adapter.open(0.3)
    broker.process.send_signal(signal.SIGCONT)
    adapter.open(WAIT_S)
    assert adapter.health(WAIT_S).ok


def test_a_connection_that_is_cut_while_we_wait_is_told_at_once(opened, machine, broker):
    adapter = opened(**TALK)
    machine.special["m/trigger"] = lambda _: broker.process.kill() or []
    with pytest.raises(LinkError, match="lost"):
        adapter.run_trial("a", 60.0)


def test_a_broker_that_is_not_there_is_told(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    adapter = MqttAdapter(MqttSettings(host="127.0.0.1", port=port, **TALK), [SPEED])
    with pytest.raises(LinkError, match=rf"127.0.0.1:{port} cannot be reached"):
        adapter.open(WAIT_S)
    adapter.close()


@pytest.fixture
def guarded(tmp_path):
    """A broker that wants a password."""
    passwords = tmp_path / "passwords"
    program = shutil.which("mosquitto_passwd", path=PROGRAMS)
    subprocess.run([program, "-b", "-c", str(passwords), "tuner", "s3cret"], check=True, timeout=60)
    broker = Broker(tmp_path, "allow_anonymous false", f"password_file {passwords}")
    yield MqttSettings(host="127.0.0.1", port=broker.port, user="tuner", **TALK)
    broker.stop()


def test_the_password_comes_from_a_file_or_the_environment(guarded, tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    secret.chmod(0o600)
    monkeypatch.setenv("MQTT_PASSWORD", "s3cret")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    for how in ({"password_file": Path("${CREDENTIALS_DIRECTORY}/secret")}, {"password_variable": "MQTT_PASSWORD"}):
        adapter = MqttAdapter(guarded.model_copy(update=how), [SPEED])
        adapter.open(WAIT_S)
        adapter.close()


def test_a_wrong_password_is_refused_for_good(guarded, monkeypatch):
    monkeypatch.setenv("MQTT_PASSWORD", "guess")
    adapter = MqttAdapter(guarded.model_copy(update={"password_variable": "MQTT_PASSWORD"}), [SPEED])
    with pytest.raises(RefusedError, match="does not let us in") as caught:
        adapter.open(WAIT_S)
    assert "guess" not in str(caught.value)
    adapter.close()


def test_a_password_that_cannot_be_had_or_is_open_to_all_is_told(guarded, tmp_path):
    secret = tmp_path / "secret"
    with pytest.raises(AdapterError, match="cannot be read"):
        MqttAdapter(guarded.model_copy(update={"password_file": secret}), [SPEED]).open(WAIT_S)
    secret.write_text("s3cret")
    secret.chmod(0o644)
    with pytest.raises(AdapterError, match="can be read by others"):
        MqttAdapter(guarded.model_copy(update={"password_file": secret}), [SPEED]).open(WAIT_S)
    with pytest.raises(AdapterError, match="no variable NO_SUCH_VARIABLE"):
        MqttAdapter(guarded.model_copy(update={"password_variable": "NO_SUCH_VARIABLE"}), [SPEED]).open(WAIT_S)


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, private = tmp_path / "certificate.pem", tmp_path / "key.pem"
    pem.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pem, private


@pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")  # paho leaves it to the garbage collector
def test_with_tls_the_brokers_certificate_is_checked(tmp_path, certificate):
    pem, private = certificate
    broker = Broker(tmp_path, f"certfile {pem}", f"keyfile {private}", "allow_anonymous true")
    try:
        trusting = MqttSettings(host="127.0.0.1", port=broker.port, tls={"ca_file": pem}, **TALK)
        adapter = MqttAdapter(trusting, [SPEED])
        adapter.open(WAIT_S)
        adapter.close()
        stranger = MqttAdapter(MqttSettings(host="127.0.0.1", port=broker.port, tls={}, **TALK), [SPEED])
        with pytest.raises(LinkError, match="certificate"):
            stranger.open(WAIT_S)
        stranger.close()
        gc.collect()  # so that the warning above comes here and not in another test
    finally:
        broker.stop()
    missing = MqttSettings(host="127.0.0.1", port=1, tls={"ca_file": tmp_path / "none.pem"}, **TALK)
    with pytest.raises(AdapterError, match="a certificate or key cannot be read"):
        MqttAdapter(missing, [SPEED]).open(WAIT_S)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (TALK, None),
        (VALUES, None),
        (TALK | {"names": {"hat": "T"}}, 'names has "hat", which is no parameter'),
        (TALK | {"accepted": None}, "ask needs accepted"),
        (VALUES | {"status": None}, "ask or status is needed"),
        (VALUES | {"accepted": "m/accepted"}, "accepted needs a set without {name}"),
        (TALK | {"names": {"heat": "id"}}, 'called "id"'),
        (TALK | {"actual": "m/set"}, '"m/set" is sent and listened to'),
        (TALK | {"presence": "m/s", "status": "m/s"}, '"m/s" is sent and listened to'),
        (TALK | {"accepted": "m/result"}, '"m/result" is listened to for two purposes'),
        (TALK | {"user": "a", "password_file": Path("a"), "password_variable": "A"}, "cannot both be given"),
        (TALK | {"password_variable": "A"}, "a password needs a user"),
    ],
)
def test_what_cannot_work_is_complained_about(settings, complaint):
    found = MqttAdapter.complaints(MqttSettings(**settings), [SPEED, HEAT])
    assert [complaint in sentence for sentence in found] == ([] if complaint is None else [True])


@pytest.mark.parametrize(
    "wrong",
    [{"set": "m/#"}, {"result": ""}, {"actual": "m/{value}"}, {"trigger_text": "{part}"}, {"qos": 3}, {"port": 0}],
)
def test_wrong_settings_are_not_accepted(wrong):
    with pytest.raises(ValidationError):
        MqttSettings(**(TALK | wrong))
