from pathlib import Path

import pytest
import zmq

from tuner.errors import TunerError
from tuner.wire.client import Client
from tuner.wire.endpoint import LARGEST_REPLY_BYTES, Link, is_encrypted, prepare
from tuner.wire.exchange import Pacing
from tuner.wire.key_ring import KeyRing


@pytest.mark.parametrize(
    ("endpoint", "sentence"),
    [
        ("tcp://host", "is not an endpoint"),
        ("ipc://relative", "absolute path"),
        ("ipc:///" + "x" * 200, "longer than the 107 bytes"),
        ("tcp://*:5555", "to connect, name its host"),
        ("tcp://0.0.0.0:5555", "to connect, name its host"),
    ],
)
def test_an_endpoint_that_cannot_be_connected_to_is_told_in_a_sentence(endpoint, sentence):
    with pytest.raises(TunerError, match=sentence) as caught:
        Link(endpoint)
    assert "pydantic" not in str(caught.value)


def test_the_local_daemon_is_beside_its_state():
    link = Link.local(Path("/var/x"), {}, Path("/home/a"))
    assert (link.requests, link.events) == ("ipc:///var/x/requests.sock", "ipc:///var/x/events.sock")
    assert Link.local(None, {}, Path("/home/a")).requests == "ipc:///home/a/.local/state/tuner/requests.sock"


@pytest.mark.parametrize("published", ["tcp://*:6", "tcp://0.0.0.0:6", "tcp://[::]:6"])
def test_events_on_all_addresses_are_found_where_requests_are(published):
    assert Link("tcp://host:5").with_events(published).events == "tcp://host:6"


def test_events_elsewhere_are_found_there():
    assert Link("tcp://host:5").with_events("tcp://other:6").events == "tcp://other:6"


def test_who_came_by_the_file_finds_the_events_beside_it_though_the_daemon_names_the_networks():
    assert Link("ipc:///x/requests.sock").with_events("tcp://host:6").events == "ipc:///x/events.sock"
    assert Link("ipc:///x/requests.sock").with_events("ipc:///y/e").events == "ipc:///y/e"
    local = Link.local(Path("/x"), {}, Path("/"))
    assert Link(local.requests).with_events("tcp://host:6").events == local.events


def test_the_key_file_says_where_the_daemon_is_unless_another_place_is_given(tmp_path):
    key = KeyRing.open(tmp_path).new("desk", "viewer", requests="tcp://a:1", events="tcp://a:2")
    with Client.connect(key=key) as client:
        assert (client.link.requests, client.link.events) == ("tcp://a:1", "tcp://a:2")
    with Client.connect("tcp://b:1", key=key) as client:
        assert (client.link.requests, client.link.events) == ("tcp://b:1", None)
    with pytest.raises(TunerError, match="does not say where the daemon is"):
        Client.connect(key=key.model_copy(update={"requests": None}))


def test_only_the_network_is_encrypted():
    assert is_encrypted("tcp://host:1")
    assert not is_encrypted("ipc:///x")


def test_sockets_have_limits_heartbeats_and_nothing_that_lingers():
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer, context.socket(zmq.SUB) as sub:
        prepare(dealer, "ipc:///x", None)
        prepare(sub, "ipc:///x", None)
        wanted = {
            zmq.LINGER: 0, zmq.MAXMSGSIZE: LARGEST_REPLY_BYTES, zmq.SNDHWM: 1000, zmq.RCVHWM: 1000,
            zmq.HEARTBEAT_IVL: 2000, zmq.HEARTBEAT_TIMEOUT: 6000, zmq.HEARTBEAT_TTL: 6000, zmq.HANDSHAKE_IVL: 3000,
        }  # fmt: skip
        assert {option: dealer.getsockopt(option) for option in wanted} == wanted
        assert {option: sub.getsockopt(option) for option in wanted} == wanted
        assert (dealer.getsockopt(zmq.IMMEDIATE), sub.getsockopt(zmq.IMMEDIATE)) == (1, 0)


def test_waiting_doubles_and_ends_with_the_time_that_was_given():
    now_s = 100.0
    pacing = Pacing("ping", 9.0, clock=lambda: now_s)
    waits = []
    while (wait_s := pacing.wait_s(sent=False)) > 0:
        waits.append(wait_s)
        now_s += wait_s
    assert waits == [2.0, 4.0, 3.0]
    assert pacing.pause_s() == 0.0


def test_the_search_for_a_daemon_may_be_shorter_than_the_wait_for_an_answer():
    now_s = 100.0
    pacing = Pacing("ping", 60.0, 3.0, lambda: now_s)
    assert pacing.wait_s(sent=False) == 2.0
    now_s += 3.0
    assert pacing.wait_s(sent=False) == 0.0
    assert pacing.wait_s(sent=True) == 4.0


def test_pauses_after_lost_connections_double_up_to_a_bound():
    pacing = Pacing("ping", 100.0, clock=lambda: 0.0)
    assert [pacing.pause_s() for _ in range(8)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


def test_the_model_is_given_more_time_than_the_journal():
    assert Pacing("slices", None).total_s > Pacing("status", None).total_s


def test_the_directory_one_is_in_is_a_state_directory_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Link.local(Path(), {}, Path("/home/a")).requests.startswith(f"ipc://{tmp_path}/requests.")
