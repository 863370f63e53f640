"""One BLAS thread, because two are slower and replay is bit for bit only with one; and threads that stand back."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_MODEST = 10  # the niceness of work that may wait

_NAMES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def one_blas_thread() -> None:
    """Set it for this process, if numpy is not imported yet, and for every process it starts from now on."""
    for name in _NAMES:
        os.environ[name] = "1"


async def in_background(work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Do hard work in a thread that stands back: whoever waits for something else gets the processor first."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():  # nobody waits any more
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            _stand_back()
            result = work(*arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has ended, and who waited with it
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name=f"background {work.__name__}", daemon=True).start()
    return await done


def _stand_back() -> None:
    """This thread only: Linux has a niceness for each."""
    number = threading.get_native_id()
    with contextlib.suppress(OSError):  # where a sandbox forbids it, the work is as good
        os.setpriority(os.PRIO_PROCESS, number, max(_MODEST, os.getpriority(os.PRIO_PROCESS, number)))
