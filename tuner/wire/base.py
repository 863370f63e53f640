"""The engine of both clients: retries, ids, catching up with events, written once as coroutines.

A client adds sockets and waiting. The asyncio client awaits these coroutines; the sockets of the blocking client block,
so that the same coroutines never have to wait for an event loop.
"""

import os
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import zmq
from pydantic import BaseModel

from tuner.errors import TunerError, UnreachableError
from tuner.wire import exchange, follow
from tuner.wire.endpoint import SILENT_S, Link, prepare
from tuner.wire.errors import InvalidRequestError, ProtocolError, RefusedReply
from tuner.wire.follow import Follower, Gap, Item
from tuner.wire.messages import AtMost, Reply, Request
from tuner.wire.operation import A, Call
from tuner.wire.operations import Operations
from tuner.wire.patient_clock import PatientClock

if TYPE_CHECKING:
    from tuner.wire.keyfiles import ClientKey

Body = BaseModel | Mapping[str, Any] | None
_MOST_UNANSWERED = 100


class LinkLostError(Exception):
    """The connection broke while an answer was awaited."""


@dataclass(slots=True)
class Errand:
    """A request on its way, whether it has left this process, and the clock that counts for it."""

    frame: bytes
    request_id: str
    clock: PatientClock
    sent: bool = False


class Line(Protocol):
    """One connection to the requests' socket, with its monitor."""

    watch: exchange.Watch

    @property
    def usable(self) -> bool:
        """Whether it is open and nothing has happened to the connection since the last request."""

    async def ask(self, errand: Errand, find_s: float, wait_s: float) -> Reply:
        """Send as soon as there is a connection, and wait for the answer; the times are for the first and for both."""

    def close(self) -> None:
        """Drop everything in it; what was not sent is not sent later."""


class BaseClient(Operations, ABC):
    """Base of the clients.

    Attributes:
        link: Where the daemon is, and our key.
        actor: The person at the client; None: the key's name stands for it.
        session: Of a person who signed in with PIN or badge; None: nobody did.
        role: Act with no more than its rights; None: with all that the key and the session have.
        find_s: How long to look for a daemon before a request is sent; None: as long as for its answer.
        signs: How many signs of life of the daemon there were: answers, events, beats.
    """

    _context: zmq.Context[Any]

    def __init__(
        self,
        link: Link,
        actor: str | None = None,
        find_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.link = link
        self.actor = actor
        self.session: str | None = None
        self.role: AtMost | None = None
        self.find_s = find_s
        self.signs = 0
        self._clock = clock
        self._line: Line | None = None
        self._unanswered: OrderedDict[str, Request] = OrderedDict()

    @classmethod
    def connect(
        cls,
        requests: str | None = None,
        events: str | None = None,
        key: "ClientKey | Path | None" = None,
        actor: str | None = None,
        find_s: float | None = None,
    ) -> Self:
        """A client of the daemon at these endpoints; nothing is sent before the first request.

        Args:
            requests: The endpoint that answers requests; default: the one in the key's file.
            events: The endpoint that publishes events; default: the key's, else the daemon is asked for it.
            key: Who the client is, or the file that says so; over ipc none is needed.
            actor: The person at the client.
            find_s: How long to look for a daemon before a request is sent; default: as long as for its answer.
        """
        if isinstance(key, Path):
            from tuner.wire.keyfiles import ClientKey  # only now: on the daemon's machine nobody needs a key

            key = ClientKey.load(key)
        where = requests or (key.requests if key else None)
        if where is None:
            raise TunerError("the key's file does not say where the daemon is: give the endpoint of its requests")
        if events is None and key is not None and where == key.requests:
            events = key.events
        return cls(Link(where, events, key), actor, find_s)

    @classmethod
    def local(
        cls,
        state_directory: Path | None = None,
        actor: str | None = None,
        environ: Mapping[str, str] | None = None,
        home: Path | None = None,
        find_s: float | None = None,
    ) -> Self:
        """A client of the daemon on this machine that keeps its state in a directory, or in the default one."""
        return cls(Link.local(state_directory, environ or os.environ, home or Path.home()), actor, find_s)

    def unanswered(self) -> tuple[Request, ...]:
        """The latest requests that got no answer, oldest first; each can be asked again by its id."""
        return tuple(self._unanswered.values())

    @abstractmethod
    def _open(self) -> Line:
        """Another connection to the requests' socket."""

    @abstractmethod
    async def _pause(self, seconds: float) -> None:
        """Do nothing for so long."""

    @abstractmethod
    async def _next(self, subscription: Any, wait_s: float) -> list[bytes] | None:
        """The next message of a subscription; None: there was none in time."""

    async def _ask(
        self, op: str, campaign: str | None, body: Body, timeout_s: float | None, request_id: str | None
    ) -> Reply:
        return await self._exchange(
            exchange.compose(op, campaign, self.actor, body, request_id, self.session, self.role), timeout_s
        )

    async def _ask_again(self, request_id: str, timeout_s: float | None) -> Reply:
        if request_id not in self._unanswered:
            raise InvalidRequestError(f"no request {request_id} of this client is without an answer")
        return await self._exchange(self._unanswered[request_id], timeout_s)

    async def _call(self, call: Call[A], timeout_s: float | None = None, request_id: str | None = None) -> A:
        reply = await self._ask(call.op, call.campaign, call.body, timeout_s, request_id)
        return exchange.answer(reply, call.answer)

    async def _exchange(self, request: Request, timeout_s: float | None) -> Reply:
        errand = Errand(exchange.encode(request), request.id, PatientClock(self._clock))
        pacing = exchange.Pacing(request.op, timeout_s, self.find_s, errand.clock)
        hint = ""
        self._keep(request)
        while (wait_s := pacing.wait_s(sent=errand.sent)) > 0:
            line = self._usable_line()
            try:
                reply = await line.ask(errand, wait_s if errand.sent else min(wait_s, pacing.find_s), wait_s)
            except TimeoutError:
                self._drop(line)  # others on it ask again too
            except LinkLostError:
                self._drop(line)
                await self._pause(errand.clock.rest(pacing.pause_s()))
            else:
                self._unanswered.pop(request.id, None)
                return exchange.checked(reply)
            hint = line.watch.hint
        raise exchange.no_reply(self.link, request, pacing.total_s, hint, sent=errand.sent)

    def _usable_line(self) -> Line:
        """The connection; what was the matter with an earlier one is not the next request's."""
        if self._line is not None and not self._line.usable:
            self._drop(self._line)
        self._line = self._line or self._open()
        return self._line

    def _drop(self, line: Line) -> None:
        line.close()
        if self._line is line:
            self._line = None

    def _keep(self, request: Request) -> None:
        self._unanswered[request.id] = request
        while len(self._unanswered) > _MOST_UNANSWERED:
            self._unanswered.popitem(last=False)

    def _hear(self) -> None:
        self.signs += 1

    async def _follow(self, campaigns: tuple[str, ...]) -> AsyncGenerator[Item]:
        endpoint = await self._events_endpoint()
        subscription = self._subscribe(endpoint, campaigns)
        try:
            follower = Follower(campaigns, self._clock())
            names = campaigns or [line.name for line in (await self._call(Operations.status())).campaigns]
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
                frames = await self._next(subscription, follower.wait_s(self._clock()))
                if frames is not None:
                    self._hear()
                    for item in follower.feed(frames, self._clock()):
                        yield item
                silence = follower.check(self._clock())
                if silence is not None:
                    reopen_s = self._clock() + SILENT_S
                    yield silence
                if follower.silent and self._clock() >= reopen_s:
                    # libzmq gives up for ever where a handshake was refused, for example by a daemon with other keys
                    subscription.close(linger=0)
                    subscription = self._subscribe(endpoint, campaigns)
                    reopen_s = self._clock() + SILENT_S
        finally:
            subscription.close(linger=0)

    async def _catch_up(self, follower: Follower, name: str, seen: int | None, timeout_s: float | None) -> Gap:
        view = await self._call(Operations.snapshot(name), timeout_s)
        follower.caught_up(name, view.n)
        return Gap(name, seen, view)

    async def _events_endpoint(self) -> str:
        if self.link.events is None:
            self.link = self.link.with_events((await self._call(Operations.hello())).events)
        if not self.link.events:
            raise ProtocolError("the daemon does not say where it publishes events: give the endpoint")
        return self.link.events

    def _subscribe(self, endpoint: str, campaigns: tuple[str, ...]) -> zmq.Socket[Any]:
        socket: zmq.Socket[Any] = self._context.socket(zmq.SUB)
        prepare(socket, endpoint, self.link.key)
        for topic in follow.topics(campaigns):
            socket.setsockopt(zmq.SUBSCRIBE, topic)
        socket.connect(endpoint)
        return socket
