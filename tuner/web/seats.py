"""The seats of all browsers: found by their cookie, given up when nobody uses them, never more than a bound."""

import asyncio
import secrets
from collections.abc import Callable

import zmq.asyncio

from tuner.console.session import Session
from tuner.errors import TunerError
from tuner.web.seat import Seat
from tuner.wire.aio import AsyncClient
from tuner.wire.endpoint import Link

MOST_SEATS = 300
MOST_EMPTY = 100  # of them where nobody has signed in: whoever opens the page again and again drives out no other
MOST_OF_ONE = 20  # where the same person has signed in: the daemon has room for no more sessions of one
EMPTY_S = 12 * 3600.0  # its language and why somebody was signed out are still there after a shift
CHECK_S = 3.0  # how long the page knows nothing of a session that the daemon has ended
RETIRED_S = 10.0  # how long a request may be on its way that was sent with the cookie from before signing in


class Seats:
    """Seats by cookie.

    Args:
        shared: What is known of the daemon.
        link: Where it is.
        campaign: Which campaign a new seat shows; None: the only one, or the board.
        clock: Monotonic.
    """

    def __init__(self, shared: Session, link: Link, campaign: str | None, clock: Callable[[], float]) -> None:
        self._shared = shared
        self._link = link
        self._campaign = campaign
        self._clock = clock
        self._context = zmq.asyncio.Context()
        self._seats: dict[str, Seat] = {}
        self._retired_s: dict[str, float] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def find(self, cookie: str | None) -> Seat | None:
        """The seat of a browser, if it still has one."""
        self._sweep()
        return self._seats.get(cookie or "")

    def new(self, language: str) -> tuple[str, Seat] | None:
        """Another seat and its cookie; None: there is no room.

        A name costs nobody anything: whoever gave one and has no window open makes room before a newcomer is refused.
        """
        empty = [cookie for cookie, seat in self._seats.items() if seat.operator is None]
        empty.sort(key=lambda cookie: self._seats[cookie].session.used_s)
        for cookie in empty[: max(0, len(empty) - MOST_EMPTY + 1)]:
            self.drop(cookie)
        if len(self._seats) >= MOST_SEATS:
            asleep = [cookie for cookie, seat in self._seats.items() if not (seat.streams or seat.proved)]
            if not asleep:
                return None
            self.drop(min(asleep, key=lambda cookie: self._seats[cookie].session.used_s))
        client = AsyncClient(self._link, context=self._context)
        cookie = secrets.token_urlsafe(32)
        self._seats[cookie] = Seat(self._shared, client, language, self._campaign)
        return cookie, self._seats[cookie]

    def renew(self, seat: Seat) -> str | None:
        """Another cookie for the same seat: one from before somebody signed in must not be worth anything after.

        None: the seat was given up in the meantime.
        """
        cookie = next((one for one, known in self._seats.items() if known is seat), None)
        if cookie is None:
            return None
        new = secrets.token_urlsafe(32)
        self._seats[new] = self._seats.pop(cookie)
        self._retired_s[cookie] = self._clock()
        return new

    def seated(self, seat: Seat) -> None:
        """Somebody has signed in: the places of one person are bounded, the one that was used last longest ago goes."""
        if seat.proved:
            own = [one for one, known in self._seats.items() if known.proved and known.operator == seat.operator]
            own.sort(key=lambda one: self._seats[one].session.used_s)
            for cookie in own[:-MOST_OF_ONE]:
                self.drop(cookie)

    async def check(self) -> bool:
        """Ask the daemon which sessions are still good; tells whether somebody was signed out.

        Where it does not answer, `Seat.known` says how long that may last.
        """
        asked = [(one, one.session.client.session) for one in self._seats.values() if one.proved]
        tokens = [token for _, token in asked if token is not None]
        if not tokens:
            return False
        began_s = self._clock()
        try:
            answer = await self._shared.client.check_sessions(tokens)
        except TunerError:
            return False
        good, ended = dict(zip(tokens, answer.good, strict=False)), False
        for seat, token in asked:
            if seat.session.client.session != token:
                continue  # in the meantime somebody came or went
            if token is not None and good.get(token):
                seat.sure_s = began_s
            else:
                seat.sign_out()
                ended = True
        return ended

    def retired(self, cookie: str | None) -> bool:
        """Whether a cookie was renewed a moment ago: its browser is about to learn the new one."""
        return cookie in self._retired_s

    def drop(self, cookie: str) -> None:
        """Give a seat up."""
        seat = self._seats.pop(cookie, None)
        if seat is not None:
            task = asyncio.create_task(seat.session.client.close())
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    def _sweep(self) -> None:
        """Sign out who has done nothing for long, and give up seats where nobody has been for longer.

        A window that is open keeps its own; whoever is signed out finds there why.
        """
        now_s = self._clock()
        self._retired_s = {one: at_s for one, at_s in self._retired_s.items() if now_s - at_s < RETIRED_S}
        for cookie, seat in list(self._seats.items()):
            idle_s = now_s - seat.session.used_s
            if seat.operator is not None and idle_s > seat.idle_s:
                seat.sign_out()
            elif seat.operator is None and not seat.streams and idle_s > EMPTY_S:
                self.drop(cookie)

    def all(self) -> list[Seat]:
        """Every seat."""
        return list(self._seats.values())

    async def close(self) -> None:
        """Give everything back."""
        for cookie in list(self._seats):
            self.drop(cookie)
        await asyncio.gather(*self._leaving, return_exceptions=True)
        self._context.destroy(linger=0)
