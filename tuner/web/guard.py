"""What every request must be before the page looks at it, and what every answer says to the browser."""

import asyncio
import secrets
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_FORM_BYTES = 16_000
PIECE_BYTES = 128_000  # of an answer
FORM_S = 10.0  # until all of it has come
MOST_FIELDS = 20
LONGEST_PATH = 100
_FORM = "application/x-www-form-urlencoded"
_METHODS = {"GET", "HEAD", "POST"}
# to whoever follows a link of another page: the browser shows its cookie only on a way that begins here
_ENTRANCE = '<!DOCTYPE html><title>tuner</title><meta http-equiv="refresh" content="0;url=/"><a href="/">tuner</a>'


# what every answer says, also one of the server itself that no page of ours is in
SHUT = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


class BadFormError(ValueError):
    """A form that no page of ours has sent."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the page may be reached.

    Attributes:
        hosts: What a browser may call this server, each with its port.
        secure: Whether TLS is spoken.
        pictures: Other servers whose pictures may be shown.
    """

    hosts: frozenset[str]
    secure: bool
    pictures: tuple[str, ...] = ()

    @property
    def origins(self) -> frozenset[str]:
        """Where our own pages come from."""
        return frozenset(f"{'https' if self.secure else 'http'}://{host}" for host in self.hosts)

    def policy(self, nonce: str) -> str:
        """What a browser may load and run for one of our pages."""
        pictures = " ".join(("'self'", *self.pictures))
        return (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src {pictures}; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )


class Guard:
    """Refuses what does not come from a page of ours, and closes every door of the browser that we do not need.

    A page of another site cannot read ours, but it can send forms and, by a name server of its own, call itself by our
    address: so the name that the browser has called, and the page it comes from, must be ours.
    """

    def __init__(self, app: ASGIApp, places: Places) -> None:
        self._app = app
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce

        async def closed(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._close_doors(MutableHeaders(scope=message), nonce)
            body = message.get("body", b"")
            last = max(0, len(body) - PIECE_BYTES)
            for start in range(0, last, PIECE_BYTES):  # for each the server waits until the one before is taken
                await send({**message, "body": body[start : min(start + PIECE_BYTES, last)], "more_body": True})
            await send({**message, "body": body[last:]} if last else message)

        wrong = self._wrong(scope)
        if wrong is not None:
            await PlainTextResponse(wrong[1] + "\n", wrong[0])(scope, receive, closed)
        elif not _from_here(Headers(scope=scope)):
            await HTMLResponse(_ENTRANCE)(scope, receive, closed)
        else:
            await self._app(scope, receive, closed)

    def _wrong(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._places.hosts:
            return 403, "this page has another name: `tuner web --name` says which names it has"
        if scope["method"] not in _METHODS:
            return 405, "not a method of this page"
        if len(scope["path"]) > LONGEST_PATH or scope.get("query_string"):
            return 400, "not an address of this page"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._places.origins:
            return 403, "this came from another page"
        opened = (scope["method"], headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
        if not _from_here(headers) and opened != ("GET", "navigate", "document"):
            return 403, "this came from another page"
        if scope["method"] == "POST" and origin is None:
            return 403, "a form must say where it comes from"
        return None

    def _close_doors(self, headers: MutableHeaders, nonce: str) -> None:
        for name, value in SHUT.items():
            headers.setdefault(name, value)
        headers["Content-Security-Policy"] = self._places.policy(nonce)
        if self._places.secure:
            headers["Strict-Transport-Security"] = "max-age=31536000"


def _from_here(headers: Headers) -> bool:
    """Whether a page of ours, or the person by hand, asks; browsers say so, and no page can make them lie."""
    return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, of a size that our forms can have; files are never taken."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise BadFormError("not a form of this page")
    content = bytearray()
    try:
        async with asyncio.timeout(FORM_S):
            async for piece in request.stream():
                content += piece
                if len(content) > LARGEST_FORM_BYTES:
                    raise BadFormError("larger than any form of this page")
    except TimeoutError as error:
        raise BadFormError("slower than any form of this page") from error
    try:
        pairs = parse_qsl(
            content.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(content),
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as error:
        raise BadFormError("not a form of this page") from error
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadFormError("a field is there twice")
    return fields
