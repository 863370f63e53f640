"""The books of a backend: equal jobs are one piece of work with several holders, and finished work is remembered."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.basics.sentences import from_json, say
from tuner.compute.backend import ComputeCancelled, ComputeError, ComputeTimeout, Json, canonical, job_key
from tuner.compute.worker import DONE

CACHE_COUNT = 256
CACHE_BYTES = 16 * 2**20


@dataclass
class Counts:
    """What happened since the start; see `tuner.compute.backend.Stats`."""

    hits: int = 0
    joins: int = 0
    misses: int = 0
    killed: int = 0
    preempted: int = 0
    died: int = 0
    speculative_s: float = 0.0
    speculative_used_s: float = 0.0


@dataclass(eq=False)
class Computation:
    """A job that is queued, running or finished, for everybody who submitted it.

    Attributes:
        order: Its place among all submissions.
        outcome: The result as JSON bytes, or what went wrong: never an exception, so that nobody need look.
        tries: How often it was begun and not brought to an end.
        ahead_s: Worker time spent on its result while it was speculative.
    """

    name: str
    key: str
    request: bytes
    order: int
    outcome: asyncio.Future[bytes | ComputeError]
    holders: set["HeldJob"] = field(default_factory=set)
    tries: int = 0
    ahead_s: float = 0.0

    @property
    def speculative(self) -> bool:
        """Whether nobody needs it yet."""
        return all(holder.speculative for holder in self.holders)


class HeldJob:
    """One holder's hold on a piece of work; implements `tuner.compute.backend.Job`."""

    def __init__(self, jobs: "Jobs", work: Computation, *, speculative: bool) -> None:
        self.speculative = speculative
        self._jobs = jobs
        self._work = work

    @property
    def key(self) -> str:
        """The hash of its content."""
        return self._work.key

    @property
    def done(self) -> bool:
        """Whether `result` returns, or raises, at once."""
        return self._work.outcome.done()

    async def result(self, deadline_s: float | None = None) -> Json:
        """Return the result; see `tuner.compute.backend.Job`."""
        outcome = self._work.outcome
        if not outcome.done():
            await asyncio.wait([outcome], timeout=deadline_s)
        if not outcome.done():
            raise ComputeTimeout(say("compute.too_slow", task=self._work.name, seconds=deadline_s))
        found = outcome.result()
        if isinstance(found, ComputeError):
            raise type(found)(*found.args)  # a fresh one: each raise adds to an exception's traceback
        return json.loads(found)

    def cancel(self) -> None:
        """Let go of the job."""
        if self in self._work.holders:
            self._work.holders.remove(self)
            self._jobs.let_go(self._work)


class Jobs(ABC):
    """What backends share: joining equal jobs, and a cache of results bounded by count and bytes."""

    def __init__(self, *, cache_count: int = CACHE_COUNT, cache_bytes: int = CACHE_BYTES) -> None:
        self.counts = Counts()
        self._cache_count, self._cache_bytes = cache_count, cache_bytes
        self._under_way: dict[str, Computation] = {}
        self._finished: OrderedDict[str, Computation] = OrderedDict()
        self._finished_bytes = 0
        self._submissions = 0
        self._closed = False

    def submit(self, name: str, payload: Mapping[str, Json], *, speculative: bool = False) -> HeldJob:
        """Take a job or join the equal one; see `tuner.compute.backend.Backend`."""
        if self._closed:
            raise ComputeCancelled(say("compute.closed"))
        request = canonical(name, payload)
        key = job_key(request)
        self._submissions += 1
        if key in self._finished:
            self.counts.hits += 1
            return self._again(self._finished[key], speculative=speculative)
        work = self._under_way.get(key)
        if work is not None:
            self.counts.joins += 1
            waited = work.speculative
            job = self._hold(work, speculative=speculative)
            if waited and not speculative:
                self._weighed(work)
            return job
        self.counts.misses += 1
        work = Computation(name, key, request, self._submissions, asyncio.get_running_loop().create_future())
        self._under_way[key] = work
        job = self._hold(work, speculative=speculative)
        self._begin(work)
        return job

    def _hold(self, work: Computation, *, speculative: bool) -> HeldJob:
        job = HeldJob(self, work, speculative=speculative)
        work.holders.add(job)
        return job

    def _again(self, work: Computation, *, speculative: bool) -> HeldJob:
        """Return a hold on finished work, which needs no holder to stay."""
        self._finished.move_to_end(work.key)
        if not speculative:
            self._used(work)
        return HeldJob(self, work, speculative=speculative)

    def _used(self, work: Computation) -> None:
        self.counts.speculative_used_s += work.ahead_s
        work.ahead_s = 0.0

    def let_go(self, work: Computation) -> None:
        """Give work up if nobody holds it any more, unless it is finished."""
        if work.outcome.done():
            return
        if work.holders:
            self._weighed(work)
        else:
            self._settle(work, ComputeCancelled(say("compute.cancelled", task=work.name)))
            self._abandon(work)

    def _answered(self, work: Computation, reply: bytes) -> None:
        if reply[:1] == DONE:
            self._settle(work, reply[1:])
        else:
            self._settle(work, ComputeError(from_json(json.loads(reply[1:]))))

    def _settle(self, work: Computation, outcome: bytes | ComputeError) -> None:
        """End the work; only results are remembered: what failed may be tried again."""
        if work.outcome.done():
            return
        del self._under_way[work.key]
        work.outcome.set_result(outcome)
        if isinstance(outcome, bytes):
            if not work.speculative:
                self._used(work)
            self._remember(work, len(outcome))
        work.holders.clear()

    def _remember(self, work: Computation, size_bytes: int) -> None:
        work.request = b""  # a hundred times the size of most results
        self._finished[work.key] = work
        self._finished_bytes += size_bytes
        while len(self._finished) > self._cache_count or self._finished_bytes > self._cache_bytes:
            _, oldest = self._finished.popitem(last=False)
            found = oldest.outcome.result()
            self._finished_bytes -= len(found) if isinstance(found, bytes) else 0

    def _close_books(self) -> None:
        """Take no more jobs, and tell those who wait that there will be no result."""
        self._closed = True
        for work in list(self._under_way.values()):
            self._settle(work, ComputeCancelled(say("compute.cancelled_closed", task=work.name)))

    @abstractmethod
    def _begin(self, work: Computation) -> None:
        """See to it that the work gets done."""

    @abstractmethod
    def _weighed(self, work: Computation) -> None:
        """Somebody needs speculative work now, or somebody who needed it does no more."""

    @abstractmethod
    def _abandon(self, work: Computation) -> None:
        """Nobody holds the work any more."""
