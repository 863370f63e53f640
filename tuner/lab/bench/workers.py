"""Runs tasks in worker processes of one BLAS thread each; the results are the same however many workers there are."""

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

from tuner.basics.threads import one_blas_thread

R = TypeVar("R")
Task = tuple[object, ...]


def run_all(function: Callable[..., R], tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, R]]:
    """Yield each task with its result, in the order in which they are done; if one fails the rest is given up.

    The workers are started afresh (spawn), even a single one: only then is the number of BLAS threads ours to say.
    """
    one_blas_thread()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_at_once) as pool:
        futures = {pool.submit(function, *task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _end_at_once() -> None:
    """Let Ctrl-C end a worker without a traceback of its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
