"""What comes next in any case: what the model says, else a cheap proposal of a worker, else the same computed here."""

import asyncio
import logging
from collections.abc import Mapping

from tuner.compute.backend import Backend, ComputeCancelled, ComputeError, ComputeTimeout, Json, WorkerDied

CHEAP_S = 5.0  # it takes milliseconds where a worker is free

log = logging.getLogger(__name__)


async def next_step(backend: Backend, payload: Mapping[str, Json], deadline_s: float) -> tuple[Json, str]:
    """Return the answer of `tuner.compute.tasks.next_step`, and why it is not the model's; else nothing.

    Raises:
        ComputeCancelled: The backend was closed.
        ComputeError: There is no setting to propose; the text says why.
    """
    job = backend.submit("next_step", payload)
    try:
        return await job.result(deadline_s), ""
    except ComputeCancelled:
        raise
    except ComputeError as error:
        why = str(error)
    finally:
        job.cancel()
    cheap = backend.submit("fallback", payload)
    try:
        return await cheap.result(CHEAP_S), why
    except (ComputeTimeout, WorkerDied) as error:  # nothing is wrong with the question
        log.warning("a cheap proposal is computed in the daemon itself: %s", error)
    finally:
        cheap.cancel()
    return await asyncio.to_thread(_here, payload), why


def _here(payload: Mapping[str, Json]) -> Json:
    # imported when it is needed: scipy takes a second, and the daemon works without it
    from tuner.compute.tasks import fallback
    from tuner.compute.worker import failure

    try:
        return fallback(payload)
    except Exception as error:
        raise ComputeError(failure("fallback", error)) from error
