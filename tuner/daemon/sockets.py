"""The sockets: answers requests on a ROUTER, publishes events on an XPUB; each for a local file and for the network."""

import asyncio
import contextlib
import fcntl
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

import zmq
import zmq.asyncio
from pydantic import BaseModel

from tuner.basics.places import LONGEST_SOCKET_PATH, OWNERS_SUFFIX
from tuner.basics.sentences import Sentence, say
from tuner.basics.times import text_of
from tuner.basics.vocabulary import Lane, Status
from tuner.campaign.decide import Refusal
from tuner.campaign.evolve import Recorded
from tuner.campaign.state import State
from tuner.daemon import publishers
from tuner.daemon.authenticator import EVENTS, REQUESTS, Authenticator, authorised
from tuner.daemon.doorkeeper import Doorkeeper
from tuner.daemon.intake import FAILURES, Asked, encoded, id_of, parsed, quick_id_of
from tuner.daemon.people import People
from tuner.daemon.request_queue import BYTES_OF_ONE, LOCAL, NETWORK, RequestQueue
from tuner.daemon.sender import Door
from tuner.daemon.troubles import Troubles
from tuner.daemon.views import event_message
from tuner.errors import ConfigError, TryAgainError
from tuner.wire import messages as m
from tuner.wire.endpoint import BEAT_S, HIGH_WATER, is_encrypted, limit

SOCKET_MODE = 0o660
OWNERS_MODE = 0o600
FEW = 10  # things that a subscriber says and that wait: libzmq takes all of them in one go, and nobody can stop it
UNREAD = 250  # answers that wait for a client to read them; more are dropped: no connection may have so many open
_LAST_WORDS_MS = 500  # for answers that are on their way when the sockets are closed
_AT_A_TIME = 8  # messages that are taken before others of the daemon have their turn
_STAND_BACK_S = 0.025  # that an ordinary request waits at most while urgent ones are being done

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Listener:
    """A socket that takes requests."""

    router: zmq.asyncio.Socket
    door: Door

    @property
    def encrypted(self) -> bool:
        return self.door == "network"


@dataclass(frozen=True, slots=True)
class _Visit:
    """A request, and the way back to its sender."""

    listener: _Listener
    client: bytes
    asked: Asked


class Sockets:
    """The daemon's sockets."""

    def __init__(
        self,
        authenticator: Authenticator,
        clock: Callable[[], datetime],
        troubles: Troubles,
        people: People | None = None,
        denied: Callable[[str, str], None] = lambda key, text: None,
        flooded: Callable[[str], None] = lambda key: None,
        crowded: Callable[[int, int], None] = lambda files, most: None,
    ) -> None:
        self._authenticator = authenticator
        self._people = people
        self._clock = clock
        self._troubles = troubles
        self._denied = denied
        self._context = zmq.asyncio.Context()
        self._plain: zmq.Context[zmq.Socket[bytes]] = zmq.Context.shadow(self._context)
        self._listeners: list[_Listener] = []
        self._publishers = publishers.Publishers(self._publisher, authenticator, flooded)
        self._open: set[asyncio.Task[None]] = set()
        self._queue: RequestQueue[_Visit] = RequestQueue()
        self._doorkeeper: Doorkeeper | None = None
        self._urgent = 0
        self._calm = asyncio.Event()
        self._locks: list[int] = []
        self._files: dict[Path, int] = {}
        self._crowded = crowded
        self.busy = 0

    def bind(self, requests: Sequence[str], events: Sequence[str]) -> None:
        """Open the sockets; the lock of the state directory must be held, for a socket's file can be taken over."""
        self._authenticator.start(self._context)
        for endpoint in requests:
            router = self._context.socket(zmq.ROUTER)
            router.setsockopt(zmq.ROUTER_MANDATORY, 1)
            self._listeners.append(
                _Listener(router, door_of(endpoint))
            )  # at once, so that it is closed whatever happens
            self._prepare(router, endpoint, m.LARGEST_BYTES)
        for endpoint in events:
            self._publishers.bind(endpoint)
        loop = asyncio.get_running_loop()

        def tell(files: int, most: int) -> None:
            loop.call_soon_threadsafe(self._crowded, files, most)

        self._doorkeeper = Doorkeeper(self._files, tell)
        self._doorkeeper.start()

    def _publisher(self, endpoint: str, again: bool) -> "zmq.Socket[bytes]":
        """A socket of events, which also tells what subscribers want to hear."""
        publisher = self._plain.socket(zmq.XPUB)
        try:
            self._prepare(publisher, endpoint, publishers.LARGEST_BYTES, domain=EVENTS, waiting=FEW, again=again)
        except BaseException:
            publisher.close(0)
            raise
        return publisher

    def _prepare(
        self,
        socket: "zmq.Socket[bytes] | zmq.asyncio.Socket",
        endpoint: str,
        largest_bytes: int,
        *,
        domain: str = REQUESTS,
        waiting: int = HIGH_WATER,
        again: bool = False,
    ) -> None:
        limit(socket, largest_bytes)
        socket.setsockopt(zmq.RCVHWM, waiting)
        if socket.type == zmq.ROUTER:
            socket.setsockopt(zmq.SNDHWM, UNREAD)
        if is_encrypted(endpoint):
            self._authenticator.secure(socket, domain)
        if endpoint.startswith("ipc://") and not again:
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
            file = Path(endpoint.removeprefix("ipc://"))
            file.chmod(mode)
            self._files[file] = mode

    def publish(self, name: str, one: Recorded, state: State) -> None:
        """Publish an event that is safe."""
        self._send(name.encode("utf-8", "replace"), event_message(name, one, state.count))

    def progress(self, name: str, text: Sentence, done: float | None, waiting: m.WaitingView | None = None) -> None:
        """Publish passing news; whatever is wrong with them, work goes on."""
        try:
            news = m.Progress(at=text_of(self._clock()), campaign=name, text=text, done=done, waiting=waiting)
            self._send(m.PROGRESS_TOPIC, news)
        except Exception:  # noqa: BLE001 - news must not stop the work they are about
            self._troubles.note("publishing news")

    async def beat(self, heads: Callable[[], dict[str, int]]) -> None:
        """Publish signs of life for ever."""
        while True:
            try:
                self._send(m.BEAT_TOPIC, m.Beat(at=text_of(self._clock()), heads=heads()))
            except Exception:  # noqa: BLE001 - this loop must not end
                self._troubles.note("publishing a beat")
            await asyncio.sleep(BEAT_S)

    def _send(self, topic: bytes, message: BaseModel) -> None:
        frames = [topic, encoded(message)]
        self._publishers.send(frames)

    async def serve(self, answer: "Handler") -> None:
        """Answer requests for ever."""
        await asyncio.gather(
            self._take_turns(answer), *(self._receive(listener, answer) for listener in self._listeners)
        )

    async def _receive(self, listener: _Listener, answer: "Handler") -> None:
        """Take what comes: urgent requests are begun at once, others stand in line."""
        while True:
            for _ in range(1 if self._urgent else _AT_A_TIME):
                frames = await listener.router.recv_multipart(copy=False)
                try:
                    self._take(listener, frames, answer)
                except Exception:  # noqa: BLE001 - no message ends this loop
                    self._troubles.note("taking a message")
            await asyncio.sleep(0)  # a socket that always has a message would never let others run

    async def _take_turns(self, answer: "Handler") -> None:
        while True:
            visit = await self._queue.next()
            if self._urgent:  # the loop is theirs; but even a flood of urgent requests stops nobody for long
                self._calm.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._calm.wait(), _STAND_BACK_S)
            self._begin(visit, answer)
            await asyncio.sleep(0)  # one of these for each turn of what is urgent

    def _take(self, listener: _Listener, frames: list[zmq.Frame], answer: "Handler") -> None:
        """Decide at once whether and when a message is answered."""
        client, frame = frames[0].bytes, frames[-1]
        try:
            visit = self._admitted(listener, client, frame, many=len(frames) > 3 or any(map(len, frames[1:-1])))
        except Refusal as refusal:
            content = frame.bytes
            unread = len(content) > BYTES_OF_ONE and refusal.code in ("busy", "denied")
            identity = (unread and quick_id_of(content)) or id_of(content)
            self._reply(listener, client, _refused(identity, refusal))
            self.busy += refusal.code == "busy"
            return
        except Exception:  # noqa: BLE001 - whoever sent it is told so
            self._troubles.note("reading a request")
            self._reply(listener, client, _defect(id_of(frame.bytes)))
            return
        if visit.asked.op.lane is Lane.URGENT:
            self._urgent += 1
            self._begin(visit, answer)

    def _admitted(self, listener: _Listener, client: bytes, frame: zmq.Frame, *, many: bool) -> _Visit:
        """The request of a message; all that is not urgent is in its line afterwards."""
        now_s = asyncio.get_running_loop().time()
        sender = self._authenticator.identify(frame, listener.door)
        pace = NETWORK if listener.encrypted else LOCAL
        key = sender.client
        content = frame.bytes
        affords = self._queue.affords(key, pace, now_s, len(content))
        if not affords and len(content) > BYTES_OF_ONE:  # none that is urgent is so large
            raise Refusal("busy", say("daemon.busy"))
        if many:
            raise Refusal("bad_request", say("request.frames"))
        request = parsed(content)
        try:
            op, actor = authorised(request, sender, self._people)
        except Refusal as refusal:
            if refusal.code == "denied":
                self._denied(key, refusal.text)
            raise
        visit = _Visit(listener, client, Asked(request, op, actor, sender, now_s))
        if op.lane is Lane.URGENT:
            entered = self._queue.enter_urgent(key, client, now_s)
        else:
            entered = affords and self._queue.enter(key, client, visit)
        if not entered:
            raise Refusal("busy", say("daemon.busy"))
        return visit

    def _begin(self, visit: _Visit, answer: "Handler") -> None:
        task = asyncio.create_task(self._handle(visit, answer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _handle(self, visit: _Visit, answer: "Handler") -> None:
        asked = visit.asked
        try:
            self._reply(visit.listener, visit.client, await self._answer(asked, answer))
        except Exception:  # noqa: BLE001 - nobody would hear of it
            self._troubles.note("answering a request")
        finally:
            urgent = asked.op.lane is Lane.URGENT
            self._queue.done(asked.sender.client, visit.client, urgent=urgent)
            if urgent:
                self._urgent -= 1
                if not self._urgent:
                    self._calm.set()

    async def _answer(self, asked: Asked, answer: "Handler") -> m.Reply:
        identity = asked.request.id
        try:
            status, value = await answer(asked)
            return m.Reply(id=identity, status=status, body=value.model_dump(mode="json"))
        except Refusal as refusal:
            self.busy += refusal.code == "busy"
            return _refused(identity, refusal)
        except Exception:  # noqa: BLE001 - whoever asked is told so
            self._troubles.note(f"answering {asked.request.op}")
            return _defect(identity)

    def _reply(self, listener: _Listener, client: bytes, reply: m.Reply) -> None:
        """Answer, or not: a client that has gone or does not read must not keep others waiting.

        It will ask again with the same id if it cares.
        """
        sent = asyncio.ensure_future(listener.router.send_multipart([client, encoded(reply)], flags=zmq.DONTWAIT))
        error = sent.exception()  # with DONTWAIT it is done, one way or the other
        if error is not None:
            log.debug("no way back to a client: %s", error)

    def close(self) -> None:
        """Close the sockets."""
        if self._doorkeeper is not None:
            self._doorkeeper.end()
        for task in self._open:
            task.cancel()
        for listener in self._listeners:
            listener.router.close(_LAST_WORDS_MS)  # the answer to `daemon.stop` is the last one
        self._publishers.close()
        self._authenticator.stop()
        self._context.term()
        for file in self._files:  # while they are locked: they are ours
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
        for lock in self._locks:
            os.close(lock)


class Handler(Protocol):
    """What answers a request that is allowed."""

    async def __call__(self, asked: Asked) -> tuple[Status, BaseModel]:
        """Status and body of the answer; raises a Refusal."""


def door_of(endpoint: str) -> Door:
    """Who may come by an endpoint."""
    if is_encrypted(endpoint):
        return "network"
    return "owner" if endpoint.endswith(OWNERS_SUFFIX) else "group"


def _refused(identity: str, refusal: Refusal) -> m.Reply:
    status = Status.FAILED if refusal.code in FAILURES else Status.REFUSED
    return m.Reply(id=identity, status=status, code=refusal.code, text=refusal.text)


def _defect(identity: str) -> m.Reply:
    return m.Reply(id=identity, status=Status.FAILED, code="defect", text=say("daemon.defect"))


def _reserve(path: Path) -> int:
    """Make sure that no other daemon has this socket: a second one would take its file over in silence."""
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        raise ConfigError(
            f"{path}: the path of a socket may have {LONGEST_SOCKET_PATH} bytes; take a shorter directory"
        )
    try:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"cannot listen at {path}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise TryAgainError(f"another daemon listens at {path}") from None
    return lock
