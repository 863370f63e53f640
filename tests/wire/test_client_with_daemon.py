"""The clients against a real daemon: over its file, and over tcp with keys and roles."""

import asyncio

import pytest

from tests.daemon.running import better, campaign_text, daemon, reached_at, until
from tests.wire.counterpart import free_endpoints
from tuner.errors import DeniedError
from tuner.wire.client import AsyncClient, Client, DeniedReply, Gap, RefusedReply
from tuner.wire.endpoint import Link
from tuner.wire.key_ring import KeyRing
from tuner.wire.messages import EventMessage
from tuner.wire.operations import OPS


@pytest.fixture(scope="module")
def network():
    return free_endpoints(2)


@pytest.fixture(scope="module")
def running(network):
    head = reached_at(network)
    text = head + campaign_text("press", trials=500, autostart=False) + campaign_text("oven", trials=500)
    with daemon(text) as one:
        yield one.start()


@pytest.fixture(scope="module")
def ring(running):
    return KeyRing.open(running.state)


@pytest.fixture
def as_role(ring, network):
    """Connect over tcp with a new key."""
    opened = []

    def connect(role, name=None):
        name = name or f"{role}{len(ring.list())}"
        key = ring.new(name, role, requests=network[0], events=network[1])
        opened.append(Client.connect(key=key))
        return opened[-1], name

    yield connect
    for client in opened:
        client.close()


def test_status_over_the_file_needs_no_key(running):
    with running.client() as client:
        body = client.status()
    assert body.pid == running.process.pid
    assert [line.name for line in body.campaigns] == ["oven", "press"]


def test_hello_tells_name_role_and_what_it_may_do(as_role, network):
    client, name = as_role("operator")
    welcome = client.hello()
    assert (welcome.you, welcome.role, welcome.events) == (f"{name} via {name}", "operator", network[1])
    assert welcome.ops == sorted(op for op, known in OPS.items() if "operator" in known.roles)


def test_a_viewer_may_look_and_nothing_else(as_role):
    client, _ = as_role("viewer")
    assert client.snapshot("oven").name == "oven"
    before = client.snapshot("press").n
    for op, known in OPS.items():
        if "viewer" not in known.roles:
            with pytest.raises(DeniedError) as caught:
                client.request(op, "press" if known.campaign else None, _some_body(known.body))
            assert isinstance(caught.value, DeniedReply)
            assert caught.value.code == "denied"
    assert client.snapshot("press").n == before


def _some_body(model):
    some = {"duel": 1, "winner": 1, "trial": 1, "judgment": 1, "valid": True, "reason": "r", "lot": "l", "config": "x"}
    some |= {"name": "n", "role": "operator", "pin": "4711", "number": 1, "change": 1, "alarm": 1}
    some |= {"parameter": "x1", "value": 1.0}
    some |= {"source": "f", "trials": [{"setting": {"x1": 1.0, "x2": 1.0}, "valid": True}]}
    return {name: some[name] for name, field in model.model_fields.items() if field.is_required()}


def test_an_operator_starts_judges_and_finds_it_all_in_the_history(as_role):
    client, name = as_role("operator")
    client.start("press")
    view = until(client, "press", lambda view: view.duel is not None)
    n = client.judge("press", view.duel.number, better(view), took_s=2.5).n
    given = next(event for event in client.history("press", limit=500).events if event.type == "judgment_given")
    assert given.n <= n
    assert given.actor == f"{name} via {name}"
    assert given.body["operator"] == name
    assert given.body["took_s"] == 2.5
    with pytest.raises(RefusedReply) as caught:
        client.judge("press", view.duel.number, better(view))
    assert caught.value.code == "already_answered"


def test_the_same_id_again_gets_the_same_answer_and_is_done_once(running):
    with running.client() as client:
        first = client.request("lot.change", "oven", {"lot": "L7"}, request_id="the-same-id")
        again = client.request("lot.change", "oven", {"lot": "L7"}, request_id="the-same-id")
        with pytest.raises(RefusedReply) as caught:
            client.request("lot.change", "oven", {"lot": "L8"}, request_id="the-same-id")
        changed = [event for event in client.history("oven", limit=500).events if event.type == "lot_changed"]
    assert again == first
    assert caught.value.code == "id_reused"
    assert [event.body["lot"] for event in changed] == ["L7"]


def test_a_revoked_key_is_refused_on_its_open_connection_and_on_a_new_one(as_role, ring):
    client, name = as_role("engineer")
    client.ping()
    ring.revoke(name)
    with pytest.raises(DeniedReply, match="not accepted any more"):
        client.ping()
    with Client(client.link) as fresh, pytest.raises(DeniedError, match="unknown or was revoked"):
        fresh.ping()


def test_the_network_lets_nobody_in_without_a_known_key(network, tmp_path, ring):
    stranger = KeyRing.open(tmp_path).new("stranger", "engineer")
    stranger = stranger.model_copy(update={"server": ring.server.public})
    with Client.connect(network[0], key=stranger) as client, pytest.raises(DeniedError):
        client.ping()
    with Client.connect(network[0]) as client, pytest.raises(DeniedError, match="wants a key"):
        client.ping()


def test_events_over_the_network_follow_the_snapshot_without_a_gap(as_role, running):
    client, _ = as_role("viewer")
    client.link = Link(client.link.requests, None, client.link.key)  # the daemon says where they are
    items = client.events("oven")
    first = next(items)
    assert isinstance(first, Gap)
    with running.client() as other:
        n = other.change_lot("oven", "L9").n
    expected, lots = first.view.n + 1, [first.view.lot]
    while "L9" not in lots:
        item = next(items)
        if isinstance(item, Gap):  # the subscription came later than the event
            expected, lots = item.view.n + 1, [*lots, item.view.lot]
        elif isinstance(item, EventMessage):
            assert item.n == expected
            expected += 1
            lots += [item.body["lot"]] if item.type == "lot_changed" else []
    assert expected > n
    items.close()


def test_events_over_the_file_need_no_key_though_there_is_a_network(running):
    with Client.connect(f"ipc://{running.state}/requests.sock") as client:
        items = client.events("oven")
        next(items)
        with running.client() as other:
            other.change_lot("oven", "L10")
        while "L10" not in str(next(items)):
            pass
        items.close()


@pytest.mark.asyncio
async def test_the_asyncio_client_asks_many_things_at_once(as_role, running):
    client, _ = as_role("viewer")
    async with AsyncClient(client.link) as one, AsyncClient.local(running.state) as other:
        views = await asyncio.gather(*(c.snapshot(name) for c in (one, other) for name in ("oven", "press")))
        assert [view.name for view in views] == ["oven", "press"] * 2
        items = one.events()
        assert {(await anext(items)).view.name for _ in range(2)} == {"oven", "press"}
        await items.aclose()
