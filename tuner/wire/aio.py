"""The asyncio client: many requests at once over one connection, and events as an async iterator."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Self

import zmq
import zmq.asyncio
from zmq.utils.monitor import recv_monitor_message

from tuner.errors import TunerError, UnreachableError
from tuner.wire import calls, exchange, follow
from tuner.wire.attention import LOOK_S, Attention
from tuner.wire.base import BaseClient, Body
from tuner.wire.calls import A, Call
from tuner.wire.endpoint import SILENT_S, Link, prepare
from tuner.wire.errors import ProtocolError, RefusedReply
from tuner.wire.follow import Follower, Gap, Item
from tuner.wire.messages import Reply, Request


class _LinkLostError(Exception):
    """The connection broke while an answer was awaited."""


class _Line:
    """One connection to the requests' socket, with its monitor, and who waits for which answer."""

    def __init__(self, context: zmq.asyncio.Context, link: Link, heard: Callable[[], None]) -> None:
        self._heard = heard
        self.watch = exchange.Watch(link)
        self._waiting: dict[str, asyncio.Future[Reply]] = {}
        self._dealer = context.socket(zmq.DEALER)
        prepare(self._dealer, link.requests, link.key)
        self._monitor: Any = self._dealer.get_monitor_socket(exchange.WATCHED)
        self._dealer.connect(link.requests)
        self._closed = False
        self.tasks = (asyncio.create_task(self._read()), asyncio.create_task(self._observe()))

    async def ask(
        self,
        frame: bytes,
        request_id: str,
        times_s: tuple[float, float],
        attention: Attention,
        mark_sent: Callable[[], None],
    ) -> Reply:
        """Send as soon as there is a connection, and wait for the answer; the times are for the first and for both."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = future
        sending = asyncio.ensure_future(self._dealer.send(frame))
        find_s, wait_s = times_s
        until_s = attention() + wait_s
        try:
            # a connection that will never be fails the future while nothing can be sent
            await _first((sending, future), min(find_s, wait_s), attention)
            if sending.done() and not sending.cancelled() and sending.exception() is None:
                mark_sent()
            await _first((future,), until_s - attention(), attention)
            return future.result()
        finally:
            sending.cancel()
            if self._waiting.get(request_id) is future:
                del self._waiting[request_id]

    def close(self, error: Exception | None = None) -> None:
        """Drop everything in it; all who wait get the error."""
        if self._closed:
            return
        self._closed = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error or _LinkLostError())
                future.exception()  # known: whoever waits may have gone
        for task in self.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._dealer.disable_monitor()
        self._monitor.close(linger=0)
        self._dealer.close(linger=0)

    @property
    def closed(self) -> bool:
        """Whether another line is needed."""
        return self._closed

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
        while True:
            event = (await recv_monitor_message(self._monitor))["event"]
            try:
                lost = self.watch.tell(event)
            except TunerError as error:
                self.close(error)
                return
            if lost:
                self.close()
                return


async def _first(futures: Sequence[asyncio.Future[Any]], wait_s: float, attention: Attention) -> None:
    """Wait until one of them is done.

    Raises:
        TimeoutError: None was in time.
    """
    until_s = attention() + wait_s
    while not any(future.done() for future in futures):
        left_s = until_s - attention()
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
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        super().__init__(link, actor, find_s, clock)
        self._pause = pause
        self._context = zmq.asyncio.Context()
        self._line: _Line | None = None
        self._ended: set[asyncio.Task[None]] = set()

    @classmethod
    def _made(cls, link: Link, actor: str | None, find_s: float | None) -> Self:
        return cls(link, actor, find_s)

    async def close(self) -> None:
        """Give the sockets back; what was not sent is not sent later, and who still waits is told so."""
        if self._line is not None:
            self._drop(self._line, UnreachableError("the client was closed before the daemon answered"))
        await asyncio.gather(*self._ended, return_exceptions=True)
        self._context.destroy(linger=0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        return await self._exchange(self._compose(op, campaign, body, request_id), timeout_s)

    async def ask_again(self, request_id: str, timeout_s: float | None = None) -> Reply:
        """Send a request that got no answer once more, with its id: it is done once only."""
        return await self._exchange(self._again(request_id), timeout_s)

    async def call(self, call: Call[A], *, timeout_s: float | None = None, request_id: str | None = None) -> A:
        """Ask one of `tuner.wire.calls`; there is a method of the same name for each."""
        reply = await self.request(call.op, call.campaign, call.body, timeout_s=timeout_s, request_id=request_id)
        return exchange.answer(reply, call.answer)

    async def events(self, *campaigns: str, clock: Callable[[], float] | None = None) -> AsyncGenerator[Item]:
        """Follow campaigns, all if none is named; as `Client.events`."""
        clock = clock or self._clock
        endpoint = await self._events_endpoint()
        subscription = self._subscribe(endpoint, campaigns)
        try:
            follower = Follower(campaigns, clock())
            names = campaigns or [line.name for line in (await self.status()).campaigns]
            for name in names:  # after the subscription: what happens in between is told twice rather than never
                yield await self._catch_up(follower, name, None, None)
            reopen_s = 0.0
            while True:
                for name, seen in follower.needs():
                    try:
                        gap = await self._catch_up(follower, name, seen, follow.CATCH_UP_S)
                    except UnreachableError:
                        break  # its silence will be noticed
                    except RefusedReply:
                        if campaigns:
                            raise
                        follower.gone(name)
                    else:
                        yield gap
                if await subscription.poll(round(follower.wait_s(clock()) * 1000)):
                    self.signs += 1
                    for item in follower.feed(await subscription.recv_multipart(), clock()):
                        yield item
                silence = follower.check(clock())
                if silence is not None:
                    reopen_s = clock() + SILENT_S
                    yield silence
                if follower.silent and clock() >= reopen_s:
                    # libzmq gives up for ever where a handshake was refused, for example by a daemon with other keys
                    subscription.close(linger=0)
                    subscription = self._subscribe(endpoint, campaigns)
                    reopen_s = clock() + SILENT_S
        finally:
            subscription.close(linger=0)

    async def _catch_up(self, follower: Follower, name: str, seen: int | None, timeout_s: float | None) -> Gap:
        view = await self.call(calls.snapshot(name), timeout_s=timeout_s)
        follower.caught_up(name, view.n)
        return Gap(name, seen, view)

    async def _events_endpoint(self) -> str:
        if self.link.events is None:
            self.link = self.link.with_events((await self.hello()).events)
        if not self.link.events:
            raise ProtocolError("the daemon does not say where it publishes events: give the endpoint")
        return self.link.events

    def _subscribe(self, endpoint: str, campaigns: tuple[str, ...]) -> zmq.asyncio.Socket:
        socket = self._context.socket(zmq.SUB)
        prepare(socket, endpoint, self.link.key)
        for topic in follow.topics(campaigns):
            socket.setsockopt(zmq.SUBSCRIBE, topic)
        socket.connect(endpoint)
        return socket

    async def _exchange(self, request: Request, timeout_s: float | None) -> Reply:
        frame = exchange.encode(request)
        attention = Attention(self._clock)
        pacing = exchange.Pacing(request.op, timeout_s, self.find_s, attention)
        sent: list[bool] = []
        hint = ""
        self._keep(request)
        while (wait_s := pacing.wait_s(sent=bool(sent))) > 0:
            if self._line is None or self._line.closed:
                self._line = self._open()
            line = self._line
            try:
                times_s = (wait_s if sent else pacing.find_s, wait_s)
                reply = await line.ask(frame, request.id, times_s, attention, lambda: sent.append(True))
            except TimeoutError:
                hint = line.watch.hint
                self._drop(line)  # the others on it ask again too
            except _LinkLostError:
                await self._pause(attention.rest(pacing.pause_s()))
            else:
                self._unanswered.pop(request.id, None)
                return exchange.checked(reply)
        raise exchange.no_reply(self.link, request, pacing.total_s, hint, sent=bool(sent))

    def _open(self) -> _Line:
        line = _Line(self._context, self.link, self._hear)
        for task in line.tasks:
            self._ended.add(task)
            task.add_done_callback(self._ended.discard)
        return line

    def _hear(self) -> None:
        self.signs += 1

    def _drop(self, line: _Line, error: Exception | None = None) -> None:
        line.close(error)
        if self._line is line:
            self._line = None
