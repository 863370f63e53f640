import asyncio
import contextlib
import threading
import time

import pytest

from tests.patience import PATIENT_S
from tests.wire.counterpart import Counterpart, free_endpoints, reply, view
from tests.wire.test_events import Daemon
from tuner.errors import DeniedError, UnreachableError
from tuner.wire import exchange, follow
from tuner.wire.client import AsyncClient, Gap, NoReplyError, ProtocolError, RefusedReply, Silence
from tuner.wire.endpoint import Link
from tuner.wire.key_ring import KeyRing
from tuner.wire.messages import EventMessage

pytestmark = pytest.mark.asyncio


@pytest.fixture
def places(tmp_path):
    return f"ipc://{tmp_path}/r", f"ipc://{tmp_path}/e"


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(exchange, "_FIRST_WAIT_S", 0.2)


@contextlib.asynccontextmanager
async def connected(*places, **options):
    """A client; when it is closed no task of it is left."""
    before = asyncio.all_tasks()
    async with AsyncClient.connect(*places, **options) as client:
        yield client
    assert asyncio.all_tasks() == before


async def test_many_requests_at_once_each_get_their_own_answer(places):
    def answer(request, _):
        return [reply(request, body=view(int(request["campaign"][1:]), request["campaign"]))]

    with Counterpart(places[0], answer=answer):
        async with connected(*places) as client:
            views = await asyncio.gather(*(client.snapshot(f"c{n}") for n in range(200)))
    assert [view.n for view in views] == list(range(200))


async def test_answers_may_come_in_another_order(places):
    held: list[bytes] = []

    def answer(request, _):
        held.append(reply(request, body={"now": request["id"]}))
        return held[::-1] if len(held) == 2 else []

    with Counterpart(places[0], answer=answer):
        async with connected(*places) as one:
            first = asyncio.create_task(one.request("ping"))
            assert (await one.request("ping")).status == "done"
            assert (await first).status == "done"


@pytest.mark.usefixtures("quick")
async def test_a_lost_reply_is_asked_for_again_with_the_same_id(places):
    with Counterpart(places[0], answer=lambda request, times: [reply(request)] * 2 if times == 3 else []) as there:
        async with connected(*places) as client:
            await client.ping()
            assert client.unanswered() == ()
    assert len(there.got) == 3
    assert there.got[0] == there.got[1] == there.got[2]


@pytest.mark.usefixtures("quick")
async def test_what_the_client_itself_comes_late_is_not_taken_from_the_daemons_time(places):
    late_s = 0.0

    def answer(request, times):
        nonlocal late_s
        late_s = 1000.0  # the loop was busy, or the machine asleep, while the client waited
        return [reply(request)] if times == 2 else []

    with Counterpart(places[0], answer=answer) as there:
        async with AsyncClient(Link(*places), clock=lambda: time.monotonic() + late_s) as client:
            await client.ping()
    assert len(there.got) == 2


async def test_an_answer_that_came_while_the_loop_was_blocked_is_read_although_the_time_is_over(places):
    asked, answered = threading.Event(), threading.Event()

    def answer(request, _):
        asked.set()
        answered.wait(PATIENT_S)
        return [reply(request)]

    with Counterpart(places[0], answer=answer):
        async with connected(*places) as client:
            asking = asyncio.create_task(client.request("ping", timeout_s=0.9))
            await asyncio.to_thread(asked.wait, PATIENT_S)
            answered.set()
            threading.Event().wait(1.0)  # blocks the loop for longer than the request may take: this is what is tested
            assert (await asking).status == "done"


async def test_a_request_whose_daemon_dies_is_sent_to_the_next_one_with_the_same_id(places):
    asked = threading.Event()
    first = Counterpart(places[0], answer=lambda *_: asked.set() or [])
    async with connected(*places) as client:
        # of a slow operation, so that not the waiting but the lost connection shows it
        waiting = asyncio.create_task(client.request("slices", "sasena"))
        await asyncio.to_thread(asked.wait, PATIENT_S)
        first.close()
        with Counterpart(places[0]) as second:
            await waiting
    assert first.got[0]["id"] == second.got[0]["id"]


@pytest.mark.usefixtures("quick")
async def test_without_a_daemon_nothing_is_sent_also_not_later(places):
    async with connected(*places) as client:
        with pytest.raises(NoReplyError, match="nothing was sent") as caught:
            await client.request("campaign.start", "sasena", timeout_s=0.3)
        assert not caught.value.sent
        with Counterpart(places[0]) as there:
            await client.ping()
    assert [request["op"] for request in there.got] == ["ping"]


async def test_who_does_not_want_to_wait_for_a_daemon_does_not(places):
    async with connected(*places, find_s=0.2) as client:
        with pytest.raises(NoReplyError, match="nothing was sent"):
            await client.request("ping", timeout_s=3600)


@pytest.mark.usefixtures("quick")
async def test_a_command_without_a_reply_can_be_asked_again_by_its_id(places):
    silent = False
    with Counterpart(places[0], answer=lambda request, _: [] if silent else [reply(request, body={"n": 7})]) as there:
        async with connected(*places) as client:
            await client.request("ping")  # there is a connection then, however busy the machine is
            silent = True
            with pytest.raises(NoReplyError, match="may or may not have been done") as caught:
                await client.request("campaign.start", "sasena", timeout_s=0.3)
            assert caught.value.sent
            silent = False
            assert (await client.ask_again(caught.value.request.id)).body == {"n": 7}
    assert len({request["id"] for request in there.got[1:]}) == 1


async def test_a_malformed_reply_ends_every_wait_with_a_protocol_error(places):
    def answer(request, times):
        return [b"nonsense"] if request["op"] == "ping" else []

    with Counterpart(places[0], answer=answer):
        async with connected(*places) as client:
            results = await asyncio.gather(client.status(), client.ping(), return_exceptions=True)
            assert [type(result) for result in results] == [ProtocolError, ProtocolError]


async def test_a_refusal_is_raised_and_the_connection_stays(places):
    def answer(request, _):
        return [
            reply(request, status="refused", code="not_open", text="No.") if "campaign" in request else reply(request)
        ]

    with Counterpart(places[0], answer=answer):
        async with connected(*places) as client:
            with pytest.raises(RefusedReply, match=r"^No\.$"):
                await client.tie("sasena", 1)
            line = client._line
            await client.ping()
            assert client._line is line


async def test_closing_ends_those_who_wait(places):
    asked = threading.Event()
    with Counterpart(places[0], answer=lambda *_: asked.set() or []):
        client = AsyncClient.connect(*places)
        waiting = asyncio.create_task(client.request("ping"))
        await asyncio.to_thread(asked.wait, PATIENT_S)
        await client.close()
        with pytest.raises(UnreachableError, match="closed before"):
            await waiting


async def test_a_cancelled_request_leaves_the_others_alone(places):
    asked = threading.Event()

    def answer(request, _):
        asked.set()
        return [reply(request)] if request["op"] == "ping" else []

    with Counterpart(places[0], answer=answer):
        async with connected(*places) as client:
            given_up = asyncio.create_task(client.request("status"))
            await asyncio.to_thread(asked.wait, PATIENT_S)
            given_up.cancel()
            assert (await client.ping()).now
            with pytest.raises(asyncio.CancelledError):
                await given_up


async def test_an_unknown_key_is_denied_at_once(tmp_path):
    ring = KeyRing.open(tmp_path / "state")
    key = ring.new("desk", "viewer")
    ring.revoke("desk")
    (place,) = free_endpoints(1)
    with Counterpart(place, keys=ring):
        async with connected(place, key=key) as client:
            with pytest.raises(DeniedError, match="does not accept the key desk"):
                await client.request("ping", timeout_s=PATIENT_S)


async def test_events_are_followed_over_a_gap_and_a_silence(places, monkeypatch):
    async with connected(*places) as client:
        with Daemon(*places) as daemon:
            items = client.events("sasena")
            first = await anext(items)
            assert isinstance(first, Gap)
            assert await asyncio.to_thread(daemon.subscribed.wait, PATIENT_S)
            daemon.event(6)
            event = await anext(items)
            assert isinstance(event, EventMessage)
            assert event.n == 6
            daemon.n = 9
            daemon.event(9)
            gap = await anext(items)
            assert isinstance(gap, Gap)
            assert (gap.seen, gap.view.n) == (6, 9)
        monkeypatch.setattr(follow, "SILENT_S", 0.5)
        assert isinstance(await anext(items), Silence)
        with Daemon(*places, n=11) as daemon:
            daemon.heads = {"sasena": 11}
            gap = await anext(items)
            assert isinstance(gap, Gap)
            assert gap.view.n == 11
        await items.aclose()
