"""A response with one time limit for all of it: a socket's own limit is for each piece."""

import http.client
import io
import socket
from typing import TYPE_CHECKING, Any

from adapters.shared.values import Deadline

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class _Timed(io.RawIOBase):
    """What comes from a socket until the time is over: drop by drop, each drop in time, it must not outlive that."""

    def __init__(self, raw: socket.SocketIO, sock: socket.socket, limit: Deadline) -> None:
        self._raw, self._sock, self._limit = raw, sock, limit

    def readable(self) -> bool:
        """Return that it is to be read."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        """Read what has come."""
        left_s = self._limit.left_s()
        if left_s == 0:
            raise TimeoutError
        self._sock.settimeout(left_s)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Let go of the socket, which is closed with its last reader."""
        self._raw.close()
        super().close()


class TimedResponse(http.client.HTTPResponse):
    """A response of which head and body together have so long."""

    def __init__(self, limit: Deadline, sock: socket.socket, **options: Any) -> None:
        super().__init__(sock, **options)
        self.fp: Any = io.BufferedReader(_Timed(self.fp.detach(), sock, limit))
