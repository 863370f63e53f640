"""The protocol as one JSON document: JSON Schema of all messages, and a table of the operations."""

from typing import Any

from pydantic import TypeAdapter

from tuner.campaign.events import EVENT
from tuner.wire import messages as m
from tuner.wire.ops import OPS

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ENVELOPES = {
    "request": m.Request,
    "reply": m.Reply,
    "event": m.EventMessage,
    "beat": m.Beat,
    "progress": m.Progress,
}


def document() -> dict[str, Any]:
    """The whole protocol; every `$ref` in it points into its own `$defs`."""
    inputs: list[tuple[Any, Any, TypeAdapter[Any]]] = [
        (("envelope", name), "validation" if name == "request" else "serialization", TypeAdapter(model))
        for name, model in _ENVELOPES.items()
    ]
    for name, op in OPS.items():
        inputs.append((("body", name), "validation", TypeAdapter(op.body)))
        inputs.append((("answer", name), "serialization", TypeAdapter(op.answer)))
    inputs.append((("events", ""), "serialization", EVENT))
    schemas, shared = TypeAdapter.json_schemas(inputs)
    found = {key: schema for (key, _), schema in schemas.items()}
    return {
        "$schema": _DIALECT,
        "title": "The wire protocol of tuner",
        "version": m.VERSION,
        "largest_request_bytes": m.LARGEST_BYTES,
        "messages": {name: found["envelope", name] for name in _ENVELOPES},
        "ops": {
            name: {
                "about": op.about,
                "campaign": op.campaign,
                "command": op.command,
                "roles": sorted(op.roles),
                "body": found["body", name],
                "answer": found["answer", name],
            }
            for name, op in sorted(OPS.items())
        },
        "events": found["events", ""],
        "$defs": shared["$defs"],
    }
