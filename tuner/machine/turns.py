"""Whose turn it is at a machine: one call at a time, in their order; patient ones when nobody else waits."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator


class Turns:
    """A lock with two queues."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._patient: deque[asyncio.Future[None]] = deque()
        self.taken = False

    @contextlib.asynccontextmanager
    async def turn(self, *, patient: bool = False) -> AsyncIterator[None]:
        """Wait for a turn, and have it."""
        if self.taken:
            mine = asyncio.get_running_loop().create_future()
            (self._patient if patient else self._waiting).append(mine)
            try:
                await mine
            except asyncio.CancelledError:
                if mine.done() and not mine.cancelled() and mine.exception() is None:  # it came, but too late
                    self._pass_on()
                raise
        self.taken = True
        try:
            yield
        finally:
            self._pass_on()

    def drop(self, error: Exception) -> None:
        """Send the patient ones that wait away with an error."""
        while self._patient:
            if not (mine := self._patient.popleft()).done():
                mine.set_exception(error)

    def _pass_on(self) -> None:
        self.taken = False
        for queue in (self._waiting, self._patient):
            while queue:
                if not (mine := queue.popleft()).done():
                    self.taken = True  # nobody comes in between
                    mine.set_result(None)
                    return
