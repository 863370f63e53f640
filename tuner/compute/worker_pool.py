"""Computes jobs in worker processes of this machine, real ones before those that are only likely to be needed."""

import asyncio
import logging
from dataclasses import asdict, dataclass
from typing import Self

from tuner.basics.sentences import say
from tuner.compute.backend import Stats, WorkerDied
from tuner.compute.fork_server import ForkServer, Worker, WorkerLostError
from tuner.compute.jobs import CACHE_COUNT, Computation, Jobs

RETRIES = 2
BACK_OFF_S = 0.1
LONGEST_BACK_OFF_S = 10.0
HOPELESS = 3  # starts that failed one after the other
EXPRESS = frozenset({"fallback", "ping"})  # milliseconds each
FIRST = frozenset({"next_step", *EXPRESS})  # a machine waits for these, the others are for people's screens

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Slot:
    """The place of one worker, which is replaced when it ends.

    Attributes:
        express: Whether it is kept free for jobs of milliseconds.
        starting: Whether its next worker is about to be there.
        work: What the worker is at; None if it is idle, or if we have just ended it.
        call: Wakes the idle worker; None while it is at work.
        failures: How many workers ended by themselves since the last answer.
    """

    express: bool = False
    worker: Worker | None = None
    starting: bool = True
    work: Computation | None = None
    call: asyncio.Future[None] | None = None
    began_s: float = 0.0
    began_ahead: bool = False
    failures: int = 0


class Pool(Jobs):
    """Worker processes with one BLAS thread each; implements `tuner.compute.backend.Backend`.

    Real jobs go first; one that finds no idle worker takes that of the newest speculative job, which is queued again.
    One more worker waits for fallbacks: they are asked for when the others are late. A worker that ended by itself is
    replaced after `back_off_s`, doubled each time.
    """

    def __init__(self, workers: int, *, cache_count: int = CACHE_COUNT, back_off_s: float = BACK_OFF_S) -> None:
        if workers < 1:
            raise ValueError(f"a pool has at least one worker, not {workers}")
        super().__init__(cache_count=cache_count)
        self._slots = [_Slot(express=True), *(_Slot() for _ in range(workers))]
        self._queue: dict[str, Computation] = {}
        self._back_off_s = back_off_s
        self._fork_server = ForkServer()
        self._tasks: list[asyncio.Task[None]] = []
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Begin to start the workers; jobs may be submitted at once."""
        self._tasks = [asyncio.create_task(self._keep(slot), name="compute worker") for slot in self._slots]
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._queue.clear()
        self._close_books()
        await self._fork_server.close()

    async def ready(self) -> None:
        """Wait until every worker is there."""
        while not all(slot.worker for slot in self._slots):
            self._changed.clear()
            await self._changed.wait()

    def pids(self) -> list[int]:
        """Return the process numbers of the workers, that for fallbacks first, and of their fork server last."""
        running = [slot.worker.pid for slot in self._slots if slot.worker is not None]
        return running if self._fork_server.pid is None else [*running, self._fork_server.pid]

    def stats(self) -> Stats:
        """Return what was done and what is under way."""
        ordinary = [slot for slot in self._slots if not slot.express]
        return Stats(
            workers=sum(slot.worker is not None for slot in ordinary),
            busy=sum(slot.work is not None for slot in ordinary),
            queued=len(self._queue),
            **asdict(self.counts),
        )

    def _begin(self, work: Computation) -> None:
        self._queue[work.key] = work
        self._dispatch()

    def _weighed(self, work: Computation) -> None:
        self._dispatch()

    def _abandon(self, work: Computation) -> None:
        self._queue.pop(work.key, None)
        for slot in self._slots:
            if slot.work is work:
                self._end(slot)

    def _dispatch(self) -> None:
        """Give queued work to idle workers, real work first; end speculative work where real work waits."""
        waiting = sorted(self._queue.values(), key=lambda work: (work.speculative, work.name not in FIRST, work.order))
        for slot in self._slots:
            fitting = [work for work in waiting if not slot.express or work.name in EXPRESS]
            if fitting and slot.call is not None and not slot.call.done():
                slot.work = fitting[0]
                slot.call.set_result(None)
                waiting.remove(slot.work)
                del self._queue[slot.work.key]
        wanted = sum(not work.speculative and work.name not in EXPRESS for work in waiting)
        wanted -= sum(slot.starting and not slot.express for slot in self._slots)
        ahead = [(slot.work.order, slot) for slot in self._slots if slot.work is not None and slot.work.speculative]
        newest = sorted((pair for pair in ahead if not pair[1].express), key=lambda pair: pair[0], reverse=True)
        for _, slot in newest[: max(wanted, 0)]:
            self._preempt(slot)

    def _preempt(self, slot: _Slot) -> None:
        if slot.work is not None:
            self._queue[slot.work.key] = slot.work
            self.counts.preempted += self._end(slot)

    def _end(self, slot: _Slot) -> bool:
        """End what the slot is at by killing its worker, unless that has not begun yet; say whether it was killed.

        The next worker is on its way at once.
        """
        if slot.call is not None:
            slot.work = None
            return False
        self.counts.killed += 1
        self._spent(slot)
        worker, slot.worker = slot.worker, None
        slot.work, slot.starting = None, True
        if worker is not None:
            worker.end()
        return True

    def _spent(self, slot: _Slot) -> float:
        """Account for the time of a run that began ahead of need; return it."""
        if not slot.began_ahead:
            return 0.0
        slot.began_ahead = False
        spent_s = asyncio.get_running_loop().time() - slot.began_s
        self.counts.speculative_s += spent_s
        return spent_s

    async def _keep(self, slot: _Slot) -> None:
        """Keep a worker in the slot, and at work, for ever."""
        while True:
            if slot.failures:
                slot.starting = False
                self._dispatch()
                await asyncio.sleep(min(self._back_off_s * 2.0 ** (slot.failures - 1), LONGEST_BACK_OFF_S))
            slot.starting = True
            try:
                worker = await self._fork_server.worker()
            except OSError as error:  # it did not come to be, or there is no descriptor left for it
                self._lost(slot, error)
                continue
            except Exception as error:  # such as a greeting that is none
                log.exception("a compute worker could not be started")
                self._lost(slot, WorkerLostError(f"{type(error).__name__}: {error}"))
                continue
            slot.worker, slot.starting = worker, False
            self._changed.set()
            try:
                await self._feed(slot, worker)
            except WorkerLostError as error:
                if slot.worker is worker:  # otherwise we ended it ourselves
                    self._lost(slot, error)
            except Exception as error:  # a slot must not stay empty, whatever went wrong with its worker
                log.exception("a compute worker is replaced")
                self._lost(slot, WorkerLostError(f"{type(error).__name__}: {error}"))
            finally:
                worker.end()
                slot.worker, slot.call = None, None

    async def _feed(self, slot: _Slot, worker: Worker) -> None:
        """Give the worker one job after the other, until it is lost."""
        loop = asyncio.get_running_loop()
        while True:
            slot.call = loop.create_future()
            self._dispatch()
            await asyncio.wait([slot.call, worker.lost], return_when=asyncio.FIRST_COMPLETED)
            slot.call = None
            work = slot.work
            if worker.lost.done() and work is None:
                raise WorkerLostError("an idle worker ended")
            if work is None:
                continue  # it was given up before it was begun
            slot.began_s, slot.began_ahead = loop.time(), work.speculative
            reply = await worker.ask(work.request)
            slot.failures = 0
            if slot.work is work:
                work.ahead_s += self._spent(slot)
                slot.work = None
                self._answered(work, reply)

    def _lost(self, slot: _Slot, error: OSError) -> None:
        slot.failures += 1
        self.counts.died += 1
        log.warning("a compute worker was lost: %s", error)
        work, slot.work = slot.work, None
        if work is not None:
            self._spent(slot)
            work.tries += 1
            if work.tries > RETRIES:
                self._settle(work, WorkerDied(say("compute.died", task=work.name, tries=work.tries)))
            else:
                self._queue[work.key] = work
        if all(other.worker is None and other.failures >= HOPELESS for other in self._slots):
            self._give_up()

    def _give_up(self) -> None:
        """Fail what is queued: no worker can be started, and waiting in silence helps nobody."""
        for work in list(self._queue.values()):
            self._settle(work, WorkerDied(say("compute.no_worker", task=work.name)))
        self._queue.clear()
