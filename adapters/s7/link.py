"""A connection to a Siemens S7 controller: bytes are read and written, and what it refuses becomes a sentence."""

import re
from typing import NoReturn

from adapters.s7.block_map import S7Connection, Spot
from adapters.shared.contact import quiet, why_not_reached
from tuner.adapter import LinkError, Offered, RefusedError
from tuner.basics.sentences import say

try:
    from snap7.client import Client
    from snap7.connection import ISOTCPConnection
    from snap7.error import S7ConnectionError, S7Error, S7ProtocolError, S7TimeoutError
    from snap7.type import Area, Block, WordLen
except ImportError as error:
    raise ImportError('the S7 adapter needs python-snap7: pip install "process-tuner[s7]"') from error

_AREAS = {"DB": Area.DB, "M": Area.MK, "I": Area.PE, "Q": Area.PA}
_CODE = re.compile(r"0x([0-9a-f]+)", re.IGNORECASE)
_REFUSALS = {
    0x03: "put_get", 0x05: "beyond", 0x06: "type_not_allowed", 0x07: "type_does_not_fit", 0x0A: "no_block",
    0x8104: "put_get", 0x8404: "no_block", 0xD241: "put_get", 0xD602: "put_get",
}  # fmt: skip
_MOST_BLOCKS = 2000


class _Connecting(Client):
    """snap7's client waits five seconds for a connection, whatever the deadline; this one as long as it may."""

    timeout_s = 2.0

    def _connect(self, address: str, rack: int, slot: int, tcp_port: int) -> "Client":
        self.host, self.port, self.rack, self.slot = address, tcp_port, rack, slot
        self.connection = ISOTCPConnection(
            host=address, port=tcp_port, local_tsap=self.local_tsap, remote_tsap=self.remote_tsap
        )
        try:
            self.connection.connect(self.timeout_s)
            self._setup_communication()
        except Exception:
            self.disconnect()
            raise
        self.connected = True
        return self


class S7Link:
    """One connection; after a failure it is closed and another one made."""

    def __init__(self, settings: S7Connection, timeout_s: float) -> None:
        quiet("snap7")
        self._settings = settings
        self.where = say("machine.controller", address=settings.host)
        self._client = _Connecting()
        self._client.timeout_s = timeout_s
        try:
            self._client.connect(settings.host, settings.rack, settings.slot, settings.port)
        except (S7Error, OSError) as error:
            why = why_not_reached(settings.host, settings.port, timeout_s, tls=False)
            why = why or say("s7.no_connection", rack=settings.rack, slot=settings.slot, error=str(error))
            raise LinkError(say("machine.silent", where=self.where, why=why)) from error

    def allow(self, timeout_s: float) -> None:
        """How long the next requests may take."""
        connection = self._client.connection
        if connection is not None and connection.socket is not None:
            connection.timeout = timeout_s
            connection.socket.settimeout(timeout_s)

    def read(self, what: str, spot: Spot, size: int) -> bytes:
        """Some bytes."""
        try:
            return bytes(self._client.read_area(_AREAS[spot.area], spot.block, spot.byte, size))
        except (S7Error, OSError) as error:
            self._fail(what, error)

    def write(self, what: str, spot: Spot, data: bytes) -> None:
        """Some bytes."""
        try:
            self._client.write_area(_AREAS[spot.area], spot.block, spot.byte, bytearray(data))
        except (S7Error, OSError) as error:
            self._fail(what, error)

    def write_bit(self, what: str, spot: Spot, on: bool) -> None:
        """A single bit: its neighbours are not touched."""
        at = 8 * spot.byte + (spot.bit or 0)
        try:
            self._client.write_area(_AREAS[spot.area], spot.block, at, bytearray([on]), WordLen.Bit)
        except (S7Error, OSError) as error:
            self._fail(what, error)

    def blocks(self) -> list[Offered]:
        """All data blocks, with their sizes where the controller tells them."""
        found = []
        try:
            for number in sorted(self._client.list_blocks_of_type(Block.DB, _MOST_BLOCKS)):
                found.append(Offered(f"DB{number}", "", "data block", "", self._size(number)))
        except (S7Error, OSError) as error:
            if _is_lost(error):
                self._fail("the list of data blocks", error)
            raise RefusedError(
                f"{self.where} does not list its data blocks ({error}): look them up in the engineering software"
            ) from error
        return found

    def _size(self, number: int) -> str:
        try:
            return f"{self._client.get_block_info(Block.DB, number).MC7Size} bytes"
        except S7Error:
            return ""

    def close(self) -> None:
        """Hang up."""
        self._client.disconnect()

    def _fail(self, what: str, error: Exception) -> NoReturn:
        if _is_lost(error):
            raise LinkError(say("machine.no_answer_to", where=self.where, what=what, why=str(error))) from error
        codes = [int(code, 16) for code in _CODE.findall(str(error))]
        why = next((say(f"s7.{_REFUSALS[code]}") for code in codes if code in _REFUSALS), str(error))
        raise RefusedError(say("machine.refuses", where=self.where, what=what, why=why)) from error


def _is_lost(error: Exception) -> bool:
    return isinstance(error, S7ConnectionError | S7TimeoutError | OSError) or not isinstance(error, S7ProtocolError)
