"""When a console says that the link is lost: not while there is any sign of life of the daemon."""

import asyncio
import contextlib
import threading
import time

import pytest

from tests.patience import PATIENT_S
from tests.wire.counterpart import Counterpart, reply, view
from tuner.console import session as session_module
from tuner.console.requests import KeyRequest
from tuner.console.session import Session
from tuner.wire.aio import AsyncClient
from tuner.wire.operations import Operations

pytestmark = pytest.mark.asyncio
STATUS = {"tuner": "0", "pid": 1, "started_at": "", "now": "", "seq": 1, "state_directory": "", "compute": {}}
WELCOME = {"version": 1, "tuner": "0", "you": "a", "role": "engineer", "ops": [], "events": ""}


class Daemon:
    """Answers everything, but only those pings that a test lets it answer."""

    def __init__(self, places):
        self.deaf = False
        self.unanswered = threading.Semaphore(0)  # released for each ping that gets no answer
        self.answered = threading.Semaphore(0)
        self.there = Counterpart(*places, self._answer)

    def _answer(self, request, _):
        if request["op"] == "ping":
            (self.unanswered if self.deaf else self.answered).release()
            return [] if self.deaf else [reply(request)]
        bodies = {
            "hello": WELCOME,
            "status": {**STATUS, "campaigns": []},
            "snapshot": view(5),
            "campaign.start": {"n": 6},
        }
        bodies["history"] = {"events": [], "more": False}
        return [reply(request, body=bodies[request["op"]])]


@pytest.fixture
def daemon(tmp_path):
    daemon = Daemon((f"ipc://{tmp_path}/r", f"ipc://{tmp_path}/e"))
    yield daemon
    daemon.there.close()


@contextlib.asynccontextmanager
async def followed(tmp_path):
    """A session that has found its daemon, and why the link was lost, each time."""
    losses: list[str] = []
    found = asyncio.Event()
    async with AsyncClient.connect(f"ipc://{tmp_path}/r", f"ipc://{tmp_path}/e") as client:

        def changed():
            if session.lost:
                losses.append(session.lost)
            if session.linked:
                found.set()

        session = Session(client, changed, ("sasena",))
        running = asyncio.create_task(session.run())
        await asyncio.wait_for(found.wait(), PATIENT_S)
        losses.clear()
        try:
            yield session, losses
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running


async def acquired(semaphore, times=1):
    for _ in range(times):
        assert await asyncio.to_thread(semaphore.acquire, timeout=PATIENT_S)


async def until(ready):
    end = time.monotonic() + PATIENT_S
    while not ready():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)  # gives the loop to the session; the condition decides


@pytest.fixture
def patience(monkeypatch):
    """Short waits for each ping, so that the test need not wait; what is tested is what they lead to."""

    def set_s(*waits_s):
        monkeypatch.setattr(session_module, "PATIENCE_S", waits_s)
        monkeypatch.setattr(session_module, "PING_EVERY_S", 0.05)

    return set_s


async def test_one_ping_without_an_answer_is_no_lost_link(tmp_path, daemon, patience):
    patience(0.3, 60.0)
    async with followed(tmp_path) as (session, losses):
        daemon.deaf = True
        await acquired(daemon.unanswered)
        await acquired(daemon.unanswered)  # the second wait has begun
        daemon.deaf = False
        await acquired(daemon.answered, 3)
        assert session.linked
        assert losses == []
        assert await session.act(KeyRequest(Operations.start("sasena"))) > 0  # milliseconds: it was done


async def test_a_daemon_that_is_heard_is_not_lost_although_it_does_not_answer(tmp_path, daemon, patience):
    patience(0.3, 0.3)
    async with followed(tmp_path) as (session, losses):
        assert await asyncio.to_thread(daemon.there.subscribed.wait, PATIENT_S)
        daemon.there.heads = {"sasena": 5}  # it beats every 50 ms
        signs = session.client.signs
        await until(lambda: session.client.signs > signs)
        daemon.deaf = True
        await acquired(daemon.unanswered, 5)
        assert losses == []


async def test_a_daemon_that_neither_answers_nor_is_heard_is_lost_and_only_an_answer_finds_it(
    tmp_path, daemon, patience
):
    patience(0.2, 0.2)
    async with followed(tmp_path) as (session, losses):
        daemon.deaf = True
        await until(lambda: not session.linked)
        assert "did not answer ping" in losses[0]
        daemon.there.heads = {"sasena": 5}
        await acquired(daemon.unanswered, 3)
        assert not session.linked
        daemon.deaf = False
        await until(lambda: session.linked)


async def test_silence_of_the_events_alone_is_no_lost_link(tmp_path, daemon, patience, monkeypatch):
    patience(60.0, 60.0)
    monkeypatch.setattr("tuner.wire.follow.SILENT_S", 0.2)
    async with followed(tmp_path) as (session, losses):
        assert await asyncio.to_thread(daemon.there.subscribed.wait, PATIENT_S)
        daemon.there.subscribed.clear()
        monkeypatch.setattr("tuner.wire.base.SILENT_S", 0.0)
        assert await asyncio.to_thread(
            daemon.there.subscribed.wait, PATIENT_S
        )  # it was silent: the client has begun anew
        assert session.linked
        assert losses == []
