"""How values become the machine's and back: scales, codes, tags as numbers, bits of words."""

import binascii
from collections.abc import Mapping

from tuner.adapter import LinkError, ParameterInfo, RefusedError, Value
from tuner.basics.sentences import say, written
from tuner.core.space.values import finite
from tuner.handshake.places import Measurement, Parameter, Place, Raw

WHOLE_ERROR = 1e-3  # how far a number read back may be from the whole one it is meant to be: scales and float32 round
FLOAT32_ERROR = 2.0**-23  # relative
_NARROW = 16  # bits


def to_raw(entry: Parameter, value: Value) -> Raw:
    """A value as the machine has it."""
    if isinstance(value, str):
        return entry.codes.get(value, value)
    return (value - entry.offset) / entry.scale


def to_value(info: ParameterInfo, entry: Parameter, raw: Raw) -> Value:
    """A value of the machine's as it is in a setting."""
    if info.kind == "choice":
        for choice in info.choices:
            if entry.codes.get(choice, choice) == raw:
                return choice
        raise LinkError(say("handshake.no_choice", name=info.name, value=written(raw), choices=list(info.choices)))
    number = to_number(info.name, entry, raw)
    if info.kind != "integer":
        return number
    if abs(number - round(number)) > WHOLE_ERROR:
        raise LinkError(say("handshake.not_whole", name=info.name, value=number))
    return round(number)


def to_number(name: str, entry: Measurement, raw: Raw) -> float:
    """A number of the machine's in our unit."""
    if isinstance(raw, bool | str):
        raise LinkError(say("handshake.no_number", name=name, value=written(raw)))
    plain = finite(raw)
    number = None if plain is None else finite(plain * entry.scale + entry.offset)
    if number is None:
        raise LinkError(say("handshake.not_finite", name=name, value=written(raw)))
    return number


def check_kept(info: ParameterInfo, wanted: float, kept: float) -> None:
    """Refuse what the machine's type would round away from the setting, or out of the limits."""
    whole = WHOLE_ERROR if info.kind == "integer" else 0.0
    noise = FLOAT32_ERROR * max(abs(info.low or 0.0), abs(info.high or 0.0))  # a limit need not be a number of 32 bits
    if not info.domain.inside(kept, whole + noise):
        raise RefusedError(say("handshake.outside", name=info.name, wanted=wanted, kept=kept))
    if not info.domain.same(kept, wanted, info.tolerance + whole):
        told = {"wanted": wanted, "kept": kept, "tolerance": info.tolerance}
        raise RefusedError(say("handshake.rounded", name=info.name, **told))


def tag_number(tag: str, bits: int) -> int:
    """A tag for a machine that has no text: a check sum, never 0, that fits into a signed number of these bits."""
    sum_ = binascii.crc_hqx(tag.encode(), 0xFFFF) if bits <= _NARROW else binascii.crc32(tag.encode())
    return sum_ & (2 ** (bits - 1) - 1) or 1


def bit_of(place: Place) -> int | None:
    """Which bit of its word a place is."""
    bit = getattr(place, "bit", None)
    return bit if isinstance(bit, int) else None


def without_neighbours(places: Mapping[str, Place], raw: Mapping[str, Raw]) -> dict[str, Raw]:
    """What was read, with a bit where a place is one bit of a word."""
    return {name: _bit(name, bit_of(place), raw[name]) for name, place in places.items()}


def _bit(name: str, bit: int | None, word: Raw) -> Raw:
    return word if bit is None else bool(whole(name, word) >> bit & 1)


def with_bit(name: str, word: Raw, bit: int, raw: Raw) -> int:
    """A word with one bit set or cleared."""
    if raw not in (0, 1):
        raise RefusedError(say("handshake.one_bit", name=name, value=written(raw)))
    return whole(name, word) | 1 << bit if raw else whole(name, word) & ~(1 << bit)


def whole(name: str, word: Raw) -> int:
    """A word that has bits."""
    if isinstance(word, bool) or not isinstance(word, int):
        raise LinkError(say("handshake.no_bits", name=name, value=written(word)))
    return word
