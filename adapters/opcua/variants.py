"""Values in the type of their node: a server takes no integer for a Double."""

import math

from tuner.adapter import RefusedError
from tuner.basics.sentences import say, written
from tuner.handshake import Raw

try:
    from asyncua import ua
except ImportError as error:
    raise ImportError('the OPC UA adapter needs asyncua: pip install "process-tuner[opcua]"') from error

INTEGERS = {
    ua.VariantType.SByte: (-(2**7), 2**7 - 1), ua.VariantType.Byte: (0, 2**8 - 1),
    ua.VariantType.Int16: (-(2**15), 2**15 - 1), ua.VariantType.UInt16: (0, 2**16 - 1),
    ua.VariantType.Int32: (-(2**31), 2**31 - 1), ua.VariantType.UInt32: (0, 2**32 - 1),
    ua.VariantType.Int64: (-(2**63), 2**63 - 1), ua.VariantType.UInt64: (0, 2**64 - 1),
}  # fmt: skip
_LARGEST_FLOAT = 3.4028234e38


def variant(name: str, kind: ua.VariantType, raw: Raw) -> ua.Variant:
    """A value in the type of its node: a server takes no integer for a Double."""
    value: Raw | None = None
    if kind is ua.VariantType.String:
        value = raw if isinstance(raw, str) else None
    elif isinstance(raw, str):
        value = None
    elif kind is ua.VariantType.Boolean:
        value = bool(raw) if raw in (0, 1) else None
    elif kind in INTEGERS:
        low, high = INTEGERS[kind]
        value = round(raw) if low <= round(raw) <= high else None
    elif kind is ua.VariantType.Double or (kind is ua.VariantType.Float and abs(raw) <= _LARGEST_FLOAT):
        value = float(raw) if math.isfinite(raw) else None
    if value is None:
        raise RefusedError(say("opcua.does_not_fit", name=name, value=written(raw), type=kind.name))
    return ua.Variant(value, kind)
