"""The console in a browser on this machine: textual-serve with a page of our own that loads nothing from outside."""

import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import click

from tuner.errors import TunerError

try:
    from aiohttp import web
    from textual_serve.server import Server
except ImportError as error:
    raise TunerError('the console in a browser needs more: pip install "process-tuner[web]"') from error

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_PASSED_ON = ("connect", "key", "state", "campaign", "operator")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ConsoleServer(Server):
    """Serves the console to browsers on this machine only.

    Args:
        command: What to run for each browser.
        port: Where to listen.
    """

    def __init__(self, command: Sequence[str], port: int) -> None:
        super().__init__(
            shlex.join(command),
            host=HOST,
            port=port,
            title="tuner",
            public_url=f"http://{HOST}:{port}",
            templates_path=Path(__file__).with_name("web"),
        )

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._only_here)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Say where it is; there is no password, so nothing but this machine may reach it."""
        click.echo(f"the console is at {self.public_url}, for browsers on this machine only; Ctrl+C ends it")

    @web.middleware
    async def _only_here(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what another site's page could send through the browser of this machine."""
        places = [f"{name}:{self.port}" for name in _NAMES]
        origin = request.headers.get("Origin")
        if request.host not in places or (origin is not None and origin not in [f"http://{p}" for p in places]):
            raise web.HTTPForbidden(text="only for this machine")
        response = await handler(request)
        if not response.prepared:
            sockets = " ".join(f"ws://{place}" for place in places)
            pages = " ".join(f"http://{place}" for place in places)
            response.headers["Content-Security-Policy"] = (
                f"default-src 'self' {pages}; connect-src 'self' {sockets}; img-src data:; "
                f"style-src 'self' 'unsafe-inline' {pages}"
            )
            response.headers["Referrer-Policy"] = "no-referrer"
        return response


def serve_console(context: click.Context, language: str, port: int) -> None:
    """Serve until interrupted."""
    command = [sys.executable, "-m", "tuner.console", "console", "--language", language]
    for name in _PASSED_ON:
        if context.params.get(name) is not None:
            command += [f"--{name}", str(context.params[name])]
    server = ConsoleServer(command, port)
    try:
        web.run_app(server._make_app(), host=HOST, port=port, print=None, access_log=None)  # noqa: SLF001 - its own
    except OSError as error:
        raise TunerError(f"nothing can be served at {HOST}:{port}: {error.strerror or error}; try --port") from error
