"""An OPC UA client and the event loop it lives in: a thread of their own keeps the session alive between calls."""

import asyncio
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from adapters.opcua import contact
from adapters.opcua.certificates import Files, files, make_own
from adapters.opcua.node_map import NODE_ID, OpcuaConnection
from adapters.shared.contact import quiet
from tuner.adapter import AdapterError, LinkError, RefusedError
from tuner.basics.sentences import say

try:
    from asyncua import ua
    from asyncua.client.client import Client
    from asyncua.client.ua_client import UaClientState
    from asyncua.common.subscription import Subscription
    from asyncua.crypto import security_policies
    from asyncua.crypto.uacrypto import CertProperties
    from asyncua.ua.uaerrors import UaError, UaStatusCodeError
except ImportError as error:
    raise ImportError('the OPC UA adapter needs asyncua: pip install "process-tuner[opcua]"') from error

T = TypeVar("T")

_WATCH_S = 5.0  # how often the client looks whether the server is still there
_SESSION_S = 60  # after a crash of tuner the machine forgets the session after this time
_GOODBYE_S = 2.0
_GRACE_S = 1.0  # for a request that is slow to be cancelled

_PUBLISHED_MS = 50.0  # how often a server tells what has changed
_SAMPLED_MS = 5.0  # how often it looks; many look no faster than every 50 or 100 ms, and say so
_QUEUED = 100  # changes that are kept between two tellings

LINK_FAILURES = (OSError, UaError, concurrent.futures.CancelledError)  # TimeoutError is an OSError


class Link:
    """One connection; after a failure it is closed and another one made."""

    def __init__(self, settings: OpcuaConnection, timeout_s: float) -> None:
        quiet("asyncua")
        self._settings, self._timeout_s = settings, timeout_s
        self.client = Client(settings.endpoint, timeout=timeout_s, watchdog_intervall=_WATCH_S)
        self.client.name = self.client.description = "tuner"  # what the machine shows in its list of sessions
        self.client.session_timeout = _SESSION_S * 1000
        self.namespaces: list[str] = []
        self._running = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), name="opcua", daemon=True)
        self._thread.start()
        self._running.wait()

    async def _live(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self._running.set()
        await self._end.wait()

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Wait for a coroutine in the thread; one that takes too long is cancelled."""
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, timeout_s), self._loop)
        return future.result(timeout_s + _GRACE_S)

    async def connect(self) -> None:
        """Open a session, and learn the numbers of the server's namespaces."""
        s, client = self._settings, self.client
        if s.user is not None:
            client.set_user(s.user)
            client.set_password(_password(s))
        where = files(s, s.security) if s.security is not None else None
        try:
            if where is not None:
                await self._secure(where)
            await client.connect()
            self.namespaces = await client.get_namespace_array()
        except AdapterError:
            raise
        except Exception as error:  # whatever the library fails with: a person must learn what to do
            raise await self._explained(error, where) from error

    async def _explained(self, error: Exception, where: Files | None) -> AdapterError:
        """What stands in the way of a connection."""
        at, status = say("machine.named", address=self._settings.endpoint), _status(error)
        connection = {"where": at, "what": say("machine.a_connection")}
        if why := await asyncio.to_thread(contact.unreached, self._settings, self._timeout_s):
            return LinkError(say("machine.silent", where=at, why=why))
        try:
            endpoints = await contact.offered(self._settings, self._timeout_s)
        except Exception:  # noqa: BLE001 - it is only looked whether there is more to be said
            return LinkError(say("machine.no_answer_to", **connection, why=say("opcua.says_nothing")))
        if why := contact.mismatch(self._settings, endpoints):
            return RefusedError(say("machine.refuses", **connection, why=why))
        if status.startswith(("BadIdentityToken", "BadUserAccessDenied")):
            user = self._settings.user
            why = say("opcua.user", status=status, user=user) if user else say("opcua.nobody", status=status)
            return RefusedError(say("machine.refuses", **connection, why=why))
        if where is not None and (contact.is_distrust(status) or not status):
            # a server that does not trust us either says so or hangs up without a word, as one does that is restarting
            kind = RefusedError if contact.is_distrust(status) else LinkError
            why = contact.distrust(status or say("opcua.hangs_up"), where)
            return kind(say("machine.refuses", **connection, why=why))
        if status:
            return LinkError(say("machine.cannot_answer", **connection, why=status))
        return LinkError(say("machine.no_answer_to", **connection, why=str(error) or type(error).__name__))

    async def _secure(self, where: Files) -> None:
        security = self._settings.security
        if security is None:
            return
        make_own(where, security.application_uri)
        at = say("machine.named", address=self._settings.endpoint)
        if not where.server.exists():
            endpoints = await contact.offered(self._settings, self._timeout_s)
            if why := contact.mismatch(self._settings, endpoints):
                raise RefusedError(say("machine.refuses", where=at, what=say("machine.a_connection"), why=why))
            shown_one = next((one.ServerCertificate for one in endpoints if one.ServerCertificate), None)
            raise RefusedError(say("opcua.not_trusted", where=at, why=contact.unknown_server(where, shown_one)))
        self.client.application_uri = security.application_uri
        try:
            await self.client.set_security(
                getattr(security_policies, f"SecurityPolicy{security.policy}"),
                certificate=_content(where.certificate),
                private_key=_content(where.key),
                server_certificate=_content(where.server),
                mode=ua.MessageSecurityMode[security.mode],
            )
        except (OSError, ValueError) as error:
            raise RefusedError(say("machine.certificates", where=self._settings.endpoint, why=str(error))) from error

    def node_id(self, text: str) -> ua.NodeId:
        """A node id of the settings, with the number that its namespace has on this server today."""
        match = NODE_ID.fullmatch(text)
        if match is None:
            raise RefusedError(say("opcua.no_node_id", text=text))
        index, uri, identifier = match.group("index", "uri", "identifier")
        uri = uri or self._settings.namespace
        if index is None and uri is not None:
            if uri not in self.namespaces:
                raise RefusedError(say("opcua.no_namespace", where=self._settings.endpoint, uri=uri))
            index = str(self.namespaces.index(uri))
        return ua.NodeId.from_string(f"ns={index or 0};{identifier}")

    async def watch(self, node: ua.NodeId, heard: Callable[[Any], None]) -> Subscription:
        """Have every change of a variable told, also one that lasts for a moment only."""
        subscription = await self.client.create_subscription(_PUBLISHED_MS, _Changes(heard))
        await subscription.subscribe_data_change(
            self.client.get_node(node), queuesize=_QUEUED, sampling_interval=ua.Double(_SAMPLED_MS)
        )
        return subscription

    def close(self, *, polite: bool) -> None:
        """End the session if `polite`, and in any case the connection and the thread."""
        polite = polite and self.client.state is UaClientState.CONNECTED
        with contextlib.suppress(*LINK_FAILURES):
            self.run(self.client.disconnect() if polite else self._abandon(), _GOODBYE_S)
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    async def _abandon(self) -> None:
        self.client.disconnect_socket()


class _Changes:
    """Gets what a subscription tells."""

    def __init__(self, heard: Callable[[Any], None]) -> None:
        self._heard = heard

    def datachange_notification(self, node: object, value: Any, data: object) -> None:
        """A new value."""
        self._heard(value)


def _content(file: Path) -> CertProperties:
    """A certificate or key, whose form is that of its content: names end with .crt and .key too."""
    content = file.read_bytes()
    return CertProperties(content, "pem" if content.lstrip().startswith(b"-----") else "der")


def _status(error: BaseException | None) -> str:
    """The name of the status with which the server refuses, wherever it is in the chain of errors."""
    while error is not None:
        if isinstance(error, UaStatusCodeError):
            return ua.StatusCode(error.code).name
        error = error.__cause__ or error.__context__
    return ""


def _password(settings: OpcuaConnection) -> str:
    if settings.password_env is not None:
        if settings.password_env not in os.environ:
            raise RefusedError(say("machine.no_password", variable=settings.password_env))
        return os.environ[settings.password_env]
    if settings.password_file is None:
        return ""
    try:
        return settings.password_file.read_text("utf-8").rstrip("\r\n")
    except OSError as error:
        raise RefusedError(say("machine.password_unread", why=str(error))) from error
