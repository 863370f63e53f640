import asyncio
import sys
import threading

import pytest
from distributed import LocalCluster

from tests.compute.helpers import payload, told, until
from tests.patience import PATIENT_S
from tuner.compute.backend import ComputeCancelled, ComputeError, ComputeTimeout, WorkerDied
from tuner.compute.dask import DaskBackend
from tuner.compute.tasks import TASKS


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "processes", [pytest.param(False, id="thread"), pytest.param(True, id="process", marks=pytest.mark.slow)]
)
async def test_a_dask_cluster_computes_what_the_pool_computes(processes):
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": processes, "dashboard_address": "127.0.0.1:0"}
    async with (
        LocalCluster(asynchronous=True, **options) as cluster,
        DaskBackend(cluster.scheduler_address) as backend,
    ):
        await until(lambda: len(cluster.scheduler.workers) == 1)
        data = payload(told(seed=2))
        jobs = [backend.submit("next_step", data), backend.submit("next_step", data, speculative=True)]
        results = [await job.result(PATIENT_S) for job in jobs]
        assert results == [TASKS["next_step"](data)] * 2
        again = backend.submit("next_step", data)
        assert again.done
        assert await again.result(0.0) == results[0]
        assert (backend.stats().misses, backend.stats().joins, backend.stats().hits) == (1, 1, 1)

        with pytest.raises(ComputeError, match="dance failed: ValueError: there is no such task"):
            await backend.submit("dance", {}).result(PATIENT_S)
        with pytest.raises(ComputeError, match="is not JSON"):
            backend.submit("ping", {"value": float("nan")})

        queued = backend.submit("ping", {"number": 10})
        queued.cancel()
        with pytest.raises(ComputeCancelled):
            await queued.result(PATIENT_S)
        left = backend.submit("next_step", payload(told(seed=6), strategy={"draws": 3000}))
    with pytest.raises(ComputeCancelled, match="closed"):
        await left.result(PATIENT_S)


@pytest.mark.asyncio
async def test_needed_work_passes_what_is_only_likely(monkeypatch):
    let_go = threading.Event()
    monkeypatch.setitem(TASKS, "hold", lambda data: {"waited": let_go.wait(PATIENT_S)})
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    order = []
    async with (
        LocalCluster(asynchronous=True, **options) as cluster,
        DaskBackend(cluster.scheduler_address) as backend,
    ):

        async def note(number, *, speculative):
            await backend.submit("ping", {"number": number}, speculative=speculative).result(PATIENT_S)
            order.append(number)

        blocker = backend.submit("hold", {})  # one thread: what is submitted while it is busy waits
        await until(lambda: any(worker.processing for worker in cluster.scheduler.workers.values()))
        waiting = [asyncio.create_task(note(number, speculative=True)) for number in range(4)]
        with pytest.raises(ComputeTimeout, match="ping gave no result within"):
            await backend.submit("ping", {"number": 9}, speculative=True).result(deadline_s=0.0)
        waiting.append(asyncio.create_task(note(3, speculative=False)))
        await until(lambda: backend._sent == 7)  # the blocker, five likely ones, and one of them again
        await until(lambda: any(str(key).endswith("-7") for key in cluster.scheduler.tasks))
        let_go.set()
        assert await blocker.result(PATIENT_S) == {"waited": True}
        await asyncio.gather(*waiting)
    # the scheduler hands one task more to the worker than it has threads
    assert [number for number in order if number != 0][:2] == [3, 3]


@pytest.mark.asyncio
async def test_a_job_on_a_cluster_that_goes_away_fails_instead_of_waiting():
    cluster = await LocalCluster(n_workers=0, processes=False, asynchronous=True, dashboard_address="127.0.0.1:0")
    async with DaskBackend(cluster.scheduler_address) as backend:
        job = backend.submit("ping", {})
        await until(lambda: len(cluster.scheduler.tasks) == 1)
        await cluster.close()
        with pytest.raises(WorkerDied, match="the Dask cluster lost it"):
            await job.result(PATIENT_S)


@pytest.mark.asyncio
async def test_an_address_where_nobody_answers_is_an_error_with_a_sentence():
    with pytest.raises(ComputeError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        async with DaskBackend("tcp://127.0.0.1:1", connect_deadline_s=0.2):
            pass


@pytest.mark.asyncio
async def test_without_dask_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ComputeError, match=r"process-tuner\[dask\]"):
        async with DaskBackend("tcp://127.0.0.1:1"):
            pass
