"""An OPC UA client and the event loop it lives in: a thread of their own keeps the session alive between calls."""

import asyncio
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from adapters.opcua.node_map import NODE_ID, OpcuaSettings
from tuner.adapter import RefusedError
from tuner.basics.text import shown

try:
    from asyncua import ua
    from asyncua.client.client import Client
    from asyncua.client.ua_client import UaClientState
    from asyncua.crypto import security_policies
    from asyncua.ua.uaerrors import UaError
except ImportError as error:
    raise ImportError('the OPC UA adapter needs asyncua: pip install "process-tuner[opcua]"') from error

T = TypeVar("T")

_WATCH_S = 5.0  # how often the client looks whether the server is still there
_SESSION_S = 60  # after a crash of tuner the machine forgets the session after this time
_GOODBYE_S = 2.0
_GRACE_S = 1.0  # for a request that is slow to be cancelled

LINK_FAILURES = (OSError, UaError, concurrent.futures.CancelledError)  # TimeoutError is an OSError


class Link:
    """One connection; after a failure it is closed and another one made."""

    def __init__(self, settings: OpcuaSettings) -> None:
        self._settings = settings
        self.client = Client(settings.endpoint, timeout=settings.timeout_s, watchdog_intervall=_WATCH_S)
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
        if s.security is not None:
            await self._secure()
        await client.connect()
        self.namespaces = await client.get_namespace_array()

    async def _secure(self) -> None:
        security = self._settings.security
        if security is None:
            return
        self.client.application_uri = security.application_uri
        try:
            await self.client.set_security(
                getattr(security_policies, f"SecurityPolicy{security.policy}"),
                certificate=str(security.certificate_file),
                private_key=str(security.key_file),
                server_certificate=str(security.server_certificate_file),
                mode=ua.MessageSecurityMode[security.mode],
            )
        except (OSError, ValueError) as error:
            raise RefusedError(f"the certificates for {self._settings.endpoint} cannot be used: {error}") from error

    def node_id(self, text: str) -> ua.NodeId:
        """A node id of the settings, with the number that its namespace has on this server today."""
        match = NODE_ID.fullmatch(text)
        if match is None:
            raise RefusedError(f"{shown(text)} is not a node id")
        index, uri, identifier = match.group("index", "uri", "identifier")
        uri = uri or self._settings.namespace
        if index is None and uri is not None:
            if uri not in self.namespaces:
                raise RefusedError(f"{self._settings.endpoint} has no namespace {shown(uri)}")
            index = str(self.namespaces.index(uri))
        return ua.NodeId.from_string(f"ns={index or 0};{identifier}")

    def close(self, *, polite: bool) -> None:
        """End the session if `polite`, and in any case the connection and the thread."""
        polite = polite and self.client.state is UaClientState.CONNECTED
        with contextlib.suppress(*LINK_FAILURES):
            self.run(self.client.disconnect() if polite else self._abandon(), _GOODBYE_S)
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    async def _abandon(self) -> None:
        self.client.disconnect_socket()


def _password(settings: OpcuaSettings) -> str:
    if settings.password_env is not None:
        if settings.password_env not in os.environ:
            raise RefusedError(f"the environment variable {settings.password_env} with the password is not set")
        return os.environ[settings.password_env]
    if settings.password_file is None:
        return ""
    try:
        return settings.password_file.read_text("utf-8").rstrip("\r\n")
    except OSError as error:
        raise RefusedError(f"the password cannot be read: {error}") from error
