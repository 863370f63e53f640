"""A browser's connection: whoever opens many, or is slow to say what is wanted, takes nobody's place."""

import asyncio
import ipaddress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0  # until TLS is agreed on, and until a request has come with all its headers
MOST_OF_ONE = 60  # connections of one machine; on this machine itself there may be others behind them


class Loop(asyncio.SelectorEventLoop):
    """asyncio's own, with the same bound on the time until TLS is agreed on: before that nobody counts a connection."""

    async def create_server(self, *where: Any, **options: Any) -> asyncio.Server:
        """Listen."""
        if options.get("ssl"):
            options.setdefault("ssl_handshake_timeout", HEAD_S)
        return await super().create_server(*where, **options)


class Connection(H11Protocol):
    """uvicorn's own, with a bound on the time that a request takes to come."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there."""
        super().connection_made(transport)
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

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._come()
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


def _here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
