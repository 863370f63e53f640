"""Runs tasks in worker processes of one BLAS thread each, or on a Dask cluster.

The results are the same however many workers there are.
"""

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

from tuner.basics.processes import end_with_parent
from tuner.basics.threads import one_blas_thread
from tuner.errors import TunerError, UnreachableError

R = TypeVar("R")
Task = tuple[object, ...]

DASK_PATIENCE_S = 10


def run_all(function: Callable[..., R], tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, R]]:
    """Yield each task with its result, in the order in which they are done; if one fails the rest is given up.

    The workers are started afresh (spawn), even a single one: only then is the number of BLAS threads ours to say.
    """
    one_blas_thread()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_with_us) as pool:
        futures = {pool.submit(function, *task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def run_on_dask(function: Callable[..., R], tasks: Sequence[Task], names: Sequence[str], address: str) -> Iterator[R]:
    """Send the tasks to a cluster whose workers have this package; a lost worker's tasks are done again by others."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise TunerError("Dask is not installed: install process-tuner with the extra `dask`") from None
    try:
        client = Client(address, timeout=DASK_PATIENCE_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise UnreachableError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        # the first tasks first, whatever their names hash to
        futures = [
            client.submit(function, *task, key=name, pure=False, priority=-place)
            for place, (task, name) in enumerate(zip(tasks, names, strict=True))
        ]
        try:
            for future in as_completed(futures, loop=client.loop):  # type: ignore[no-untyped-call]
                yield future.result()
        finally:
            client.cancel(futures)  # type: ignore[no-untyped-call]


def _end_with_us() -> None:
    """Let Ctrl-C end a worker without a traceback of its own."""
    end_with_parent()  # one that waits for a task would not see that we are gone
    signal.signal(signal.SIGINT, signal.SIG_DFL)
