"""Hard work that is done one piece at a time, and whose turn it is."""

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import AsyncIterator

from tuner.basics.sentences import say
from tuner.campaign.decide import Refusal

MOST_WAITING = 10  # in one line, if nothing else is said


class Turns:
    """Clients take turns, and so do the lines of one client: whoever asks too much waits for himself."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, OrderedDict[str, deque[asyncio.Future[None]]]] = OrderedDict()
        self._taken = False

    @contextlib.asynccontextmanager
    async def of(self, client: str, line: str = "", most: int = MOST_WAITING) -> AsyncIterator[None]:
        """Wait for this line's turn, and have it; at most so many wait in the line.

        Raises:
            Refusal: Too many wait in this line already.
        """
        if self._taken:
            await self._wait(client, line, most)
        self._taken = True
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, client: str, line: str, most: int) -> None:
        waiting = self._lines.setdefault(client, OrderedDict()).setdefault(line, deque())
        if len(waiting) >= most:
            raise Refusal("busy", say("daemon.busy_queue"))
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        self._taken = False
        while self._lines and not self._taken:
            client, lines = self._lines.popitem(last=False)
            line, waiting = lines.popitem(last=False)
            turn = waiting.popleft()
            if waiting:
                lines[line] = waiting  # behind the client's other lines
            if lines:
                self._lines[client] = lines  # behind the other clients
            if not turn.done():  # else nobody waits any more
                self._taken = True
                turn.set_result(None)
