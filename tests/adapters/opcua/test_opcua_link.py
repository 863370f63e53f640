"""OPC UA machines that go, come back or say nothing; certificates, passwords, and node maps."""

import json
import socket
import threading

import pytest
from pydantic import ValidationError

from adapters.opcua import OpcuaAdapter
from adapters.opcua.node_map import OpcuaSettings
from tests.adapters.helpers import PARAMETERS, closed_twice, lost_in_a_trial
from tests.adapters.opcua.moulding_machine import GOOD, made_from, table
from tests.patience import PATIENT_S
from tuner.adapter import DeadlineError, LinkError, RefusedError
from tuner.testing import LinkConformance


def test_the_machine_goes_and_comes_back_and_the_next_call_finds_it(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.off()
    try:
        with pytest.raises(LinkError) as caught:
            adapter.read_back(2.0)
        assert caught.value.retry
        with pytest.raises(LinkError):
            adapter.health(2.0)
    finally:
        press.on()
    assert adapter.read_back(10.0)["pressure"] == 400


def test_a_restart_between_two_calls_is_not_noticed(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.off()
    press.on()
    assert adapter.read_back(10.0)["pressure"] == 400


def test_a_machine_that_goes_during_a_trial_is_a_lost_link_and_the_part_is_found_afterwards(press):
    lost_in_a_trial(press, press, lambda nap: made_from(press.endpoint, sleep=nap))


def test_a_link_that_is_lost_while_a_pulse_is_waited_for_is_noticed(press):
    done = {"trial__done": {"node": "s=Done", "pulse": True}, "trial__made": {"node": "s=Made"}, "state__alarm": None}
    press.looks_per_part = 10**9
    naps = []

    def nap(seconds):
        naps.append(seconds)
        assert len(naps) < 100, "nobody looked at the link"
        if len(naps) == 3:
            press.off()

    adapter = made_from(press.endpoint, sleep=nap, **done)
    adapter.open(5.0)
    try:
        with pytest.raises(LinkError):
            adapter.run_trial("A1", 60.0)
    finally:
        press.on()
        adapter.close()


def test_a_machine_that_takes_the_call_and_says_nothing_is_a_missed_deadline_or_a_lost_link():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = f"opc.tcp://127.0.0.1:{listener.getsockname()[1]}"
        adapter = made_from(endpoint, timeout_s=0.1)
        with pytest.raises(LinkError, match="does not answer to a connection"):
            adapter.open(PATIENT_S)
        with pytest.raises(DeadlineError, match=r"within 0\.05 s"):
            adapter.open(0.05)
        adapter.close()


def test_a_server_that_speaks_another_protocol_is_a_lost_link():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def chat():
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=chat)
        thread.start()
        adapter = made_from(f"opc.tcp://127.0.0.1:{listener.getsockname()[1]}", timeout_s=1.0)
        with pytest.raises(LinkError):
            adapter.open(PATIENT_S)
        adapter.close()
        thread.join(PATIENT_S)


def test_it_can_be_closed_twice_and_does_not_answer_afterwards(adapter):
    closed_twice(adapter)


class TestConformance(LinkConformance):
    adapter = OpcuaAdapter
    parameters = PARAMETERS

    @pytest.fixture
    def settings(self, press):
        self.press, self.lost = press, False
        yield OpcuaSettings.model_validate_json(json.dumps({"endpoint": press.endpoint, **table()}))
        press.reset()
        if self.lost:
            press.on()

    def lose_machine(self):
        self.press.off()
        self.lost = True

    def return_machine(self):
        self.press.on()
        self.lost = False

    def mute_machine(self):
        self.press.mute()


def security(directory, **changes):
    return {
        "certificate_file": str(directory / "tuner.der"),
        "key_file": str(directory / "tuner.pem"),
        "server_certificate_file": str(directory / "server.der"),
        **changes,
    }


def test_a_signed_and_encrypted_session_with_a_password_from_a_file_or_the_environment(
    adapters, press, tmp_path, monkeypatch
):
    (tmp_path / "password").write_text("secret\n")
    monkeypatch.setenv("PRESS_PASSWORD", "secret")
    for source in ({"password_file": str(tmp_path / "password")}, {"password_env": "PRESS_PASSWORD"}):
        adapter = adapters(security=security(press.directory), user="tuner", **source)
        adapter.apply(GOOD, 5.0)
        assert adapter.read_back(5.0)["pressure"] == 400


def test_a_wrong_password_is_refused(adapters, press, monkeypatch):
    monkeypatch.setenv("PRESS_PASSWORD", "guess")
    source = {"password_env": "PRESS_PASSWORD"}
    adapter = adapters(opened=False, security=security(press.directory), user="tuner", **source)
    with pytest.raises(RefusedError, match="refuses a connection: Bad"):
        adapter.open(5.0)


@pytest.mark.parametrize("source", [{"password_file": "/nowhere/password"}, {"password_env": "NO_SUCH_PASSWORD"}])
def test_a_password_that_cannot_be_found_is_told(adapters, source):
    adapter = adapters(opened=False, user="tuner", **source)
    with pytest.raises(RefusedError, match="password"):
        adapter.open(5.0)


def test_a_server_with_another_certificate_than_the_expected_is_not_trusted(adapters, press):
    wrong = security(press.directory, server_certificate_file=str(press.directory / "tuner.der"))
    adapter = adapters(opened=False, security=wrong, timeout_s=0.5)
    with pytest.raises((LinkError, RefusedError)):
        adapter.open(5.0)


def test_a_certificate_that_cannot_be_read_is_told(adapters, press, tmp_path):
    (tmp_path / "key.pem").write_text("no key")
    adapter = adapters(opened=False, security=security(press.directory, key_file=str(tmp_path / "key.pem")))
    with pytest.raises(RefusedError, match="certificates"):
        adapter.open(5.0)
    adapter = adapters(opened=False, security=security(press.directory, key_file="/nowhere/key.pem"))
    with pytest.raises(RefusedError, match=r"/nowhere/key\.pem is missing, but its other half is there: put it back"):
        adapter.open(5.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"parameters__speed": None}, "parameters.speed is missing: where the machine keeps it"),
        (
            {"parameters__sped": {"node": "s=X"}},
            'parameters.sped is no parameter of the campaign; did you mean "speed"?',
        ),
        ({"parameters__speed__codes": {"a": 1}}, "parameters.speed is a number, it has no codes"),
        ({"parameters__cooling__codes": {"water": 1}}, 'parameters.cooling.codes lacks "oil"'),
        (
            {"parameters__cooling__codes": {"water": 1, "oil": 2, "air": 3}},
            'parameters.cooling.codes has "air", which cannot be chosen',
        ),
        ({"parameters__cooling__codes": {"water": 1, "oil": 1}}, "parameters.cooling.codes has the same code twice"),
        ({"parameters__speed": {"node": "s=Start"}}, "trial.start and parameters.speed are both written at s=Start"),
        (
            {"parameters__speed": {"node": "s=S", "read_node": "s=ActivePressure"}},
            "parameters.pressure and parameters.speed are both read back at s=ActivePressure",
        ),
        ({"trial__tag": None, "trial__made": {"node": "s=Made"}}, "trial.made needs trial.tag"),
        ({"user": "tuner"}, "a user needs either password_file or password_env"),
        ({"password_env": "X"}, "a password needs a user"),
        ({"trial__start": {"object": "s=P", "method": "s=M"}}, "trial.tag with a start method needs start.pass_tag"),
    ],
)
def test_a_map_that_does_not_fit_is_complained_about(changes, sentence):
    settings = OpcuaSettings.model_validate_json(json.dumps({"endpoint": "opc.tcp://host:4840", **table(**changes)}))
    found = OpcuaAdapter.complaints(settings, PARAMETERS)
    assert len(found) == 1
    assert found[0].startswith(sentence)


@pytest.mark.parametrize(
    "changes",
    [
        {"endpoint": "http://host"},
        {"endpoint": "opc.tcp://tuner:secret@host:4840"},  # a password does not belong into a file that is read by all
        {"parameters__speed": {"node": "Speed"}},
        {"parameters__speed": {"node": "ns=x;s=Speed"}},
        {"parameters__speed": {"node": "s=Speed", "scale": 0.0}},
        {"parameters__speed": {"node": "s=Speed", "tyop": "x"}},
        {"trial__start": {}},
        {"trial__start": {"method": "s=M"}},
        {"trial__start": {"node": "s=S", "pass_tag": True}},
    ],
)
def test_settings_that_make_no_sense_are_not_accepted(changes):
    with pytest.raises(ValidationError):
        OpcuaSettings.model_validate_json(json.dumps({"endpoint": "opc.tcp://host:4840", **table(**changes)}))
