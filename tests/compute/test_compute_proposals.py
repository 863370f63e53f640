"""There is a proposal in any case, and where there cannot be one there is a sentence."""

import asyncio
import contextlib
import os
import signal

import pytest
from distributed import LocalCluster

from tests.compute.helpers import payload, told, until
from tuner.compute import proposals
from tuner.compute.backend import ComputeError, WorkerDied
from tuner.compute.dask import DaskBackend
from tuner.compute.proposals import next_step
from tuner.compute.tasks import TASKS
from tuner.compute.worker_pool import Pool

SOON_S = 60.0


@pytest.mark.asyncio
async def test_where_every_worker_dies_a_cheap_proposal_is_computed_here():
    data = payload(told(seed=3), strategy={"draws": 30_000})
    async with Pool(1, back_off_s=0.0) as pool:
        await pool.ready()
        asked = asyncio.create_task(next_step(pool, data, SOON_S))
        while not asked.done():
            for pid in pool.pids()[:-1]:  # the fork server lives: workers come as fast as they go
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0)
        result, why = asked.result()
    assert "workers died" in why
    assert result == TASKS["fallback"](data)


@pytest.mark.asyncio
async def test_a_model_that_answers_needs_no_other():
    data = payload(told(seed=3))
    async with Pool(1) as pool:
        assert await next_step(pool, data, SOON_S) == (TASKS["next_step"](data), "")


@pytest.mark.slow
@pytest.mark.asyncio
async def test_what_cannot_be_computed_anywhere_is_a_sentence():
    async with Pool(1) as pool:
        with pytest.raises(ComputeError, match="fallback failed: KeyError: 'space'"):
            await next_step(pool, {"state": {}}, SOON_S)


@pytest.mark.slow
@pytest.mark.asyncio
async def test_the_same_sentence_comes_from_the_daemon_itself(monkeypatch):
    monkeypatch.setattr(proposals, "CHEAP_S", 0.0)
    async with Pool(1) as pool:
        with pytest.raises(ComputeError, match="fallback failed: KeyError: 'space'"):
            await next_step(pool, {"state": {}}, SOON_S)


@pytest.mark.asyncio
async def test_a_dask_scheduler_that_comes_back_is_found_again_and_meanwhile_jobs_fail_at_once():
    options = {"processes": False, "asynchronous": True, "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    options |= {"protocol": "tcp://", "host": "127.0.0.1"}
    cluster = await LocalCluster(n_workers=1, **options)
    address = cluster.scheduler_address
    port = int(address.rpartition(":")[2])
    async with DaskBackend(address, connect_deadline_s=2.0) as backend:
        assert await backend.submit("ping", {"n": 1}).result(SOON_S) == {"n": 1}
        await cluster.close()
        await until(lambda: not backend._is_there())
        with pytest.raises(WorkerDied, match="away"):
            await backend.submit("ping", {"n": 2}).result(SOON_S)
        assert backend.stats().workers == 0
        data = payload(told(seed=3))
        result, why = await next_step(backend, data, SOON_S)
        assert "away" in why
        assert result == TASKS["fallback"](data)
        async with LocalCluster(n_workers=1, scheduler_port=port, **options):
            await until(backend._is_there)
            assert await backend.submit("ping", {"n": 3}).result(SOON_S) == {"n": 3}
