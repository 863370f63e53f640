"""The sockets: answers requests on a ROUTER, publishes events on a PUB; each for the local file and for the network."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import zmq
import zmq.asyncio
from pydantic import BaseModel, ValidationError

from tuner.campaign.decide import Refusal
from tuner.campaign.evolve import Recorded
from tuner.campaign.state import State
from tuner.daemon.auth import Doorman, authorised
from tuner.daemon.times import text_of
from tuner.daemon.views import event_message
from tuner.wire import messages as m
from tuner.wire.endpoint import BEAT_S, is_encrypted, limit
from tuner.wire.ops import Op

MOST_OPEN = 2000  # requests that are being worked on
SOCKET_MODE = 0o660

log = logging.getLogger(__name__)


class Sockets:
    """The daemon's sockets.

    Args:
        doorman: Knows the clients.
        clock: The wall clock.
    """

    def __init__(self, doorman: Doorman, clock: Callable[[], datetime]) -> None:
        self._doorman = doorman
        self._clock = clock
        self._context = zmq.asyncio.Context()
        self._plain: zmq.Context[zmq.Socket[bytes]] = zmq.Context.shadow(self._context)
        self._routers: list[tuple[zmq.asyncio.Socket, bool]] = []
        self._publishers: list[zmq.Socket[bytes]] = []
        self._open: set[asyncio.Task[None]] = set()

    def bind(self, requests: Sequence[str], events: Sequence[str]) -> None:
        """Open the sockets; the lock of the state directory must be held, for a socket's file can be taken over."""
        self._doorman.start(self._context)
        for endpoint in requests:
            router = self._context.socket(zmq.ROUTER)
            router.setsockopt(zmq.ROUTER_MANDATORY, 1)
            self._prepare(router, endpoint, m.LARGEST_BYTES)
            self._routers.append((router, is_encrypted(endpoint)))
        for endpoint in events:
            publisher = self._plain.socket(zmq.PUB)
            self._prepare(publisher, endpoint, m.LARGEST_BYTES)
            self._publishers.append(publisher)

    def _prepare(self, socket: "zmq.Socket[bytes] | zmq.asyncio.Socket", endpoint: str, largest_bytes: int) -> None:
        limit(socket, largest_bytes)
        if is_encrypted(endpoint):
            self._doorman.secure(socket)
        socket.bind(endpoint)
        if endpoint.startswith("ipc://"):
            Path(endpoint.removeprefix("ipc://")).chmod(SOCKET_MODE)

    def publish(self, name: str, one: Recorded, state: State) -> None:
        """Publish an event that is safe."""
        self._send(name.encode(), event_message(name, one, state.count))

    def progress(self, name: str, text: str, done: float | None) -> None:
        """Publish passing news."""
        news = m.Progress(at=text_of(self._clock()), campaign=name, text=text, done=done)
        self._send(m.PROGRESS_TOPIC, news)

    async def beat(self, heads: Callable[[], dict[str, int]]) -> None:
        """Publish signs of life for ever."""
        while True:
            self._send(m.BEAT_TOPIC, m.Beat(at=text_of(self._clock()), heads=heads()))
            await asyncio.sleep(BEAT_S)

    def _send(self, topic: bytes, message: BaseModel) -> None:
        frames = [topic, message.model_dump_json().encode()]
        for publisher in self._publishers:
            publisher.send_multipart(frames, zmq.NOBLOCK)  # a PUB socket drops what a slow subscriber does not take

    async def serve(self, answer: "Answerer") -> None:
        """Answer requests for ever."""
        await asyncio.gather(*(self._receive(router, secure, answer) for router, secure in self._routers))

    async def _receive(self, router: zmq.asyncio.Socket, secure: bool, answer: "Answerer") -> None:
        while True:
            frames = await router.recv_multipart(copy=False)
            if len(frames) < 2:
                continue
            task = asyncio.create_task(self._handle(router, frames[0].bytes, frames[-1], secure, answer))
            self._open.add(task)
            task.add_done_callback(self._open.discard)

    async def _handle(
        self, router: zmq.asyncio.Socket, client: bytes, frame: zmq.Frame, secure: bool, answer: "Answerer"
    ) -> None:
        reply = await self._reply(frame, secure, answer)
        try:
            await router.send_multipart([client, reply.model_dump_json().encode()])
        except zmq.ZMQError as error:  # the client has gone; it will ask again with the same id if it cares
            log.debug("no way back to a client: %s", error)

    async def _reply(self, frame: zmq.Frame, secure: bool, answer: "Answerer") -> m.Reply:
        identity = ""
        try:
            name, role = self._doorman.identify(frame, secure=secure)
            request = _parsed(frame.bytes)
            identity = request.id
            op, actor = authorised(request, name, role)
            body = _body(op, request)
            if len(self._open) > MOST_OPEN:
                return m.Reply(id=identity, status="failed", code="busy", text="too many requests at once; try again")
            status, value = await answer(request, body, actor, digest(request))
            return m.Reply(id=identity, status=status, body=value.model_dump(mode="json"))
        except Refusal as refusal:
            status_of: m.Status = "failed" if refusal.code in FAILURES else "refused"
            identity = identity or _id_of(frame.bytes)
            return m.Reply(id=identity, status=status_of, code=refusal.code, text=refusal.text)
        except Exception as error:
            log.exception("defect while answering a request")
            text = f"a defect in tuner: {type(error).__name__}: {error}"
            return m.Reply(id=identity, status="failed", code="defect", text=text)

    def close(self) -> None:
        """Close the sockets."""
        for task in self._open:
            task.cancel()
        for router, _ in self._routers:
            router.close(0)
        for publisher in self._publishers:
            publisher.close(0)
        self._doorman.stop()
        self._context.term()


FAILURES = frozenset({"busy", "disk_full", "not_ready", "defect"})


class Answerer:
    """What answers a request that is allowed."""

    async def __call__(
        self, request: m.Request, body: BaseModel, actor: object, digest: str
    ) -> tuple[m.Status, BaseModel]:
        """Status and body of the answer; raises a Refusal."""
        raise NotImplementedError


def digest(request: m.Request) -> str:
    """What a request means, whatever its id."""
    meaning = {"op": request.op, "campaign": request.campaign, "actor": request.actor, "body": request.body}
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def _parsed(content: bytes) -> m.Request:
    try:
        request = m.Request.model_validate_json(content)
    except ValidationError as error:
        raise Refusal("bad_request", f"this is no request: {_what(error)}") from error
    if request.v != m.VERSION:
        raise Refusal("version", f"this daemon speaks version {m.VERSION} of the protocol, not {request.v}")
    return request


def _body(op: Op, request: m.Request) -> BaseModel:
    if op.campaign and request.campaign is None:
        raise Refusal("bad_request", f"{request.op} needs the name of a campaign")
    try:
        return op.body.model_validate_json(json.dumps(request.body))
    except ValidationError as error:
        raise Refusal("bad_request", f"the body of {request.op} is wrong: {_what(error)}") from error


def _what(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, d['loc'])) or 'message'}: {d['msg']}" for d in error.errors()[:5])


def _id_of(content: bytes) -> str:
    """The id of a request that is wrong in other ways, so that its sender can tell which one it was."""
    try:
        found = json.loads(content)["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return found[:64] if isinstance(found, str) else ""
