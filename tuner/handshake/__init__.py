"""Machines of registers, nodes or data blocks: the handshake of Modbus, OPC UA and S7, for adapters of yours too.

Subclass the places for your protocol's addresses, fill them into `HandshakeSettings`, and write the few methods of
`HandshakeAdapter` that read and write; docs/adapters/handshake.md tells what is done with them.
"""

from tuner.handshake.adapter import HandshakeAdapter
from tuner.handshake.convert import FLOAT32_ERROR, WHOLE_ERROR, tag_number, to_number, to_raw, to_value, whole, with_bit
from tuner.handshake.places import (
    AnySettings,
    Code,
    Command,
    Done,
    HandshakeSettings,
    Heartbeat,
    Measurement,
    Parameter,
    Place,
    Raw,
    Recipe,
    Signal,
    State,
    Trial,
    map_complaints,
    written_places,
)

__all__ = [
    "FLOAT32_ERROR",
    "WHOLE_ERROR",
    "AnySettings",
    "Code",
    "Command",
    "Done",
    "HandshakeAdapter",
    "HandshakeSettings",
    "Heartbeat",
    "Measurement",
    "Parameter",
    "Place",
    "Raw",
    "Recipe",
    "Signal",
    "State",
    "Trial",
    "map_complaints",
    "tag_number",
    "to_number",
    "to_raw",
    "to_value",
    "whole",
    "with_bit",
    "written_places",
]
