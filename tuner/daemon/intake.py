"""From the bytes of a request to what was asked, and from an answer to bytes; neither can fail, whatever is in them."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from tuner.basics.sentences import say
from tuner.campaign.decide import Actor, Refusal
from tuner.daemon.sender import Sender
from tuner.wire import messages as m
from tuner.wire.operation import AnyOperation

# answered with `failed`: trying again may help
FAILURES = frozenset({"busy", "disk_full", "journal_busy", "journal_lost", "not_ready", "defect", "stopping"})
_ID = re.compile(r"[0-9A-Za-z_-]{8,64}", re.ASCII)
# the id of a message that is not even JSON, if it stands before everything nested, or behind it
_FIRST_ID = re.compile(rb'\s*\{[^{}\[\]]{0,1000}?"id"\s*:\s*"([0-9A-Za-z_-]{8,64})"')
_LAST_ID = re.compile(rb'[}\]]\s*,[^{}\[\]]{0,1000}"id"\s*:\s*"([0-9A-Za-z_-]{8,64})"[^{}\[\]]{0,1000}\}\s*$')
_TAIL = 2200
_MOST_PROBLEMS = 5
_LONGEST_PLACE = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that may be answered; it `arrived_s` by the loop's clock."""

    request: m.Request
    op: AnyOperation
    actor: Actor
    sender: Sender
    arrived_s: float


def parsed(content: bytes) -> m.Request:
    """The envelope of a request."""
    try:
        request = m.Request.model_validate_json(content)
    except ValidationError as error:
        raise Refusal("bad_request", say("request.none", what=_what(error))) from error
    if request.v != m.VERSION:
        raise Refusal("version", say("request.version", version=m.VERSION, asked=request.v))
    return request


def body_of(op: AnyOperation, request: m.Request) -> BaseModel:
    """The body, as the operation needs it."""
    if op.campaign and request.campaign is None:
        raise Refusal("bad_request", say("request.no_campaign", op=request.op))
    try:
        return op.body.model_validate_json(json.dumps(request.body))
    except ValidationError as error:
        raise Refusal("bad_request", say("request.body", op=request.op, what=_what(error))) from error
    except (ValueError, RecursionError) as error:
        raise Refusal("bad_request", say("request.unreadable", op=request.op, why=str(error))) from error


def digest(request: m.Request) -> str:
    """What a request means, whatever its id."""
    meaning = {"op": request.op, "campaign": request.campaign, "actor": request.actor, "body": request.body}
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def id_of(content: bytes) -> str:
    """The id of a request that is wrong in other ways, so that its sender can tell which one it was.

    Only a good id is ever repeated; otherwise it is empty.
    """
    try:
        found = json.loads(content, parse_int=len, parse_float=len)["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return quick_id_of(content)
    return found if isinstance(found, str) and _ID.fullmatch(found) else ""


def quick_id_of(content: bytes) -> str:
    """The id if it is easily seen; for messages that are not worth reading."""
    seen = _FIRST_ID.match(content) or _LAST_ID.search(content[-_TAIL:])
    return seen[1].decode() if seen else ""


def encoded(message: BaseModel) -> bytes:
    """A message of ours as the bytes of a frame; text that is no Unicode is replaced, not refused."""
    try:
        return message.model_dump_json().encode()
    except (PydanticSerializationError, UnicodeEncodeError):
        return json.dumps(_clean(message.model_dump(mode="python")), default=str).encode()


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(entry) for key, entry in value.items()}
    return [_clean(entry) for entry in value] if isinstance(value, list | tuple) else value


def _what(error: ValidationError) -> str:
    details = error.errors(include_url=False, include_input=False, include_context=False)[:_MOST_PROBLEMS]
    return "; ".join(f"{_place(one['loc'])}: {one['msg'][:200]}" for one in details)


def _place(steps: tuple[int | str, ...]) -> str:
    """Where in the message; a field's name is the sender's, and may be anything."""
    place = ".".join(map(str, steps)) or "message"
    place = place if place.isprintable() else ascii(place)
    return place if len(place) <= _LONGEST_PLACE else f"{place[:_LONGEST_PLACE]}..."
