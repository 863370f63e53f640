"""A key that was taken away: over real encrypted sockets, it hears nothing more and is refused; others go on."""

import json
import queue
import subprocess
import sys
import threading

import pytest
import zmq

from tests.daemon.running import campaign_text, daemon, reached_at
from tests.patience import PATIENT_S
from tests.wire.counterpart import free_endpoints
from tuner.errors import DeniedError
from tuner.wire.client import Client, Gap
from tuner.wire.endpoint import prepare
from tuner.wire.key_ring import KeyRing
from tuner.wire.messages import EventMessage

DEADLINE_S = 60.0


@pytest.fixture
def network():
    return free_endpoints(2)


@pytest.fixture
def running(network):
    head = reached_at(network)
    with daemon(head + campaign_text("press", autostart=False)) as one:
        yield one.start()


class Subscriber:
    """A client of events that keeps all it hears, and does not even know of `tuner`'s own way to follow."""

    def __init__(self, endpoint, key=None):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.SUB)
        prepare(self.socket, endpoint, key)
        self.socket.setsockopt(zmq.SUBSCRIBE, b"")
        self.socket.connect(endpoint)

    def wait(self, wanted):
        """The first message that is as wanted."""
        while self.socket.poll(DEADLINE_S * 1000):
            topic, body = self.socket.recv_multipart()
            if wanted(topic, json.loads(body)):
                return json.loads(body)
        raise AssertionError("nothing was heard")

    def heard(self):
        """All that has come until now."""
        found = []
        while self.socket.poll(0):
            found.append(self.socket.recv_multipart())
        return [(topic, json.loads(body)) for topic, body in found]

    def close(self):
        self.socket.close(0)
        self.context.term()


@pytest.fixture
def subscribe():
    opened = []

    def one(endpoint, key=None):
        opened.append(Subscriber(endpoint, key))
        return opened[-1]

    yield one
    for subscriber in opened:
        subscriber.close()


def follow(client, found):
    """Put the number of every event that is known of, from an event or a snapshot, into a queue."""
    for item in client.events("press"):
        if isinstance(item, Gap):
            found.put((item.view.n, item.view.lot))
        elif isinstance(item, EventMessage):
            found.put((item.n, item.body.get("lot")))
        if found.stopped:
            return


def test_a_revoked_subscriber_hears_nothing_more_and_the_others_miss_nothing(running, network, subscribe):
    ring = KeyRing.open(running.state)
    keys = {name: ring.new(name, "viewer", requests=network[0], events=network[1]) for name in ("good", "bad")}
    bad = subscribe(network[1], keys["bad"])
    beats = subscribe(f"ipc://{running.state}/events.sock")
    found = queue.Queue()
    found.stopped = False
    with Client.connect(key=keys["good"]) as good, Client.connect(key=keys["bad"]) as still, running.client() as local:
        assert still.ping().now
        thread = threading.Thread(target=follow, args=(good, found), daemon=True)
        thread.start()
        found.get(timeout=DEADLINE_S)
        bad.wait(lambda topic, body: topic == b"~beat")
        local.change_lot("press", "before")
        bad.wait(lambda topic, body: body.get("body", {}).get("lot") == "before")
        while found.get(timeout=DEADLINE_S)[1] != "before":
            pass
        revoke = [sys.executable, "-m", "tuner", "keys", "revoke", "bad", "--state", str(running.state)]
        subprocess.run(revoke, check=True, timeout=PATIENT_S, capture_output=True)
        bad.heard()
        numbers = [local.change_lot("press", f"L{number}").n for number in range(20)]
        beat = beats.wait(lambda topic, body: topic == b"~beat" and body["heads"]["press"] == numbers[-1])
        known = [found.get(timeout=DEADLINE_S)]
        while known[-1][0] < numbers[-1]:
            known.append(found.get(timeout=DEADLINE_S))
        assert [n for n, _ in known] == sorted({n for n, _ in known})
        assert known[-1] == (numbers[-1], "L19")
        for _ in range(3):  # time enough to connect again, if it could
            beats.wait(lambda topic, body: topic == b"~beat" and body["at"] > beat["at"])
        assert [body for topic, body in bad.heard() if topic == b"press" or body["at"] >= beat["at"]] == []
        with pytest.raises(DeniedError, match="not accepted any more"):
            still.ping()
        found.stopped = True
        local.change_lot("press", "end")
        thread.join(DEADLINE_S)
        assert not thread.is_alive()
    running.wait_for_log("a key was taken away")


def test_a_new_key_disturbs_nobody(running, network, subscribe):
    ring = KeyRing.open(running.state)
    one = subscribe(network[1], ring.new("one", "viewer"))
    one.wait(lambda topic, body: topic == b"~beat")
    ring.new("two", "viewer")
    with running.client() as local:
        for number in range(20):
            local.change_lot("press", f"L{number}")
    numbers = []
    while len(numbers) < 20:
        numbers.append(one.wait(lambda topic, body: topic == b"press")["n"])
    assert numbers == list(range(numbers[0], numbers[0] + 20))
    assert "a key was taken away" not in running.log()
