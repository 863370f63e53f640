"""Clients of the daemon: `Client` blocks and belongs to one thread, `AsyncClient` belongs to one event loop.

A request is sent again with the same id when its answer does not come or the connection is lost; the daemon does it
once only. When the time is over the socket is closed with everything in it, so that nothing is sent later.
"""

import time
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Self, TypeVar

import zmq

from tuner.wire import exchange
from tuner.wire.base import BaseClient, Body, Errand, Line, LinkLostError
from tuner.wire.endpoint import Link, prepare
from tuner.wire.errors import (
    DeniedReply,
    FailedReply,
    InvalidRequestError,
    NoReplyError,
    ProtocolError,
    RefusedReply,
    ReplyError,
)
from tuner.wire.follow import Gap, Item, Silence
from tuner.wire.messages import Reply
from tuner.wire.operation import A, Call
from tuner.wire.patient_clock import LOOK_S, PatientClock

if TYPE_CHECKING:
    from tuner.wire.aio import AsyncClient

__all__ = [
    "AsyncClient",
    "Client",
    "DeniedReply",
    "FailedReply",
    "Gap",
    "InvalidRequestError",
    "NoReplyError",
    "ProtocolError",
    "RefusedReply",
    "ReplyError",
    "Silence",
]

T = TypeVar("T")


def __getattr__(name: str) -> Any:
    if name != "AsyncClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tuner.wire.aio import AsyncClient  # only now: a blocking client need not wait for asyncio

    return AsyncClient


class _Line:
    """A connection that blocks."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], link: Link, heard: Callable[[], None]) -> None:
        self._heard = heard
        self.watch = exchange.Watch(link)
        self._dealer = context.socket(zmq.DEALER)
        prepare(self._dealer, link.requests, link.key)
        self._monitor = self._dealer.get_monitor_socket(exchange.WATCHED)
        self._dealer.connect(link.requests)

    def close(self) -> None:
        if not self._dealer.closed:
            self._dealer.disable_monitor()
            self._monitor.close(linger=0)
            self._dealer.close(linger=0)

    @property
    def usable(self) -> bool:
        return not self._dealer.closed and not self._monitor.poll(0)

    async def ask(self, errand: Errand, find_s: float, wait_s: float) -> Reply:
        start_s = errand.clock()
        try:
            self._send(errand.frame, start_s + find_s, errand.clock)
            errand.sent = True
            while True:  # answers to earlier requests, and second ones, are left aside
                self._wait(zmq.POLLIN, start_s + wait_s, errand.clock)
                reply = exchange.decode(self._dealer.recv_multipart())
                self._heard()
                if reply.id == errand.request_id:
                    return reply
        except BaseException:  # also an interrupt by the user: its answer must not be taken for the next one's
            self.close()
            raise

    def _send(self, frame: bytes, until_s: float, clock: PatientClock) -> None:
        while True:
            self._wait(zmq.POLLOUT, until_s, clock)
            try:
                self._dealer.send(frame, zmq.DONTWAIT)
            except zmq.Again:  # lost again in between
                continue
            return

    def _wait(self, wanted: int, until_s: float, clock: PatientClock) -> None:
        """Wait until the socket is ready for what is wanted."""
        poller = zmq.Poller()
        poller.register(self._dealer, wanted)
        poller.register(self._monitor, zmq.POLLIN)
        while True:
            left_s = until_s - clock()
            ready: dict[Any, int] = dict(poller.poll(round(max(0.0, min(left_s, LOOK_S)) * 1000)))
            if self._dealer in ready:
                return
            if self._monitor in ready:
                lost = self.watch.tell(self._monitor.recv_multipart())
                if lost and wanted == zmq.POLLIN:
                    raise LinkLostError
            elif left_s <= 0:
                raise TimeoutError


class Client(BaseClient):
    """A blocking client; all its methods belong to the thread that made it.

    Make it with `Client.connect` or `Client.local`, and close it, best with `with`.
    """

    blocking = True

    def __init__(
        self,
        link: Link,
        actor: str | None = None,
        find_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(link, actor, find_s, clock)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()

    def close(self) -> None:
        """Give the sockets back; what was not sent is not sent later."""
        if self._line is not None:
            self._drop(self._line)
        self._context.destroy(linger=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(
        self,
        op: str,
        campaign: str | None = None,
        body: Body = None,
        *,
        timeout_s: float | None = None,
        request_id: str | None = None,
    ) -> Reply:
        """Ask and wait for the answer.

        Args:
            op: The operation.
            campaign: Which campaign, if it needs one.
            body: A model or a dict.
            timeout_s: When to give up; default 10 s, 70 s where the model is asked.
            request_id: The id of an earlier request that got no answer; default: a new one.

        Raises:
            NoReplyError: No answer came in time (an UnreachableError, exit code 69).
            DeniedError: The key or its role does not allow it (77).
            RefusedReply: The daemon will not do it as things are.
            FailedReply: It was not done, trying again may help (a TryAgainError, 75).
            ProtocolError: What came is not an answer.
        """
        return _run(self._ask(op, campaign, body, timeout_s, request_id))

    def ask_again(self, request_id: str, timeout_s: float | None = None) -> Reply:
        """Send a request that got no answer once more, with its id: it is done once only."""
        return _run(self._ask_again(request_id, timeout_s))

    def call(self, call: Call[A], *, timeout_s: float | None = None, request_id: str | None = None) -> A:
        """Ask one of `tuner.wire.operations`; there is a method of the same name for each."""
        return _run(self._call(call, timeout_s, request_id))

    def events(self, *campaigns: str) -> Iterator[Item]:
        """Follow campaigns, all if none is named; ends only when it is closed.

        First comes a `Gap` with a view for each campaign, then their events, numbered without gaps. Where messages
        were lost or the daemon was away there comes a `Gap` again. Between two items other requests may be made.

        Raises:
            NoReplyError: The daemon does not answer at the start; later this is a `Silence`.
            RefusedReply: There is no such campaign.
        """
        items = self._follow(campaigns)
        try:
            while True:
                yield _run(items.asend(None))
        finally:
            _run(items.aclose())

    def _open(self) -> Line:
        return _Line(self._context, self.link, self._hear)

    async def _pause(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 - nobody else runs in this thread

    async def _next(self, subscription: Any, wait_s: float) -> list[bytes] | None:
        return subscription.recv_multipart() if subscription.poll(round(wait_s * 1000)) else None


def _run(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine of the engine to its end: with sockets that block it has nothing to wait for."""
    try:
        steps.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    raise RuntimeError("a blocking client waits for an event loop")
