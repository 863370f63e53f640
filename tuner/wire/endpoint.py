"""Where the daemon's sockets are and how ours are set up: limits, heartbeats and encryption, the same on both sides."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import zmq

from tuner.basics.places import checked_endpoint, owners, places
from tuner.basics.text import shown
from tuner.errors import TunerError

if TYPE_CHECKING:
    from tuner.wire.keyfiles import ClientKey

HEARTBEAT_S = 2.0  # between two signs of life of an open connection
HEARTBEAT_LOST_S = 6.0  # without one the connection is given up and made anew
HANDSHAKE_S = 3.0
HIGH_WATER = 1000  # messages waiting in a socket
LARGEST_REPLY_BYTES = 16_000_000  # a page of trials is larger than any request may be
BEAT_S = 2.0  # between two messages on the topic ~beat
SILENT_S = 6.0  # without any message the daemon counts as lost
EVENTS_FILE = "events.sock"  # beside the file that answers requests, see `tuner.basics.places`

SERVICE = Path("/run/tuner")  # systemd's RuntimeDirectory of the unit that we ship

_RECONNECT_MS = 100
_RECONNECT_MOST_MS = 2000
_ANY_HOST = re.compile(r"tcp://(\*|0\.0\.0\.0|\[::\]):(\d+)")
_HOST = re.compile(r"tcp://(.+):\d+")


@dataclass(frozen=True, slots=True)
class Link:
    """Where to connect and with which key.

    Attributes:
        requests: The endpoint that answers requests.
        events: The endpoint that publishes events; None: the daemon is asked for it.
        key: Who the client is; needed over tcp, unused over ipc, where the rights of the file decide.
        state: The state directory by which it was found; empty: by default. None: by its endpoint.
    """

    requests: str
    events: str | None = None
    key: "ClientKey | None" = None
    state: str | None = None

    def __post_init__(self) -> None:
        for endpoint in filter(None, (self.requests, self.events)):
            try:
                checked_endpoint(endpoint)
            except ValueError as error:
                raise TunerError(str(error)) from None
            if _ANY_HOST.fullmatch(endpoint):
                raise TunerError(f"{shown(endpoint)} is where a daemon listens; to connect, name its host")

    @classmethod
    def local(cls, state_directory: Path | None, environ: Mapping[str, str], home: Path) -> Self:
        """The sockets of a daemon on this machine: by its state directory, else one's own or the service's.

        Whoever may open the socket of the daemon's own user takes that one, with an engineer's rights.
        """
        there = places(environ, home, state_directory)
        service = SERVICE / Path(there.requests.removeprefix("ipc://")).name
        if state_directory is None and not Path(there.requests.removeprefix("ipc://")).exists() and service.exists():
            events = f"ipc://{SERVICE / Path(there.events.removeprefix('ipc://')).name}"
            return cls(_best(f"ipc://{service}"), events, state="")
        return cls(_best(there.requests), there.events, state=str(state_directory or ""))

    def with_events(self, published: str) -> Self:
        """Take over where the daemon says it publishes.

        It names its network's endpoint. Whoever came by the file has no key for that, but finds the other file beside
        it. On all its addresses means on the one we reached it at.
        """
        if is_encrypted(published) and not is_encrypted(self.requests):
            beside = Path(self.requests.removeprefix("ipc://")).with_name(EVENTS_FILE)
            return replace(self, events=f"ipc://{beside}")
        anywhere = _ANY_HOST.fullmatch(published)
        host = _HOST.fullmatch(self.requests)
        return replace(self, events=f"tcp://{host[1]}:{anywhere[2]}" if anywhere and host else published)


def _best(requests: str) -> str:
    """The socket of the daemon's own user, if we may open it; where no daemon runs yet, if its directory is ours."""
    own, group = (Path(endpoint.removeprefix("ipc://")) for endpoint in (owners(requests), requests))
    if own.exists() or group.exists():
        ours = os.access(own, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    else:
        try:
            ours = os.geteuid() in (0, own.parent.stat().st_uid)
        except OSError:
            ours = False
    return owners(requests) if ours else requests


def is_encrypted(endpoint: str) -> bool:
    """Whether CURVE is spoken there: over a network always, over a file never."""
    return endpoint.startswith("tcp://")


def limit(socket: zmq.Socket[Any], largest_bytes: int) -> None:
    """Set what every socket of ours has: nothing lingers, nothing grows without bound, a dead peer is noticed."""
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, largest_bytes)
    socket.setsockopt(zmq.SNDHWM, HIGH_WATER)
    socket.setsockopt(zmq.RCVHWM, HIGH_WATER)
    socket.setsockopt(zmq.HEARTBEAT_IVL, round(HEARTBEAT_S * 1000))
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, round(HEARTBEAT_LOST_S * 1000))
    socket.setsockopt(zmq.HEARTBEAT_TTL, round(HEARTBEAT_LOST_S * 1000))
    socket.setsockopt(zmq.HANDSHAKE_IVL, round(HANDSHAKE_S * 1000))


def prepare(socket: zmq.Socket[Any], endpoint: str, key: "ClientKey | None") -> None:
    """Make a client's socket ready to connect."""
    limit(socket, LARGEST_REPLY_BYTES)
    socket.setsockopt(zmq.RECONNECT_IVL, _RECONNECT_MS)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, _RECONNECT_MOST_MS)
    if socket.type == zmq.DEALER:
        # no queue while there is no connection: what cannot be sent now must not be sent in an hour; a SUB socket needs
        # the queue, or its subscription waits until somebody reads from it
        socket.setsockopt(zmq.IMMEDIATE, 1)
    if key is not None and is_encrypted(endpoint):
        socket.curve_serverkey = key.server.encode("ascii")
        socket.curve_publickey = key.public.encode("ascii")
        socket.curve_secretkey = key.secret.get_secret_value().encode("ascii")
