"""Clients of the daemon: `Client` blocks and belongs to one thread, `AsyncClient` belongs to one event loop.

A request is sent again with the same id when its answer does not come or the connection is lost; the daemon does it
once only. When the time is over the socket is closed with everything in it, so that nothing is sent later.
"""

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

import zmq
from zmq.utils.monitor import recv_monitor_message

from tuner.errors import UnreachableError
from tuner.wire import calls, exchange, follow
from tuner.wire.aio import AsyncClient
from tuner.wire.attention import LOOK_S, Attention
from tuner.wire.base import BaseClient, Body
from tuner.wire.calls import A, Call
from tuner.wire.endpoint import SILENT_S, Link, prepare
from tuner.wire.errors import (
    DeniedReply,
    FailedReply,
    InvalidRequestError,
    NoReplyError,
    ProtocolError,
    RefusedReply,
    ReplyError,
)
from tuner.wire.follow import Follower, Gap, Item, Silence
from tuner.wire.messages import Reply, Request

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


class _LinkLostError(Exception):
    """The connection broke while an answer was awaited."""


class _Line:
    """One connection to the requests' socket, with its monitor."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], link: Link) -> None:
        self.watch = exchange.Watch(link)
        self._dealer = context.socket(zmq.DEALER)
        prepare(self._dealer, link.requests, link.key)
        self._monitor = self._dealer.get_monitor_socket(exchange.WATCHED)
        self._dealer.connect(link.requests)

    def close(self) -> None:
        self._dealer.disable_monitor()
        self._monitor.close(linger=0)
        self._dealer.close(linger=0)

    @property
    def undisturbed(self) -> bool:
        """Whether nothing has happened to the connection since the last request."""
        return not self._monitor.poll(0)

    def send(self, frame: bytes, until_s: float, attention: Attention) -> bool:
        """Send as soon as there is a connection; False: there was none in time, and nothing was sent."""
        while self._ready(zmq.POLLOUT, until_s, attention):
            try:
                self._dealer.send(frame, zmq.DONTWAIT)
            except zmq.Again:  # lost again in between
                continue
            return True
        return False

    def receive(self, until_s: float, attention: Attention) -> list[bytes] | None:
        """The next message, or None if none came in time."""
        return self._dealer.recv_multipart() if self._ready(zmq.POLLIN, until_s, attention) else None

    def _ready(self, wanted: int, until_s: float, attention: Attention) -> bool:
        poller = zmq.Poller()
        poller.register(self._dealer, wanted)
        poller.register(self._monitor, zmq.POLLIN)
        while True:
            left_s = until_s - attention()
            ready: dict[Any, int] = dict(poller.poll(round(max(0.0, min(left_s, LOOK_S)) * 1000)))
            if self._dealer in ready:
                return True
            if self._monitor in ready:
                lost = self.watch.tell(recv_monitor_message(self._monitor)["event"])
                if lost and wanted == zmq.POLLIN:
                    raise _LinkLostError
            elif left_s <= 0:
                return False


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
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        super().__init__(link, actor, find_s, clock)
        self._pause = pause
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._line: _Line | None = None

    @classmethod
    def _made(cls, link: Link, actor: str | None, find_s: float | None) -> Self:
        return cls(link, actor, find_s)

    def close(self) -> None:
        """Give the sockets back; what was not sent is not sent later."""
        self._drop()
        self._context.destroy(linger=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        return self._exchange(self._compose(op, campaign, body, request_id), timeout_s)

    def ask_again(self, request_id: str, timeout_s: float | None = None) -> Reply:
        """Send a request that got no answer once more, with its id: it is done once only."""
        return self._exchange(self._again(request_id), timeout_s)

    def call(self, call: Call[A], *, timeout_s: float | None = None, request_id: str | None = None) -> A:
        """Ask one of `tuner.wire.calls`; there is a method of the same name for each."""
        reply = self.request(call.op, call.campaign, call.body, timeout_s=timeout_s, request_id=request_id)
        return exchange.answer(reply, call.answer)

    def events(self, *campaigns: str, clock: Callable[[], float] | None = None) -> Iterator[Item]:
        """Follow campaigns, all if none is named; ends only when it is closed.

        First comes a `Gap` with a view for each campaign, then their events, numbered without gaps. Where messages
        were lost or the daemon was away there comes a `Gap` again. Between two items other requests may be made.

        Raises:
            NoReplyError: The daemon does not answer at the start; later this is a `Silence`.
            RefusedReply: There is no such campaign.
        """
        clock = clock or self._clock
        endpoint = self._events_endpoint()
        subscription = self._subscribe(endpoint, campaigns)
        try:
            follower = Follower(campaigns, clock())
            names = campaigns or [line.name for line in self.status().campaigns]
            for name in names:  # after the subscription: what happens in between is told twice rather than never
                yield self._catch_up(follower, name, None, None)
            reopen_s = 0.0
            while True:
                for name, seen in follower.needs():
                    try:
                        gap = self._catch_up(follower, name, seen, follow.CATCH_UP_S)
                    except UnreachableError:
                        break  # its silence will be noticed
                    except RefusedReply:
                        if campaigns:
                            raise
                        follower.gone(name)
                    else:
                        yield gap
                if subscription.poll(round(follower.wait_s(clock()) * 1000)):
                    self.signs += 1
                    yield from follower.feed(subscription.recv_multipart(), clock())
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

    def _catch_up(self, follower: Follower, name: str, seen: int | None, timeout_s: float | None) -> Gap:
        view = self.call(calls.snapshot(name), timeout_s=timeout_s)
        follower.caught_up(name, view.n)
        return Gap(name, seen, view)

    def _events_endpoint(self) -> str:
        if self.link.events is None:
            self.link = self.link.with_events(self.hello().events)
        if not self.link.events:
            raise ProtocolError("the daemon does not say where it publishes events: give the endpoint")
        return self.link.events

    def _subscribe(self, endpoint: str, campaigns: tuple[str, ...]) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.SUB)
        prepare(socket, endpoint, self.link.key)
        for topic in follow.topics(campaigns):
            socket.setsockopt(zmq.SUBSCRIBE, topic)
        socket.connect(endpoint)
        return socket

    def _exchange(self, request: Request, timeout_s: float | None) -> Reply:
        frame = exchange.encode(request)
        attention = Attention(self._clock)
        pacing = exchange.Pacing(request.op, timeout_s, self.find_s, attention)
        sent = False
        hint = ""
        self._keep(request)
        if self._line is not None and not self._line.undisturbed:
            self._drop()  # what was the matter with the connection before is not this request's
        while (wait_s := pacing.wait_s(sent=sent)) > 0:
            line = self._line = self._line or _Line(self._context, self.link)
            until_s = attention() + wait_s
            reply = None
            try:
                if line.send(frame, until_s if sent else min(until_s, attention() + pacing.find_s), attention):
                    sent = True
                    reply = self._await(line, request.id, until_s, attention)
            except _LinkLostError:
                self._pause(attention.rest(pacing.pause_s()))
            except BaseException:  # also an interrupt by the user: its answer must not be taken for the next one's
                self._drop()
                raise
            if reply is not None:
                self._unanswered.pop(request.id, None)
                return exchange.checked(reply)
            hint = line.watch.hint
            self._drop()
        raise exchange.no_reply(self.link, request, pacing.total_s, hint, sent=sent)

    def _await(self, line: _Line, request_id: str, until_s: float, attention: Attention) -> Reply | None:
        """The answer; those to earlier requests, and second ones, are left aside."""
        while (frames := line.receive(until_s, attention)) is not None:
            reply = exchange.decode(frames)
            self.signs += 1
            if reply.id == request_id:
                return reply
        return None

    def _drop(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
