"""Computes jobs on a Dask cluster that exists already, with the same results as the pool.

The cluster's workers need the same versions of process-tuner, numpy and scipy, and one BLAS thread (Dask's nannies see
to that). What Dask cannot do: a job that runs is not ended when it is cancelled, and never makes room for another one.
"""

import asyncio
import contextlib
import logging
from dataclasses import asdict
from importlib import import_module
from typing import Any, Self

from tuner.basics.sentences import say
from tuner.compute.backend import ComputeError, Stats, WorkerDied
from tuner.compute.jobs import Computation, Jobs
from tuner.compute.worker import answer

REAL, AHEAD = 10, 0  # Dask's priorities: the larger goes first
CONNECT_DEADLINE_S = 30.0
RETRIES = 2  # of a job that the cluster lost
BACK_OFF_S = 0.5
LONGEST_BACK_OFF_S = 30.0

log = logging.getLogger(__name__)


class DaskBackend(Jobs):
    """A Dask cluster, whose scheduler listens at `address`; implements `tuner.compute.backend.Backend`."""

    def __init__(self, address: str, *, connect_deadline_s: float = CONNECT_DEADLINE_S) -> None:
        super().__init__()
        self._address = address
        self._connect_deadline_s = connect_deadline_s
        self._distributed: Any = None  # the package, which need not be installed, and untyped
        self._client: Any = None
        self._runs: dict[Computation, dict[int, asyncio.Task[None]]] = {}  # by priority
        self._tasks: set[asyncio.Task[None]] = set()
        self._reconnecting: asyncio.Task[None] | None = None
        self._sent = 0

    async def __aenter__(self) -> Self:
        try:
            self._distributed = import_module("distributed")
        except ImportError as error:
            raise ComputeError("a Dask cluster needs the packages of the extra process-tuner[dask]") from error
        try:
            self._client = await self._connected()
        except (OSError, ValueError) as error:
            raise ComputeError(f"no Dask scheduler answers at {self._address}: {error}") from error
        return self

    async def _connected(self) -> Any:
        return await self._distributed.Client(
            self._address, asynchronous=True, set_as_default=False, timeout=self._connect_deadline_s
        )

    async def __aexit__(self, *error: object) -> None:
        """Disconnect; the cluster drops what nobody asks for any more."""
        self._close_books()
        tasks = [*self._tasks, *([self._reconnecting] if self._reconnecting else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    def stats(self) -> Stats:
        """Return what was done and what is under way; Dask does not say which of it runs, so that is an estimate."""
        identity: dict[str, Any] = dict(self._client.scheduler_info()) if self._is_there() else {}
        workers = int(identity.get("total_threads", 0))
        busy = min(workers, len(self._under_way))
        return Stats(workers=workers, busy=busy, queued=len(self._under_way) - busy, **asdict(self.counts))

    def _begin(self, work: Computation) -> None:
        self._runs[work] = {}
        self._send(work)

    def _weighed(self, work: Computation) -> None:
        # a priority cannot be changed: send it again before all that is speculative; whichever is done first counts
        if not work.speculative and REAL not in self._runs[work]:
            self._send(work)

    def _abandon(self, work: Computation) -> None:
        for task in self._runs.pop(work, {}).values():
            task.cancel()

    def _is_there(self) -> bool:
        return self._client is not None and self._client.status == "running"

    def _send(self, work: Computation) -> None:
        if self._client is None:
            raise ComputeError("the Dask cluster is not connected")
        if not self._is_there():
            self._look_for_it()
            self._settle(work, WorkerDied(say("compute.dask_away", task=work.name)))
            self._abandon(work)
            return
        self._sent += 1
        priority = AHEAD if work.speculative else REAL
        future = self._client.submit(
            answer,
            work.request,
            key=f"tuner-{work.name}-{work.key}-{self._sent}",  # a number, because a cancelled key cannot be used again
            priority=priority,
        )
        task = asyncio.create_task(self._await(work, future), name="compute on Dask")
        self._runs[work][priority] = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _await(self, work: Computation, future: Any) -> None:
        try:
            reply = await future
        except (self._distributed.KilledWorker, self._distributed.client.FutureCancelledError) as error:
            if self._lost(work, error):
                return
        except Exception as error:  # noqa: BLE001 - whatever Dask raises, those who wait must hear of it
            self._settle(work, ComputeError(say("compute.failed", task=work.name, error=str(error))))
        else:
            self._answered(work, reply)
        finally:
            with contextlib.suppress(Exception):  # of a cluster that is away
                future.release()
        for other in self._runs.pop(work, {}).values():
            if other is not asyncio.current_task():
                other.cancel()

    def _lost(self, work: Computation, error: Exception) -> bool:
        """See what to do about a job whose workers, or whose scheduler, are gone; say whether it is sent again."""
        self.counts.died += 1
        work.tries += 1
        log.warning("the Dask cluster lost %s: %s", work.name, error)
        if not self._is_there():
            self._look_for_it()
        elif work.tries <= RETRIES and work in self._runs and not work.outcome.done():
            self._send(work)
            return True
        self._settle(work, WorkerDied(say("compute.dask_lost", task=work.name, error=str(error))))
        return False

    def _look_for_it(self) -> None:
        """A scheduler that went away may come back at the same address; until then others must do without it."""
        if self._reconnecting is None or self._reconnecting.done():
            self._reconnecting = asyncio.create_task(self._reconnect(), name="reconnect to Dask")

    async def _reconnect(self) -> None:
        attempt = 0
        while not self._is_there():
            await asyncio.sleep(min(BACK_OFF_S * 2.0**attempt, LONGEST_BACK_OFF_S))
            attempt += 1
            try:
                client = await self._connected()
            except Exception as error:  # noqa: BLE001 - it is tried again, whatever it was
                log.warning("the Dask cluster at %s is away: %s", self._address, error)
                continue
            before, self._client = self._client, client
            with contextlib.suppress(Exception):
                await before.close()
            log.info("the Dask cluster at %s is back", self._address)
