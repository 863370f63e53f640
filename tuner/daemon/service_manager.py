"""Tells the service manager how the daemon is (ready, alive, reloading, stopping) without ever waiting for it."""

import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import Self

from tuner.basics.text import printable

_LONGEST_STATUS = 500  # characters; the manager ignores datagrams of more than 4096 bytes
_MOST_PENDING = 16
READING_S = 120.0  # for the next piece of a long start


class Notifier:
    """Sends systemd's notification datagrams; does nothing at all if nobody asked for them.

    The socket never blocks: a busy manager must not freeze the event loop. What it does not take is kept, in order, and
    sent before the next message, so that READY=1 arrives late rather than never. WATCHDOG=1 is not kept: a sign of
    life that comes late is a lie.
    """

    def __init__(self, address: str | None, monotonic_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._monotonic_ns = monotonic_ns
        self._pending: list[bytes] = []
        self._socket: socket.socket | None = None
        self._address: str | bytes = b""
        if address and address[0] in "/@":  # a path, or a name in the kernel's abstract namespace
            self._address = address if address[0] == "/" else b"\0" + os.fsencode(address[1:])
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """The notifier that the service manager asked for in NOTIFY_SOCKET."""
        return cls(environ.get("NOTIFY_SOCKET"))

    def ready(self, status: str = "") -> None:
        """The daemon serves, after its start or after a reload."""
        self._keep("READY=1", _status(status))

    def status(self, text: str) -> None:
        """One line for people, shown by `systemctl status`."""
        self._forget(b"STATUS=")
        self._keep(_status(text) or "STATUS=")

    def alive(self) -> None:
        """Answer the watchdog; call it only from the loop whose life it proves."""
        if self._flush():
            self._send(b"WATCHDOG=1")

    def reloading(self) -> None:
        """The configuration is being read again; `ready` ends it."""
        self._keep("RELOADING=1", f"MONOTONIC_USEC={self._monotonic_ns() // 1000}")

    def stopping(self, status: str = "") -> None:
        """The daemon is on its way out, for example bringing a machine home."""
        self._keep("STOPPING=1", _status(status))

    def extend(self, timeout_s: float) -> None:
        """Start, reload or stop needs at least this long from now on; ask again before it is over."""
        self._forget(b"EXTEND_TIMEOUT_USEC=")
        self._keep(f"EXTEND_TIMEOUT_USEC={max(1, round(timeout_s * 1e6))}")

    def reading(self, done: int, of: int) -> None:
        """A start that has much to read goes on: it must not be ended, for it would begin anew."""
        self.extend(READING_S)
        self.status(f"reading campaign {done} of {of}")

    def close(self) -> None:
        """Try once more to send what is kept, then give the socket back; every later call does nothing."""
        self._flush()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _forget(self, kind: bytes) -> None:
        """Of these messages only the newest matters."""
        self._pending = [message for message in self._pending if not message.startswith(kind)]

    def _keep(self, *assignments: str) -> None:
        if self._socket is None:
            return
        message = "\n".join(line for line in assignments if line)
        self._pending = [*self._pending, message.encode("utf-8", "replace")][-_MOST_PENDING:]
        self._flush()

    def _flush(self) -> bool:
        while self._pending:
            if not self._send(self._pending[0]):
                return False
            del self._pending[0]
        return True

    def _send(self, message: bytes) -> bool:
        """True if there is nothing more to do about this message: it was taken, or nobody is there to take it."""
        if self._socket is None:
            return True
        try:
            self._socket.sendto(message, self._address)
        except BlockingIOError:
            return False
        except OSError:  # the manager went away: its loss must not become the machine's
            return True
        return True


def _status(text: str) -> str:
    """A line break would begin a new assignment, such as a false READY=1."""
    line = printable(text)[:_LONGEST_STATUS]
    return f"STATUS={line}" if line else ""


def watchdog_s(environ: Mapping[str, str], pid: int | None = None) -> float | None:
    """Seconds between two signs of life: half of what the manager allows; None if it does not watch this process."""
    period_us, watched = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not _is_number(period_us) or int(period_us) == 0:
        return None
    if watched and (not _is_number(watched) or int(watched) != (os.getpid() if pid is None else pid)):
        return None  # inherited: the manager watches our parent
    return int(period_us) / 2e6


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20
