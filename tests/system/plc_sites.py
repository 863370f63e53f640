"""A machine for every protocol of PLCs: the real server on loopback, and a small process behind it."""

import struct
from pathlib import Path

import pytest

from tests.adapters.modbus import moulding_machine as modbus
from tests.adapters.opcua import moulding_machine as opcua
from tests.adapters.s7 import moulding_machine as s7
from tests.system.sites import HOME, REASON, Site, sasena


class ModbusPress(modbus.Press):
    """Two float64 parameters, a long tag, and the process in its program."""

    def __init__(self, made) -> None:
        super().__init__()
        self.made = made
        for name, address in (("x1", 100), ("x2", 104)):
            self.put("holding", address, HOME[name], modbus.DataType.FLOAT64)

    def values(self) -> dict:
        return {
            name: self.get("holding", address, modbus.DataType.FLOAT64, 4)
            for name, address in (("x1", 100), ("x2", 104))
        }

    def start(self, on):
        if on and not self.memory["coil"][modbus.START]:
            self.parts.append(self.text(modbus.TAG, 16))
            self.looks = self.looks_per_part
        if not on:
            self.memory["discrete"][modbus.DONE] = 0

    def finish(self):
        valid, objective = sasena(self.values())
        self.made.append((self.parts[-1], self.values(), valid))
        self.memory["discrete"][modbus.VALID] = valid
        self.memory["input"][modbus.REASON] = 0 if valid else 1
        self.put("input", modbus.WEIGHT, objective, modbus.DataType.FLOAT64)
        self.memory["discrete"][modbus.DONE] = 1


class Modbus(Site):
    name = "modbus"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.press = ModbusPress(self.made)
        self.plant = modbus.Plant(self.press)

    def settings(self) -> dict:
        changes = {
            "parameters": {"x1": {"address": 100, "type": "float64"}, "x2": {"address": 104, "type": "float64"}},
            "trial__tag": {"address": modbus.TAG, "length": 16},
            "trial__reason__codes": {"1": REASON},
            "measurements": {"objective": {"table": "input", "address": modbus.WEIGHT, "type": "float64"}},
        }
        return {**modbus.table(**changes), "port": self.plant.port}

    def setting(self) -> dict:
        return self.press.values()

    def close(self) -> None:
        self.plant.close()


class OpcuaPress(opcua.Press):
    def __init__(self, directory, made) -> None:
        self.made = made
        super().__init__(directory)

    async def finish(self):
        self.looks = None
        setting = {name: await self.nodes[name].read_value() for name in HOME}
        valid, objective = sasena(setting)
        self.made.append((await self.nodes["Tag"].read_value(), setting, valid))
        await self.set("Valid", valid)
        await self.set("Reason", "" if valid else REASON)
        await self.set("Weight", objective)
        await self.set("Done", True)


class Opcua(Site):
    name = "opcua"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        with pytest.MonkeyPatch.context() as patch:  # the nodes of this press, beside those of the other tests
            for name, value in HOME.items():
                patch.setitem(opcua.NODES, name, (value, opcua.ua.VariantType.Double))
            self.press = OpcuaPress(directory, self.made)

    def settings(self) -> dict:
        changes = {
            "parameters": {name: {"node": f"s={name}"} for name in HOME},
            "measurements": {"objective": {"node": "s=Weight"}},
        }
        return {**opcua.table(**changes), "endpoint": self.press.endpoint}

    def setting(self) -> dict:
        return {name: self.press.get(name) for name in HOME}

    def close(self) -> None:
        self.press.close()


class S7Press(s7.Press):
    """Two parameters of eight bytes where the other tests have four."""

    def __init__(self, made) -> None:
        super().__init__()
        self.made = made
        self.db[100:116] = struct.pack(">dd", *HOME.values())

    def values(self) -> dict:
        return dict(zip(HOME, struct.unpack(">dd", self.db[100:116]), strict=True))

    def finish(self):
        self.looks = None
        valid, objective = sasena(self.values())
        self.made.append((self.parts[-1], self.values(), valid))
        self.db[24:26] = struct.pack(">h", 0 if valid else 1)
        self.db[60:68] = struct.pack(">d", objective)
        self.db[21] = 3 if valid else 1


class S7(Site):
    name = "s7"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.press = S7Press(self.made)
        self.press.on()

    def settings(self) -> dict:
        changes = {
            "parameters": {name: {"address": f"DB5.DBD{100 + 8 * n}", "type": "LREAL"} for n, name in enumerate(HOME)},
            "trial__reason__codes": {"1": REASON},
            "measurements": {"objective": {"address": "DB5.DBD60", "type": "LREAL"}},
        }
        return {**s7.table(**changes), "port": self.press.port}

    def setting(self) -> dict:
        return self.press.values()

    def close(self) -> None:
        self.press.off()
