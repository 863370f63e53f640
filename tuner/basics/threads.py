"""One BLAS thread, because two are slower and replay is bit for bit only with one; and a thread for hard work."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_NAMES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def one_blas_thread() -> None:
    """Set it for this process, if numpy is not imported yet, and for every process it starts from now on."""
    for name in _NAMES:
        os.environ[name] = "1"


async def in_own_thread(work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Do hard work in a thread of its own, which waits for no other's.

    It has the priority of the process. A thread that stands back gets so little of a busy machine that a hash of a
    tenth of a second took over ten, and while it has the interpreter's lock the event loop waits for it too.
    """
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
            result = work(*arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has ended, and who waited with it
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name=getattr(work, "__name__", "own"), daemon=True).start()
    return await done
