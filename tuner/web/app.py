"""The page as a web application: what each address shows, and what each form does."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hmac import compare_digest
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from tuner.console.language import LANGUAGES, Words
from tuner.console.requests import CannotError
from tuner.console.session import Session
from tuner.web.guard import BadFormError, Guard, Places, form_of
from tuner.web.model import ModelAnswers
from tuner.web.people import sign_in, sign_out
from tuner.web.photos import Photos
from tuner.web.seat import KEYS, Seat
from tuner.web.seats import CHECK_S, Seats
from tuner.web.shown import PAGES, Shown, pictured, still_seen
from tuner.web.steering import acknowledge, restrict
from tuner.wire.aio import AsyncClient
from tuner.wire.endpoint import Link
from tuner.wire.messages import CampaignView, JudgmentView, TrialView

MOST_STREAMS = 4  # of one browser
MOST_STREAMS_OF_ALL = 300  # so that connections are left for what people do
SIGN_OF_LIFE_S = 15.0
AGAIN_S = 3.0  # after a fault of ours
BURST_S = 0.06  # what happens at a machine comes in bursts: one look is enough for all of it
OTHERS_S = 2.0  # how late a page may show what happens at other machines
_STATIC = Path(__file__).with_name("static")
_TYPES = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
log = logging.getLogger(__name__)
Form = Callable[[Seat, Mapping[str, str]], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Options:
    """How the page is served.

    Attributes:
        places: Where it may be reached.
        language: The first language; None: the browser's.
        campaign: The campaign that is shown first.
        login: Whether nothing is shown before somebody signed in with PIN or badge.
        photos: Folders whose pictures may be shown.
    """

    places: Places
    language: str | None = None
    campaign: str | None = None
    login: bool = False
    photos: tuple[Path, ...] = ()


class Page:
    """The application and all that it keeps: one session with the daemon, and a seat for each browser."""

    def __init__(self, link: Link, options: Options) -> None:
        self._link = link
        self._options = options
        self._changed = asyncio.Event()
        self._photos = Photos(options.photos, options.places.pictures, self._tell)
        self._templates = Environment(
            loader=PackageLoader("tuner.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._settling: set[asyncio.Task[None]] = set()
        self._cookie = "__Host-tuner" if options.places.secure else "tuner"
        app = Starlette(
            routes=[
                *(Route(path, partial(self._page, name)) for name, path in PAGES.items()),
                Route("/events", self._events),
                Route("/static/{name}", self._static),
                Route("/photo/{name}", self._photo),
                *(
                    Route(f"/{name}", partial(self._form, form), methods=["POST"])
                    for name, form in self._forms().items()
                ),
            ],
            lifespan=self._lifespan,
        )
        self.app = Guard(app, options.places)  # around all of it: what answers to a fault of ours is in it too

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with AsyncClient(self._link) as client:
            self.session = Session(client, self._tell)
            self._seats = Seats(self.session, self._link, self._options.campaign, self.session.clock)
            self._model = ModelAnswers(client, self._tell)
            following = asyncio.create_task(_for_ever(self.session.run))
            checking = asyncio.create_task(_for_ever(self._check))
            try:
                yield
            finally:
                following.cancel()
                checking.cancel()
                self._tell()
                await asyncio.gather(following, checking, *self._settling, return_exceptions=True)
                await self._model.close()
                await self._seats.close()

    async def _check(self) -> None:
        """Ask beside, and not at each look, who is still signed in: no page waits for it."""
        while True:
            await asyncio.sleep(CHECK_S)
            if await self._seats.check():
                self._tell()

    def _closed(self, seat: Seat) -> bool:
        """Whether this browser sees nothing but the way in."""
        return self._options.login and not seat.known

    def _tell(self) -> None:
        """Something is new: wake every stream, and look what became of requests without an answer."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        if not self.session.linked:
            return
        for seat in self._seats.all():
            if seat.session.in_doubt:
                task = asyncio.create_task(seat.session.settle())
                self._settling.add(task)
                task.add_done_callback(self._settling.discard)

    def _shown(self, seat: Seat) -> Shown:
        return Shown(
            seat, self.session, self._photos, self._model, login=self._options.login, closed=self._closed(seat)
        )

    def _seat(self, request: Request) -> Seat | None:
        return self._seats.find(request.cookies.get(self._cookie))

    def _keep(self, response: Response, cookie: str) -> None:
        response.set_cookie(self._cookie, cookie, httponly=True, samesite="strict", secure=self._options.places.secure)

    async def _page(self, name: str, request: Request) -> Response:
        seat, cookie = self._seat(request), None
        if seat is None and self._seats.retired(request.cookies.get(self._cookie)):
            # sent while somebody signed in: another seat's cookie would drive out the one that is on its way
            return RedirectResponse(request.url.path, 303)
        if seat is None:
            made = self._seats.new(self._options.language or _preferred(request))
            if made is None:
                return PlainTextResponse("Too many browsers are here at once. Try again later.\n", 503)
            cookie, seat = made
        closed = self._closed(seat)
        shown = self._shown(seat)
        if not closed:
            await self._photos.look(pictured(seat.view))
        fields = shown.fields(name)
        template = self._templates.get_template(f"{'sign_in' if closed else name}.html")
        response = Response(
            template.render(**fields, nonce=request.state.nonce), media_type="text/html", headers={"Vary": "Cookie"}
        )
        if cookie is not None:
            self._keep(response, cookie)
        return response

    async def _form(self, form: Form, request: Request) -> Response:
        try:
            fields = await form_of(request)
        except BadFormError as error:
            return PlainTextResponse(f"{error}\n", 400)
        back = PAGES.get(fields.get("back", ""), "/")
        seat = self._seat(request)
        if seat is None:
            return self._without_seat(request, back)
        if not compare_digest(fields.get("token", "").encode(), seat.token.encode()):
            return PlainTextResponse("This form is not of your page. Open the page again.\n", 403)
        if self._closed(seat) and form not in (self._sign_in, self._language):
            return RedirectResponse("/", 303)
        changes = seat.changes
        await form(seat, fields)
        if form == self._sign_in and not seat.said[1]:
            back = "/"  # whatever page the form was on: "Who are you?" has no way on in the network
        response = RedirectResponse(back, 303)
        cookie = self._seats.renew(seat) if seat.changes != changes else None
        if cookie is not None:
            self._keep(response, cookie)
        return response

    def _without_seat(self, request: Request, back: str) -> Response:
        """A form of a page from before a restart, or that nobody used for long: what it meant is not done.

        Its secret cannot be compared any more, so a sign-in is not done either; a new seat says so.
        """
        response = RedirectResponse(back, 303)
        if self._seats.retired(request.cookies.get(self._cookie)):
            return response
        made = self._seats.new(self._options.language or _preferred(request))
        if made is not None:
            cookie, seat = made
            seat.refuse(CannotError("page.old_form"))
            self._keep(response, cookie)
        return response

    def _forms(self) -> dict[str, Form]:
        return {
            "press": self._press,
            "show": self._show,
            "language": self._language,
            "sign-in": self._sign_in,
            "sign-out": self._sign_out,
            "restrict": restrict,
            "acknowledge": acknowledge,
        }

    async def _press(self, seat: Seat, fields: Mapping[str, str]) -> None:
        key = KEYS.get(fields.get("key", ""))
        if key is None:
            seat.question = None
            seat.say("")
            return
        view = seat.view
        number = _number(fields.get("number", ""))
        of_history = key.action in ("exclude", "retract", "again") or (key.action == "repeat" and number > 0)
        if key.needs is not None and not of_history and not still_seen(key, fields.get("seen", ""), view):
            seat.refuse(CannotError("refused.closed"))
            return
        about: tuple[CampaignView, TrialView | JudgmentView] | None = None
        if of_history:
            about = self._shown(seat).about(key.action, number)
            if about is None:
                seat.refuse(CannotError("cannot.nothing"))
                return
        await seat.press(key, fields.get("given"), *(about or ()))
        if view is not None and seat.question is None:
            await self.session.fresh(view)  # the next page shows what this key has done

    async def _show(self, seat: Seat, fields: Mapping[str, str]) -> None:
        if fields.get("campaign") in self.session.campaigns:
            seat.question = None
            seat.actions.show_campaign(fields["campaign"])

    async def _language(self, seat: Seat, fields: Mapping[str, str]) -> None:
        if fields.get("language") in LANGUAGES:
            seat.actions.words = Words(fields["language"])
            seat.say("")

    async def _sign_in(self, seat: Seat, fields: Mapping[str, str]) -> None:
        async with seat.door:  # a form that is sent twice, or by two windows: one after the other
            await sign_in(seat, fields, login=self._options.login)
        self._seats.seated(seat)

    async def _sign_out(self, seat: Seat, fields: Mapping[str, str]) -> None:
        async with seat.door:
            await sign_out(seat)

    async def _events(self, request: Request) -> Response:
        seat = self._seat(request)
        if seat is None or self._closed(seat):
            return PlainTextResponse("Open the page first.\n", 403)
        if seat.streams >= MOST_STREAMS or sum(one.streams for one in self._seats.all()) >= MOST_STREAMS_OF_ALL:
            return PlainTextResponse("Too many windows are open.\n", 429)
        return StreamingResponse(
            self._stream(seat), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )

    def _mark(self, seat: Seat) -> tuple[object, ...]:
        """What changes when the seat's own campaign has something new to show, or who is there."""
        view, common = seat.view, (seat.changes, self.session.linked)
        return common if view is None else (*common, view.n, self._model.told(view.name))

    async def _stream(self, seat: Seat) -> AsyncIterator[bytes]:
        """Say when to look again; the page then asks for itself, in the seat's language and rights."""
        seat.streams += 1
        try:
            yield b"retry: 2000\n\ndata: look\n\n"
            shown, told_s, pending = self._mark(seat), self.session.clock(), False
            while seat in self._seats.all() and not self._closed(seat):
                late_s = told_s + OTHERS_S - self.session.clock()
                try:
                    async with asyncio.timeout(max(0.0, late_s) if pending else SIGN_OF_LIFE_S):
                        await self._changed.wait()
                except TimeoutError:
                    if not pending:
                        yield b": alive\n\n"
                        continue
                else:
                    await asyncio.sleep(BURST_S)
                    pending = self._mark(seat) == shown  # it is about another machine
                    if pending:
                        continue
                shown, told_s, pending = self._mark(seat), self.session.clock(), False
                yield b"data: look\n\n"
            yield b"data: look\n\n"  # the last: what it shows now is the way in
        finally:
            seat.streams -= 1

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _TYPES:
            return PlainTextResponse("There is nothing here.\n", 404)
        return FileResponse(_STATIC / name, media_type=_TYPES[name], headers={"Cache-Control": "no-cache"})

    async def _photo(self, request: Request) -> Response:
        seat = self._seat(request)
        closed = seat is None or self._closed(seat)
        found = None if closed else await self._photos.find(request.path_params["name"])
        if found is None:
            return PlainTextResponse("There is no such picture.\n", 404)
        headers = {"Cache-Control": "private, max-age=3600", "Content-Length": str(found.size)}
        return StreamingResponse(found.pieces, media_type=found.media_type, headers=headers)


async def _for_ever(work: Callable[[], Awaitable[None]]) -> None:
    """Do something that everybody needs until cancelled; a fault of ours is told, and does not end it."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("the page goes on after a fault of its own")
            await asyncio.sleep(AGAIN_S)


def _number(text: str) -> int:
    """A number that a form has; 0: none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0


def _preferred(request: Request) -> str:
    """The browser's first language that we speak."""
    for part in request.headers.get("accept-language", "")[:200].split(","):
        code = part.strip()[:2].lower()
        if code in LANGUAGES:
            return code
    return "en"
