"""Machines that speak Modbus: TCP, TLS or a serial line."""

import contextlib
import ssl
import struct
from collections.abc import Mapping, Sequence
from typing import ClassVar

from adapters.modbus.ranges import readable
from adapters.modbus.register_map import (
    FORMATS,
    ModbusConnection,
    ModbusSettings,
    Register,
    Table,
    TagRegisters,
    complaints_on,
)
from adapters.shared.contact import quiet, why_no_device, why_not_reached
from adapters.shared.values import Deadline
from tuner.adapter import AdapterError, AdapterSettings, LinkError, Offered, ParameterInfo, RefusedError
from tuner.basics.address import file_address, host_address
from tuner.basics.sentences import Sentence, say, written
from tuner.basics.text import shown
from tuner.handshake import HandshakeAdapter, Place, Raw

try:
    from pymodbus import ModbusException
    from pymodbus.client import ModbusSerialClient, ModbusTcpClient, ModbusTlsClient
    from pymodbus.pdu import ModbusPDU
except ImportError as error:
    raise ImportError('the Modbus adapter needs pymodbus: pip install "process-tuner[modbus]"') from error

_REFUSALS = {1: "illegal_function", 2: "illegal_address", 3: "illegal_value"}
_READ_FUNCTIONS = {"coil": 1, "discrete": 2, "holding": 3, "input": 4}
_FAILURES = {4: "failure", 5: "not_finished", 6: "busy", 8: "parity", 10: "no_path", 11: "behind_gateway"}


class ModbusAdapter(HandshakeAdapter[ModbusSettings]):
    """A machine that speaks Modbus; pymodbus returns errors instead of raising them, so every answer is checked."""

    Settings: ClassVar[type[AdapterSettings]] = ModbusSettings
    Connection: ClassVar[type[AdapterSettings] | None] = ModbusConnection
    _client: ModbusTcpClient | ModbusSerialClient | None = None

    @classmethod
    def complaints(cls, settings: ModbusSettings, parameters: Sequence[ParameterInfo]) -> Sequence[str]:
        """What is wrong with the register map."""
        return complaints_on(settings, parameters)

    @classmethod
    def finest(cls, settings: ModbusSettings, parameter: str) -> float:
        """A whole number has the steps of its scale."""
        entry = settings.parameters.get(parameter)
        return 0.0 if entry is None or entry.form.startswith("float") else abs(entry.scale)

    @classmethod
    def occupies(cls, settings: ModbusSettings) -> Sequence[str]:
        """One device on a line, or behind a gateway; over TCP 0 and 255 both mean the host itself."""
        if settings.serial is not None:
            return (file_address(settings.serial.port, settings.unit_id),)
        port = settings.port or (802 if settings.tls else 502)
        return (host_address(settings.host or "", port, settings.unit_id or 255),)

    @classmethod
    def of_this_host(cls, settings: ModbusSettings) -> Sequence[str]:
        """Certificates and a serial line."""
        return (*super().of_this_host(settings), *(["serial.port"] if settings.serial else []))

    @classmethod
    def browse(cls, connection: ModbusConnection, deadline_s: float) -> Sequence[Offered]:
        """The addresses that can be read, in ranges; what they mean stands in the machine's manual."""
        deadline = Deadline(deadline_s)
        client = connected(connection, deadline_s)
        try:
            return readable(client, connection.unit_id, deadline)
        finally:
            client.close()  # type: ignore[no-untyped-call]

    def _where(self) -> str:
        return where(self.settings)

    def _disconnect(self) -> None:
        self._drop()

    def _drop(self) -> None:
        if self._client is not None:
            self._client.close()  # type: ignore[no-untyped-call]
            self._client = None

    def _connect(self) -> None:
        """Try out an old connection before it is relied on: the machine may have been restarted since."""
        if self._client is not None:
            with contextlib.suppress(AdapterError):  # it is only tried out
                self._read(self._one_place())
        if self._client is None:
            self._client = connected(
                self.settings, min(self.settings.timeout_s, self._left_s(say("machine.did_not_answer")))
            )

    def _one_place(self) -> dict[str, Place]:
        trial = self.settings.trial
        place = trial.done or trial.made or trial.count
        return {} if place is None else {"trial.done": place}

    def _read(self, places: Mapping[str, Place]) -> dict[str, Raw]:
        return {name: self._read_one(name, place) for name, place in places.items()}

    def _read_one(self, name: str, place: Place) -> Raw:
        register = _register(name, place)
        return self._unpacked(name, register, self._ask(name, register.table, register.address, register.words))

    def _kept(self, name: str, place: Place, raw: Raw) -> Raw:
        register = _register(name, place)
        return self._unpacked(name, register, self._packed(name, register, raw))

    def _unpacked(self, name: str, place: Register, answer: list[int]) -> Raw:
        if place.is_bit:
            return bool(answer[0])
        if place.form == "text":
            return self._swapped(answer).rstrip(b"\0").decode("ascii", "replace")
        words = answer if self.settings.word_order == "big" else answer[::-1]
        number: int | float = struct.unpack(FORMATS[place.form], self._swapped(words))[0]
        if place.form != "bool":
            return number
        if number not in (0, 1):
            raise LinkError(say("modbus.no_bool", name=name, value=number))
        return bool(number)

    def _write(self, values: Sequence[tuple[str, Place, Raw]]) -> None:
        packed = [(name, _register(name, place), raw) for name, place, raw in values]
        words = [self._packed(name, register, raw) for name, register, raw in packed]
        for (name, register, raw), sent in zip(packed, words, strict=True):
            self._ask(f"{name} = {shown(raw)}", register.table, register.address, len(sent), sent)

    def _write_bit(self, name: str, place: Place, bit: int, raw: Raw) -> None:
        """With function 22 the device changes the bit itself, and nobody's write comes in between."""
        if self.settings.bit_writes == "rewrite":
            super()._write_bit(name, place, bit, raw)
            return
        keep, put = 0xFFFF & ~(1 << bit), int(bool(raw)) << bit
        register = _register(name, place)
        self._ask(f"{name} = {shown(raw)}", register.table, register.address, 0, (keep, put))

    def _tag_bits(self, name: str, place: Place) -> int:
        return 8 * struct.calcsize(FORMATS[place.type]) if isinstance(place, TagRegisters) and place.type else 0

    def _address(self, place: Place) -> str:
        register = _register("", place)
        bit = "" if register.bit is None else f" bit {register.bit}"
        kind = "" if register.is_bit or register.bit is not None else f" {register.form}"
        return f"{register.table} {register.address}{bit}{kind}"

    def _described(self, name: str, place: Place, *, written: bool) -> str:
        register = _register(name, place)
        if not written:
            return f"read by function {_READ_FUNCTIONS[register.table]}"
        if register.is_bit:
            function = 5
        elif register.bit is not None and self.settings.bit_writes == "mask":
            function = 22
        else:
            function = 6 if register.words == 1 else 16
        return f"written by function {function} (Modbus does not tell whether it may be)"

    def _packed(self, name: str, place: Register, raw: Raw) -> list[int]:
        if place.form == "text":
            text = str(raw).encode("ascii", "replace")
            if len(text) > 2 * place.words:
                raise RefusedError(say("machine.no_room", name=name, room=2 * place.words, value=written(raw)))
            return self._words(text.ljust(2 * place.words, b"\0"))
        if isinstance(raw, str):
            raise RefusedError(say("modbus.numbers_only", name=name, value=written(raw)))
        try:
            data = struct.pack(FORMATS[place.form], raw if place.form.startswith("float") else round(raw))
        except (struct.error, OverflowError) as error:
            raise RefusedError(
                say("machine.does_not_fit", name=name, value=say("value.number", number=f"{raw:g}"), type=place.form)
            ) from error
        words = self._words(data)
        return words if self.settings.word_order == "big" else words[::-1]

    def _words(self, data: bytes) -> list[int]:
        order = ">" if self.settings.byte_order == "big" else "<"
        return list(struct.unpack(f"{order}{len(data) // 2}H", data))

    def _swapped(self, words: Sequence[int]) -> bytes:
        order = ">" if self.settings.byte_order == "big" else "<"
        return struct.pack(f"{order}{len(words)}H", *words)

    def _ask(self, what: str, table: Table, address: int, count: int, words: Sequence[int] | None = None) -> list[int]:
        """One request: read `count` values, or write `words`."""
        left_s = self._left_s(say("machine.did_not_answer_to", what=what))
        client = self._client
        if client is None:
            raise LinkError(say("machine.connection_lost", where=self._where()))
        timeout_s = min(self.settings.timeout_s, left_s)
        client.comm_params.timeout_connect = client.transaction.comm_params.timeout_connect = timeout_s
        try:
            response = self._request(client, table, address, count, words)
        except (ModbusException, OSError) as error:
            self._drop()  # a late answer must not be taken for the next one
            left_s = self._left_s(say("machine.did_not_answer_to", what=what))
            why = _silence(self.settings, min(self.settings.timeout_s, left_s)) or str(error)
            raise LinkError(say("machine.no_answer_to", where=self._where(), what=what, why=why)) from error
        if response.isError():
            code = response.exception_code
            if code in _REFUSALS:
                why = say(f"modbus.{_REFUSALS[code]}")
                raise RefusedError(
                    say("machine.refuses", where=self._where(), what=f"{what} ({table} {address})", why=why)
                )
            why = say(f"modbus.{_FAILURES[code]}") if code in _FAILURES else say("modbus.error", code=code)
            raise LinkError(say("machine.cannot_answer", where=self._where(), what=what, why=why))
        if words is not None:
            return []
        answer = [int(bit) for bit in response.bits] if table in ("coil", "discrete") else list(response.registers)
        if len(answer) < count:
            self._drop()
            raise LinkError(say("machine.other_count", where=self._where(), what=what, has=len(answer), count=count))
        return answer[:count]

    def _request(
        self,
        client: ModbusTcpClient | ModbusSerialClient,
        table: Table,
        address: int,
        count: int,
        words: Sequence[int] | None,
    ) -> ModbusPDU:
        unit_id = self.settings.unit_id
        if words is not None:
            if count == 0:
                return client.mask_write_register(
                    address=address, and_mask=words[0], or_mask=words[1], device_id=unit_id
                )
            if table == "coil":
                return client.write_coil(address, bool(words[0]), device_id=unit_id)
            if len(words) == 1:
                return client.write_register(address, words[0], device_id=unit_id)
            return client.write_registers(address, list(words), device_id=unit_id)
        read = {
            "holding": client.read_holding_registers,
            "input": client.read_input_registers,
            "coil": client.read_coils,
            "discrete": client.read_discrete_inputs,
        }[table]
        return read(address, count=count, device_id=unit_id)


def _register(name: str, place: Place) -> Register:
    if isinstance(place, TagRegisters):
        return place.register
    if not isinstance(place, Register):
        raise TypeError(f"{name} is not in a register")
    return place


def where(settings: ModbusConnection) -> str:
    """The machine, for messages."""
    return say("machine.named", address=settings.serial.port if settings.serial else settings.host)


def connected(settings: ModbusConnection, timeout_s: float) -> ModbusTcpClient | ModbusSerialClient:
    """A client that has a connection."""
    quiet("pymodbus.logging")
    if settings.serial and (why := why_no_device(settings.serial.port)):
        raise LinkError(say("machine.silent", where=where(settings), why=why))
    client = _new_client(settings, timeout_s)
    if client.connect():
        return client
    client.close()  # type: ignore[no-untyped-call]
    why = say("modbus.port_used") if settings.serial else _unreached(settings, timeout_s)
    raise LinkError(say("machine.silent", where=where(settings), why=why))


def _unreached(settings: ModbusConnection, timeout_s: float) -> Sentence:
    port = settings.port or (802 if settings.tls else 502)
    why = why_not_reached(settings.host or "", port, timeout_s, tls=settings.tls is not None)
    return why or say("modbus.not_ours")


def _silence(settings: ModbusConnection, timeout_s: float) -> Sentence:
    """Why a machine that takes connections does not answer."""
    if settings.serial:
        return say("modbus.serial_silent", unit=settings.unit_id)
    port = settings.port or (802 if settings.tls else 502)
    why = why_not_reached(settings.host or "", port, timeout_s, tls=settings.tls is not None)
    return why or say("modbus.silent", unit=settings.unit_id)


def _new_client(s: ModbusConnection, timeout_s: float) -> ModbusTcpClient | ModbusSerialClient:
    if s.serial:
        line = s.serial.model_dump(exclude={"port"})
        try:
            return ModbusSerialClient(s.serial.port, **line, timeout=timeout_s, retries=0)
        except RuntimeError as error:  # what pymodbus says when pyserial is missing
            hint = 'pip install "process-tuner[modbus,serial]"'
            raise RefusedError(f"a serial line needs pyserial: {hint}") from error
    if not s.tls:
        return ModbusTcpClient(s.host or "", port=s.port or 502, timeout=timeout_s, retries=0)
    try:
        context = ssl.create_default_context(cafile=s.tls.ca_file)
        if s.tls.certificate_file:
            context.load_cert_chain(s.tls.certificate_file, s.tls.key_file)
    except OSError as error:
        raise RefusedError(say("machine.certificates", where=where(s), why=str(error))) from error
    context.check_hostname = False  # pymodbus does not tell the context whom it calls
    return ModbusTlsClient(s.host or "", sslctx=context, port=s.port or 802, timeout=timeout_s, retries=0)
