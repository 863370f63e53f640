"""The console in a browser on this machine: textual-serve with a page of our own that loads nothing from outside."""

import asyncio
import contextlib
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import click

from tuner.errors import TunerError

try:
    from aiohttp import WSMsgType, web
    from textual_serve.app_service import AppService
    from textual_serve.server import Server
except ImportError as error:
    raise TunerError('the console in a browser needs more: pip install "process-tuner[web]"') from error

HOST = "127.0.0.1"
MOST_SESSIONS = 8  # each is a process of some 60 MB
LEAST_SIZE, MOST_SIZE = (20, 5), (500, 200)  # columns and rows of a screen
_NAMES = (HOST, "localhost")
_PASSED_ON = ("connect", "key", "state", "campaign", "operator")
_LARGEST_BYTES = 65_536  # of a message from the browser: keys and pasted names
_SEND_S = 10.0  # how long a console may leave keys unread
_STOP_S = 5.0  # how long it may take to end by itself
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BrowserConsole(AppService):
    """The console of one browser: a process that ends when its socket does."""

    def __init__(self, command: Sequence[str], websocket: web.WebSocketResponse, server: Server) -> None:
        super().__init__(
            command[0],
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._hang_up,
            download_manager=server.download_manager,
        )
        self._command = command
        self._websocket = websocket

    async def _hang_up(self) -> None:
        await self._websocket.close()

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        # without a shell, so that the process we end is the console itself
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=self._build_environment(*sane(width, height))
        )
        self._process, self._stdin = process, process.stdin
        return process

    async def set_terminal_size(self, width: int, height: int) -> None:
        """Tell the process its new size; a browser may say anything."""
        await super().set_terminal_size(*sane(width, height))

    async def send_bytes(self, data: bytes) -> bool:
        """Send keys; a process that does not read them is given up."""
        return await asyncio.wait_for(super().send_bytes(data), _SEND_S)

    async def send_meta(self, data: dict[str, str | int | bool | None]) -> bool:
        """Send what is not a key, likewise."""
        return await asyncio.wait_for(super().send_meta(data), _SEND_S)

    async def stop(self) -> None:
        """Ask the process to end, and end it if it does not."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(TimeoutError, ConnectionError):
            await asyncio.wait_for(super().stop(), _STOP_S)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
        await process.wait()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None


class ConsoleServer(Server):
    """Serves the console to browsers on this machine only."""

    def __init__(self, command: Sequence[str], port: int) -> None:
        super().__init__(
            command[0],
            host=HOST,
            port=port,
            title="tuner",
            public_url=f"http://{HOST}:{port}",
            templates_path=Path(__file__).with_name("web"),
        )
        self._command = command
        self._sockets: set[web.WebSocketResponse] = set()

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._only_here)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing yet: nobody is listened to."""

    def greet(self, _: object) -> None:
        """Say where it is; there is no password, so nothing but this machine may reach it."""
        click.echo(f"the console is at {self.public_url}, for browsers on this machine only; Ctrl+C ends it")

    async def on_shutdown(self, app: web.Application) -> None:
        """End all sessions; nobody would read what they paint."""
        await asyncio.gather(*(socket.close() for socket in tuple(self._sockets)), return_exceptions=True)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run a console for a browser until one of the two ends."""
        if len(self._sockets) >= MOST_SESSIONS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_SESSIONS} consoles are open; close one first")
        websocket = web.WebSocketResponse(heartbeat=15, max_msg_size=_LARGEST_BYTES)
        self._sockets.add(websocket)
        session = BrowserConsole(self._command, websocket, self)
        try:
            await websocket.prepare(request)
            await session.start(*(_number(request.query.get(name)) for name in ("width", "height")))
            await self._process_messages(websocket, session)
        except (TimeoutError, ConnectionError):
            pass  # the console or the browser is gone
        finally:
            try:
                await asyncio.shield(asyncio.ensure_future(session.stop()))
            finally:
                self._sockets.discard(websocket)
                await websocket.close()
        return websocket

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        """Pass on what a browser says; what is not a message of textual-serve's page ends the session."""
        async for message in websocket:
            if message.type != WSMsgType.TEXT:
                continue
            try:
                await self._pass_on(json.loads(message.data), websocket, app_service)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
                return

    @staticmethod
    async def _pass_on(envelope: Any, websocket: web.WebSocketResponse, session: AppService) -> None:
        kind = envelope[0]
        if kind == "stdin":
            await session.send_bytes(envelope[1].encode("utf-8", "replace"))
        elif kind == "resize":
            await session.set_terminal_size(int(envelope[1]["width"]), int(envelope[1]["height"]))
        elif kind == "ping":
            await websocket.send_json(["pong", envelope[1]])
        elif kind == "blur":
            await session.blur()
        elif kind == "focus":
            await session.focus()

    @web.middleware
    async def _only_here(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what another site's page could send through the browser of this machine, and to be shown inside it."""
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
                f"style-src 'self' 'unsafe-inline' {pages}; frame-ancestors 'none'"
            )
            response.headers["X-Frame-Options"] = "DENY"
            response.headers["Referrer-Policy"] = "no-referrer"
        return response


def sane(width: int, height: int) -> tuple[int, int]:
    """A size of screen that a console can paint."""
    columns, rows = (
        max(least, min(most, size)) for size, least, most in zip((width, height), LEAST_SIZE, MOST_SIZE, strict=True)
    )
    return columns, rows


def _number(text: str | None) -> int:
    """A size from an address; the page always says one."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 9 else 0


def serve_console(context: click.Context, language: str, port: int) -> None:
    """Serve until interrupted."""
    command = [sys.executable, "-P", "-m", "tuner", "console", "--language", language]
    for name in _PASSED_ON:
        if context.params.get(name) is not None:
            command += [f"--{name}", str(context.params[name])]
    server = ConsoleServer(command, port)
    try:
        app = server._make_app()  # noqa: SLF001 - its own
        web.run_app(app, host=HOST, port=port, print=server.greet, access_log=None, shutdown_timeout=2 * _STOP_S)
    except OSError as error:
        raise TunerError(f"nothing can be served at {HOST}:{port}: {error.strerror or error}; try --port") from error
