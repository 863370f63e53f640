"""The map of a machine with a Siemens S7 controller: addresses as the engineering software writes them, and types."""

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from tuner.adapter import AdapterSettings, ParameterInfo
from tuner.basics.text import shown
from tuner.handshake import (
    Code,
    Command,
    Done,
    HandshakeSettings,
    Measurement,
    Parameter,
    Place,
    Signal,
    map_complaints,
    written_places,
)

_ADDRESS = re.compile(
    r"(?:DB(?P<db>\d{1,5})\.DB|(?P<area>[MIQEA]))(?P<size>[XBWD]?)(?P<byte>\d{1,5})(?:\.(?P<bit>[0-7]))?"
)
_AREAS = {"M": "M", "I": "I", "E": "I", "Q": "Q", "A": "Q"}  # E and A are the German names of I and Q

Type = Literal[
    "BOOL", "BYTE", "SINT", "USINT", "INT", "UINT", "WORD", "DINT", "UDINT", "DWORD", "REAL", "LREAL", "STRING"
]
FORMATS = {
    "BYTE": ">B", "SINT": ">b", "USINT": ">B", "INT": ">h", "UINT": ">H", "WORD": ">H", "DINT": ">i", "UDINT": ">I",
    "DWORD": ">I", "REAL": ">f", "LREAL": ">d",
}  # fmt: skip
FLOATS = ("REAL", "LREAL")
_DEFAULTS: dict[str, Type] = {"B": "USINT", "W": "INT"}
_SIZES = {"B": 1, "W": 2, "D": 4}
_STRING_HEAD = 2  # bytes before the letters: room, and length


@dataclass(frozen=True, slots=True)
class Spot:
    """Where bytes are: the area, the number of a data block, the first byte, and the bit of a BOOL."""

    area: str
    block: int
    byte: int
    bit: int | None

    @classmethod
    def parsed(cls, text: str) -> "Spot":
        """An address such as DB5.DBD10, DB5.DBX0.3, MW20 or I0.1."""
        match = _ADDRESS.fullmatch(text.upper())
        if match is None or (match["bit"] is not None) != (match["size"] in ("X", "")):
            raise ValueError(
                f'{shown(text)} is not an address; allowed: "DB5.DBX0.3", "DB5.DBW4", "DB5.DBD10", "MW20", "M3.1"'
            )
        area = "DB" if match["db"] else _AREAS[match["area"]]
        bit = None if match["bit"] is None else int(match["bit"])
        return cls(area, int(match["db"] or 0), int(match["byte"]), bit)


class S7Place(Place):
    """One value of the controller."""

    address: str = Field(description='such as "DB5.DBX0.3" (a bit), "DB5.DBW4", "DB5.DBD10", "MW20" or "I0.1"')
    type: Type | None = Field(None, description="left out: BOOL for a bit, USINT for DBB, INT for DBW; DBD needs it")
    length: int | None = Field(
        None, ge=1, le=254, description="letters of a STRING[length], whose address is DB5.DBB20"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        spot, size = Spot.parsed(self.address), self._size()
        if (spot.bit is not None) != (self.form == "BOOL"):
            raise ValueError(f"{self.address} is {'a bit: its type is' if spot.bit is not None else 'not a'} BOOL")
        if (self.type == "STRING") != (self.length is not None):
            raise ValueError('length and type = "STRING" belong together')
        wide = {"STRING": 1, "LREAL": 4}.get(self.form) or (1 if spot.bit is not None else self.bytes)
        if spot.bit is None and _SIZES[size] != wide:
            raise ValueError(
                f"{self.form} does not begin at {self.address}: write B for 1 byte, W for 2, D for 4 or more"
            )
        return self

    def _size(self) -> str:
        match = _ADDRESS.fullmatch(self.address.upper())
        return match["size"] if match else ""

    @property
    def form(self) -> Type:
        """The type, also where it was left out."""
        if self.type is not None:
            return self.type
        if Spot.parsed(self.address).bit is not None:
            return "BOOL"
        size = self._size()
        if size not in _DEFAULTS:
            raise ValueError(f"{self.address} needs a type: REAL, DINT, UDINT or DWORD")
        return _DEFAULTS[size]

    @property
    def spot(self) -> Spot:
        """Where its bytes are."""
        return Spot.parsed(self.address)

    @property
    def bytes(self) -> int:
        """How many it takes."""
        if self.length is not None:
            return _STRING_HEAD + self.length
        return 1 if self.form == "BOOL" else struct.calcsize(FORMATS[self.form])


class S7Measurement(S7Place, Measurement):
    """A number that the machine measured."""


class S7Parameter(S7Place, Parameter):
    """Where a parameter is written, and read back."""

    read_address: str | None = Field(None, description="where it is read back; left out: the same address")

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if self.read_address is not None:
            S7Place(address=self.read_address, type=self.type, length=self.length)
        return self

    @property
    def source(self) -> "S7Parameter":
        """The same type and scale, at the place where it is read back."""
        return self.model_copy(update={"address": self.read_address or self.address, "read_address": None})


class S7Signal(S7Place, Signal):
    """A yes or no: a bit, or a number that has a certain value."""


class S7Command(S7Place, Command):
    """A yes or no that tuner writes."""


class S7Done(S7Place, Done):
    """The machine's word that the part is finished."""


class S7Code(S7Place, Code):
    """A number or a text that tells what is wrong."""


class S7Connection(AdapterSettings):
    """How a Siemens S7 controller is reached."""

    host: str = Field(min_length=1, description="name or address of the controller")
    port: int = Field(102, ge=1, le=65_535, description="port of ISO-on-TCP")
    rack: int = Field(0, ge=0, le=7, description="rack of the CPU")
    slot: int = Field(1, ge=0, le=31, description="slot of the CPU: 1 for S7-1200 and 1500, 2 for S7-300")
    bit_writes: Literal["single", "rewrite"] = Field(
        "single", description="a bit: single writes it alone, rewrite reads and writes its byte"
    )


class S7Settings(
    S7Connection,
    HandshakeSettings[S7Command, S7Command, S7Done, S7Signal, S7Code, S7Place, S7Measurement, S7Parameter],
):
    """The table `[campaign.adapter.settings]` of a machine with a Siemens S7 controller."""


def limits(form: str) -> tuple[float, float]:
    """The least and the greatest number of a type."""
    if form in FLOATS:
        return -math.inf, math.inf
    if form == "BOOL":
        return 0, 1
    bits = 8 * struct.calcsize(FORMATS[form])
    signed = FORMATS[form][1].islower()
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


def complaints_on(settings: S7Settings, parameters: Sequence[ParameterInfo]) -> list[str]:
    """All that is wrong with a map for these parameters."""
    found = map_complaints(settings, parameters, lambda entry: entry.form != "STRING")
    for info in parameters:
        if info.name in settings.parameters:
            found += [f"parameters.{info.name}: {why}" for why in _misfits(info, settings.parameters[info.name])]
    written = [(name, place) for name, place in written_places(settings) if isinstance(place, S7Place)]
    found += [
        f"{name} cannot be written: {place.address} is an input" for name, place in written if place.spot.area == "I"
    ]
    sources: list[tuple[str, S7Place]] = [(f"parameters.{name}", p.source) for name, p in settings.parameters.items()]
    return [*found, *_overlaps(written, "written"), *_overlaps(sources, "read back")]


def _misfits(info: ParameterInfo, entry: S7Parameter) -> list[str]:
    form = entry.form
    if form == "STRING":
        if info.kind != "choice":
            return ["a number does not fit into STRING"]
        longest = max((str(entry.codes.get(choice, choice)) for choice in info.choices), key=len)
        return (
            [] if len(longest) <= (entry.length or 0) else [f"STRING[{entry.length}] has no room for {shown(longest)}"]
        )
    least, most = limits(form)
    if info.kind == "choice":
        codes = entry.codes.values()
        return [
            f"the code {shown(c)} does not fit into {form}"
            for c in codes
            if isinstance(c, str) or not least <= c <= most
        ]
    if info.low is None or info.high is None or form == "BOOL":
        return [f"a number does not fit into {form}"]
    low, high = sorted((limit - entry.offset) / entry.scale for limit in (info.low, info.high))
    if low < least - 0.5 or high > most + 0.5:
        there = f"{info.low:g} to {info.high:g} is {low:g} to {high:g} in the machine"
        return [f"{there}, {form} has {least:g} to {most:g}"]
    coarse = form not in FLOATS and info.kind == "continuous" and abs(entry.scale) / 2 > info.tolerance
    if coarse:
        return [
            f"{form} has steps of {abs(entry.scale):g}, the tolerance for reading back is {info.tolerance:g}: make it "
            f"a stepped parameter with this step, or its tolerance at least {abs(entry.scale) / 2:g}"
        ]
    return []


def _overlaps(places: Sequence[tuple[str, S7Place]], what: str) -> list[str]:
    """Bits of one byte do not disturb each other."""
    return [
        f"{name} and {other} are both {what} at {place.address}"
        for i, (name, place) in enumerate(places)
        for other, one in places[:i]
        if (place.spot.area, place.spot.block) == (one.spot.area, one.spot.block)
        and place.spot.byte < one.spot.byte + one.bytes
        and one.spot.byte < place.spot.byte + place.bytes
        and (place.spot.bit is None or one.spot.bit is None or place.spot.bit == one.spot.bit)
    ]
