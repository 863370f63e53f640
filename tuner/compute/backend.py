"""What the daemon may ask of whatever computes for it: jobs named by their content, their results and their errors.

A job is the name of a function of `tuner.compute.tasks` and a JSON payload. The functions are pure, so a job's key is
the hash of both, and a result that was computed ahead is simply a finished job with the same key.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from tuner.errors import TunerError

Json = Any  # None, bool, number, text, list or dict of these


class ComputeError(TunerError):
    """A job gave no result; as such: its task failed, and would fail again."""


class ComputeTimeout(ComputeError):  # noqa: N818 - the name says what happened
    """The result is not there yet; the job goes on, and asking again may help."""

    exit_code = 75


class ComputeCancelled(ComputeError):  # noqa: N818 - the name says what happened
    """The last holder of the job gave it up, or the backend was closed."""


class WorkerDied(ComputeError):  # noqa: N818 - the name says what happened
    """Workers died under the job again and again; trying later may help, for example when memory is free."""

    exit_code = 75


@dataclass(frozen=True)
class Stats:
    """Counts since the start, and what is under way now.

    Attributes:
        workers: Workers ready for a job or at one.
        busy: Workers at a job.
        queued: Jobs that wait for a worker.
        hits: Submissions whose result was there already.
        joins: Submissions of a job that was queued or running.
        misses: Submissions that had to be computed.
        killed: Workers ended by us, to cancel a job or to make room for a real one.
        preempted: How many of these made room for a real job.
        died: Workers that ended by themselves.
        speculative_s: Worker time spent on jobs that were speculative when they began.
        speculative_used_s: How much of it went into results that a real submission used.
    """

    workers: int = 0
    busy: int = 0
    queued: int = 0
    hits: int = 0
    joins: int = 0
    misses: int = 0
    killed: int = 0
    preempted: int = 0
    died: int = 0
    speculative_s: float = 0.0
    speculative_used_s: float = 0.0


class Job(Protocol):
    """One holder's hold on a job; several holders may share the work."""

    @property
    def key(self) -> str:
        """The hash of its content."""

    @property
    def done(self) -> bool:
        """Whether `result` returns, or raises, at once."""

    async def result(self, deadline_s: float | None = None) -> Json:
        """Return the result, a copy of the caller's own; cancelling the wait does not cancel the job.

        Args:
            deadline_s: How long to wait; None: as long as it takes.

        Raises:
            ComputeTimeout: It is not there in time; the job goes on.
            ComputeCancelled: This job was cancelled by all who held it, or the backend closed.
            WorkerDied: Workers died under it, also when it was tried again.
            ComputeError: The task failed.
        """

    def cancel(self) -> None:
        """Let go of the job; when the last holder does, it is dropped from the queue or its worker is ended."""


class Backend(Protocol):
    """A pool of workers on this machine, or a cluster."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...

    def submit(self, name: str, payload: Mapping[str, Json], *, speculative: bool = False) -> Job:
        """Take a job, or join the equal one that is queued, running or finished; returns at once."""

    def stats(self) -> Stats:
        """Return what was done and what is under way."""


def canonical(name: str, payload: Mapping[str, Json]) -> bytes:
    """Return a job as bytes: equal jobs give equal bytes."""
    try:
        text = json.dumps({"name": name, "payload": payload}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ComputeError(f"the payload of {name!r} is not JSON: {error}") from error
    return text.encode()


def job_key(request: bytes) -> str:
    """Return the key of a job given as `canonical` bytes."""
    return hashlib.sha256(request).hexdigest()
