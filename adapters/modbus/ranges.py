"""Which addresses of a Modbus device can be read: asks in blocks, and in halves where a block is refused."""

from collections.abc import Callable, Iterator

from adapters.shared.values import Deadline, not_looked_at
from tuner.adapter import LinkError, Offered

try:
    from pymodbus import ModbusException
    from pymodbus.client import ModbusSerialClient, ModbusTcpClient
    from pymodbus.pdu import ModbusPDU
except ImportError as error:
    raise ImportError('the Modbus adapter needs pymodbus: pip install "process-tuner[modbus]"') from error

HIGHEST = 2000  # addresses that are looked at; few devices have more, and a serial line is slow
_BLOCK = 100
_SHOWN = 8  # values of a range that are told

Values = dict[int, int]


class _TimeOverError(Exception):
    """The deadline came before all was looked at."""


def readable(client: ModbusTcpClient | ModbusSerialClient, unit_id: int, deadline: Deadline) -> list[Offered]:
    """Ranges of all four tables, with some of the values that are not 0."""
    read: dict[str, Callable[..., ModbusPDU]] = {
        "holding": client.read_holding_registers,
        "input": client.read_input_registers,
        "coil": client.read_coils,
        "discrete": client.read_discrete_inputs,
    }
    answered = over = False
    found: list[Offered] = []
    for table, function in read.items():
        values: Values = {}
        begun = 0
        try:
            for begun in range(0, HIGHEST, _BLOCK):
                for answer in _block(function, unit_id, begun, _BLOCK, deadline):
                    answered = True
                    values |= answer
        except _TimeOverError:
            over = True
        bits = table in ("coil", "discrete")
        access = "read, write" if table in ("holding", "coil") else "read"
        for first, last in _runs(sorted(values)):
            telling = [f"{at}={values[at]}" for at in range(first, last + 1) if values[at]]
            more = f" and {len(telling) - _SHOWN} more" if len(telling) > _SHOWN else ""
            kind = "bits" if bits else "registers"
            found.append(
                Offered(f"{table} {first} to {last}", "", kind, access, ", ".join(telling[:_SHOWN]) + more or "all 0")
            )
        if over:
            found.append(not_looked_at(f"{table} {begun} to {HIGHEST - 1}"))
    if not answered and not over:
        raise LinkError(f"no address up to {HIGHEST - 1} can be read: look at unit_id")
    return found


def _block(
    function: Callable[..., ModbusPDU], unit_id: int, first: int, count: int, deadline: Deadline
) -> Iterator[Values]:
    """What can be read of a block."""
    if deadline.left_s() == 0:
        raise _TimeOverError
    try:
        answer = function(first, count=count, device_id=unit_id)
    except (ModbusException, OSError) as error:
        raise LinkError(f"no answer to a question for address {first}: look at unit_id; {error}") from error
    if not answer.isError():
        values = answer.bits or answer.registers
        yield {first + place: int(value) for place, value in enumerate(values[:count])}
    elif answer.exception_code == 1 or count == 1:  # it has no such table, or no such address
        return
    else:
        half = count // 2
        yield from _block(function, unit_id, first, half, deadline)
        yield from _block(function, unit_id, first + half, count - half, deadline)


def _runs(addresses: list[int]) -> Iterator[tuple[int, int]]:
    """First and last of each stretch without a gap."""
    begin = 0
    for place in range(1, len(addresses) + 1):
        if place == len(addresses) or addresses[place] != addresses[place - 1] + 1:
            yield addresses[begin], addresses[place - 1]
            begin = place
