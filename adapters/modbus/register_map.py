"""The register map of a machine that speaks Modbus, and what can be wrong with it."""

import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from tuner.adapter import GRID_ERROR, AdapterSettings, ParameterInfo
from tuner.basics.text import shown
from tuner.handshake import (
    FLOAT32_ERROR,
    WHOLE_ERROR,
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

FORMATS = {
    "bool": ">H", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q", "uint64": ">Q",
    "float32": ">f", "float64": ">d"
}  # fmt: skip
_RANGES = {"int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1), "int32": (-(2**31), 2**31 - 1),
           "uint32": (0, 2**32 - 1), "int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1),
           "bool": (0, 1)}  # fmt: skip
_HIGHEST_ON_A_LINE = 247  # 0 is a broadcast, the rest is reserved

Table = Literal["holding", "input", "coil", "discrete"]
Type = Literal["bool", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "text"]
Address = Field(ge=0, le=65_535, description="address in the protocol: 100 for what some manuals call 40101")


class Register(Place):
    """One value in the machine's memory."""

    table: Table = Field("holding", description="holding, input, coil or discrete")
    address: int = Address
    type: Type | None = Field(None, description="left out: uint16, or bool for a coil or discrete input")
    bit: int | None = Field(None, ge=0, le=15, description="one bit of a control or status word, 0 is the lowest")
    length: int | None = Field(None, ge=1, le=100, description='number of registers of a "text", two letters in each')

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.is_bit and self.type not in (None, "bool"):
            raise ValueError(f'a {self.table} is one bit: its type is "bool"')
        if self.bit is not None and (self.is_bit or self.type not in (None, "uint16")):
            raise ValueError("only a 16-bit register has bits: leave out type, or bit")
        if (self.type == "text") != (self.length is not None):
            raise ValueError('length and type = "text" belong together')
        return self

    @property
    def is_bit(self) -> bool:
        """Whether it is in one of the two tables of single bits."""
        return self.table in ("coil", "discrete")

    @property
    def form(self) -> str:
        """The type, also where it was left out."""
        return self.type or ("bool" if self.is_bit else "uint16")

    @property
    def words(self) -> int:
        """How many addresses it takes."""
        if self.length is not None:
            return self.length
        return 1 if self.is_bit else struct.calcsize(FORMATS[self.form]) // 2

    @property
    def writable(self) -> bool:
        """Whether the protocol can write it."""
        return self.table in ("holding", "coil")


class MeasurementRegister(Register, Measurement):
    """A number that the machine measured."""


class ParameterRegister(Register, Parameter):
    """Where a parameter is written, and read back."""

    read_table: Table | None = Field(None, description="table it is read back from; left out: the same")
    read_address: int | None = Field(None, ge=0, le=65_535, description="address it is read back from")

    @property
    def source(self) -> "ParameterRegister":
        """The same type and scale, at the place where it is read back."""
        address = self.address if self.read_address is None else self.read_address
        return self.model_copy(update={"table": self.read_table or self.table, "address": address})


class SignalRegister(Register, Signal):
    """A yes or no: a bit, or a register that has a certain value."""


class CommandRegister(Register, Command):
    """A yes or no that tuner writes."""


class DoneRegister(Register, Done):
    """The machine's word that the part is finished."""


class CodeRegister(Register, Code):
    """A register that tells what is wrong."""


class TagRegisters(Place):
    """A part's tag: ASCII text, two letters in each register, filled up with zeros; or a number that stands for it."""

    table: Literal["holding", "input"] = Field("holding", description="holding or input")
    address: int = Address
    length: int | None = Field(None, ge=1, le=100, description="number of registers of a text: half its letters")
    type: Literal["int16", "uint16", "int32", "uint32"] | None = Field(None, description="a number instead of a text")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.length is None) == (self.type is None):
            raise ValueError("needs either length, for a text, or type, for a number")
        return self

    @property
    def words(self) -> int:
        """How many addresses it takes."""
        return self.length or struct.calcsize(FORMATS[self.type or "uint16"]) // 2

    @property
    def register(self) -> Register:
        """The same place as any other register."""
        kind: Type = self.type or "text"
        return Register(table=self.table, address=self.address, type=kind, length=self.length)


class Serial(AdapterSettings):
    """A serial line with Modbus RTU."""

    port: str = Field(description='device, such as "/dev/ttyUSB0"')
    baudrate: int = Field(19_200, ge=50, le=4_000_000, description="bits per second")
    parity: Literal["N", "E", "O"] = Field("E", description="none, even or odd")
    stopbits: Literal[1, 2] = Field(1, description="1 or 2")


class Tls(AdapterSettings):
    """Encryption; the machine's certificate is checked against the authority, not against the host's name."""

    ca_file: Path = Field(description="certificate of the authority that signed the machine's")
    certificate_file: Path | None = Field(None, description="tuner's own certificate, with its chain")
    key_file: Path | None = Field(None, description="its key, if it is not in the same file")


class ModbusConnection(AdapterSettings):
    """How a machine that speaks Modbus is reached."""

    host: str | None = Field(None, min_length=1, description="name or address of the machine")
    port: int | None = Field(None, ge=1, le=65_535, description="left out: 502, with TLS 802")
    tls: Tls | None = Field(None, description="encryption")
    serial: Serial | None = Field(None, description="a serial line instead of a host")
    unit_id: int = Field(1, ge=0, le=255, description="number of the device on the line or behind the gateway")
    word_order: Literal["big", "little"] = Field("big", description="of 32 and 64 bits: big is high word first")
    byte_order: Literal["big", "little"] = Field("big", description="within a word: big is what the standard says")
    bit_writes: Literal["rewrite", "mask"] = Field(
        "rewrite", description="a bit of a word: rewrite reads and writes the word, mask is function 22"
    )


class ModbusSettings(
    ModbusConnection,
    HandshakeSettings[
        CommandRegister,
        CommandRegister,
        DoneRegister,
        SignalRegister,
        CodeRegister,
        TagRegisters,
        MeasurementRegister,
        ParameterRegister,
    ],
):
    """The table `[campaign.adapter.settings]` of a machine that speaks Modbus."""


def complaints_on(settings: ModbusSettings, parameters: Sequence[ParameterInfo]) -> list[str]:
    """All that is wrong with a map for these parameters."""
    found = []
    if (settings.host is None) == (settings.serial is None):
        found.append("either host or serial must be given, and not both")
    if settings.serial and not 1 <= settings.unit_id <= _HIGHEST_ON_A_LINE:
        found.append(f"unit_id must be 1 to {_HIGHEST_ON_A_LINE} on a serial line: 0 is all devices at once")
    if settings.serial and settings.tls:
        found.append("tls needs a host: a serial line has no encryption")
    found += map_complaints(settings, parameters, lambda entry: entry.form != "text")
    for info in parameters:
        if info.name in settings.parameters:
            entry = settings.parameters[info.name]
            sentences = _choice(info, entry) if info.kind == "choice" else _number(info, entry)
            found += [f"parameters.{info.name}: {sentence}" for sentence in sentences]
    return [*found, *_signals(settings), *_used_twice(settings)]


def _choice(info: ParameterInfo, entry: ParameterRegister) -> list[str]:
    if entry.form == "text":
        longest = max(info.choices, key=lambda choice: len(str(entry.codes.get(choice, choice))))
        room = 2 * entry.words
        fits = len(str(entry.codes.get(longest, longest))) <= room
        return [] if fits else [f"its text has room for {room} letters, not for {shown(longest)}"]
    low, high = _RANGES.get(entry.form, (-math.inf, math.inf))
    codes = entry.codes.values()
    return [
        f"the code {shown(c)} does not fit into {entry.form}"
        for c in codes
        if isinstance(c, str) or not low <= c <= high
    ]


def _number(info: ParameterInfo, entry: ParameterRegister) -> list[str]:
    if info.low is None or info.high is None or entry.form in ("bool", "text"):
        return [f"a number does not fit into {entry.form}"]
    limits = (info.low, info.high)
    low, high = sorted((limit - entry.offset) / entry.scale for limit in limits)
    if entry.form in ("float32", "float64"):
        error = max(abs(low), abs(high)) * abs(entry.scale) * FLOAT32_ERROR / 2
        if entry.form == "float32" and error > (WHOLE_ERROR if info.kind == "integer" else info.tolerance):
            return [f"float32 rounds by up to {error:.2g}, more than the tolerance {info.tolerance:g} for reading back"]
        return []
    least, most = _RANGES[entry.form]
    if low < least - GRID_ERROR or high > most + GRID_ERROR:
        return [
            f"{info.low:g} to {info.high:g} is {low:g} to {high:g} in the machine, {entry.form} has {least} to {most}"
        ]
    count = abs(entry.scale)
    if info.kind == "continuous":
        if info.resolution and not any(
            abs(x / count - round(x / count)) > GRID_ERROR for x in (info.resolution, entry.offset)
        ):
            return []  # only values that the register has are sent
        if count / 2 > info.tolerance:
            return [
                f"the register has steps of {count:g}, the tolerance for reading back is {info.tolerance:g}: make it a "
                f"stepped parameter with this step, or its tolerance at least {count / 2:g}"
            ]
        ends = [round((limit - entry.offset) / entry.scale) * entry.scale + entry.offset for limit in limits]
        return [
            f"the register has steps of {count:g}: its limit {limit:g} would be {end:g} there, outside of its limits"
            for limit, end in zip(limits, ends, strict=True)
            if not info.low - count * GRID_ERROR <= end <= info.high + count * GRID_ERROR
        ]
    step = 1.0 if info.step is None else info.step
    if any(abs(x / count - round(x / count)) > GRID_ERROR for x in (step, info.low - entry.offset)):
        return [f"its values {info.low:g}, {info.low + step:g}, ... are not among the register's steps of {count:g}"]
    return []


def _signals(settings: ModbusSettings) -> list[str]:
    trial, state, recipe, heart = settings.trial, settings.state, settings.recipe, settings.heartbeat
    signals: dict[str, SignalRegister | CommandRegister | DoneRegister | None] = {
        "recipe.valid": recipe.valid if recipe else None, "recipe.taken": recipe.taken if recipe else None,
        "trial.start": trial.start, "trial.done": trial.done, "trial.valid": trial.valid, "trial.busy": trial.busy,
        "state.ready": state.ready, **{f"interlocks.{name}": signal for name, signal in settings.interlocks.items()},
        "heartbeat.write": heart.write if heart else None,
    }  # fmt: skip
    found = []
    for name, signal in signals.items():
        if signal is None:
            continue
        if signal.form == "text":
            continue
        values = (signal.on, signal.off) if isinstance(signal, CommandRegister | DoneRegister) else (signal.on,)
        bit = signal.form == "bool" or signal.bit is not None
        low, high = (0, 1) if bit else _RANGES.get(signal.form, (-math.inf, math.inf))
        found += [f"{name} can never be {shown(v)}" for v in values if isinstance(v, str) or not low <= v <= high]
    return found


def _used_twice(settings: ModbusSettings) -> list[str]:
    """What is written must be writable and belong to one name; what is only read may be shared."""
    written = [(name, _register(place)) for name, place in written_places(settings)]
    found = [
        f"{name} cannot be written: only a holding register or a coil can" for name, r in written if not r.writable
    ]
    sources = [(f"parameters.{name}", entry.source) for name, entry in settings.parameters.items()]
    return [*found, *_overlaps(written, "written"), *_overlaps(sources, "read back")]


def _register(place: Place) -> Register:
    if isinstance(place, TagRegisters):
        return place.register
    if not isinstance(place, Register):
        raise TypeError(f"{place!r} is not a register")
    return place


def _overlaps(registers: Sequence[tuple[str, Register]], what: str) -> list[str]:
    """Bits of one word do not disturb each other."""
    return [
        f"{name} and {other} are both {what} at {r.table} {max(r.address, o.address)}"
        for i, (name, r) in enumerate(registers)
        for other, o in registers[:i]
        if r.table == o.table
        and r.address < o.address + o.words
        and o.address < r.address + r.words
        and (r.bit is None or o.bit is None or r.bit == o.bit)
    ]
