"""The link of a line controller that connects to tuner: tuner listens and answers."""

import contextlib
import time

import zmq
from zmq.utils.monitor import recv_monitor_message

from adapters.line.curve import DOMAIN, Doorkeeper
from adapters.line.link import Link
from adapters.line.protocol import NonsenseError, Request, message_from, only_frame, reply_bytes, report_from


class Listener(Link):
    """tuner binds a ROUTER; the controller asks for jobs and reports what came of them."""

    def _prepare(self) -> None:
        self._door: Doorkeeper | None = None
        self._router = self._socket(zmq.ROUTER)
        self._router.set(zmq.ROUTER_MANDATORY, 1)
        if self.plan.curve:
            self._door = Doorkeeper(self._context, self.plan.curve.peers)
            self._router.curve_server = 1
            self._router.set(zmq.ZAP_DOMAIN, DOMAIN)
            self._router.set(zmq.ZAP_ENFORCE_DOMAIN, 1)
        self._monitor = self._router.get_monitor_socket(zmq.Event.ACCEPTED | zmq.Event.DISCONNECTED)
        self._router.bind(self.plan.address)
        self._connections: set[int] = set()
        self._speaker: tuple[bytes, float] | None = None  # the controller, and when it was heard last
        self._held: tuple[list[bytes], str | int, float] | None = None  # a `next` that waits for a job, and how long

    def _turn(self) -> None:
        timeout_s = self.plan.beat_s if self._held is None else self._held[2] - time.monotonic()
        sockets = [self._router, self._monitor, *([self._door.socket] if self._door else [])]
        ready = self._poll(sockets, timeout_s)
        if self._monitor in ready:
            self._count_connections()
        if self._door and self._door.socket in ready:
            self.desk.hint(self._door.answer())
        if self._router in ready:
            self._serve(self._router.recv_multipart())
        self._answer_held()

    def _count_connections(self) -> None:
        event = recv_monitor_message(self._monitor)
        if event["event"] == zmq.Event.ACCEPTED:
            self._connections.add(event["value"])
        else:
            self._connections.discard(event["value"])

    def _serve(self, frames: list[bytes]) -> None:
        envelope = frames[: 1 if frames[1] else 2]  # the controller's identity, and REQ's empty frame if there is one
        payload = frames[-1]
        if not self._is_the_controller(envelope[0]):
            text = "another controller is connected; only one can be served"
            self.desk.hint("a second controller was turned away")
            self._send(envelope, reply_bytes(_id_of(payload), {}, text))
            return
        try:
            self._obey(envelope, message_from(only_frame(frames[1:]), Request))
        except NonsenseError as error:
            self.desk.complain(str(error))
            self._send(envelope, reply_bytes(_id_of(payload), {}, str(error)))

    def _obey(self, envelope: list[bytes], request: Request) -> None:
        if request.op == "job":
            raise NonsenseError('the controller sent "job"; a controller that connects asks "next"')
        if request.op == "report":
            report = report_from(request.body)
            self.desk.heard()
            self._send(envelope, reply_bytes(request.id, {"wanted": self.desk.take(report)}))
            return
        if request.body:
            raise NonsenseError(f'the controller sent "{request.op}" with a body, which must be empty')
        self.desk.heard()
        if request.op == "beat":
            self._send(envelope, reply_bytes(request.id, {}))
            return
        self._release_held()
        self._held = (envelope, request.id, time.monotonic() + self.plan.beat_s)

    def _is_the_controller(self, identity: bytes) -> bool:
        """Two controllers would make two parts: a newcomer is served when the one before is gone or silent."""
        now = time.monotonic()
        if self._speaker and self._speaker[0] != identity:
            while self._monitor.poll(0):  # the end of the old connection may be known, but not read yet
                self._count_connections()
            if len(self._connections) > 1 and now - self._speaker[1] < self.plan.silent_s:
                return False
        self._speaker = (identity, now)
        return True

    def _answer_held(self) -> None:
        job = self.desk.posted() if self._held else None
        if self._held and (job or time.monotonic() >= self._held[2]):
            envelope, message_id, _ = self._held
            self._held = None
            self._send(envelope, reply_bytes(message_id, job.body() if job else {}))

    def _release_held(self) -> None:
        if self._held:
            self._send(self._held[0], reply_bytes(self._held[1], {}))
            self._held = None

    def _send(self, envelope: list[bytes], payload: bytes) -> None:
        with contextlib.suppress(zmq.ZMQError):  # who has gone asks again when it is back
            self._router.send_multipart([*envelope, payload], zmq.NOBLOCK)

    def _say_goodbye(self) -> None:
        self._release_held()


def _id_of(payload: bytes) -> str | int | None:
    """The id of a request that may be nonsense, so that its sender can match the reply."""
    with contextlib.suppress(NonsenseError):
        return message_from(payload, Request).id
    return None
