"""Keys and settings of the link to a line controller."""

import os
import re
import shutil
from pathlib import Path

import pytest
import zmq
import zmq.auth

from adapters.line.adapter import LineSettings
from tests.adapters.line.controllers import GOOD, PATIENT_S, both_ways, eventually, free_port
from tuner.adapter import AdapterError, LinkError


@pytest.fixture
def keys(directory):
    """Certificates of tuner, of the controller and of a stranger; public keys alone in their directories."""
    umask = os.umask(0o077)
    found = {}
    for name in ("tuner", "controller", "stranger"):
        home = directory / name
        home.mkdir()
        public, secret = zmq.auth.create_certificates(home, name)
        shutil.move(secret, directory / f"{name}.key_secret")
        found[name] = (Path(public), directory / f"{name}.key_secret")
    os.umask(umask)
    return found


@both_ways
def test_with_the_right_keys_the_link_works_over_tcp(mode, keys, start_controller, make_adapter):
    address = f"tcp://127.0.0.1:{free_port()}"
    options = ("--key", str(keys["controller"][1]), "--tuner-key", str(keys["tuner"][0]))
    start_controller(mode, address, options=options)
    adapter = make_adapter(mode, address, secret_key=keys["tuner"][1], controller_keys=(keys["controller"][0],))
    adapter.open(PATIENT_S)
    adapter.apply(GOOD, PATIENT_S)
    assert adapter.run_trial("T1", PATIENT_S).valid


@pytest.mark.parametrize(
    ("mode", "ours", "expected", "its", "explanation"),
    [
        ("listen", "tuner", "controller", "stranger", "a controller with the unknown key .{40} was turned away"),
        ("connect", "stranger", "controller", "controller", "the handshake failed"),
        ("connect", "tuner", "stranger", "controller", "has not been heard yet"),
    ],
)
def test_a_wrong_key_is_not_let_in(mode, ours, expected, its, explanation, keys, start_controller, make_adapter):
    address = f"tcp://127.0.0.1:{free_port()}"
    start_controller(mode, address, options=("--key", str(keys[its][1]), "--tuner-key", str(keys["tuner"][0])))
    adapter = make_adapter(mode, address, secret_key=keys[ours][1], controller_keys=(keys[expected][0],))

    def told():
        with pytest.raises(LinkError) as caught:
            adapter.open(2.0)
        return re.search(explanation, str(caught.value))

    eventually(told)  # the controller needs time to start
    with pytest.raises(LinkError):
        adapter.apply(GOOD, 0.5)


def test_a_controller_without_keys_is_not_let_in_where_keys_are_needed(keys, start_controller, make_adapter):
    controller = start_controller("listen")
    adapter = make_adapter("listen", secret_key=keys["tuner"][1], controller_keys=(keys["controller"][0],))
    with pytest.raises(LinkError, match="has not been heard yet"):
        adapter.open(1.5)
    assert controller.processes[0].poll() is None


def test_a_secret_key_that_others_can_read_is_refused(keys, make_adapter):
    public, secret = keys["tuner"]
    secret.chmod(0o640)
    with pytest.raises(AdapterError, match=r"can be read by others \(mode 640\)") as caught:
        make_adapter("listen", secret_key=secret, controller_keys=(public,)).open(1.0)
    assert not caught.value.retry
    with pytest.raises(AdapterError, match="has no secret key"):
        make_adapter("listen", secret_key=public, controller_keys=(public,)).open(1.0)
    with pytest.raises(AdapterError, match="cannot be used"):
        make_adapter("listen", secret_key=secret.with_name("none"), controller_keys=(public,)).open(1.0)


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"address": "tcp://127.0.0.1:5571"}, "tcp needs secret_key and controller_keys"),
        ({"address": "ipc://x", "secret_key": Path("k")}, "need each other"),
        ({"address": "ipc://x", "controller_keys": (Path("k"),)}, "need each other"),
        ({"insecure": True, "secret_key": Path("k"), "controller_keys": (Path("k"),)}, "leave it out"),
        ({"mode": "connect", "secret_key": Path("k"), "controller_keys": (Path("k"), Path("l"))}, "the one key"),
        ({"address": "udp://127.0.0.1:5571"}, "match pattern"),
        ({"address": "ipc://x", "beat_s": 1.0, "silent_s": 1.5}, "at least twice beat_s"),
    ],
)
def test_settings_that_are_unsafe_or_contradict_each_other_are_refused(settings, wrong):
    with pytest.raises(ValueError, match=wrong):
        LineSettings(**{"mode": "listen", "address": "tcp://127.0.0.1:5571", **settings})


def test_tcp_without_keys_needs_to_be_asked_for(start_controller, make_adapter):
    address = f"tcp://127.0.0.1:{free_port()}"
    start_controller("listen", address)
    adapter = make_adapter("listen", address, insecure=True)
    adapter.open(PATIENT_S)
    adapter.apply(GOOD, PATIENT_S)
