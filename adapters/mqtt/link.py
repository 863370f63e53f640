"""A connection to an MQTT broker for callers that block: an event loop in a thread of its own keeps it alive."""

import asyncio
import contextlib
import math
import os
import socket
import ssl
import threading
import traceback
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field

from adapters.shared.contact import tls_words, why_not_reached
from adapters.shared.values import Deadline
from tuner.adapter import AdapterError, AdapterSettings, DeadlineError, LinkError, RefusedError
from tuner.basics.sentences import Sentence, say

try:
    import aiomqtt
except ImportError as error:
    raise ImportError('the MQTT adapter needs aiomqtt: pip install "process-tuner[mqtt]"') from error

T = TypeVar("T")

ONLINE, OFFLINE = "online", "offline"
_PLAIN_PORT, _TLS_PORT = 1883, 8883
_REFUSED_BY_BROKER = 128  # granted QoS from here on means that a subscription was refused
_KEPT_MESSAGES = 10_000
_CLOSING_S = 2.0
_LOOK_S = 1.0  # for a second look at a broker that cannot be reached
_TICKS = 10  # of the loop, until a message has found its way from aiomqtt's queue to us; three are enough
_REFUSING_CODES = {4, 5, 133, 134, 135}  # client id, user or password wrong, not authorised: 3.1.1 and 5


class Tls(AdapterSettings):
    """Encryption; the broker's certificate is always checked."""

    ca_file: Path | None = Field(None, description="certificates to trust; none: those of the system")
    certificate_file: Path | None = Field(None, description="our own certificate, if the broker wants one")
    key_file: Path | None = Field(None, description="its private key")


class BrokerSettings(AdapterSettings):
    """Where the broker is and who we are to it."""

    host: str = Field("localhost", min_length=1, description="the broker's name or address")
    port: int | None = Field(None, ge=1, le=65_535, description="its port; none: 1883, with TLS 8883")
    tls: Tls | None = Field(None, description="encryption; none: plain")
    user: str | None = Field(None, description="user name; none: anonymous")
    password_file: Path | None = Field(None, description="file with the password; ${VARIABLES} are replaced")
    password_variable: str | None = Field(None, description="environment variable with the password")
    client_id: str | None = Field(None, description="our name; a second client with it ends the first; none: by chance")
    keep_alive_s: int = Field(10, ge=1, le=3600, description="a broker that is silent for so long is lost")
    qos: Literal[0, 1, 2] = Field(1, description="quality of service of all messages")
    presence: str | None = Field(
        None, description='topic where we say "online", and the broker "offline" when we are not'
    )


@dataclass(frozen=True, slots=True)
class Received:
    """A message, numbered in the order of arrival; a retained one may be old."""

    number: int
    topic: str
    payload: bytes
    retained: bool


class MqttLink:
    """Publishes, and keeps what comes on the topics it listens to; connects again when it was cut off."""

    def __init__(self, settings: BrokerSettings, topics: Sequence[str]) -> None:
        self._settings = settings
        self._topics = tuple(dict.fromkeys(topics))
        self._news = threading.Condition()
        self._messages: deque[Received] = deque(maxlen=_KEPT_MESSAGES)
        self._latest: dict[str, Received] = {}
        self._number = 0
        self._lost = "not connected"  # why there is no connection; empty while there is one
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: aiomqtt.Client | None = None
        self._listener: asyncio.Task[None] | None = None
        self._cut = asyncio.Event()
        self._stop = asyncio.Event()
        self._dropping: set[asyncio.Task[None]] = set()

    def reach(self, deadline: Deadline) -> None:
        """Connect unless we are connected.

        Raises:
            LinkError: the broker does not answer.
            RefusedError: it does not let us in, or not read a topic.
            AdapterError: the password or a certificate cannot be read.
        """
        if not self._lost:
            return
        options: dict[str, Any] = {"username": self._settings.user, "password": _password(self._settings)}
        options["tls_context"] = _tls_context(self._settings.tls)
        if self._thread is None:
            started = threading.Event()
            self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), daemon=True)
            self._thread.start()
            started.wait()
        where = say("mqtt.broker", address=f"{self._settings.host}:{_port(self._settings)}")
        try:
            self._call(self._connect(options, deadline.left_s()), deadline)
        except DeadlineError:
            raise LinkError(self._too_late(where, deadline)) from None
        except aiomqtt.MqttCodeError as error:
            code = getattr(error.rc, "value", error.rc)
            if code in _REFUSING_CODES:
                raise RefusedError(say("mqtt.not_let_in", where=where, why=str(error))) from error
            raise LinkError(say("mqtt.unreachable", where=where, why=self._why() or str(error))) from error
        except (aiomqtt.MqttError, OSError, ValueError) as error:
            if deadline.left_s() <= 0.0:  # the client's clock may strike before ours
                raise LinkError(self._too_late(where, deadline)) from error
            trouble = _tls_trouble(error)
            if trouble is not None:
                traceback.clear_frames(trouble.__traceback__)  # where paho leaves its open socket
            why = tls_words(trouble) if trouble is not None else self._why()
            raise LinkError(say("mqtt.unreachable", where=where, why=why or str(error))) from error

    def _too_late(self, where: Sentence, deadline: Deadline) -> Sentence:
        late = say("handshake.too_late", where=where, what=say("machine.did_not_answer"), seconds=deadline.seconds)
        why = self._why()
        return say("machine.because", text=late, why=why) if why else late

    def _why(self) -> Sentence:
        return why_not_reached(self._settings.host, _port(self._settings), _LOOK_S, tls=self._settings.tls is not None)

    def close(self) -> None:
        """Say goodbye and end the thread."""
        thread, loop, self._thread, self._loop = self._thread, self._loop, None, None
        if thread is not None and loop is not None:
            loop.call_soon_threadsafe(self._stop.set)
            thread.join(2 * _CLOSING_S)
        self._lost = "not connected"

    def refresh(self, deadline: Deadline) -> None:
        """Make sure that the broker is there now: what was heard last is worth nothing if nobody could say more."""
        try:
            self._call(
                self._unless_cut(lambda client: client.subscribe(self._topics[-1], self._settings.qos)), deadline
            )
        except aiomqtt.MqttError as error:
            raise LinkError(say("mqtt.silent", why=str(error))) from error

    def publish(self, topic: str, payload: str, deadline: Deadline) -> None:
        """Send a message; with QoS 1 or 2 the broker has it when this returns."""
        try:
            qos = self._settings.qos
            self._call(self._unless_cut(lambda client: client.publish(topic, payload, qos)), deadline)
        except aiomqtt.MqttError as error:
            raise LinkError(say("mqtt.not_sent", topic=topic, why=str(error))) from error

    def mark(self) -> int:
        """The number of the last message, to wait for later ones."""
        return self._number

    def latest(self, topic: str) -> Received | None:
        """The last message of a topic since we are connected."""
        return self._latest.get(topic)

    def heard(self) -> list[Received]:
        """The last message of every topic, in the order of their names."""
        with self._news:
            return [self._latest[topic] for topic in sorted(self._latest)]

    def listen(self, deadline: Deadline) -> None:
        """Hear what comes until the deadline."""
        while (left_s := deadline.left_s()) > 0 and not self._lost:
            with self._news:
                self._news.wait(left_s)

    def wait_for(self, check: Callable[[Received], T | None], since: int, deadline: Deadline, what: str) -> T:
        """Show every message after number `since` to `check` until it has an answer."""
        while True:
            with self._news:
                fresh = [message for message in self._messages if message.number > since]
                if not fresh:
                    if self._lost:
                        raise LinkError(say("mqtt.lost", why=self._lost))
                    if not self._news.wait(deadline.left_s()):
                        raise DeadlineError(say("mqtt.too_late", what=what, seconds=deadline.seconds))
                    continue
            for message in fresh:  # outside of the lock: a check may raise, and takes its time
                since = message.number
                answer = check(message)
                if answer is not None:
                    return answer

    # What follows runs in the thread of the loop, but for _call.

    def _call(self, work: Coroutine[Any, Any, T], deadline: Deadline) -> T:
        """Run a coroutine in the loop's thread and wait for it."""
        if self._loop is None:
            work.close()
            raise LinkError(say("mqtt.not_connected"))
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(max(deadline.left_s(), 0.001))
        except TimeoutError:
            future.cancel()
            raise DeadlineError(say("mqtt.slow", seconds=deadline.seconds)) from None

    async def _serve(self, started: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        started.set()
        await self._stop.wait()
        await self._hang_up()
        if self._dropping:
            await asyncio.wait(self._dropping, timeout=_CLOSING_S)

    async def _connect(self, options: dict[str, Any], limit_s: float) -> None:
        await self._hang_up()
        s = self._settings
        client = aiomqtt.Client(
            s.host,
            _port(s),
            identifier=s.client_id,
            keepalive=s.keep_alive_s,
            timeout=max(limit_s, 0.001),
            will=aiomqtt.Will(s.presence, OFFLINE, s.qos, retain=True) if s.presence else None,
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
            **options,
        )
        entering = asyncio.create_task(client.__aenter__())
        try:
            await asyncio.shield(entering)
        except BaseException:
            dropping = asyncio.create_task(_drop(client, entering))
            self._dropping.add(dropping)
            dropping.add_done_callback(self._dropping.discard)
            raise
        with self._news:
            self._messages.clear()  # what we knew may be long past: retained messages come anew
            self._latest.clear()
        self._client, self._cut = client, asyncio.Event()
        self._listener = asyncio.create_task(self._listen(client))
        try:
            await self._enter(client)
        except BaseException:
            await asyncio.shield(asyncio.create_task(self._hang_up()))
            raise

    async def _enter(self, client: aiomqtt.Client) -> None:
        """Listen to all topics and say that we are there."""
        qos, presence = self._settings.qos, self._settings.presence
        # the last one twice: when it is confirmed again, all that was retained has come before it
        for topic in (*self._topics, *self._topics[-1:]):
            for code in await client.subscribe(topic, qos):
                if (code if isinstance(code, int) else code.value) >= _REFUSED_BY_BROKER:
                    raise RefusedError(say("mqtt.not_let_read", topic=topic))
        settled = 0
        while settled < _TICKS:
            settled = 0 if len(client.messages) else settled + 1
            await asyncio.sleep(0)
        if presence:
            await client.publish(presence, ONLINE, qos, retain=True)
        if not self._cut.is_set():
            self._lost = ""

    async def _listen(self, client: aiomqtt.Client) -> None:
        try:
            async for message in client.messages:
                with self._news:
                    self._number += 1
                    payload = message.payload
                    received = Received(self._number, str(message.topic), payload, bool(message.retain))
                    self._messages.append(received)
                    self._latest[received.topic] = received
                    self._news.notify_all()
        except aiomqtt.MqttError as error:
            with self._news:
                self._lost = str(error.__cause__ or error)
                self._cut.set()
                self._news.notify_all()

    async def _unless_cut(self, work: Callable[[aiomqtt.Client], Coroutine[Any, Any, object]]) -> None:
        """Do something with the client; aiomqtt would wait for answers that cannot come any more."""
        if self._client is None or self._lost:
            raise LinkError(say("mqtt.lost", why=self._lost))
        self._client.timeout = math.inf  # deadlines are ours, and differ from call to call
        working = asyncio.create_task(work(self._client))
        cut = asyncio.create_task(self._cut.wait())
        try:
            await asyncio.wait((working, cut), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise LinkError(say("mqtt.lost", why=self._lost))
            await working
        finally:
            working.cancel()
            cut.cancel()

    async def _hang_up(self) -> None:
        client, self._client = self._client, None
        listener, self._listener = self._listener, None
        self._lost = self._lost or "not connected"
        if client is not None:
            with contextlib.suppress(aiomqtt.MqttError, TimeoutError):
                async with asyncio.timeout(_CLOSING_S):
                    if self._settings.presence and not self._cut.is_set():
                        await client.publish(self._settings.presence, OFFLINE, self._settings.qos, retain=True)
                    await client.__aexit__(None, None, None)
        if listener is not None:
            listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listener


async def _drop(client: aiomqtt.Client, entering: "asyncio.Task[aiomqtt.Client]") -> None:
    """Close the socket of a client that did not connect in time; aiomqtt leaves it open when the broker is silent."""
    await asyncio.wait((entering,))
    if not entering.cancelled():
        entering.exception()  # known already
    paho = client._client  # noqa: SLF001 - there is no public way
    paho.disconnect()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_CLOSING_S):
            while paho.socket() is not None:  # noqa: ASYNC110 - paho tells nobody
                await asyncio.sleep(0.01)


def _tls_trouble(error: BaseException | None) -> ssl.SSLError | None:
    """What went wrong with the encryption, wherever it is in the chain of errors."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def _port(settings: BrokerSettings) -> int:
    return settings.port or (_TLS_PORT if settings.tls else _PLAIN_PORT)


def _password(settings: BrokerSettings) -> str | None:
    if settings.password_variable is not None:
        if settings.password_variable not in os.environ:
            raise AdapterError(f"the environment has no variable {settings.password_variable} with the password")
        return os.environ[settings.password_variable]
    if settings.password_file is None:
        return None
    path = Path(os.path.expandvars(settings.password_file))
    try:
        if path.stat().st_mode & 0o077:
            raise AdapterError(f"the password file {path} can be read by others; chmod 600 keeps it secret")
        return path.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise AdapterError(f"the password file {path} cannot be read: {error}") from error


def _tls_context(tls: Tls | None) -> ssl.SSLContext | None:
    if tls is None:
        return None
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.certificate_file is not None:
            context.load_cert_chain(tls.certificate_file, tls.key_file)
    except OSError as error:  # ssl.SSLError is one of them
        raise AdapterError(f"a certificate or key cannot be read: {error}") from error
    return context
