"""Signing in at the page: with PIN or badge where people are known, by name on the page's own machine."""

import contextlib
from collections.abc import Mapping

from tuner.basics.vocabulary import Role
from tuner.console.language import LANGUAGES, Words
from tuner.console.requests import CannotError, RefusedError, person
from tuner.errors import TunerError
from tuner.web.seat import Seat
from tuner.wire.errors import ReplyError
from tuner.wire.messages import AtMost
from tuner.wire.operations import Operations

SIGN_IN_S = 30.0  # PINs are hashed one after the other: at the change of shifts, on a slow machine, the last one waits
_AT_MOST: Mapping[Role, AtMost] = {Role.VIEWER: Role.VIEWER, Role.OPERATOR: Role.OPERATOR}


async def sign_in(seat: Seat, fields: Mapping[str, str], *, login: bool) -> None:
    """Somebody gives name and PIN, a badge, or only a name."""
    try:
        await _sign_in(seat, fields, login=login)
    except ReplyError as error:
        seat.refuse(RefusedError(f"refused.{error.code}", text=str(error)))
    except CannotError as error:
        seat.refuse(error)
    except TunerError as error:
        seat.refuse(CannotError("cannot.unsent", text=str(error)))


async def _sign_in(seat: Seat, fields: Mapping[str, str], *, login: bool) -> None:
    pin, badge = fields.get("pin", "").strip(), fields.get("badge", "").strip()
    name = person(fields.get("name", ""))
    client = seat.session.client
    if pin or badge:
        await sign_out(seat)
        client.role = None  # what the person may do is no more than the page's own key may
        try:
            given = (None, None, badge) if badge else (name or None, pin or None, None)  # a badge says who it is
            opened = await client.call(Operations.open_session(*given), timeout_s=SIGN_IN_S)
        finally:
            client.role = Role.VIEWER
        client.session, client.actor = opened.session, opened.name
        client.role = _AT_MOST.get(opened.role)
        seat.sit(opened.name, await client.hello(), proved=True, idle_s=opened.idle_s)
        if opened.language in LANGUAGES:
            seat.actions.words = Words(opened.language)
            seat.say(seat.actions.words("say.signed_in", operator=opened.name))
    elif login:
        raise CannotError("page.pin_needed")
    elif name:
        await sign_out(seat)
        client.actor, client.role = name, Role.OPERATOR  # the daemon gives no more, whatever the page's own key may
        seat.sit(name, await client.hello(), proved=False)


async def sign_out(seat: Seat) -> None:
    """Nobody is here any more; the daemon forgets the session."""
    client = seat.session.client
    if client.session is not None:
        with contextlib.suppress(TunerError):  # then it ends by itself
            await client.close_session()
    seat.rise()
