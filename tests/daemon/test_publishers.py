"""Whoever subscribes to more and more: libzmq would keep all of it, so the daemon counts and sends that one away."""

import os

import pytest
import zmq

from tests.daemon.running import campaign_text, daemon, reached_at
from tests.patience import PATIENT_S
from tests.wire.counterpart import free_endpoints
from tuner.daemon.publishers import MOST_TOPIC_BYTES
from tuner.journal.security import FILE_NAME, read
from tuner.lab.bench.daemon_load import memory_mb
from tuner.wire.client import Client
from tuner.wire.endpoint import prepare
from tuner.wire.key_ring import KeyRing

TOPIC_BYTES = 3000
GONE = "somebody subscribed to too much"


class Listener:
    """Subscribes to everything, and then to whatever it is told to, without keeping to any limit."""

    def __init__(self, endpoint, key=None):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.XSUB)
        prepare(self.socket, endpoint, key)
        self.socket.setsockopt(zmq.SNDHWM, 0)
        self.socket.connect(endpoint)
        self.socket.send(b"\1")

    def want(self, topics):
        for _ in range(topics):
            self.socket.send(b"\1" + os.urandom(TOPIC_BYTES))

    def hears(self, timeout_s=PATIENT_S):
        while self.socket.poll(0):
            self.socket.recv_multipart()
        return bool(self.socket.poll(timeout_s * 1000))

    def close(self):
        self.socket.close(0)
        self.context.term()


@pytest.fixture
def listen():
    opened = []

    def one(*where):
        opened.append(Listener(*where))
        return opened[-1]

    yield one
    for listener in opened:
        listener.close()


@pytest.fixture
def network():
    return free_endpoints(2)


@pytest.fixture
def running(network):
    head = reached_at(network)
    with daemon(head + campaign_text("press", autostart=False)) as one:
        yield one


def test_a_key_that_subscribes_to_too_much_is_kept_away_and_the_others_hear_on(running, network, listen):
    requests, events = network
    ring = KeyRing.open(running.state)
    bad, good = (ring.new(name, "viewer") for name in ("bad", "good"))
    running.start()
    witness, flood = listen(events, good), listen(events, bad)
    assert witness.hears()
    assert flood.hears()
    before_mb = memory_mb(running.process.pid)
    flood.want(20 * MOST_TOPIC_BYTES // TOPIC_BYTES)
    running.wait_for_log(GONE)
    assert witness.hears()
    assert not flood.hears(3.0), "its connection is refused again and again"
    with Client.connect(requests, key=bad) as client:
        assert client.status().troubles == 0
    assert memory_mb(running.process.pid) < before_mb + 150, "all of it would be 500 MB"
    assert running.stop() == 0
    noted = [(e.category, e.result, e.source) for e in read(running.state / FILE_NAME)]
    assert ("key", "kept away", "bad") in noted
    assert ("key", "kept away", "good") not in noted


def test_somebody_of_this_host_who_subscribes_to_too_much_makes_everybody_connect_again(running, listen):
    running.start()
    endpoint = f"ipc://{running.state}/events.sock"
    witness, flood = listen(endpoint), listen(endpoint)
    assert witness.hears()
    flood.want(2 * MOST_TOPIC_BYTES // TOPIC_BYTES)
    running.wait_for_log(GONE)
    flood.close()
    assert witness.hears()
    assert (running.state / "events.sock").stat().st_mode & 0o777 == 0o660
    with running.client() as client:
        assert client.status().troubles == 0
    assert running.stop() == 0
    assert ("key", "kept away", "local") in [(e.category, e.result, e.source) for e in read(running.state / FILE_NAME)]


def test_topics_that_are_given_up_again_do_not_count(running, listen):
    running.start()
    endpoint = f"ipc://{running.state}/events.sock"
    for _ in range(3):
        one = listen(endpoint)
        one.want(MOST_TOPIC_BYTES // TOPIC_BYTES // 2)
        assert one.hears()
        one.close()
    assert GONE not in running.log()
    assert running.stop() == 0
