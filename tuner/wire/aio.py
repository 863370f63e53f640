"""The asyncio client: many requests at once over one connection, and events as an async iterator."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, Self

import zmq
import zmq.asyncio

from tuner.errors import TunerError, UnreachableError
from tuner.wire import exchange
from tuner.wire.base import BaseClient, Body, Errand, Line, LinkLostError
from tuner.wire.endpoint import Link, prepare
from tuner.wire.errors import ProtocolError
from tuner.wire.follow import Item
from tuner.wire.messages import Reply
from tuner.wire.operation import A, Call
from tuner.wire.patient_clock import LOOK_S, PatientClock


class _Line:
    """A connection that many use at once: knows who waits for which answer."""

    def __init__(self, context: zmq.asyncio.Context, link: Link, heard: Callable[[], None]) -> None:
        self._heard = heard
        self.watch = exchange.Watch(link)
        self._waiting: dict[str, asyncio.Future[Reply]] = {}
        self._dealer = context.socket(zmq.DEALER)
        prepare(self._dealer, link.requests, link.key)
        self._monitor: Any = self._dealer.get_monitor_socket(exchange.WATCHED)
        self._dealer.connect(link.requests)
        self.tasks = (asyncio.create_task(self._read()), asyncio.create_task(self._observe()))

    async def ask(self, errand: Errand, find_s: float, wait_s: float) -> Reply:
        clock = errand.clock
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[errand.request_id] = future
        sending = asyncio.ensure_future(self._dealer.send(errand.frame))
        until_s = clock() + wait_s
        try:
            # a connection that will never be fails the future while nothing can be sent
            await _first((sending, future), find_s, clock)
            if sending.done() and not sending.cancelled() and sending.exception() is None:
                errand.sent = True
            await _first((future,), until_s - clock(), clock)
            return future.result()
        finally:
            sending.cancel()
            if self._waiting.get(errand.request_id) is future:
                del self._waiting[errand.request_id]

    def close(self, error: Exception | None = None) -> None:
        if self._dealer.closed:
            return
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error or LinkLostError())
                future.exception()  # known: whoever waits may have gone
        for task in self.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._dealer.disable_monitor()
        self._monitor.close(linger=0)
        self._dealer.close(linger=0)

    @property
    def usable(self) -> bool:
        return not self._dealer.closed

    async def _read(self) -> None:
        while True:
            frames = await self._dealer.recv_multipart()
            try:
                reply = exchange.decode(frames)
            except ProtocolError as error:  # nobody knows whose answer it was
                self.close(error)
                return
            self._heard()
            future = self._waiting.get(reply.id)
            if future is not None and not future.done():  # else an answer that comes twice, or too late
                future.set_result(reply)

    async def _observe(self) -> None:
        lost = False
        while not lost:
            frames = await self._monitor.recv_multipart()
            try:
                lost = self.watch.tell(frames)
            except TunerError as error:
                self.close(error)
                return
        self.close()


async def _first(futures: Sequence[asyncio.Future[Any]], wait_s: float, clock: PatientClock) -> None:
    until_s = clock() + wait_s
    while not any(future.done() for future in futures):
        left_s = until_s - clock()
        if left_s <= 0:
            raise TimeoutError
        await asyncio.wait(futures, timeout=min(left_s, LOOK_S), return_when=asyncio.FIRST_COMPLETED)


class AsyncClient(BaseClient):
    """An asyncio client; it belongs to one event loop, any number of tasks may use it at once.

    Make it with `AsyncClient.connect` or `AsyncClient.local` inside the loop, and close it, best with `async with`.
    """

    awaiting = True

    def __init__(
        self,
        link: Link,
        actor: str | None = None,
        find_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        context: zmq.asyncio.Context | None = None,
    ) -> None:
        super().__init__(link, actor, find_s, clock)
        self._own = context is None  # else it is shared by many clients, and whoever made it ends it
        self._context: zmq.asyncio.Context = context or zmq.asyncio.Context()
        self._ended: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Give the sockets back; what was not sent is not sent later, and who still waits is told so."""
        if isinstance(self._line, _Line):
            self._line.close(UnreachableError("the client was closed before the daemon answered"))
            self._line = None
        await asyncio.gather(*self._ended, return_exceptions=True)
        if self._own:
            self._context.destroy(linger=0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def request(
        self,
        op: str,
        campaign: str | None = None,
        body: Body = None,
        *,
        timeout_s: float | None = None,
        request_id: str | None = None,
    ) -> Reply:
        """Ask and wait for the answer; arguments and errors as of `Client.request`."""
        return await self._ask(op, campaign, body, timeout_s, request_id)

    async def ask_again(self, request_id: str, timeout_s: float | None = None) -> Reply:
        """Send a request that got no answer once more, with its id: it is done once only."""
        return await self._ask_again(request_id, timeout_s)

    async def call(self, call: Call[A], *, timeout_s: float | None = None, request_id: str | None = None) -> A:
        """Ask one of `tuner.wire.operations`; there is a method of the same name for each."""
        return await self._call(call, timeout_s, request_id)

    def events(self, *campaigns: str) -> AsyncGenerator[Item]:
        """Follow campaigns, all if none is named; as `Client.events`."""
        return self._follow(campaigns)

    def _open(self) -> Line:
        line = _Line(self._context, self.link, self._hear)
        for task in line.tasks:
            self._ended.add(task)
            task.add_done_callback(self._ended.discard)
        return line

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _next(self, subscription: Any, wait_s: float) -> list[bytes] | None:
        return await subscription.recv_multipart() if await subscription.poll(round(wait_s * 1000)) else None
