"""The sockets: answers requests on a ROUTER, publishes events on a PUB; each for the local file and for the network."""

import asyncio
import fcntl
import hashlib
import itertools
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

import zmq
import zmq.asyncio
from pydantic import BaseModel, ValidationError

from tuner.campaign.decide import Actor, Refusal
from tuner.campaign.evolve import Recorded
from tuner.campaign.state import State
from tuner.config.daemon import LONGEST_SOCKET_PATH, OWNERS_SUFFIX
from tuner.daemon.auth import Door, Doorman, authorised
from tuner.daemon.views import event_message
from tuner.errors import ConfigError, TryAgainError
from tuner.times import text_of
from tuner.wire import messages as m
from tuner.wire.endpoint import BEAT_S, is_encrypted, limit
from tuner.wire.ops import Op

MOST_OPEN = 2000  # requests that are being worked on
MOST_OF_CLIENT = 200  # of them by one client
BUSY = "too many requests at once; try again"
SOCKET_MODE = 0o660
OWNERS_MODE = 0o600
REBIND_S = 0.02  # between two attempts to listen at an endpoint again
WARN_EVERY = 500  # attempts that failed: somebody else may have taken the port
_LAST_WORDS_MS = 500  # for answers that are on their way when the sockets are closed

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
        self._routers: list[tuple[zmq.asyncio.Socket, Door]] = []
        self._publishers: dict[str, zmq.Socket[bytes]] = {}
        self._open: set[asyncio.Task[None]] = set()
        self._of_client: Counter[bytes] = Counter()
        self._locks: list[int] = []

    def bind(self, requests: Sequence[str], events: Sequence[str]) -> None:
        """Open the sockets; the lock of the state directory must be held, for a socket's file can be taken over."""
        self._doorman.start(self._context)
        for endpoint in requests:
            router = self._context.socket(zmq.ROUTER)
            router.setsockopt(zmq.ROUTER_MANDATORY, 1)
            self._routers.append((router, door_of(endpoint)))  # at once, so that it is closed whatever happens
            self._prepare(router, endpoint, m.LARGEST_BYTES)
        for endpoint in events:
            self._publishers[endpoint] = self._plain.socket(zmq.PUB)
            self._prepare(self._publishers[endpoint], endpoint, m.LARGEST_BYTES)

    def _prepare(self, socket: "zmq.Socket[bytes] | zmq.asyncio.Socket", endpoint: str, largest_bytes: int) -> None:
        limit(socket, largest_bytes)
        if is_encrypted(endpoint):
            self._doorman.secure(socket)
        if endpoint.startswith("ipc://"):
            self._locks.append(_reserve(Path(endpoint.removeprefix("ipc://"))))
        before = os.umask(0o177)  # nobody else comes in between binding and the rights of the file
        try:
            socket.bind(endpoint)
        except zmq.ZMQError as error:
            raise ConfigError(f"cannot listen at {endpoint}: {error}") from error
        finally:
            os.umask(before)
        if endpoint.startswith("ipc://"):
            mode = OWNERS_MODE if door_of(endpoint) == "owner" else SOCKET_MODE
            Path(endpoint.removeprefix("ipc://")).chmod(mode)

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
        if self._doorman.somebody_left():
            self._shut_out()
        for publisher in self._publishers.values():
            publisher.send_multipart(frames, zmq.NOBLOCK)  # a PUB socket drops what a slow subscriber does not take

    def _shut_out(self) -> None:
        """End all connections to the encrypted events, so that everybody has to show their key again.

        libzmq asks for a key once a connection and cannot end a single one. Clients connect again by themselves and
        find by the numbers what they have missed.
        """
        for endpoint in [one for one in self._publishers if is_encrypted(one)]:
            self._publishers.pop(endpoint).close(0)
            task = asyncio.get_running_loop().create_task(self._publish_again(endpoint))
            self._open.add(task)
            task.add_done_callback(self._open.discard)

    async def _publish_again(self, endpoint: str) -> None:
        """Listen at an endpoint that was just closed: it is free when libzmq's own thread has let go of it."""
        for attempt in itertools.count(1):
            publisher = self._plain.socket(zmq.PUB)
            try:
                self._prepare(publisher, endpoint, m.LARGEST_BYTES)
                break
            except ConfigError as error:
                publisher.close(0)
                log.log(logging.WARNING if attempt % WARN_EVERY == 0 else logging.DEBUG, "%s", error)
                await asyncio.sleep(REBIND_S)
        self._publishers[endpoint] = publisher
        log.info("a key was taken away: everybody shows theirs again at %s", endpoint)

    async def serve(self, answer: "Answerer") -> None:
        """Answer requests for ever."""
        await asyncio.gather(*(self._receive(router, door, answer) for router, door in self._routers))

    async def _receive(self, router: zmq.asyncio.Socket, door: Door, answer: "Answerer") -> None:
        while True:
            frames = await router.recv_multipart(copy=False)
            if len(frames) < 2:
                continue
            client = frames[0].bytes
            if len(self._open) >= MOST_OPEN or self._of_client[client] >= MOST_OF_CLIENT:
                reply = m.Reply(id=_id_of(frames[-1].bytes), status="failed", code="busy", text=BUSY)
                await _send(router, client, reply)
                continue
            self._of_client[client] += 1
            task = asyncio.create_task(self._handle(router, client, frames[-1], door, answer))
            self._open.add(task)
            task.add_done_callback(self._open.discard)

    async def _handle(
        self, router: zmq.asyncio.Socket, client: bytes, frame: zmq.Frame, door: Door, answer: "Answerer"
    ) -> None:
        try:
            await _send(router, client, await self._reply(frame, door, answer))
        finally:
            self._of_client[client] -= 1
            if not self._of_client[client]:
                del self._of_client[client]

    async def _reply(self, frame: zmq.Frame, door: Door, answer: "Answerer") -> m.Reply:
        identity = ""
        try:
            sender = self._doorman.identify(frame, door)
            request = _parsed(frame.bytes)
            identity = request.id
            op, actor = authorised(request, sender)
            body = _body(op, request)
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
            router.close(_LAST_WORDS_MS)  # the answer to `daemon.stop` is the last one
        for publisher in self._publishers.values():
            publisher.close(0)
        self._doorman.stop()
        self._context.term()
        for lock in self._locks:
            os.close(lock)


FAILURES = frozenset({"busy", "disk_full", "journal_busy", "journal_lost", "not_ready", "defect", "stopping"})


class Answerer(Protocol):
    """What answers a request that is allowed."""

    async def __call__(
        self, request: m.Request, body: BaseModel, actor: Actor, digest: str
    ) -> tuple[m.Status, BaseModel]:
        """Status and body of the answer; raises a Refusal."""


def door_of(endpoint: str) -> Door:
    """Who may come by an endpoint."""
    if is_encrypted(endpoint):
        return "network"
    return "owner" if endpoint.endswith(OWNERS_SUFFIX) else "group"


async def _send(router: zmq.asyncio.Socket, client: bytes, reply: m.Reply) -> None:
    """Answer, or not: a client that has gone or does not read must not keep others waiting.

    It will ask again with the same id if it cares.
    """
    try:
        await router.send_multipart([client, reply.model_dump_json().encode()], flags=zmq.DONTWAIT)
    except zmq.ZMQError as error:
        log.debug("no way back to a client: %s", error)


def _reserve(path: Path) -> int:
    """Make sure that no other daemon has this socket: a second one would take its file over in silence."""
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        raise ConfigError(
            f"{path}: the path of a socket may have {LONGEST_SOCKET_PATH} bytes; take a shorter directory"
        )
    try:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"cannot listen at {path}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise TryAgainError(f"another daemon listens at {path}") from None
    return lock


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
