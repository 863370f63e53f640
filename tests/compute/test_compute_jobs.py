import asyncio
import json

import pytest

from tuner.basics.sentences import from_json
from tuner.compute.backend import ComputeCancelled, ComputeError, ComputeTimeout
from tuner.compute.jobs import Jobs
from tuner.compute.worker import DONE, FAILED, answer


class Desk(Jobs):
    """A backend in which the test is the worker."""

    def __init__(self, **options):
        super().__init__(**options)
        self.begun, self.weighed, self.abandoned = [], [], []

    def _begin(self, work):
        self.begun.append(work)

    def _weighed(self, work):
        self.weighed.append(work)

    def _abandon(self, work):
        self.abandoned.append(work)

    def finish(self, place=-1):
        work = self.begun[place]
        self._answered(work, answer(work.request))


async def asked(desk, number, *, speculative=False):
    job = desk.submit("ping", {"number": number}, speculative=speculative)
    if not job.done:
        desk.finish()
    return await job.result()


@pytest.mark.asyncio
async def test_equal_jobs_are_one_piece_of_work_and_each_holder_gets_a_copy():
    desk = Desk()
    one, two = desk.submit("ping", {"list": []}), desk.submit("ping", {"list": []})
    assert one.key == two.key
    assert len(desk.begun) == 1
    desk.finish()
    first, second = await one.result(), await two.result()
    first["list"].append("mine")
    assert second == {"list": []}
    assert (desk.counts.misses, desk.counts.joins, desk.counts.hits) == (1, 1, 0)


@pytest.mark.asyncio
async def test_the_cache_forgets_what_was_used_longest_ago():
    desk = Desk(cache_count=2)
    for number in (1, 2, 1, 3):
        await asked(desk, number)
    assert desk.counts.hits == 1
    await asked(desk, 1)
    assert desk.counts.hits == 2
    await asked(desk, 2)
    assert desk.counts.misses == 4


@pytest.mark.asyncio
async def test_the_cache_is_bounded_by_bytes_too():
    size = len(json.dumps({"number": 1}, separators=(",", ":")))
    desk = Desk(cache_bytes=2 * size)
    for number in (1, 2, 3, 3, 2, 1):
        await asked(desk, number)
    assert (desk.counts.misses, desk.counts.hits) == (4, 2)


@pytest.mark.asyncio
async def test_a_job_is_given_up_when_its_last_holder_lets_go():
    desk = Desk()
    one, two = desk.submit("ping", {}), desk.submit("ping", {})
    one.cancel()
    one.cancel()
    assert not desk.abandoned
    assert not two.done
    two.cancel()
    assert desk.abandoned == desk.begun
    with pytest.raises(ComputeCancelled, match="ping was cancelled"):
        await two.result()
    again = desk.submit("ping", {})
    assert len(desk.begun) == 2
    desk.finish(0)
    assert not again.done, "an answer to abandoned work is nobody's"
    desk.finish()
    assert await again.result() == {}


@pytest.mark.asyncio
async def test_work_is_speculative_while_nobody_needs_it():
    desk = Desk()
    ahead = desk.submit("ping", {}, speculative=True)
    (work,) = desk.begun
    assert work.speculative
    desk.submit("ping", {}, speculative=True)
    assert not desk.weighed
    real = desk.submit("ping", {})
    assert desk.weighed == [work]
    assert not work.speculative
    real.cancel()
    assert work.speculative
    assert not ahead.done


@pytest.mark.asyncio
async def test_time_spent_ahead_counts_as_used_once_a_real_submission_uses_it():
    desk = Desk()
    desk.submit("ping", {}, speculative=True)
    desk.begun[0].ahead_s = 2.0
    desk.finish()
    desk.submit("ping", {}, speculative=True)
    assert desk.counts.speculative_used_s == 0.0
    for _ in range(2):
        desk.submit("ping", {})
    assert desk.counts.speculative_used_s == 2.0


@pytest.mark.asyncio
async def test_a_deadline_that_passes_leaves_the_job_alone():
    desk = Desk()
    job = desk.submit("ping", {"a": 1})
    with pytest.raises(ComputeTimeout, match=r"ping gave no result within 0\.01 s"):
        await job.result(deadline_s=0.01)
    desk.finish()
    assert await job.result(deadline_s=0.0) == {"a": 1}


@pytest.mark.asyncio
async def test_a_cancelled_wait_leaves_the_job_alone():
    desk = Desk()
    job = desk.submit("ping", {})
    waiting = asyncio.create_task(job.result())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    desk.finish()
    assert await job.result() == {}


@pytest.mark.asyncio
async def test_what_failed_is_not_remembered():
    desk = Desk()
    job = desk.submit("next_step", {"space": {}, "state": {}})
    desk.finish()
    for _ in range(2):
        with pytest.raises(ComputeError, match=r"next_step failed: .*fits"):
            await job.result()
    desk.submit("next_step", {"space": {}, "state": {}})
    assert desk.counts.misses == 2


@pytest.mark.asyncio
async def test_a_closed_backend_says_so():
    desk = Desk()
    job = desk.submit("ping", {})
    desk._close_books()
    with pytest.raises(ComputeCancelled, match="closed"):
        await job.result()
    with pytest.raises(ComputeCancelled, match="closed"):
        desk.submit("ping", {})


def test_a_worker_answers_by_a_result_or_a_sentence():
    assert answer(b'{"name":"ping","payload":{"a":[1.5]}}') == DONE + b'{"a":[1.5]}'
    for request, text in (
        (b'{"name":"dance","payload":{}}', "dance failed: ValueError: there is no such"),
        (b"{", "? failed: JSONDecodeError"),
    ):
        failed = answer(request)
        assert failed.startswith(FAILED)
        assert from_json(json.loads(failed[1:])).startswith(text)
