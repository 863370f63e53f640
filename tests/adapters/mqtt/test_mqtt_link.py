"""Machines and brokers that go or hang; alarms, passwords, TLS, and topics that cannot work."""

import datetime
import gc
import ipaddress
import json
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import ValidationError

from adapters.mqtt import MqttAdapter
from adapters.mqtt.link import MqttLink
from adapters.mqtt.topics import Interlock, MqttSettings
from adapters.shared.values import Deadline
from tests.adapters.mqtt.moulding_machine import GOOD, HEAT, PROGRAMS, SPEED, TALK, VALUES, Broker, until_heard
from tests.patience import PATIENT_S
from tuner.adapter import AdapterError, DeadlineError, LinkError, Outcome, RefusedError


def test_a_machine_whose_last_will_speaks_is_not_there(opened, machine):
    adapter = opened(**TALK, status="m/status")
    assert adapter.health(PATIENT_S).ok
    machine.special["m/trigger"] = lambda _: [("m/status", "offline", True)]
    with pytest.raises(LinkError, match="the machine is not there: m/status says 'offline'"):
        adapter.run_trial("a", PATIENT_S)
    for call in (adapter.health, adapter.read_back):
        with pytest.raises(LinkError, match="the machine is not there"):
            call(PATIENT_S)
    since = adapter._link.mark()
    machine.tell("m/status", "online", retain=True)
    until_heard(adapter, "m/status", b"online", since)
    assert adapter.health(PATIENT_S).ok


def test_a_machine_that_was_never_there_is_told(opened):
    with pytest.raises(LinkError, match="nobody says on m/other"):
        opened(**TALK, status="m/other").health(0.3)


def test_an_alarm_ends_a_trial_and_is_bad_health_until_it_is_over(opened, machine):
    adapter = opened(**TALK, alarm="m/alarm", status="m/status")
    machine.special["m/trigger"] = lambda _: [("m/alarm", "overpressure", True)]
    assert adapter.run_trial("a", PATIENT_S) == Outcome(valid=False, reason="alarm: overpressure")
    for later in (adapter, opened(**TALK, alarm="m/alarm", status="m/status")):
        health = later.health(PATIENT_S)
        assert (health.ok, health.text) == (False, "the machine has an alarm: overpressure")
    machine.special = {"m/ask": lambda text: [("m/alarm", "off"), ("m/actual", {**json.loads(text), **GOOD})]}
    with pytest.raises(RefusedError):
        adapter.apply(GOOD, PATIENT_S)
    since = adapter._link.mark()
    machine.tell("m/alarm", "", retain=True)
    until_heard(adapter, "m/alarm", b"", since)
    assert adapter.health(PATIENT_S).ok


def test_interlocks_hold_if_the_machine_says_so_and_only_then(opened, machine):
    machine.tell("m/guard", "closed", retain=True)
    machine.tell("m/air", "0", retain=True)
    locks = {"guard": Interlock(topic="m/guard", holds="closed"), "air": Interlock(topic="m/air")}
    adapter = opened(**TALK, status="m/status", interlocks={**locks, "oil": Interlock(topic="m/oil")})
    assert adapter.health(PATIENT_S).interlocks == {"guard": True, "air": False, "oil": False}


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
        assert changed.wait_for(lambda: len(heard) >= 2, PATIENT_S)
    assert heard[-2:] == ["online", "offline"]


@pytest.mark.parametrize("first", ["our clock strikes first", "the client's does"])
def test_a_broker_that_hangs_is_given_up_at_the_deadline_and_leaves_nothing_open(opened, broker, first, monkeypatch):
    adapter = opened(**TALK)
    broker.process.send_signal(signal.SIGSTOP)
    with pytest.raises(DeadlineError):
        adapter.read_back(0.3)
    adapter.close()
    with monkeypatch.context() as patched:
        if first == "the client's does":
            call = MqttLink._call
            patched.setattr(MqttLink, "_call", lambda link, work, _: call(link, work, Deadline(PATIENT_S)))
        with pytest.raises(LinkError, match=r"127.0.0.1:\d+ did not answer within 0.3 s"):
            adapter.open(0.3)
    broker.process.send_signal(signal.SIGCONT)
    adapter.open(PATIENT_S)
    assert adapter.health(PATIENT_S).ok


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
        adapter.open(PATIENT_S)
    adapter.close()


@pytest.fixture
def guarded(tmp_path):
    """A broker that wants a password."""
    passwords = tmp_path / "passwords"
    program = shutil.which("mosquitto_passwd", path=PROGRAMS)
    if program is None:
        pytest.skip("needs the broker mosquitto (Debian: apt-get install mosquitto)")
    subprocess.run([program, "-b", "-c", str(passwords), "tuner", "s3cret"], check=True, timeout=PATIENT_S)
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
        adapter.open(PATIENT_S)
        adapter.close()


def test_a_wrong_password_is_refused_for_good(guarded, monkeypatch):
    monkeypatch.setenv("MQTT_PASSWORD", "guess")
    adapter = MqttAdapter(guarded.model_copy(update={"password_variable": "MQTT_PASSWORD"}), [SPEED])
    with pytest.raises(RefusedError, match="does not let us in") as caught:
        adapter.open(PATIENT_S)
    assert "guess" not in str(caught.value)
    adapter.close()


def test_a_password_that_cannot_be_had_or_is_open_to_all_is_told(guarded, tmp_path):
    secret = tmp_path / "secret"
    with pytest.raises(AdapterError, match="cannot be read"):
        MqttAdapter(guarded.model_copy(update={"password_file": secret}), [SPEED]).open(PATIENT_S)
    secret.write_text("s3cret")
    secret.chmod(0o644)
    with pytest.raises(AdapterError, match="can be read by others"):
        MqttAdapter(guarded.model_copy(update={"password_file": secret}), [SPEED]).open(PATIENT_S)
    with pytest.raises(AdapterError, match="no variable NO_SUCH_VARIABLE"):
        MqttAdapter(guarded.model_copy(update={"password_variable": "NO_SUCH_VARIABLE"}), [SPEED]).open(PATIENT_S)


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


@pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")  # paho leaves it to whoever drops it
def test_with_tls_the_brokers_certificate_is_checked(tmp_path, certificate):
    pem, private = certificate
    broker = Broker(tmp_path, f"certfile {pem}", f"keyfile {private}", "allow_anonymous true")
    try:
        trusting = MqttSettings(host="127.0.0.1", port=broker.port, tls={"ca_file": pem}, **TALK)
        adapter = MqttAdapter(trusting, [SPEED])
        adapter.open(PATIENT_S)
        adapter.close()
        stranger = MqttAdapter(MqttSettings(host="127.0.0.1", port=broker.port, tls={}, **TALK), [SPEED])
        gc.collect()
        gc.disable()
        try:
            with pytest.raises(LinkError, match="certificate") as refused:
                stranger.open(PATIENT_S)
            assert refused.value.__cause__ is not None
            left = [one for one in gc.get_objects() if isinstance(one, ssl.SSLSocket) and one.fileno() != -1]
            assert left == [], "a refused connection stays open until its garbage is collected"
        finally:
            gc.enable()
        stranger.close()
    finally:
        broker.stop()
    missing = MqttSettings(host="127.0.0.1", port=1, tls={"ca_file": tmp_path / "none.pem"}, **TALK)
    with pytest.raises(AdapterError, match="a certificate or key cannot be read"):
        MqttAdapter(missing, [SPEED]).open(PATIENT_S)


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
