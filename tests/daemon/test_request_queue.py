"""Who is served next and who has too much open, without sockets."""

import pytest

from tuner.daemon.request_queue import (
    ALWAYS_OPEN,
    CONNECTION_OPEN,
    LOCAL,
    MOST_OPEN,
    NETWORK,
    URGENT_CONNECTION_OPEN,
    URGENT_OPEN,
    Bucket,
    RequestQueue,
)
from tuner.daemon.urgent_queue import BATCH, BESIDE, UrgentQueue


def fill(queue, key, clients, each, now_s=0.0):
    """Send as much as is taken; return how many were."""
    taken = 0
    for client in clients:
        for _ in range(each):
            if queue.affords(key, LOCAL, now_s, 100) and queue.enter(key, client, (key, client)):
                taken += 1
    return taken


@pytest.mark.asyncio
async def test_keys_take_turns_however_much_one_of_them_sends():
    queue = RequestQueue()
    fill(queue, "flood", [b"%d" % n for n in range(12)], 199)
    fill(queue, "console", [b"c"], 3)
    served = [(await queue.next())[0] for _ in range(6)]
    assert served == ["flood", "console"] * 3


@pytest.mark.asyncio
async def test_connections_of_one_key_take_turns_too_and_each_has_room():
    queue = RequestQueue()
    assert fill(queue, "local", [b"one", b"two"], CONNECTION_OPEN + 50) == MOST_OPEN
    assert fill(queue, "local", [b"console"], 50) == ALWAYS_OPEN, "a good neighbour is still served"
    served = [(await queue.next())[1] for _ in range(6)]
    assert served == [b"one", b"two", b"console"] * 2
    for _ in range(3):
        queue.done("local", b"console", urgent=False)
    assert fill(queue, "local", [b"console"], 50) == 3


def test_urgent_requests_are_not_refused_for_what_else_is_open():
    queue = RequestQueue()
    fill(queue, "local", [b"one", b"two"], CONNECTION_OPEN)
    assert queue.enter_urgent("local", b"one", 0.0)


def test_a_flood_of_urgent_requests_is_bounded_and_leaves_other_connections_and_keys_theirs():
    queue = RequestQueue()
    for key in ("a", "b"):
        queue.affords(key, NETWORK, 0.0, 1)
    assert sum(queue.enter_urgent("a", b"flood", 0.0) for _ in range(100)) == URGENT_CONNECTION_OPEN
    assert queue.enter_urgent("a", b"other", 0.0)
    everybody = sum(queue.enter_urgent("a", b"%d" % n, 0.0) for n in range(100) for _ in range(10))
    assert everybody + URGENT_CONNECTION_OPEN + 1 == URGENT_OPEN
    assert queue.enter_urgent("b", b"x", 0.0)
    queue.done("a", b"other", urgent=True)
    assert queue.enter_urgent("a", b"other", 0.0)


def test_a_bucket_gives_so_many_at_once_and_then_so_many_a_second():
    bucket = Bucket(10, 2)
    assert sum(bucket.take(100.0) for _ in range(50)) == 10
    assert sum(bucket.take(103.0) for _ in range(50)) == 6
    assert bucket.take(104.0, 64), "a large one makes a debt"
    assert not bucket.take(110.0)
    assert bucket.take(200.0)
    assert not Bucket(0, 0).take(1.0)


@pytest.mark.asyncio
async def test_what_is_urgent_goes_before_everything_that_waits_and_leaves_nobody_behind():
    queue = UrgentQueue(3)
    for number in range(3 * BATCH):
        queue.put(f"ordinary {number}", 2)
    queue.put("own", 1)
    queue.put("stop", 0)
    first = await queue.batch()
    assert first[:3] == ["stop", "own", "ordinary 0"]
    assert len(first) == 1 + BESIDE
    second = await queue.batch()
    assert second[0] == f"ordinary {BESIDE - 1}"
    assert len(second) == BATCH
