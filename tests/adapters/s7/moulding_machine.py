"""A moulding machine behind a real S7 server on loopback, and the settings to reach it."""

import json
import socket
import struct
import threading
import time

from snap7.server import Server
from snap7.type import SrvArea

from adapters.s7 import S7Adapter
from adapters.s7.block_map import S7Settings
from tests.adapters.helpers import PARAMETERS, changed
from tests.patience import PATIENT_S

BLOCK, SIZE = 5, 200
BIT = 1  # word length of a single bit


def table(**changes):
    """The settings as a TOML file would give them; `trial__tag=None` leaves an entry out."""
    settings = {
        "host": "127.0.0.1",
        "poll_interval_s": 0.005,
        "parameters": {
            "temperature": {"address": "DB5.DBW0", "scale": 0.1},
            "speed": {"address": "DB5.DBD4", "type": "REAL"},
            "pressure": {"address": "DB5.DBW8", "type": "UINT", "read_address": "DB5.DBW10"},
            "cooling": {"address": "DB5.DBB12", "codes": {"water": 1, "oil": 2}},
        },
        "trial": {
            "start": {"address": "DB5.DBX20.0"},
            "done": {"address": "DB5.DBX21.0"},
            "valid": {"address": "DB5.DBX21.1"},
            "reason": {"address": "DB5.DBW24", "codes": {"1": "short shot"}},
            "tag": {"address": "DB5.DBB30", "type": "STRING", "length": 16},
        },
        "state": {"alarm": {"address": "DB5.DBW26"}, "ready": {"address": "M0.3"}},
        "interlocks": {"guard": {"address": "I0.0"}},
        "measurements": {"weight_g": {"address": "DB5.DBD60", "type": "REAL"}},
    }
    return changed(settings, changes)


def made_from(port, sleep=time.sleep, clock=time.monotonic, **changes):
    settings = S7Settings.model_validate_json(json.dumps({**table(**changes), "port": port}))
    assert S7Adapter.complaints(settings, PARAMETERS) == []
    return S7Adapter(settings, PARAMETERS, sleep, clock)


class BitServer(Server):
    """snap7's server takes a bit for a byte; a controller does not. It can also be mute."""

    def __init__(self, press):
        super().__init__(log=False)
        self.press = press

    def _parse_address_specification(self, addr_spec):
        parsed = super()._parse_address_specification(addr_spec)
        return {**parsed, "bit": addr_spec[-1] & 7} if parsed else parsed

    def _parse_write_address(self, request):
        parsed = super()._parse_write_address(request)
        spec = request["parameters"]["address_spec"]
        if parsed is None or spec["word_len"] != BIT:
            return parsed
        area, block, start, count, data = parsed
        byte = self.memory_areas[area, block][start] & ~(1 << spec["bit"]) | (data[0] & 1) << spec["bit"]
        return area, block, start, count, bytearray([byte])

    def _process_request(self, request_data, client_address):
        self.press.speaking.wait()
        self.press.before(request_data)
        answer = super()._process_request(request_data, client_address)
        self.press.after()
        return answer


class Press:
    """A moulding machine: a data block, and a program that runs whenever it is read or written."""

    def __init__(self):
        self.db, self.flags, self.inputs = bytearray(SIZE), bytearray(16), bytearray(16)
        self.speaking = threading.Event()
        self.speaking.set()
        self.parts, self.started = [], False
        self.looks_per_part, self.looks = 3, None
        self.flags[0], self.inputs[0] = 1 << 3, 1
        self.db[12] = 1
        self.db[30] = 16  # room of the empty string
        self.port = 0

    def before(self, request):
        done = b"\x10\x02\x00\x01\x00\x05\x84" + (21 * 8).to_bytes(3, "big")  # one byte from DB5.DBB21
        if done in request and self.looks is not None:
            self.looks -= 1
            if self.looks <= 0:
                self.finish()

    def after(self):
        self.db[10:12] = self.db[8:10]
        on = bool(self.db[20] & 1)
        if on and not self.started:
            self.parts.append(self.db[32 : 32 + self.db[31]].decode())
            self.looks = self.looks_per_part
        if not on:
            self.db[21] &= ~1
        self.started = on

    def finish(self):
        self.looks = None
        hot = struct.unpack(">h", self.db[0:2])[0] > 2500
        self.db[24:26] = struct.pack(">h", 1 if hot else 0)
        self.db[60:64] = struct.pack(">f", 42.5)
        self.db[21] = 1 if hot else 3

    def on(self):
        self.server = BitServer(self)
        self.server.host = "127.0.0.1"
        self.server.register_area(SrvArea.DB, BLOCK, self.db)
        self.server.register_area(SrvArea.MK, 0, self.flags)
        self.server.register_area(SrvArea.PE, 0, self.inputs)
        self.port = self.port or free_port()
        self.server.start(self.port)

    def off(self):
        self.speaking.set()
        threads = [self.server.server_thread, *self.server.clients]
        self.server.stop()
        for thread in threads:  # the server waits for them for a moment only
            thread.join(PATIENT_S)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
