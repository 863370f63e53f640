"""A browser's connection: whoever opens many, or is slow to say what is wanted, takes nobody's place."""

import asyncio
import ipaddress
from typing import Any

import h11
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol

from tuner.web.guard import SHUT

HEAD_S = 10.0  # until TLS is agreed on, and until a request has come with all its headers
LAG_S = 20.0  # that a reader may take nothing of an answer that waits for it
MOST_LAGGING = 100  # readers for whom more waits than is sent at once; one more takes the place of the slowest
MOST_CONNECTIONS = 600
MOST_OF_ONE = 60  # connections of one machine; on this machine itself there may be others behind them


class Loop(asyncio.SelectorEventLoop):
    """asyncio's own, with the same bound on the time until TLS is agreed on: before that nobody counts a connection."""

    async def create_server(self, *where: Any, **options: Any) -> asyncio.Server:
        """Listen."""
        if options.get("ssl"):
            options.setdefault("ssl_handshake_timeout", HEAD_S)
        return await super().create_server(*where, **options)


class Connection(H11Protocol):
    """uvicorn's own, with a bound on the time that a request takes to come, and an answer to be taken.

    Attributes:
        lag: Until when the reader must have taken what waits; None: little or nothing does.
    """

    _late: asyncio.TimerHandle | None = None
    lag: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(HIGH_WATER_LIMIT)  # with TLS it would be eight times as much
        host = self.client[0] if self.client else ""
        if not _here(host) and self._of(host) > MOST_OF_ONE:
            transport.close()
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
        self.lag = self.lag or self.loop.call_later(LAG_S, self.transport.abort)
        lagging = [one for one in self.connections if isinstance(one, Connection) and one.lag is not None]
        if len(lagging) > MOST_LAGGING:
            min(lagging, key=lambda one: one.lag.when() if one.lag else 0.0).transport.abort()

    def resume_writing(self) -> None:
        """The reader has taken it."""
        super().resume_writing()
        self._caught_up()

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
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
            self._leave()

    def _caught_up(self) -> None:
        if self.lag is not None:
            self.lag.cancel()
            self.lag = None

    def _leave(self) -> None:
        """Wait no longer than this until somebody takes the last that is on its way."""
        self.loop.call_later(LAG_S, self.transport.abort)


async def _full(scope: Scope, receive: Receive, send: Send) -> None:
    headers = {**SHUT, "Connection": "close"}
    await PlainTextResponse("Too many are here at once. Try again later.\n", 503, headers)(scope, receive, send)


def _here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
