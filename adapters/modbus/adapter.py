"""Machines that speak Modbus: TCP, TLS or a serial line."""

import contextlib
import ssl
import struct
from collections.abc import Mapping, Sequence
from typing import ClassVar

from adapters.modbus.register_map import FORMATS, ModbusSettings, Register, Table, TextRegisters, complaints_on
from adapters.shared.handshake import HandshakeAdapter
from adapters.shared.signals import Place, Raw
from tuner.adapter import AdapterSettings, LinkError, ParameterInfo, RefusedError
from tuner.basics.address import file_address, host_address
from tuner.basics.text import shown

try:
    from pymodbus import ModbusException
    from pymodbus.client import ModbusSerialClient, ModbusTcpClient, ModbusTlsClient
    from pymodbus.pdu import ModbusPDU
except ImportError as error:
    raise ImportError('the Modbus adapter needs pymodbus: pip install "process-tuner[modbus]"') from error

_REFUSALS = {1: "illegal function", 2: "illegal address", 3: "illegal value"}
_FAILURES = {4: "device failure", 5: "not finished yet", 6: "device busy", 8: "memory parity error",
             10: "gateway has no path", 11: "device behind the gateway does not answer"}  # fmt: skip


class ModbusAdapter(HandshakeAdapter[ModbusSettings]):
    """A machine that speaks Modbus; pymodbus returns errors instead of raising them, so every answer is checked."""

    Settings: ClassVar[type[AdapterSettings]] = ModbusSettings
    _client: ModbusTcpClient | ModbusSerialClient | None = None

    @classmethod
    def complaints(cls, settings: ModbusSettings, parameters: Sequence[ParameterInfo]) -> Sequence[str]:
        """What is wrong with the register map."""
        return complaints_on(settings, parameters)

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

    def close(self) -> None:
        """Hang up."""
        self._opened = False
        self._drop()

    def _where(self) -> str:
        return f"the machine at {self.settings.serial.port if self.settings.serial else self.settings.host}"

    def _drop(self) -> None:
        if self._client is not None:
            self._client.close()  # type: ignore[no-untyped-call]
            self._client = None

    def _connect(self) -> None:
        """Try out an old connection before it is relied on: the machine may have been restarted since."""
        if self._client is not None:
            with contextlib.suppress(LinkError):
                self._one("trial.done", self.settings.trial.done)
        if self._client is None:
            self._client = self._new_client(min(self.settings.timeout_s, self._left_s("did not answer")))
            if not self._client.connect():
                self._drop()
                raise LinkError(f"{self._where()} does not answer")

    def _new_client(self, timeout_s: float) -> ModbusTcpClient | ModbusSerialClient:
        s = self.settings
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
            raise RefusedError(f"the certificates for {self._where()} cannot be used: {error}") from error
        context.check_hostname = False  # pymodbus does not tell the context whom it calls
        return ModbusTlsClient(s.host or "", sslctx=context, port=s.port or 802, timeout=timeout_s, retries=0)

    def _read(self, places: Mapping[str, Place]) -> dict[str, Raw]:
        return {name: self._read_one(name, place) for name, place in places.items()}

    def _read_one(self, name: str, place: Place) -> Raw:
        if isinstance(place, TextRegisters):
            words = self._ask(name, "holding", place.address, place.length)
            return self._swapped(words).rstrip(b"\0").decode("ascii", "replace")
        if not isinstance(place, Register):
            raise TypeError(f"{name} is not in a register")
        return self._unpacked(name, place, self._ask(name, place.table, place.address, place.words))

    def _kept(self, name: str, place: Place, raw: Raw) -> Raw:
        words = self._packed(name, place, raw)
        return self._unpacked(name, place, words) if isinstance(place, Register) else raw

    def _unpacked(self, name: str, place: Register, answer: list[int]) -> Raw:
        if place.is_bit:
            return bool(answer[0])
        if place.bit is not None:
            return bool(answer[0] >> place.bit & 1)
        words = answer if self.settings.word_order == "big" else answer[::-1]
        number: int | float = struct.unpack(FORMATS[place.form], self._swapped(words))[0]
        if place.form != "bool":
            return number
        if number not in (0, 1):
            raise LinkError(f"{name} reads {number}, but a bool is 0 or 1: is its type right?")
        return bool(number)

    def _write(self, values: Sequence[tuple[str, Place, Raw]]) -> None:
        packed = [(name, place, raw, self._packed(name, place, raw)) for name, place, raw in values]
        for name, place, raw, words in packed:
            address = place.address if isinstance(place, Register | TextRegisters) else 0
            coil = isinstance(place, Register) and place.is_bit
            self._ask(f"{name} = {shown(raw)}", "coil" if coil else "holding", address, len(words), words)

    def _packed(self, name: str, place: Place, raw: Raw) -> list[int]:
        if isinstance(place, TextRegisters):
            text = str(raw).encode("ascii", "replace")
            if len(text) > 2 * place.length:
                raise RefusedError(f"{name} has room for {2 * place.length} characters, not for {shown(raw)}")
            return self._words(text.ljust(2 * place.length, b"\0"))
        if not isinstance(place, Register) or isinstance(raw, str):
            raise RefusedError(f"{name} is a register of numbers, not for {shown(raw)}")
        try:
            data = struct.pack(FORMATS[place.form], raw if place.form.startswith("float") else round(raw))
        except (struct.error, OverflowError) as error:
            raise RefusedError(f"{name} = {raw:g} does not fit into {place.form}") from error
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
        left_s = self._left_s(f"did not answer to {what}")
        client = self._client
        if client is None:
            raise LinkError(f"the connection to {self._where()} is lost")
        timeout_s = min(self.settings.timeout_s, left_s)
        client.comm_params.timeout_connect = client.transaction.comm_params.timeout_connect = timeout_s
        try:
            response = self._request(client, table, address, count, words)
        except (ModbusException, OSError) as error:
            self._drop()  # a late answer must not be taken for the next one
            self._left_s(f"did not answer to {what}")
            raise LinkError(f"{self._where()} does not answer to {what}: {error}") from error
        if response.isError():
            code = response.exception_code
            if code in _REFUSALS:
                raise RefusedError(f"{self._where()} refuses {what} ({table} {address}): {_REFUSALS[code]}")
            raise LinkError(f"{self._where()} cannot answer to {what}: {_FAILURES.get(code, f'error {code}')}")
        if words is not None:
            return []
        answer = [int(bit) for bit in response.bits] if table in ("coil", "discrete") else list(response.registers)
        if len(answer) < count:
            self._drop()
            raise LinkError(f"{self._where()} answered to {what} with {len(answer)} values instead of {count}")
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
