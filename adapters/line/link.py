"""The thread that owns the socket to a line controller, so that it is answered between calls too."""

import contextlib
import os
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass

import zmq

from adapters.line.desk import Desk
from adapters.line.protocol import LARGEST_BYTES
from tuner.adapter import LinkError
from tuner.basics.sentences import say

_DROPPED_BYTES = 4 * LARGEST_BYTES  # up to this much is read and complained about; more, and libzmq hangs up
_LAST_WORDS_MS = 200


@dataclass(frozen=True, slots=True)
class Curve:
    """Keys: our public and secret one, and the public ones of those we speak with."""

    public: bytes
    secret: bytes
    peers: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a link needs to know; times in seconds, see `LineSettings`."""

    address: str
    beat_s: float
    silent_s: float
    curve: Curve | None


class Link(ABC):
    """Owns context, socket and thread; `desk` is where calls and thread meet."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.desk = Desk(plan.silent_s, self._wake)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._live, name="line-link", daemon=True)

    def start(self) -> None:
        """Bind or connect, and begin to answer."""
        try:
            self._prepare()
        except (zmq.ZMQError, OSError) as error:
            self._context.destroy(linger=0)
            os.close(self._wake_fd)
            raise LinkError(say("line.address", address=self.plan.address, why=str(error))) from error
        self._thread.start()

    def stop(self) -> None:
        """End the thread and let go of the address."""
        self._stopping.set()
        self._wake()
        self._thread.join()
        self._context.destroy(linger=_LAST_WORDS_MS)
        os.close(self._wake_fd)

    def _wake(self) -> None:
        os.eventfd_write(self._wake_fd, 1)

    def _live(self) -> None:
        try:
            while not self._stopping.is_set():
                self._turn()
            self._say_goodbye()
        except Exception as error:  # noqa: BLE001 - whoever waits for this thread must hear that it has ended
            self.desk.give_up(f"the link to the controller has failed: {error!r}")

    def _poll(self, sockets: list["zmq.Socket[bytes]"], timeout_s: float) -> set["zmq.Socket[bytes]"]:
        """Those that have something to read."""
        poller = zmq.Poller()
        poller.register(self._wake_fd, zmq.POLLIN)
        for socket in sockets:
            poller.register(socket, zmq.POLLIN)
        ready = {socket for socket, _ in poller.poll(max(0, round(timeout_s * 1000)))}
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake_fd)
        return {socket for socket in sockets if socket in ready}

    def _socket(self, kind: zmq.SocketType) -> "zmq.Socket[bytes]":
        socket: zmq.Socket[bytes] = self._context.socket(kind)
        socket.linger = 0
        socket.maxmsgsize = _DROPPED_BYTES
        socket.set(zmq.HEARTBEAT_IVL, 2000)
        socket.set(zmq.HEARTBEAT_TIMEOUT, 6000)
        socket.set(zmq.HEARTBEAT_TTL, 6000)
        socket.set(zmq.HANDSHAKE_IVL, 3000)
        if self.plan.curve:
            socket.curve_publickey, socket.curve_secretkey = self.plan.curve.public, self.plan.curve.secret
        return socket

    @abstractmethod
    def _prepare(self) -> None:
        """Make the sockets."""

    @abstractmethod
    def _turn(self) -> None:
        """Wait a while for something to do, and do it."""

    @abstractmethod
    def _say_goodbye(self) -> None:
        """What is still to be said at the end."""
