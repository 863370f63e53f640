"""One request and its reply, without sockets: what is sent, how long to wait, what the answer means."""

import shlex
import struct
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from zmq.constants import Event

from tuner.basics.sentences import Sentence, say
from tuner.basics.text import listed, nearest, shown
from tuner.basics.vocabulary import Lane, Status
from tuner.errors import DeniedError
from tuner.wire.endpoint import Link, is_encrypted
from tuner.wire.errors import InvalidRequestError, NoReplyError, ProtocolError, error_of, sentence
from tuner.wire.messages import LARGEST_BYTES, VERSION, AtMost, Reply, Request
from tuner.wire.operation import make
from tuner.wire.operations import OPS

USUAL_S = 10.0
SLOW_S = 70.0  # the daemon itself gives up after 60 s
SLOW_OPS = frozenset(name for name, op in OPS.items() if op.lane is Lane.MODEL)

_FIRST_WAIT_S = 2.0
_FIRST_SLOW_WAIT_S = 65.0  # asking twice would be computing twice; a lost connection is noticed at once
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0

# what a socket's monitor tells that a client can act on
WATCHED = (
    Event.DISCONNECTED
    | Event.HANDSHAKE_FAILED_AUTH
    | Event.HANDSHAKE_FAILED_PROTOCOL
    | Event.HANDSHAKE_FAILED_NO_DETAIL
)

M = TypeVar("M", bound=BaseModel)


def new_id() -> str:
    """An id that no other request has."""
    return uuid.uuid4().hex


def compose(
    op: str,
    campaign: str | None,
    actor: str | None,
    body: BaseModel | Mapping[str, Any] | None,
    request_id: str | None,
    session: str | None = None,
    role: AtMost | None = None,
) -> Request:
    """Make a request, after checking what can be checked here."""
    known = OPS.get(op)
    if known is None:
        raise InvalidRequestError(f"there is no operation {shown(op)}{nearest(op, OPS) or ': ' + listed(OPS)}")
    if known.campaign and campaign is None:
        raise InvalidRequestError(f"{op} needs the name of a campaign")
    if isinstance(body, BaseModel):
        fields = body.model_dump(mode="json")
    else:
        fields = make(known.body, body or {}).model_dump(mode="json")
    return make(
        Request,
        {"id": request_id or new_id(), "op": op, "campaign": campaign, "actor": actor, "body": fields}
        | ({} if session is None else {"session": session})
        | ({} if role is None else {"role": role}),
    )


def encode(request: Request) -> bytes:
    """The frame of a request."""
    frame = request.model_dump_json(exclude_none=True).encode()
    if len(frame) > LARGEST_BYTES:
        raise InvalidRequestError(f"the request has {len(frame)} bytes; the daemon takes {LARGEST_BYTES} at most")
    return frame


def decode(frames: Sequence[bytes]) -> Reply:
    """The reply in the frames that came."""
    if len(frames) != 1:
        raise ProtocolError(say("link.frames", frames=len(frames)))
    try:
        reply = Reply.model_validate_json(frames[0])
    except ValidationError as error:
        raise ProtocolError(say("link.not_understood", what=sentence(error))) from None
    if reply.v != VERSION:
        raise ProtocolError(say("link.version", version=reply.v, ours=VERSION))
    return reply


def checked(reply: Reply) -> Reply:
    """The reply, if it tells that something was done; else its error."""
    error = error_of(reply)
    if error is not None:
        raise error
    return reply


def answer(reply: Reply, model: type[M]) -> M:
    """The body of a reply as its model."""
    try:
        return model.model_validate(reply.body)
    except ValidationError as error:
        raise ProtocolError(say("link.other_answer", model=model.__name__, what=sentence(error))) from None


def no_reply(link: Link, request: Request, waited_s: float, hint: str, *, sent: bool) -> NoReplyError:
    """What to tell when no answer came."""
    if not sent:
        text = say("link.nobody", endpoint=link.requests, hint=hint or _how_to_start(link))
    else:
        doubt = OPS[request.op].command or OPS[request.op].status is Status.ACCEPTED
        told = {
            "endpoint": link.requests,
            "seconds": waited_s,
            "op": request.op,
            "hint": hint and say("link.hint", hint=hint),
        }
        text = say("link.in_doubt", **told, id=request.id) if doubt else say("link.no_reply", **told)
    return NoReplyError(text, request, sent=sent)


def _how_to_start(link: Link) -> Sentence:
    """What to type so that the daemon is found where it was looked for."""
    if link.state is None or is_encrypted(link.requests):
        return say("link.running")
    return say("link.start_there", state=shlex.quote(link.state)) if link.state else say("link.start")


class Pacing:
    """When to send the same request again, and when to give up; the times double.

    Args:
        timeout_s: How long to try; None: as the operation needs it.
        find_s: How long to look for a daemon before anything was sent; None: all the time.
    """

    def __init__(
        self,
        op: str,
        timeout_s: float | None,
        find_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        slow = op in SLOW_OPS
        self.total_s = timeout_s if timeout_s is not None else (SLOW_S if slow else USUAL_S)
        self._until_s = clock() + self.total_s
        self._find_until_s = self._until_s if find_s is None else min(self._until_s, clock() + find_s)
        self._wait_s = _FIRST_SLOW_WAIT_S if slow else _FIRST_WAIT_S
        self._pause_s = _FIRST_PAUSE_S
        self._clock = clock

    @property
    def left_s(self) -> float:
        """Seconds before giving up; not negative."""
        return max(0.0, self._until_s - self._clock())

    def wait_s(self, *, sent: bool) -> float:
        """How long to wait for the answer to the next attempt; 0: give up."""
        if not sent and self.find_s <= 0:
            return 0.0
        wait_s, self._wait_s = self._wait_s, self._wait_s * 2
        return min(wait_s, self.left_s)

    @property
    def find_s(self) -> float:
        """How long to look for a daemon yet; not negative."""
        return max(0.0, self._find_until_s - self._clock())

    def pause_s(self) -> float:
        """How long to wait after a connection was lost, before the next attempt."""
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 2, _LONGEST_PAUSE_S)
        return min(pause_s, self.left_s)


class Watch:
    """What the monitor of a socket has told about its connection."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.hint = ""

    def tell(self, frames: Sequence[bytes]) -> bool:
        """Take an event as libzmq writes it; tells whether a connection was lost.

        Raises:
            DeniedError: the key is not accepted, or one is needed.
            ProtocolError: there will never be a connection.
        """
        (event,) = struct.unpack_from("=H", frames[0])
        endpoint, key = self._link.requests, self._link.key
        if event == Event.HANDSHAKE_FAILED_AUTH:
            name = key.name if key else ""
            raise DeniedError(say("link.key_refused", endpoint=endpoint, name=name))
        broken_off = event == Event.HANDSHAKE_FAILED_NO_DETAIL
        if key is None and is_encrypted(endpoint) and (broken_off or event == Event.HANDSHAKE_FAILED_PROTOCOL):
            raise DeniedError(say("link.key_wanted", endpoint=endpoint))
        if event == Event.HANDSHAKE_FAILED_PROTOCOL:
            raise ProtocolError(say("link.not_tuner", endpoint=endpoint))
        if broken_off and key is not None:
            self.hint = say("link.broke_off")
        return bool(event == Event.DISCONNECTED)
