import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest
import pytest_asyncio

from tests.compute.helpers import gone, minutes_of_work, payload, told, until
from tests.core.helpers import MIXED, tell
from tests.patience import PATIENT_S
from tuner import Optimizer
from tuner.compute.backend import ComputeCancelled, ComputeError, ComputeTimeout, WorkerDied
from tuner.compute.tasks import TASKS
from tuner.compute.worker_pool import Pool
from tuner.core.optimizer.strategy import Strategy

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pair():
    """Two workers for all tests: whatever one test kills is replaced."""
    async with Pool(2, back_off_s=0.01) as pool:
        yield pool


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def single():
    async with Pool(1, back_off_s=0.01) as pool:
        yield pool


async def at_rest(pool):
    """The workers of the pool, when all are there and none has anything to do."""
    await pool.ready()
    await until(lambda: pool.stats().busy == 0)
    return pool.pids()[1:-1]


def begun(pool):
    """How many workers have been sent their job."""
    return sum(slot.work is not None and slot.call is None and not slot.express for slot in pool._slots)


async def at_work(pool):
    await until(lambda: begun(pool) == 1)
    return pool.pids()[1:-1]


async def test_a_campaign_through_the_pool_is_bit_for_bit_the_optimizers_own(pair):
    def quality(setting):
        return -((setting["x"] - 0.7) ** 2) - 0.1 * abs(setting["k"] - 5) + 0.2 * (setting["c"] == "b")

    strategy = Strategy(draws=60, uniform=100, near=(30, 10))
    reference, fold, model = (
        Optimizer(MIXED, seed=5, budget=9, strategy=strategy, looks_per_part=1.0),  # no question but new parts'
        Optimizer(MIXED, seed=5, budget=9, looks_per_part=1.0),
        {},
    )
    for _ in range(9):
        proposal = reference.ask()
        found = await pair.submit("next_step", payload(fold) | {"state": fold.state() | model}).result(PATIENT_S)
        assert found["proposal"] == proposal.to_json()
        model = found["model"]
        fold.ledger.add_proposal(proposal)
        for optimizer in (reference, fold):
            tell(optimizer, proposal, quality, valid=lambda setting: setting["x"] < 1.5)
    assert fold.state() | model == reference.state()
    assert {t.kind for t in fold.ledger.trials.values()} == {"design", "improve", "refine"}


@pytest.mark.parametrize("name", sorted(TASKS))
async def test_every_task_gives_in_a_worker_what_it_gives_here(pair, name):
    data = payload(told(seed=2), points=5)
    assert await pair.submit(name, data).result(PATIENT_S) == TASKS[name](data)


async def test_a_finished_job_is_not_computed_again(pair):
    before = pair.stats()
    first = await pair.submit("ping", {"once": 1}, speculative=True).result(PATIENT_S)
    job = pair.submit("ping", {"once": 1})
    assert job.done
    assert await job.result(0.0) == first
    after = pair.stats()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 1)


async def test_an_equal_job_joins_the_one_that_runs(pair):
    before = pair.stats()
    jobs = [pair.submit("next_step", payload(told(seed=77))) for _ in range(3)]
    results = [await job.result(PATIENT_S) for job in jobs]
    assert results[0] == results[1] == results[2]
    after = pair.stats()
    assert (after.misses - before.misses, after.joins - before.joins) == (1, 2)


async def test_cancelling_the_last_hold_ends_the_worker_and_a_new_one_takes_its_place(pair):
    workers = await at_rest(pair)
    killed = pair.stats().killed
    jobs = [pair.submit("slices", minutes_of_work(cancel=1)) for _ in range(2)]
    await until(lambda: begun(pair) == 1)
    jobs[0].cancel()
    assert pair.stats().killed == killed
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)  # no worker need hear of its end
    jobs[1].cancel()
    with pytest.raises(ComputeCancelled):
        await jobs[1].result(PATIENT_S)
    await until(lambda: any(gone(pid) for pid in workers))
    assert pair.stats().killed == killed + 1
    for pid in workers:
        if not gone(pid):
            os.kill(pid, signal.SIGCONT)
    assert len(set(await at_rest(pair)) & set(workers)) == 1


async def test_a_queued_job_that_is_cancelled_costs_no_worker(single):
    workers = await at_rest(single)
    running = single.submit("slices", minutes_of_work(queued=1))
    queued = single.submit("question", payload(told(), queued=1))
    assert single.stats().queued == 1
    queued.cancel()
    assert single.stats().queued == 0
    assert (await at_work(single)) == workers
    running.cancel()


async def test_when_the_model_is_late_the_fallback_comes_although_every_worker_is_busy(single):
    await at_rest(single)
    late = single.submit("slices", minutes_of_work(late=1))
    with pytest.raises(ComputeTimeout, match="slices gave no result within"):
        await late.result(deadline_s=0.05)
    found = await single.submit("fallback", payload(told())).result(PATIENT_S)
    assert found["proposal"]["kind"] == "fallback"
    assert not late.done
    assert single.stats().busy == 1
    late.cancel()


async def test_a_real_job_takes_the_place_of_a_speculative_one_which_then_begins_anew(single):
    await at_rest(single)
    before = single.stats()
    ahead = single.submit("slices", minutes_of_work(ahead=1), speculative=True)
    await until(lambda: begun(single) == 1)
    real = single.submit("question", payload(told(), real=1))
    assert await real.result(PATIENT_S) is None
    after = single.stats()
    assert (after.preempted - before.preempted, after.killed - before.killed) == (1, 1)
    wasted_before = before.speculative_s - before.speculative_used_s
    assert after.speculative_s - after.speculative_used_s > wasted_before
    await until(lambda: begun(single) == 1 and single.stats().queued == 0)
    assert not ahead.done
    ahead.cancel()


async def test_a_speculative_job_that_was_not_begun_makes_room_without_a_kill(single):
    workers = await at_rest(single)
    before = single.stats()
    ahead = single.submit("slices", minutes_of_work(unbegun=1), speculative=True)
    assert single.stats().busy == 1
    assert await single.submit("question", payload(told(), unbegun=1)).result(PATIENT_S) is None
    assert single.stats().killed == before.killed
    assert await at_work(single) == workers
    ahead.cancel()


async def test_the_newest_speculative_job_makes_room(pair):
    workers = await at_rest(pair)
    older = pair.submit("slices", minutes_of_work(age=2), speculative=True)
    await until(lambda: begun(pair) == 1)
    newer = pair.submit("slices", minutes_of_work(age=1), speculative=True)
    await until(lambda: begun(pair) == 2)
    at_older = next(slot.worker.pid for slot in pair._slots if slot.work and slot.work.key == older.key)
    await pair.submit("question", payload(told(), room=1)).result(PATIENT_S)
    await until(lambda: any(gone(pid) for pid in workers))
    assert [pid for pid in workers if not gone(pid)] == [at_older]
    for job in (older, newer):
        job.cancel()


async def test_a_speculative_job_that_becomes_needed_keeps_its_worker_as_long_as_it_is(single):
    await at_rest(single)
    before = single.stats()
    ahead = single.submit("slices", minutes_of_work(needed=1), speculative=True)
    await until(lambda: begun(single) == 1)
    needed = single.submit("slices", minutes_of_work(needed=1))
    other = single.submit("question", payload(told(), needed=1))
    assert single.stats().joins == before.joins + 1
    assert single.stats().preempted == before.preempted
    assert single.stats().queued == 1
    needed.cancel()
    assert single.stats().preempted == before.preempted + 1
    assert await other.result(PATIENT_S) is None
    assert not ahead.done
    ahead.cancel()


async def test_real_jobs_go_first_and_then_the_oldest(single):
    await at_rest(single)
    blocker = single.submit("slices", minutes_of_work(order=0))
    order = []

    async def note(name, *, speculative):
        await single.submit("question", payload(told(), order=name), speculative=speculative).result(PATIENT_S)
        order.append(name)

    async with asyncio.TaskGroup() as group:
        for name, speculative in (("ahead 1", True), ("real 1", False), ("ahead 2", True), ("real 2", False)):
            group.create_task(note(name, speculative=speculative))
        await until(lambda: single.stats().queued == 4)
        blocker.cancel()
    assert order == ["real 1", "real 2", "ahead 1", "ahead 2"]


async def test_a_job_whose_worker_is_killed_is_tried_again(single):
    (worker,) = await at_rest(single)
    died = single.stats().died
    data = payload(told(seed=9), strategy={"draws": 4000})
    job = single.submit("next_step", data)
    await until(lambda: begun(single) == 1)
    os.kill(worker, signal.SIGKILL)
    assert await job.result(PATIENT_S) == TASKS["next_step"](data)
    assert single.stats().died == died + 1
    assert single.pids()[1] != worker


async def test_a_job_under_which_three_workers_die_is_given_up(single):
    await at_rest(single)
    job = single.submit("slices", minutes_of_work(poison=1))
    for _ in range(3):
        (worker,) = await at_work(single)
        os.kill(worker, signal.SIGKILL)
        await until(lambda pid=worker: gone(pid) and pid not in single.pids())
    with pytest.raises(WorkerDied, match="3 workers died under it"):
        await job.result(PATIENT_S)
    assert await single.submit("question", payload(told(), poison=2)).result(PATIENT_S) is None


async def test_an_idle_worker_that_dies_is_replaced_before_it_is_needed(pair):
    workers = await at_rest(pair)
    os.kill(workers[0], signal.SIGKILL)
    await until(lambda: workers[0] not in pair.pids() and pair.stats().workers == 2)


async def test_workers_are_replaced_also_after_their_fork_server_was_killed(single):
    (worker,) = await at_rest(single)
    fork_server = single.pids()[-1]
    os.kill(fork_server, signal.SIGKILL)
    await until(lambda: gone(fork_server))
    os.kill(worker, signal.SIGKILL)
    assert await single.submit("question", payload(told(), fork_server=1)).result(PATIENT_S) is None
    assert single.pids()[-1] not in (fork_server, worker)


@pytest.mark.slow
async def test_a_fork_server_that_hangs_is_replaced():
    async with Pool(1, back_off_s=0.01) as pool:
        await pool.ready()
        pool._fork_server._start_deadline_s = 0.2
        fork_server = pool.pids()[-1]
        os.kill(fork_server, signal.SIGSTOP)
        os.kill(pool.pids()[1], signal.SIGKILL)
        await until(lambda: gone(fork_server))
        pool._fork_server._start_deadline_s = PATIENT_S
        assert await pool.submit("question", payload(told())).result(PATIENT_S) is None


async def test_a_task_that_fails_tells_why_and_its_worker_lives_on(single):
    workers = await at_rest(single)
    data = payload(told())
    with pytest.raises(ComputeError, match=r"next_step failed: ValueError: this is no state of version 2: 7"):
        await single.submit("next_step", data | {"state": data["state"] | {"version": 7}}).result(PATIENT_S)
    with pytest.raises(ComputeError, match="dance failed: ValueError: there is no such task"):
        await single.submit("dance", {}).result(PATIENT_S)
    assert await at_rest(single) == workers


async def test_workers_ignore_ctrl_c_run_on_one_thread_and_stand_back_for_the_daemon(pair):
    workers = await at_rest(pair)
    for pid in workers:
        os.kill(pid, signal.SIGINT)
    # large enough for BLAS to share the work among threads, if it had any
    jobs = [pair.submit("next_step", payload(told(seed=i), strategy={})) for i in range(2)]
    assert [(await job.result(PATIENT_S))["proposal"]["number"] for job in jobs] == [9, 9]
    assert await at_rest(pair) == workers
    own = os.getpriority(os.PRIO_PROCESS, 0)
    for pid in workers:
        assert os.getpriority(os.PRIO_PROCESS, pid) == min(own + 5, 19)
        assert threads(pid) == 2  # the one that computes and the one that listens


def threads(pid):
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


async def test_the_loop_goes_on_while_large_jobs_come_and_go(pair, record_property):
    await at_rest(pair)
    gaps_ms, stop = [], asyncio.Event()

    async def tick():
        last = time.perf_counter()
        while not stop.is_set():
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            gaps_ms.append(1e3 * (now - last))
            last = now

    ticker = asyncio.create_task(tick())
    filler = {f"word {i}": [0.1 * i, "x" * 20] for i in range(2000)}  # some 100 kB
    for number in range(10):
        job = pair.submit("ping", filler | {"number": number})
        assert (await job.result(PATIENT_S))["number"] == number
        await pair.submit("question", payload(told(), tick=number)).result(PATIENT_S)
    stop.set()
    await ticker
    record_property("largest gap of the loop, ms", max(gaps_ms))
    assert len(gaps_ms) > 20


async def test_a_pool_that_closes_ends_its_workers_and_whoever_waits_hears_of_it():
    async with Pool(1) as pool:
        await pool.ready()
        processes = pool.pids()
        running = pool.submit("slices", minutes_of_work())
        queued = pool.submit("question", payload(told()))
    for job in (running, queued):
        with pytest.raises(ComputeCancelled, match="closed"):
            await job.result(PATIENT_S)
    with pytest.raises(ComputeCancelled, match="closed"):
        pool.submit("ping", {})
    assert len(processes) == 3
    await until(lambda: all(gone(pid) for pid in processes))


async def test_a_pool_may_close_while_its_workers_still_start():
    async with Pool(1) as pool:
        job = pool.submit("ping", {})
    assert pool.pids() == []
    with pytest.raises(ComputeCancelled):
        await job.result(PATIENT_S)


async def test_where_no_worker_can_be_started_jobs_fail_instead_of_waiting(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    async with Pool(1, back_off_s=0.001) as pool:
        with pytest.raises(WorkerDied, match="no worker process can be started"):
            await pool.submit("ping", {}).result(PATIENT_S)


async def test_a_pool_without_workers_is_refused():
    with pytest.raises(ValueError, match="at least one worker"):
        Pool(0)
