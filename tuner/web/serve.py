"""Serving the page: where it listens, and why it refuses to where anybody could reach it unproved."""

import asyncio
import contextlib
import ipaddress
import logging
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import ConfigError, TunerError
from tuner.web.app import Options, Page
from tuner.web.guard import Places
from tuner.wire.aio import AsyncClient
from tuner.wire.endpoint import Link

LARGEST_HEADERS_BYTES = 16_000
STOP_S = 2
BACKLOG = 256
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Listening:
    """Where to listen.

    Attributes:
        host: A name or number of this machine.
        port: 0: any that is free.
        names: What browsers may call this machine, beside the host itself.
        certificate: File of the certificate; None: no TLS, on this machine only.
        key: File of its key.
    """

    host: str
    port: int
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    def check(self) -> None:
        """Refuse what anybody in the network could read.

        Raises:
            ConfigError: TLS is missing, or its files cannot be used.
        """
        if self.certificate is None and self.key is None:
            if not self.loopback:
                raise ConfigError(
                    f"{self.host} can be reached from other machines, so the page needs TLS there: give --certificate "
                    "and --certificate-key (`tuner web certificate` makes them), or listen at 127.0.0.1"
                )
            return
        if self.certificate is None or self.key is None:
            raise ConfigError("a certificate needs its key: give both --certificate and --certificate-key")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"{self.certificate} and {self.key} are no certificate and key: {error}") from error

    def bind(self) -> socket.socket:
        """A socket that listens there."""
        try:
            family = socket.getaddrinfo(self.host.strip("[]"), self.port, type=socket.SOCK_STREAM)[0]
            # named as TCP: only then asyncio sends at once, and does not wait 40 ms for the other side's receipt
            bound = socket.socket(family[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(family[4])
            bound.listen(BACKLOG)
        except OSError as error:
            raise TunerError(
                f"nothing can be served at {self.host}:{self.port}: {error.strerror or error}; try another --listen"
            ) from error
        return bound

    def places(self, port: int, pictures: tuple[str, ...]) -> Places:
        """What the page may be called."""
        names = {self.host.lower(), *(name.lower() for name in self.names)}
        names |= set(_LOCAL_NAMES) if self.loopback else {socket.gethostname().lower()}
        secure = self.certificate is not None
        usual = 443 if secure else 80
        hosts = {f"{name}:{port}" for name in names} | (names if port == usual else set())
        return Places(frozenset(hosts), secure, pictures)


def serve(
    link: Link,
    listening: Listening,
    say: Callable[[str], None],
    *,
    language: str | None = None,
    campaign: str | None = None,
    photos: tuple[Path, ...] = (),
    pictures: tuple[str, ...] = (),
) -> None:
    """Serve until interrupted."""
    listening.check()
    if not listening.loopback:
        asyncio.run(_require_people(link))
    bound = listening.bind()
    port = int(bound.getsockname()[1])
    places = listening.places(port, pictures)
    options = Options(places, language, campaign, not listening.loopback, photos)
    from tuner.web.connection import Loop

    with contextlib.suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=Loop) as runner:  # Ctrl-C is how it ends
        runner.run(_serve(link, listening, bound, options, say))


async def _require_people(link: Link) -> None:
    async with AsyncClient(link, find_s=4.0) as client:
        if not (await client.hello()).people:
            raise ConfigError(
                "a page that other machines can reach needs people who sign in: `tuner people add NAME --role engineer`"
            )


async def _serve(
    link: Link, listening: Listening, bound: socket.socket, options: Options, say: Callable[[str], None]
) -> None:
    import uvicorn

    from tuner.web.connection import Connection

    page = Page(link, options)
    config = uvicorn.Config(
        page.app,
        http=Connection,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=STOP_S,
        h11_max_incomplete_event_size=LARGEST_HEADERS_BYTES,
        ssl_certfile=listening.certificate,
        ssl_keyfile=listening.key,
    )
    logging.getLogger("uvicorn.error").addFilter(ours)
    scheme = "https" if options.places.secure else "http"
    shown = listening.host if ":" not in listening.host or listening.host.startswith("[") else f"[{listening.host}]"
    say(f"the page is at {scheme}://{shown}:{bound.getsockname()[1]}")
    await uvicorn.Server(config).serve(sockets=[bound])


def ours(record: logging.LogRecord) -> bool:
    """Whether a line of the server's log tells of us: what a client breaks in its own request would fill the log."""
    import h11

    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, h11.ProtocolError) and not record.getMessage().startswith("Invalid HTTP request")
