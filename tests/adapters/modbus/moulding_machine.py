"""A moulding machine behind a real Modbus server on loopback, and the settings to reach it."""

import asyncio
import json
import socket
import struct
import threading
import time

from pymodbus import FramerType
from pymodbus.client import ModbusTcpClient
from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusTcpServer, ModbusTlsServer
from pymodbus.simulator import DataType, SimData, SimDevice

from adapters.modbus import ModbusAdapter
from adapters.modbus.register_map import ModbusSettings
from tests.adapters.helpers import PARAMETERS, changed
from tests.patience import PATIENT_S

START, DONE, VALID, GUARD = 0, 0, 1, 8  # bits
REASON, ALARM, MODE, WEIGHT = 20, 21, 11, 30
TAG, MADE = 120, 130


def table(**changes):
    """The settings as a TOML file would give them; `trial__tag=None` leaves an entry out."""
    settings = {
        "host": "127.0.0.1",
        "poll_interval_s": 0.005,
        "parameters": {
            "temperature": {"address": 100, "type": "int16", "scale": 0.1, "offset": 20.0},
            "speed": {"address": 102, "type": "float32"},
            "pressure": {"address": 104, "type": "uint16", "read_address": 104, "read_table": "input"},
            "cooling": {"address": 106, "codes": {"water": 1, "oil": 2}},
        },
        "trial": {
            "start": {"table": "coil", "address": START},
            "done": {"table": "discrete", "address": DONE},
            "valid": {"table": "discrete", "address": VALID},
            "reason": {"table": "input", "address": REASON, "codes": {"1": "short shot"}},
            "tag": {"address": TAG, "length": 4},
        },
        "state": {
            "alarm": {"table": "input", "address": ALARM, "codes": {"101": "the mould does not close"}},
            "ready": {"address": MODE, "bit": 3},
        },
        "interlocks": {"guard": {"table": "discrete", "address": GUARD}},
        "measurements": {"weight_g": {"table": "input", "address": WEIGHT, "type": "float32"}},
    }
    return changed(settings, changes)


def made_from(port, sleep=time.sleep, clock=time.monotonic, **changes):
    settings = ModbusSettings.model_validate_json(json.dumps({**table(**changes), "port": port}))
    assert ModbusAdapter.complaints(settings, PARAMETERS) == []
    return ModbusAdapter(settings, PARAMETERS, sleep, clock)


TABLES = {
    1: "coil",
    5: "coil",
    2: "discrete",
    3: "holding",
    6: "holding",
    16: "holding",
    22: "holding",
    4: "input",
}  # by function


class Press:
    """A moulding machine: four tables of memory, and a program that runs whenever it is read or written."""

    def __init__(self):
        self.memory = {name: [0] * 200 for name in ("coil", "discrete", "holding", "input")}
        self.memory["discrete"][GUARD] = 1
        self.memory["holding"][MODE] = 1 << 3
        self.parts = []
        self.looks_per_part = 3  # how often done is read before it is on; None: never
        self.alarm_in_part = 0
        self.refused = {}  # (table, address): exception code
        self.short_answer = False
        self.mute = False
        self.program = lambda table, address: None  # what it does after each write, and before each look at done
        self.functions = []  # that were used to write

    async def async_getValues(self, device_id, function, address, count=1):  # noqa: N802 - pymodbus's name
        if self.mute:
            await asyncio.get_running_loop().create_future()
        name = TABLES[function]
        if (name, address) in self.refused:
            return self.refused[name, address]
        if (name, address) == ("discrete", DONE):
            self.look()
        if address + count > len(self.memory[name]):
            return ExcCodes.ILLEGAL_ADDRESS
        return self.memory[name][address : address + count - (1 if self.short_answer and count > 1 else 0)]

    async def async_setValues(self, device_id, function, address, values):  # noqa: N802 - pymodbus's name
        if self.mute:
            await asyncio.get_running_loop().create_future()
        name = TABLES[function]
        if (name, address) in self.refused:
            return self.refused[name, address]
        if (name, address) == ("coil", START):
            self.start(bool(values[0]))
        self.memory[name][address : address + len(values)] = values
        if (name, address) == ("holding", 104):
            self.memory["input"][104] = values[0]
        self.functions.append(function)
        self.program(name, address)
        return None

    def start(self, on):
        if on and not self.memory["coil"][START]:
            self.parts.append(self.text(TAG, 4))
            self.looks = self.looks_per_part
            self.memory["input"][ALARM] = self.alarm_in_part
        if not on:
            self.memory["discrete"][DONE] = 0

    def look(self):
        if self.memory["coil"][START] and self.looks is not None and not self.memory["discrete"][DONE]:
            self.looks -= 1
            if self.looks <= 0:
                self.finish()

    def finish(self):
        hot = self.memory["holding"][100] * 0.1 + 20 > 250
        self.memory["discrete"][VALID] = not hot
        self.memory["input"][REASON] = 1 if hot else 0
        self.put("input", WEIGHT, 42.5, DataType.FLOAT32)
        self.memory["holding"][MADE : MADE + 4] = self.memory["holding"][TAG : TAG + 4]
        self.memory["discrete"][DONE] = 1

    def put(self, name, address, value, datatype, word_order="big"):
        words = ModbusTcpClient.convert_to_registers(value, ModbusTcpClient.DATATYPE[datatype.name], word_order)
        self.memory[name][address : address + len(words)] = words

    def get(self, name, address, datatype, count, word_order="big"):
        words = self.memory[name][address : address + count]
        return ModbusTcpClient.convert_from_registers(words, ModbusTcpClient.DATATYPE[datatype.name], word_order)

    def text(self, address, count):
        return struct.pack(f">{count}H", *self.memory["holding"][address : address + count]).rstrip(b"\0").decode()


class Plant:
    """A real server on loopback, in a thread of its own, that can be switched off and on again."""

    def __init__(self, press, sslctx=None):
        self.press, self.sslctx, self.port, self.connections = press, sslctx, 0, 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.on()

    def count(self, connected):
        self.connections += connected

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENT_S)

    def on(self):
        self.run(self._on())

    async def _on(self):
        unused = SimDevice(0, [SimData(0, datatype=DataType.REGISTERS)])
        address = ("127.0.0.1", self.port)
        if self.sslctx:
            self.server = ModbusTlsServer(unused, address=address, sslctx=self.sslctx, framer=FramerType.TLS)
        else:
            self.server = ModbusTcpServer(unused, address=address, trace_connect=self.count)
        self.server.context = self.press
        await self.server.serve_forever(background=True)
        self.port = self.server.transport.sockets[0].getsockname()[1]

    def off(self):
        self.run(self.server.shutdown())

    def close(self):
        self.run(self._rest())
        self.off()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENT_S)
        self.loop.close()

    async def _rest(self):
        """Let the server see that all clients are gone; they are accepted in their order, so one of ours comes last."""
        if not self.sslctx:
            before = self.connections
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            while self.connections == before:  # noqa: ASYNC110 - pymodbus has no event for it
                await asyncio.sleep(0)
            writer.close()
        while any(c.transport for c in self.server.active_connections.values()):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()  # the answers of a machine that is mute


def silent_server():
    """A port that takes connections and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, listener.getsockname()[1]
