"""Who a client is and what it may do: by the key of its connection, for every single request."""

import logging
import time
from collections.abc import Callable
from typing import Any

import zmq
import zmq.asyncio
from zmq.auth.asyncio import AsyncioAuthenticator

from tuner.basics.names import NameProblemError, person_name
from tuner.basics.sentences import Sentence, say
from tuner.basics.vocabulary import Lane, Role
from tuner.campaign.decide import Actor, Refusal
from tuner.daemon.people import People
from tuner.daemon.sender import Door, Sender, lesser
from tuner.wire.key_ring import KeyRing
from tuner.wire.messages import Request
from tuner.wire.operation import AnyOperation
from tuner.wire.operations import ANYONE, OPS

REQUESTS, EVENTS = "tuner", "tuner events"  # which sockets a key wants to come in by
AWAY_S = 600.0  # that a key hears no events after it has subscribed to too much
LOCAL = "local"  # what a client of this host is called that names nobody

log = logging.getLogger(__name__)


class Authenticator:
    """Lets only known keys connect, and knows what each may do; without `keys` there is no encrypted socket.

    `local_role` is for members of the daemon's group; the rights of a socket's file decide who comes by it.
    `refused` is called with each key that is not let in.
    """

    def __init__(
        self, keys: KeyRing | None, local_role: Role, refused: Callable[[str], None] = lambda key: None
    ) -> None:
        self._keys = keys
        self._refused = refused
        self._local_role = local_role
        self._zap: AsyncioAuthenticator | None = None
        self._away_until_s: dict[str, float] = {}
        self._accepted = frozenset[str]() if keys is None else keys.accepted

    def start(self, context: zmq.asyncio.Context) -> None:
        """Begin to answer libzmq's question whether a key may connect; without that any key could."""
        if self._keys is None:
            return
        self._zap = AsyncioAuthenticator(context)
        self._zap.start()
        for domain in (REQUESTS, EVENTS):
            self._zap.configure_curve_callback(domain=domain, credentials_provider=self)

    def stop(self) -> None:
        """Answer no more."""
        if self._zap is not None:
            self._zap.stop()

    def callback(self, domain: str, key: bytes) -> bool:
        """Whether a key may connect; called by pyzmq's authenticator."""
        if self._keys is None:
            return False
        try:
            self._keys.refresh()
        except Exception:  # pyzmq's loop would end, and nobody could connect any more
            log.exception("the keys cannot be read")
            return False
        name = key.decode("ascii", "replace")
        known = self._keys.role_of(key) is not None
        if not known:
            self._refused(name)
        return known and not (domain == EVENTS and time.monotonic() < self._away_until_s.get(name, 0.0))

    def keep_away(self, key: str) -> None:
        """Let a key hear no events for a while; its requests are answered as before."""
        self._away_until_s[key] = time.monotonic() + AWAY_S

    def name_of(self, key: str) -> str:
        """What a key is called; somebody of this host has none."""
        found = None if self._keys is None else self._keys.role_of(key)
        return LOCAL if found is None else found[0]

    def somebody_left(self) -> bool:
        """Whether a key was taken away since this was asked last: whoever has it may still be connected."""
        if self._keys is None:
            return False
        try:
            self._keys.refresh()
        except Exception:  # events go on; whoever connects is refused
            log.exception("the keys cannot be read")
            return False
        before, self._accepted = self._accepted, self._keys.accepted
        return not before <= self._accepted

    def secure(self, socket: zmq.Socket[Any], domain: str = REQUESTS) -> None:
        """Make a socket speak CURVE and ask us about every client."""
        if self._keys is None:
            raise ValueError("there are no keys")
        socket.curve_server = True
        socket.curve_publickey = self._keys.server.public.encode("ascii")
        socket.curve_secretkey = self._keys.server.secret.get_secret_value().encode("ascii")
        socket.setsockopt_string(zmq.ZAP_DOMAIN, domain)
        socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)

    def identify(self, frame: zmq.Frame, door: Door) -> Sender:
        """Who has sent a request.

        Raises:
            Refusal: Its key is not known any more; taking a key away does not end its connections.
        """
        if door == "owner":
            return Sender("", Role.ENGINEER, door)
        if door == "group":
            return Sender("", self._local_role, door)
        if self._keys is None:
            raise Refusal("denied", say("denied.no_keys"))
        self._keys.refresh()
        found = self._keys.role_of(str(frame.get("User-Id")))
        if found is None:
            self._refused(str(frame.get("User-Id")))
            raise Refusal("denied", say("denied.key"))
        return Sender(*found, door)


def authorised(request: Request, sender: Sender, people: People | None = None) -> tuple[AnyOperation, Actor]:
    """The operation and its actor: the person of the request's session, or whom the client names.

    A session that has ended stops nobody who only looks, nor who holds or stops a machine or sends it home.
    """
    op = OPS.get(request.op)
    if op is None:
        raise Refusal("unknown_op", say("request.no_operation", op=request.op))
    called, role = sender.key or LOCAL, lesser(sender.role, request.role)
    signed = None
    if request.session is not None and people is not None and op is not OPS["session.open"]:
        signed = people.signed_in(request.session, sender)
        urgent = op.campaign and op.lane is Lane.URGENT  # the daemon's end is no machine's matter
        free = op.roles == ANYONE or urgent or op is OPS["session.close"]
        if signed is None and not free:
            raise Refusal("locked", say("denied.session_ended"))
    if signed is not None and request.session is not None and people is not None:
        role = lesser(signed.role, request.role)
        if role not in op.roles:
            raise Refusal("denied", _denied(request.op, op, signed.name, role))
        if op.command:
            people.used(request.session)
        return op, Actor(signed.name, role, sender.key, proved=True)
    if role not in op.roles:
        raise Refusal("denied", _denied(request.op, op, called, role))
    try:
        person = person_name((request.actor or "").strip() or called)
    except NameProblemError as error:
        raise Refusal("bad_request", say("refused.name", why=str(error))) from None
    return op, Actor(person, role, sender.key)


def _denied(name: str, op: AnyOperation, who: str, role: Role) -> Sentence:
    return say(
        "denied.role",
        op=name,
        roles=[say(f"role.{one}") for one in sorted(op.roles)],
        who=who,
        role=say(f"role.{role}"),
    )
