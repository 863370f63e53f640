"""A browser's connection: whoever opens many, or is slow to say what is wanted, takes nobody's place."""

import asyncio
import contextlib
import ipaddress
import socket
import struct
from typing import Any

import h11
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol

from tuner.web.app import MOST_STREAMS_OF_ALL
from tuner.web.guard import SHUT

HEAD_S = 10.0  # until TLS is agreed on, and until a request has come with all its headers
LAG_S = 20.0  # that a reader may take nothing of an answer that waits for it; it is looked at as often
LEAVE_S = 600.0  # asyncio's own bound, with TLS, on how long the last of an answer takes: ours is LAG_S
MOST_LAGGING = MOST_STREAMS_OF_ALL  # readers for whom an answer waits, some 200 kB each: all that have a window
MOST_CONNECTIONS = 600
MOST_OF_ONE = 60  # connections of one machine; on this machine itself there may be others behind them
_ACKNOWLEDGED = struct.Struct("120xQ")  # where Linux tells how many bytes the other side has taken (tcp_info)


class Loop(asyncio.SelectorEventLoop):
    """asyncio's own, with our bounds on a connection's first and last seconds with TLS, when nobody counts it."""

    async def create_server(self, *where: Any, **options: Any) -> asyncio.Server:
        """Listen."""
        if options.get("ssl"):
            options.setdefault("ssl_handshake_timeout", HEAD_S)
            options.setdefault("ssl_shutdown_timeout", LEAVE_S)
        return await super().create_server(*where, **options)


class Connection(H11Protocol):
    """uvicorn's own, with a bound on the time that a request takes to come, and an answer to be taken.

    Attributes:
        lag: When the reader is looked at again, for whom something waits; None: little or nothing does.
        taken_s: When it was seen last that the reader takes what is sent.
    """

    _late: asyncio.TimerHandle | None = None
    _taken: object = None
    lag: asyncio.TimerHandle | None = None
    taken_s: float = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there."""
        super().connection_made(transport)
        self._socket = transport.get_extra_info("socket")
        transport.set_write_buffer_limits(HIGH_WATER_LIMIT)  # with TLS it would be eight times as much
        host = self.client[0] if self.client else ""
        if not _here(host) and self._of(host) > MOST_OF_ONE:
            transport.close()
            self._leave()
            return
        self._expect()

    def data_received(self, data: bytes) -> None:
        """A piece of a request, perhaps its last."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._come()
        else:
            self._expect()

    def handle_events(self) -> None:
        """Answer what has come; where too many are here, by saying so."""
        self.app = _full if len(self.connections) >= MOST_CONNECTIONS else self.config.loaded_app
        super().handle_events()

    def pause_writing(self) -> None:
        """More waits than the reader takes."""
        super().pause_writing()
        self._wait_for_reader()
        lagging = [one for one in self.connections if isinstance(one, Connection) and one.lag is not None]
        if len(lagging) > MOST_LAGGING:  # whoever took nothing for longest makes room
            for one in lagging:
                one.look()
            for one in sorted(lagging, key=lambda one: one.taken_s)[: len(lagging) - MOST_LAGGING]:
                one.hang_up()

    def resume_writing(self) -> None:
        """The reader has taken it."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._caught_up()

    def look(self) -> bool:
        """Whether the reader has taken anything since the last look."""
        taken = self._count()
        if taken == self._taken:
            return False
        self._taken, self.taken_s = taken, self.loop.time()
        return True

    def hang_up(self) -> None:
        """Wait no longer for the reader."""
        self._caught_up()  # the loop tells of the end in its next turn: until then this one is counted no more
        self.transport.abort()

    def on_response_complete(self) -> None:
        """An answer is on its way; a connection that is closed after it does not wait for a reader for ever."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._leave()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing was asked for long."""
        super().timeout_keep_alive_handler()
        self._leave()

    def send_400_response(self, msg: str) -> None:
        """What came is no request: the answer has the headers of all others."""
        headers = {**SHUT, "Content-Type": "text/plain; charset=utf-8", "Connection": "close"}
        for event in (
            h11.Response(status_code=400, headers=list(headers.items()), reason=b"Bad Request"),
            h11.Data(data=msg.encode("ascii")),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._leave()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._come()
        self._caught_up()
        super().connection_lost(exc)

    def _of(self, host: str) -> int:
        same = (one for one in self.connections if isinstance(one, Connection) and one.client)
        return sum(one.client[0] == host for one in same if one.client)

    def _expect(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEAD_S, self._give_up)

    def _come(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if self.transport.is_closing():
            return  # with TLS, whoever closes twice can abort no more
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
            self._leave()

    def _caught_up(self) -> None:
        if self.lag is not None:
            self.lag.cancel()
            self.lag = None

    def _leave(self) -> None:
        """The last of an answer is on its way, and waits for its reader as all before did."""
        if self in self.connections:  # else it has arrived
            self._wait_for_reader()

    def _wait_for_reader(self) -> None:
        if self.lag is None:
            self._taken, self.taken_s = self._count(), self.loop.time()
            self.lag = self.loop.call_later(LAG_S, self._check)

    def _check(self) -> None:
        self.look()
        left_s = self.taken_s + LAG_S - self.loop.time()
        if left_s > 0:
            self.lag = self.loop.call_later(left_s, self._check)
        else:
            self.hang_up()

    def _count(self) -> int:
        """A number that changes when the reader takes something: it, and not its distance from the end, is progress.

        What still waits lies in asyncio, with TLS in two places there, and in the kernel: where the kernel does not
        tell what has arrived, only the first of them is seen.
        """
        with contextlib.suppress(AttributeError, OSError, struct.error):  # no Linux, an old one, or just now closed
            told = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ACKNOWLEDGED.size)
            return int(_ACKNOWLEDGED.unpack(told)[0])
        return self.transport.get_write_buffer_size()


async def _full(scope: Scope, receive: Receive, send: Send) -> None:
    headers = {**SHUT, "Connection": "close"}
    await PlainTextResponse("Too many are here at once. Try again later.\n", 503, headers)(scope, receive, send)


def _here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
