"""The link of a line controller that listens: tuner connects and asks."""

import contextlib
import time

import zmq
from zmq.utils.monitor import recv_monitor_message

from adapters.line.link import Link
from adapters.line.protocol import (
    NonsenseError,
    Reply,
    message_from,
    only_frame,
    report_from,
    request_bytes,
)
from tuner.basics.text import on_one_line

_EVENTS = (
    zmq.Event.HANDSHAKE_SUCCEEDED
    | zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
    | zmq.Event.HANDSHAKE_FAILED_AUTH
    | zmq.Event.DISCONNECTED
)


class Caller(Link):
    """tuner connects a DEALER; it sends a job again and again until the controller says what came of it."""

    def _prepare(self) -> None:
        self._number = 0
        self._waiting: tuple[int, str, float] | None = None  # number and job of the open request, and until when
        self._rest: tuple[str, float] = ("", 0.0)  # the job spoken about last, and when to speak again
        self._connect()

    def _connect(self) -> None:
        self._dealer = self._socket(zmq.DEALER)
        self._dealer.set(zmq.IMMEDIATE, 1)  # nothing is queued for a controller that is not there
        if self.plan.curve:
            self._dealer.curve_serverkey = self.plan.curve.peers[0]
        self._monitor = self._dealer.get_monitor_socket(_EVENTS)
        self._dealer.connect(self.plan.address)

    def _turn(self) -> None:
        now = time.monotonic()
        job = self.desk.posted()
        name = job.job if job else ""
        timeout_s = self.plan.beat_s
        if self._waiting is None and (name != self._rest[0] or now >= self._rest[1]):
            self._ask(name, job.body() if job else {}, now)
        if self._waiting is not None:
            timeout_s = self._waiting[2] - now
        elif self._rest[0] == name:
            timeout_s = self._rest[1] - now
        ready = self._poll([self._dealer, self._monitor], min(timeout_s, self.plan.beat_s))
        if self._monitor in ready:
            self._notice(recv_monitor_message(self._monitor)["event"])
        if self._dealer in ready:
            self._hear(self._dealer.recv_multipart())
        elif self._waiting is not None and time.monotonic() >= self._waiting[2]:
            self._start_over()

    def _notice(self, event: int) -> None:
        if event == zmq.Event.HANDSHAKE_SUCCEEDED:
            self._rest = (self._rest[0], 0.0)  # speak at once
        elif event == zmq.Event.DISCONNECTED:
            self._waiting = None  # nobody will answer that any more
        else:
            self.desk.hint("the handshake failed: are the keys the right ones?")

    def _ask(self, name: str, body: dict[str, object], now: float) -> None:
        self._number += 1
        self._rest = (name, now + self.plan.beat_s)
        with contextlib.suppress(zmq.Again):  # not connected
            request = request_bytes("job" if name else "beat", self._number, body)
            self._dealer.send_multipart([b"", request], zmq.NOBLOCK)
            self._waiting = (self._number, name, now + self.plan.silent_s / 3)

    def _hear(self, frames: list[bytes]) -> None:
        try:
            reply = message_from(only_frame(frames), Reply)
            if self._waiting is None or reply.id != self._waiting[0]:
                return  # an answer that came too late: the question was asked again
            name = self._waiting[1]
            self._waiting = None
            self._understand(reply, name)
        except NonsenseError as error:
            self._waiting = None
            self.desk.complain(str(error))

    def _understand(self, reply: Reply, name: str) -> None:
        if reply.error:
            raise NonsenseError(f"the controller did not understand: {reply.error}")
        if name:
            report = report_from(reply.body)
            if report.job != name:
                raise NonsenseError(
                    f"the controller was asked about {name} and answered about {on_one_line(report.job)}"
                )
            self.desk.heard()
            self.desk.take(report)
        elif reply.body:
            raise NonsenseError('the controller answered "beat" with a body, which must be empty')
        else:
            self.desk.heard()

    def _start_over(self) -> None:
        """A new connection: what the old one has not delivered must not arrive later."""
        self._waiting = None
        self._rest = ("", 0.0)
        self._say_goodbye()
        self._connect()

    def _say_goodbye(self) -> None:
        self._dealer.disable_monitor()
        self._monitor.close()
        self._dealer.close()
