"""The protocol as one JSON Schema that strict validators take as it is, with the table of the operations in it.

The document is a schema of every message: `{"$ref": "...#/$defs/Reply"}` is one of a reply, and a request's body is
checked by its operation, an event's by its type. `$defs.protocol` has the rest as the value of a `const`: which
operation has which body, answer and roles, by the names in `$defs`.
"""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter

from tuner.campaign import events as e
from tuner.wire import messages as m
from tuner.wire.operations import OPS

IDENTITY = f"urn:tuner:wire:{m.VERSION}"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/"
_MESSAGES: dict[str, type[BaseModel]] = {
    "request": m.Request,
    "reply": m.Reply,
    "event": m.EventMessage,
    "beat": m.Beat,
    "progress": m.Progress,
}
_NOT_PUBLISHED = ("type", "model")  # of an event's fields: the envelope has the type, only the model needs the other
# `discriminator` is OpenAPI's; JSON Schema's format `time` wants an offset, which the hours of a shift do not have
_NOT_STANDARD = ("discriminator", "format")


def document() -> dict[str, Any]:
    """The whole protocol; every `$ref` in it points into its own `$defs`."""
    events = _events()
    asked: list[type[BaseModel]] = [m.Request, *(op.body for op in OPS.values())]
    told = [*(model for model in _MESSAGES.values() if model is not m.Request), *(op.answer for op in OPS.values())]
    inputs: list[tuple[Any, Any, TypeAdapter[Any]]] = [
        *((("asked", model.__name__), "validation", TypeAdapter(model)) for model in asked),
        *((("told", model.__name__), "serialization", TypeAdapter(model)) for model in [*told, *events.values()]),
    ]
    _, shared = TypeAdapter.json_schemas(inputs)
    defs: dict[str, Any] = _standard(shared["$defs"])
    for model in events.values():
        _leave_out(defs[model.__name__], _NOT_PUBLISHED)
    strict = {name for model in asked for name in _reached(defs, model.__name__)}
    for name in defs.keys() - strict:
        if defs[name].get("additionalProperties") is False:
            del defs[name]["additionalProperties"]  # a newer daemon may say more
    defs["Request"]["allOf"] = [_if("op", name, _body(op.body, campaign=op.campaign)) for name, op in OPS.items()]
    defs["EventMessage"]["allOf"] = [_if("type", kind, _body(model)) for kind, model in events.items()]
    needed = {name for model in [*asked, *told] for name in _reached(defs, model.__name__)}
    return {
        "$schema": _DIALECT,
        "$id": IDENTITY,
        "title": "The wire protocol of tuner",
        "description": "A message of the protocol; $defs has each kind, and the table of operations in `protocol`.",
        "anyOf": [_reference(model) for model in _MESSAGES.values()],
        "$defs": {"protocol": _table(events), **{name: defs[name] for name in sorted(needed)}},
    }


def _table(events: dict[str, type[BaseModel]]) -> dict[str, Any]:
    return {
        "description": "As data: versions, limits, operations, events; a name is that of a schema in $defs.",
        "const": {
            "version": m.VERSION,
            "largest_request_bytes": m.LARGEST_BYTES,
            "messages": {name: model.__name__ for name, model in _MESSAGES.items()},
            "ops": {
                name: {
                    "about": op.about,
                    "campaign": op.campaign,
                    "command": op.command,
                    "lane": op.lane,
                    "status": op.status,
                    "events": list(op.events),
                    "roles": sorted(op.roles),
                    "body": op.body.__name__,
                    "answer": op.answer.__name__,
                }
                for name, op in sorted(OPS.items())
            },
            "events": {kind: model.__name__ for kind, model in sorted(events.items())},
        },
    }


def _events() -> dict[str, type[BaseModel]]:
    return {model.model_fields["type"].default: model for model in get_args(get_args(e.Event)[0])}


def _reference(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": f"{_REFERENCE}{model.__name__}"}


def _if(field: str, value: str, then: dict[str, Any]) -> dict[str, Any]:
    """A rule for messages with this value; a value that is not known has no rule."""
    return {"if": {"properties": {field: {"const": value}}, "required": [field]}, "then": then}


def _body(model: type[BaseModel], *, campaign: bool = False) -> dict[str, Any]:
    needs_campaign = {"campaign": {"type": "string"}} if campaign else {}
    needed = [*needs_campaign, *(["body"] if any(field.is_required() for field in model.model_fields.values()) else [])]
    return {"properties": {**needs_campaign, "body": _reference(model)}, **({"required": needed} if needed else {})}


def _leave_out(schema: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        schema.get("properties", {}).pop(name, None)
    required = [name for name in schema.get("required", []) if name not in names]
    schema.pop("required", None)
    if required:
        schema["required"] = required


def _standard(value: Any, *, names: bool = True) -> Any:
    """Without keywords that are not JSON Schema's; in a map of `names` the keys are somebody's, not keywords."""
    if isinstance(value, list):
        return [_standard(entry, names=False) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _standard(entry, names=not names and key in ("properties", "$defs"))
        for key, entry in value.items()
        if names or key not in _NOT_STANDARD
    }


def _reached(defs: dict[str, Any], name: str) -> set[str]:
    found, ahead = set(), [name]
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            ahead += _references(defs[one])
    return found


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(_REFERENCE)
        for entry in value.values():
            yield from _references(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _references(entry)
