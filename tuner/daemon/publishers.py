"""The sockets that publish events, and a bound on what subscribers want to hear.

libzmq keeps every topic that somebody subscribes to, in some fifty times its size, and asks nobody: a hundred megabytes
of made-up topics took five gigabytes. So what is subscribed to is counted here. Whoever goes too far hears nothing for
a while, and the socket is opened anew, which is the only way to forget topics.
"""

import asyncio
import itertools
import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import zmq

from tuner.errors import ConfigError
from tuner.wire.endpoint import is_encrypted

REBIND_S = 0.02  # between two attempts to listen at an endpoint again
WARN_EVERY = 500  # attempts that failed: somebody else may have taken the port
MOST_TOPIC_BYTES = 500_000  # of an endpoint: thousands of campaigns by name
TOPIC_BYTES = 50  # that a topic costs at least
LARGEST_BYTES = 4_000  # of what a subscriber says; showing a key takes hundreds
_AT_A_TIME = 8  # of what they say, before others of the daemon have their turn

log = logging.getLogger(__name__)


class Doors(Protocol):
    """What decides who may listen."""

    def somebody_left(self) -> bool:
        """Whether a key was taken away."""

    def keep_away(self, key: str) -> None:
        """Let a key hear no events for a while."""


class Publishers:
    """The sockets of events, each by its endpoint.

    Args:
        make: Makes a socket that listens at an endpoint; the second time only opens it again.
        flooded: Is told a key that has subscribed to too much; empty: somebody of this host.
    """

    def __init__(
        self, make: "Callable[[str, bool], zmq.Socket[bytes]]", doors: Doors, flooded: Callable[[str], None]
    ) -> None:
        self._make = make
        self._doors = doors
        self._flooded = flooded
        self._sockets: dict[str, zmq.Socket[bytes]] = {}
        self._topics: dict[str, dict[bytes, str]] = {}
        self._sizes: Counter[str] = Counter()
        self._opening: set[asyncio.Task[None]] = set()

    def bind(self, endpoint: str) -> None:
        """Listen at an endpoint."""
        self._take(endpoint, self._make(endpoint, False))

    def send(self, frames: list[bytes]) -> None:
        """Publish; what a slow subscriber does not take is dropped."""
        if self._doors.somebody_left():
            for endpoint in [one for one in self._sockets if is_encrypted(one)]:
                self._open_again(endpoint, "a key was taken away")
        for endpoint, socket in list(self._sockets.items()):
            socket.send_multipart(frames, zmq.NOBLOCK)
            self._listen(endpoint)  # a send may have used up the sign that somebody has said something

    def close(self) -> None:
        """Listen no more."""
        for task in self._opening:
            task.cancel()
        for endpoint in list(self._sockets):
            self._close(endpoint)

    def _take(self, endpoint: str, socket: "zmq.Socket[bytes]") -> None:
        self._sockets[endpoint] = socket
        self._topics[endpoint], self._sizes[endpoint] = {}, 0
        asyncio.get_running_loop().add_reader(int(socket.getsockopt(zmq.FD)), self._listen, endpoint)
        self._listen(endpoint)

    def _close(self, endpoint: str) -> None:
        socket = self._sockets.pop(endpoint)
        asyncio.get_running_loop().remove_reader(int(socket.getsockopt(zmq.FD)))
        socket.close(0)

    def _listen(self, endpoint: str) -> None:
        """Hear what subscribers want: a bit of it, then the others of the daemon have their turn."""
        for _ in range(_AT_A_TIME):
            socket = self._sockets.get(endpoint)
            if socket is None:
                return
            try:
                frame = socket.recv(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            self._count(endpoint, frame)
        asyncio.get_running_loop().call_soon(self._listen, endpoint)

    def _count(self, endpoint: str, frame: zmq.Frame) -> None:
        """A topic that nobody has wanted before (1), or that nobody wants any more (0); all else is noise."""
        content, topics = frame.bytes, self._topics[endpoint]
        if content[:1] == b"\0":
            if topics.pop(content, None) is not None:
                self._sizes[endpoint] -= _size(content)
            return
        key = _sender(frame) if is_encrypted(endpoint) else ""
        topics[b"\0" + content[1:]] = key
        self._sizes[endpoint] += _size(content)
        if self._sizes[endpoint] > MOST_TOPIC_BYTES:
            shares: Counter[str] = Counter()
            for topic, one in topics.items():
                shares[one] += _size(topic)
            ((worst, _),) = shares.most_common(1)
            self._doors.keep_away(worst)
            self._flooded(worst)
            self._open_again(endpoint, "somebody subscribed to too much")

    def _open_again(self, endpoint: str, why: str) -> None:
        """End all connections, so that everybody has to show their key again and says anew what to hear.

        libzmq asks for a key once a connection and cannot end a single one. Clients connect again by themselves and
        find by the numbers what they have missed.
        """
        self._close(endpoint)
        task = asyncio.get_running_loop().create_task(self._again(endpoint, why))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _again(self, endpoint: str, why: str) -> None:
        """Listen at an endpoint that was just closed: it is free when libzmq's own thread has let go of it."""
        file = None if is_encrypted(endpoint) else Path(endpoint.removeprefix("ipc://"))
        for attempt in itertools.count(1):
            try:
                if file is None or attempt >= WARN_EVERY or not file.exists():  # the old socket removes it when it goes
                    socket = self._make(endpoint, True)
                    break
            except (ConfigError, zmq.ZMQError, OSError) as error:  # also where files are short: once more, later
                log.log(logging.WARNING if attempt % WARN_EVERY == 0 else logging.DEBUG, "%s", error)
            await asyncio.sleep(REBIND_S)
        self._take(endpoint, socket)
        log.info("%s: everybody connects again at %s", why, endpoint)


def _sender(frame: zmq.Frame) -> str:
    """The key that a message came with, as libzmq tells it."""
    try:
        return str(frame.get("User-Id"))
    except zmq.ZMQError:
        return ""


def _size(content: bytes) -> int:
    return len(content) + TOPIC_BYTES
