"""While something urgent is being done, ordinary requests stand back, but not for long."""

import asyncio
from types import SimpleNamespace

import pytest

from tuner.basics.times import utc_now
from tuner.basics.vocabulary import Role
from tuner.daemon import sockets as api
from tuner.daemon.authenticator import Authenticator
from tuner.daemon.request_queue import LOCAL
from tuner.daemon.sockets import Sockets
from tuner.daemon.troubles import Troubles

TURNS = 50


@pytest.fixture
def begun(monkeypatch):
    """What was begun, in its order."""
    found = asyncio.Queue()

    def begin(sockets, visit, answer):
        found.put_nowait(visit)

    monkeypatch.setattr(Sockets, "_begin", begin)
    return found


async def answering(sockets):
    """Sockets that one ordinary request waits at, while an urgent one is being done."""
    sockets._urgent = 1
    assert sockets._queue.affords("key", LOCAL, 0.0, 10)
    assert sockets._queue.enter("key", b"client", SimpleNamespace())
    task = asyncio.create_task(sockets._take_turns(None))
    for _ in range(TURNS):
        await asyncio.sleep(0)
    return task


@pytest.mark.asyncio
@pytest.mark.parametrize("done", [True, False], ids=["the urgent one is done", "it takes too long"])
async def test_an_ordinary_request_is_begun_after_the_urgent_one_or_after_a_moment(begun, monkeypatch, done):
    monkeypatch.setattr(api, "_STAND_BACK_S", 60.0 if done else 0.0)
    sockets = Sockets(Authenticator(None, Role.VIEWER), utc_now, Troubles())
    try:
        task = await answering(sockets)
        if done:
            assert begun.empty()
            sockets._urgent = 0
            sockets._calm.set()
        await begun.get()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    finally:
        sockets.close()
    assert begun.empty()
