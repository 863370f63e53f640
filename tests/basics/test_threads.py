import asyncio
import os
import threading

import pytest

from tuner.basics.threads import in_own_thread


@pytest.mark.asyncio
async def test_hard_work_is_done_in_a_thread_of_the_same_priority_and_tells_what_came_of_it():
    def work(number):
        return number + 1, os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    assert await in_own_thread(work, 2) == (3, os.getpriority(os.PRIO_PROCESS, 0))
    with pytest.raises(ZeroDivisionError):
        await in_own_thread(lambda: 1 // 0)


@pytest.mark.asyncio
async def test_work_that_nobody_waits_for_any_more_ends_in_silence():
    begun, go_on = threading.Event(), threading.Event()

    def work():
        begun.set()
        go_on.wait()

    task = asyncio.create_task(in_own_thread(work))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
