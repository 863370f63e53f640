"""Lines of text over a serial port: opened again by itself after a fault, every wait within a deadline."""

import codecs
import contextlib
import errno
import termios
from typing import Any, Literal

from pydantic import Field, field_validator

from adapters.shared.contact import why_no_device
from adapters.shared.values import Deadline, quoted
from tuner.adapter import AdapterSettings, DeadlineError, LinkError
from tuner.basics.sentences import NOTHING, Sentence, say
from tuner.basics.text import shown

try:
    import serial  # type: ignore[import-untyped]  # pyserial has no types
except ImportError as error:
    raise ImportError('the serial adapter needs pyserial: pip install "process-tuner[serial]"') from error

_PARITIES = {"none": "N", "even": "E", "odd": "O", "mark": "M", "space": "S"}
_LONGEST_LINE = 65_536  # bytes; a line that has not ended by then is noise
_SHORTEST_WAIT_S = 0.001  # pyserial takes 0 for "do not wait" and tells no timeout then


class PortSettings(AdapterSettings):
    """The port and how text is sent over it."""

    port: str = Field(min_length=1, description="the device, such as /dev/serial/by-id/..., or socket://host:port")
    baud_rate: int = Field(9600, ge=50, le=4_000_000, description="bits per second")
    data_bits: Literal[5, 6, 7, 8] = Field(8, description="bits of a character")
    parity: Literal["none", "even", "odd", "mark", "space"] = Field("none", description="parity of a character")
    stop_bits: float = Field(1.0, description="1, 1.5 or 2 stop bits")
    flow_control: Literal["none", "hardware", "software"] = Field("none", description="RTS/CTS or XON/XOFF")
    dtr: bool = Field(True, description="whether DTR is on; off keeps boards from restarting at every opening")
    encoding: str = Field("ascii", description="how text becomes bytes")
    line_ending: str = Field("\r\n", min_length=1, description="what ends a line, both ways")

    @field_validator("stop_bits")
    @classmethod
    def _possible(cls, bits: float) -> float:
        if bits not in (1, 1.5, 2):
            raise ValueError(f"must be 1, 1.5 or 2, not {shown(bits)}")
        return bits

    @field_validator("encoding")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            codecs.lookup(name)
        except LookupError as error:
            raise ValueError(f'{shown(name)} is not an encoding; allowed: "ascii", "latin-1", "utf-8", ...') from error
        return name


class LinePort:
    """A serial port that speaks in lines."""

    def __init__(self, settings: PortSettings) -> None:
        self._settings = settings
        self._port: Any = None
        self._ending = settings.line_ending.encode(settings.encoding)
        self._received = b""
        self._owed = self._tail_of_late = False  # whether an answer is still to come, and its beginning was dropped

    @property
    def is_open(self) -> bool:
        """Whether there is a port to speak to."""
        return self._port is not None

    def open(self) -> None:
        """Take the port for ourselves alone."""
        s = self._settings
        try:
            port = serial.serial_for_url(
                s.port,
                do_not_open=True,
                baudrate=s.baud_rate,
                bytesize=s.data_bits,
                parity=_PARITIES[s.parity],
                stopbits=int(s.stop_bits) if s.stop_bits == int(s.stop_bits) else s.stop_bits,
                rtscts=s.flow_control == "hardware",
                xonxoff=s.flow_control == "software",
                exclusive=True,
            )
            if not s.dtr:
                port.dtr = False
            port.open()
        except (OSError, ValueError, termios.error) as error:
            why = NOTHING if "://" in s.port else why_no_device(s.port)
            raise LinkError(say("serial.not_opened", port=s.port, why=why or _words(error))) from error
        self._port = port
        self._received = b""
        self._owed = self._tail_of_late = False

    def close(self) -> None:
        """Let go of the port."""
        port, self._port = self._port, None
        if port is not None:
            with contextlib.suppress(OSError, termios.error):  # the device may be gone
                port.close()

    def write(self, line: str, deadline: Deadline) -> None:
        """Send a line; a port that is gone is closed."""
        try:
            self._port.write_timeout = max(deadline.left_s(), _SHORTEST_WAIT_S)
            self._port.write(line.encode(self._settings.encoding) + self._ending)
        except serial.SerialTimeoutException:
            raise DeadlineError(say("serial.not_taken", line=quoted(line), seconds=deadline.seconds)) from None
        except (OSError, termios.error) as error:
            self._lost(error)

    def read_line(self, deadline: Deadline) -> str:
        """The next line, without its ending; a port that is gone is closed."""
        line = self._next_line(deadline)
        if self._tail_of_late:
            self._tail_of_late = False
            line = self._next_line(deadline)
        self._owed = False
        try:
            return line.decode(self._settings.encoding).strip()
        except UnicodeDecodeError:
            raise LinkError(say("serial.no_text", line=repr(line[:40]), encoding=self._settings.encoding)) from None

    def _next_line(self, deadline: Deadline) -> bytes:
        while self._ending not in self._received:
            if len(self._received) > _LONGEST_LINE:
                self._received = b""
                raise LinkError(say("serial.endless", bytes=_LONGEST_LINE))
            self._receive(max(deadline.left_s(), _SHORTEST_WAIT_S))
            if self._ending not in self._received and deadline.left_s() == 0:
                self._owed = True
                got = say("serial.half", text=quoted(self._received)) if self._received else ""
                raise DeadlineError(say("serial.no_answer", seconds=deadline.seconds, got=got))
        line, _, self._received = self._received.partition(self._ending)
        return line

    def waiting_lines(self) -> list[str]:
        """Lines that have come since the last one was read, readable or not; the beginning of a line is dropped.

        If an answer is still to come, that beginning is its: what follows must not be taken for a line of its own.
        """
        before = -1
        while before < len(self._received) <= _LONGEST_LINE:  # a port in the network tells one byte at a time
            before = len(self._received)
            self._receive(0)
        whole, ended, rest = self._received.rpartition(self._ending)
        self._received = b""
        if ended:
            self._owed = self._tail_of_late = False
        self._tail_of_late = self._tail_of_late or (self._owed and bool(rest))
        return [line.decode(self._settings.encoding, "replace").strip() for line in whole.split(self._ending)]

    def _receive(self, wait_s: float) -> None:
        """Add what has come; a timeout adds nothing."""
        try:
            self._port.timeout = wait_s
            self._received += self._port.read(min(max(1, self._port.in_waiting), _LONGEST_LINE))
        except (OSError, termios.error) as error:
            self._lost(error)

    def _lost(self, error: Exception) -> None:
        self.close()
        raise LinkError(say("serial.lost", port=self._settings.port, why=str(error))) from error


def _words(error: Exception) -> Sentence:
    """A port that is there and may be used, but is in use, is told with what to do."""
    taken = isinstance(error, OSError) and error.errno in (errno.EAGAIN, errno.EBUSY)
    return say("serial.taken") if taken else Sentence(str(error))
