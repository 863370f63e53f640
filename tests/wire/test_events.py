import itertools
import threading

import pytest

from tests.patience import PATIENT_S
from tests.wire.counterpart import Counterpart, free_endpoints, reply, view
from tuner.wire import base, follow
from tuner.wire.client import Client, Gap, NoReplyError, RefusedReply, Silence
from tuner.wire.key_ring import KeyRing
from tuner.wire.messages import EventMessage, Progress


class Daemon(Counterpart):
    """Answers snapshots with the number a test sets."""

    def __init__(self, requests, events, n=5, keys=None):
        self.n = n
        self.published = events
        super().__init__(requests, events, self._answer, keys)

    def _answer(self, request, _):
        if request["op"] == "hello":
            you = {"version": 1, "tuner": "0", "you": "a", "role": "viewer", "ops": [], "events": self.published}
            return [reply(request, body=you)]
        if request["campaign"] == "none":
            return [reply(request, status="refused", code="not_found", text="no such campaign")]
        return [reply(request, body=view(self.n, request["campaign"]))]


@pytest.fixture
def places(tmp_path):
    return f"ipc://{tmp_path}/r", f"ipc://{tmp_path}/e"


@pytest.fixture
def daemon(places):
    with Daemon(*places) as daemon:
        yield daemon


@pytest.fixture
def client(places):
    with Client.connect(*places) as client:
        yield client


def test_following_begins_with_a_view_and_goes_on_with_the_events_after_it(daemon, client):
    items = client.events("sasena")
    first = next(items)
    assert isinstance(first, Gap)
    assert (first.seen, first.view.n) == (None, 5)
    assert daemon.subscribed.wait(PATIENT_S)
    for n in (4, 5, 6, 7):
        daemon.event(n)
    got = list(itertools.islice(items, 2))
    assert [event.n for event in got if isinstance(event, EventMessage)] == [6, 7]
    items.close()


def test_the_subscription_stands_before_the_snapshot_is_asked(daemon, client, monkeypatch):
    order = []
    subscribe, call = Client._subscribe, Client._call
    monkeypatch.setattr(Client, "_subscribe", lambda *a: order.append("subscribe") or subscribe(*a))
    monkeypatch.setattr(Client, "_call", lambda *a, **k: order.append(a[1].op) or call(*a, **k))
    items = client.events("sasena")
    next(items)
    items.close()
    assert order == ["subscribe", "snapshot"]


def test_a_lost_event_gives_a_new_view_and_then_goes_on(daemon, client):
    items = client.events("sasena")
    next(items)
    assert daemon.subscribed.wait(PATIENT_S)
    daemon.n = 8
    daemon.event(8)
    gap = next(items)
    assert isinstance(gap, Gap)
    assert (gap.seen, gap.view.n) == (5, 8)
    daemon.event(9)
    event = next(items)
    assert isinstance(event, EventMessage)
    assert event.n == 9
    items.close()


def test_a_lost_last_event_is_found_by_the_beat(daemon, client):
    items = client.events("sasena")
    next(items)
    assert daemon.subscribed.wait(PATIENT_S)
    daemon.n = 6
    daemon.heads = {"sasena": 6}
    gap = next(items)
    assert isinstance(gap, Gap)
    assert (gap.seen, gap.view.n) == (5, 6)
    items.close()


def test_progress_of_the_campaign_passes_and_that_of_others_does_not(daemon, client):
    items = client.events("sasena")
    next(items)
    assert daemon.subscribed.wait(PATIENT_S)
    daemon.publish("~progress", v=1, at="", campaign="other", text="not this")
    daemon.publish("~progress", v=1, at="", campaign="sasena", text="thinking", done=0.5)
    progress = next(items)
    assert isinstance(progress, Progress)
    assert (progress.text, progress.done) == ("thinking", 0.5)
    items.close()


def test_the_daemon_says_where_its_events_are(daemon, places):
    with Client.connect(places[0]) as client:
        items = client.events("sasena")
        assert isinstance(next(items), Gap)
        assert client.link.events == places[1]
        items.close()


def test_a_daemon_that_goes_and_comes_back_is_a_silence_and_then_a_view(places, client, monkeypatch):
    monkeypatch.setattr(follow, "SILENT_S", 0.3)
    with Daemon(*places):
        items = client.events("sasena")
        next(items)
    assert isinstance(next(items), Silence)
    with Daemon(*places, n=9) as again:
        again.heads = {"sasena": 9}
        gap = next(items)
        assert isinstance(gap, Gap)
        assert (gap.seen, gap.view.n) == (5, 9)
        items.close()


def test_events_come_again_after_a_handshake_was_refused(tmp_path, monkeypatch):
    """Libzmq never tries again on a socket whose handshake was refused once."""
    monkeypatch.setattr(follow, "SILENT_S", 0.3)
    monkeypatch.setattr(base, "SILENT_S", 0.3)
    ring = KeyRing.open(tmp_path)
    places = free_endpoints(2)
    key = ring.new("desk", "viewer", requests=places[0], events=places[1])
    with Client.connect(key=key) as client:
        with Daemon(*places, keys=ring):
            items = client.events("sasena")
            next(items)
        refused = threading.Semaphore(0)
        with Counterpart(*places, keys=ring, deny=refused):
            assert isinstance(next(items), Silence)
            assert refused.acquire(timeout=PATIENT_S)
            assert refused.acquire(timeout=PATIENT_S)  # the sockets of requests and of events
        with Daemon(*places, n=9, keys=ring) as again:
            again.heads = {"sasena": 9}
            gap = next(items)
            assert isinstance(gap, Gap)
            assert gap.view.n == 9
        items.close()


def test_a_campaign_that_does_not_exist_is_refused(daemon, client):
    with pytest.raises(RefusedReply, match="no such campaign"):
        next(client.events("none"))


def test_following_without_a_daemon_fails_at_once(client):
    client.find_s = 0.2
    with pytest.raises(NoReplyError):
        next(client.events("sasena"))
