import asyncio
import json
import math
import os
import pty
import select
import socket
import ssl
import struct
import sys
import threading
import time
import tty
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import ValidationError
from pymodbus import FramerType
from pymodbus.client import ModbusTcpClient
from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusSerialServer, ModbusTcpServer, ModbusTlsServer
from pymodbus.simulator import DataType, SimData, SimDevice

from adapters.modbus import ModbusAdapter
from adapters.modbus_map import ModbusSettings, Register
from tests.adapters.hands import Hurry, changed
from tuner.adapter import DeadlineError, LinkError, ParameterInfo, RefusedError
from tuner.config import load_config
from tuner.plugins import AdapterNotFoundError, load_adapter
from tuner.testing import LinkConformance

PARAMETERS = (
    ParameterInfo("temperature", "stepped", 230.0, 200.0, 300.0, 0.5, tolerance=0.05),
    ParameterInfo("speed", "continuous", 80.0, 20.0, 150.0, tolerance=0.01),
    ParameterInfo("pressure", "integer", 400, 200, 700),
    ParameterInfo("cooling", "choice", "water", choices=("water", "oil")),
)
GOOD = {"temperature": 230.5, "speed": 81.25, "pressure": 400, "cooling": "oil"}
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


TABLES = {1: "coil", 5: "coil", 2: "discrete", 3: "holding", 6: "holding", 16: "holding", 4: "input"}  # by function


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
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

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
        self.thread.join(10)
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


@pytest.fixture
def press():
    return Press()


@pytest.fixture
def plant(press):
    plant = Plant(press)
    yield plant
    plant.close()


@pytest.fixture
def adapters(plant):
    made = []

    def make(**changes):
        made.append(made_from(plant.port, **changes))
        made[-1].open(5.0)
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


@pytest.fixture
def adapter(adapters):
    return adapters()


@pytest.fixture
def hurried(adapters):
    hurry = Hurry()
    return lambda **changes: adapters(sleep=hurry.sleep, clock=hurry.clock, **changes)


def silent_server():
    """A port that takes connections and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, listener.getsockname()[1]


def test_it_is_found_by_its_entry_point():
    assert load_adapter("modbus") is ModbusAdapter


def test_without_its_library_it_says_which_extra_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "adapters.modbus")
    monkeypatch.setitem(sys.modules, "pymodbus", None)
    with pytest.raises(AdapterNotFoundError, match=r'needs pymodbus: pip install "process-tuner\[modbus\]"'):
        load_adapter("modbus")


def test_the_sample_configuration_is_right():
    config = load_config(Path(__file__).parents[2] / "configs" / "modbus.toml")
    assert config.campaigns[0].adapter.settings.parameters["melt_temperature"].scale == 0.1


def test_a_setting_is_written_in_the_machines_numbers_and_read_back_in_ours(adapter, press):
    adapter.apply(GOOD, 5.0)
    assert press.get("holding", 100, DataType.INT16, 1) == 2105
    assert press.get("holding", 102, DataType.FLOAT32, 2) == 81.25
    assert press.get("holding", 106, DataType.UINT16, 1) == 2
    assert adapter.read_back(5.0) == {**GOOD, "temperature": pytest.approx(230.5)}


def test_a_read_back_address_of_its_own_is_used(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.memory["input"][104] = 399  # the machine took another value than it was told
    assert adapter.read_back(5.0)["pressure"] == 399


def test_a_few_settings_in_a_row_make_parts_with_their_outcomes(adapter, press):
    for number, temperature in enumerate([230.0, 251.0, 240.5]):
        adapter.apply({**GOOD, "temperature": temperature}, 5.0)
        assert adapter.read_back(5.0)["temperature"] == pytest.approx(temperature)
        outcome = adapter.run_trial(f"A{number}", 5.0)
        assert outcome.valid == (temperature <= 250)
        assert outcome.reason == ("" if outcome.valid else "short shot")
        assert outcome.measurements == ({"weight_g": 42.5} if outcome.valid else {})
    assert press.parts == ["A0", "A1", "A2"]


def test_the_same_tag_again_is_the_same_part_also_for_a_new_adapter(adapter, adapters, press):
    adapter.apply(GOOD, 5.0)
    first = adapter.run_trial("A7", 5.0)
    assert adapters().run_trial("A7", 5.0) == first
    assert press.parts == ["A7"]


def test_a_part_in_work_is_waited_for_and_not_ordered_again(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.memory["holding"][TAG] = int.from_bytes(b"A8", "big")
    press.start(True)  # by a tuner that crashed after it had ordered the part
    press.memory["coil"][START] = 1
    assert adapter.run_trial("A8", 5.0).valid
    assert press.parts == ["A8"]


def test_a_tag_that_was_written_without_a_start_is_not_taken_for_a_part(adapter, press):
    press.memory["holding"][TAG] = int.from_bytes(b"A9", "big")  # by a tuner that crashed before it ordered the part
    assert adapter.run_trial("A9", 5.0).valid
    assert press.parts == ["A9"]


def test_without_a_place_for_the_tag_every_trial_is_a_part(adapters, press):
    adapter = adapters(trial__tag=None)
    adapter.run_trial("A1", 5.0)
    adapter.run_trial("A1", 5.0)
    assert len(press.parts) == 2


def test_a_machine_that_tells_no_more_than_done_makes_valid_parts(adapters, press):
    adapter = adapters(state=None, interlocks=None, measurements=None, trial__valid=None, trial__reason=None)
    outcome = adapter.run_trial("A1", 5.0)
    assert outcome.valid
    assert outcome.measurements == {}
    assert adapter.health(5.0).ok


def test_where_the_machine_shows_the_finished_tag_only_that_counts_as_done(hurried, press):
    adapter = hurried(trial__made={"address": MADE, "length": 4})
    assert adapter.run_trial("A1", 20.0).valid
    press.memory["holding"][MADE] = 0
    with pytest.raises(DeadlineError, match="did not finish part A1"):
        adapter.run_trial("A1", 20.0)


def test_a_machine_that_does_not_clear_done_has_it_cleared(adapters, press):
    done = {"address": 50, "clear": True}
    adapter = adapters(trial__done=done, trial__start={"address": 51})
    press.memory["holding"][50] = 1  # of a part before
    press.memory["discrete"][VALID] = 1

    def finish_when_started(seconds):
        press.memory["holding"][50] = press.memory["holding"][51]

    adapter._sleep = finish_when_started
    assert adapter.run_trial("A1", 5.0).valid
    assert press.text(TAG, 4) == "A1"


def test_done_that_never_goes_off_is_told_and_no_part_is_ordered(hurried, press):
    adapter = hurried(trial__done={"table": "discrete", "address": 5})
    press.memory["discrete"][5] = 1
    with pytest.raises(DeadlineError, match=r"done\.clear"):
        adapter.run_trial("A1", 20.0)
    assert press.parts == []


def test_while_the_machine_makes_another_part_none_is_ordered(hurried, press):
    adapter = hurried(trial__busy={"address": 10, "on": 6})
    press.memory["holding"][10] = 6
    with pytest.raises(DeadlineError, match="another part"):
        adapter.run_trial("A1", 20.0)
    assert press.parts == []
    press.memory["holding"][10] = 4
    assert adapter.run_trial("A1", 20.0).valid


def test_a_part_that_takes_too_long_is_a_missed_deadline_and_the_order_is_withdrawn(hurried, press):
    adapter = hurried()
    press.looks_per_part = None
    with pytest.raises(DeadlineError, match=r"did not finish part A1 within 20 s") as caught:
        adapter.run_trial("A1", 20.0)
    assert caught.value.retry
    assert press.memory["coil"][START] == 0


def test_an_alarm_during_the_trial_is_an_outcome_with_its_reason(adapter, press):
    press.alarm_in_part, press.looks_per_part = 101, None
    outcome = adapter.run_trial("A1", 5.0)
    assert not outcome.valid
    assert outcome.reason == "the mould does not close"
    assert press.memory["coil"][START] == 0


def test_an_alarm_without_a_text_is_told_by_its_number(adapter, press):
    press.alarm_in_part, press.looks_per_part = 77, None
    assert adapter.run_trial("A1", 5.0).reason == "alarm 77"


def test_an_alarm_before_the_trial_forbids_it(adapter, press):
    press.memory["input"][ALARM] = 101
    with pytest.raises(RefusedError, match="the mould does not close"):
        adapter.run_trial("A1", 5.0)
    assert press.parts == []
    assert not adapter.health(5.0).ok


def test_health_tells_readiness_and_interlocks(adapter, press):
    health = adapter.health(5.0)
    assert health.ok
    assert health.interlocks == {"guard": True}
    press.memory["discrete"][GUARD] = 0
    assert adapter.health(5.0).interlocks == {"guard": False}
    press.memory["holding"][MODE] = ~(1 << 3) & 0xFFFF
    health = adapter.health(5.0)
    assert not health.ok
    assert "not ready" in health.text


def test_a_tag_that_does_not_fit_is_refused_before_a_part_is_made(adapter, press):
    with pytest.raises(RefusedError, match="room for 8 characters"):
        adapter.run_trial("A123456789", 5.0)
    assert press.parts == []


@pytest.mark.parametrize("code", [ExcCodes.ILLEGAL_VALUE, ExcCodes.ILLEGAL_ADDRESS, ExcCodes.ILLEGAL_FUNCTION])
def test_what_the_machine_refuses_is_refused_and_named(adapter, press, code):
    press.refused["holding", 102] = code
    with pytest.raises(RefusedError, match=r"refuses speed = 81\.25 .*illegal") as caught:
        adapter.apply(GOOD, 5.0)
    assert not caught.value.retry


@pytest.mark.parametrize("code", [ExcCodes.DEVICE_BUSY, ExcCodes.DEVICE_FAILURE, ExcCodes.GATEWAY_NO_RESPONSE])
def test_a_machine_in_trouble_is_worth_another_try(adapter, press, code):
    press.refused["holding", 102] = code
    with pytest.raises(LinkError, match="cannot answer to speed") as caught:
        adapter.read_back(5.0)
    assert caught.value.retry
    press.refused.clear()
    adapter.apply(GOOD, 5.0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_nonsense_with_the_parameters_name(adapter, press, value):
    adapter.apply(GOOD, 5.0)
    press.put("holding", 102, value, DataType.FLOAT32)
    with pytest.raises(LinkError, match=r"speed reads .* not a finite number"):
        adapter.read_back(5.0)


def test_a_measurement_that_is_not_finite_is_nonsense_with_its_name(adapter, press):
    adapter.run_trial("A1", 5.0)
    press.put("input", WEIGHT, math.nan, DataType.FLOAT32)
    with pytest.raises(LinkError, match="weight_g reads nan"):
        adapter.run_trial("A1", 5.0)


def test_a_code_that_stands_for_no_choice_is_nonsense(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.memory["holding"][106] = 9
    with pytest.raises(LinkError, match='cooling reads 9, which stands for none of "water", "oil"'):
        adapter.read_back(5.0)


def test_a_register_of_another_type_than_configured_is_told(adapters, press):
    adapter = adapters(state__ready={"address": MODE, "type": "bool"})
    press.memory["holding"][MODE] = 1234
    assert "a bool is 0 or 1: is its type right?" in adapter.health(5.0).text


def test_an_integer_that_is_no_whole_number_is_told(adapters, press):
    adapter = adapters(parameters__pressure={"address": 140, "type": "float32"})
    adapter.apply(GOOD, 5.0)
    press.put("holding", 140, 400.5, DataType.FLOAT32)
    with pytest.raises(LinkError, match=r"pressure reads 400\.5, which is not a whole number"):
        adapter.read_back(5.0)


def test_an_answer_that_is_too_short_is_nonsense(adapter, press):
    press.short_answer = True
    with pytest.raises(LinkError, match="speed with 1 values instead of 2"):
        adapter.read_back(5.0)


@pytest.mark.parametrize("bad", [{"speed": math.nan}, {"speed": "3"}, {"cooling": "air"}, {"pressure": 400.5}])
def test_a_setting_that_makes_no_sense_is_refused_and_nothing_is_written(adapter, press, bad):
    with pytest.raises(RefusedError):
        adapter.apply({**GOOD, **bad}, 5.0)
    assert press.memory["holding"][100] == 0


def test_a_value_too_large_for_its_register_is_refused_and_nothing_is_written(adapter, press):
    with pytest.raises(RefusedError, match="pressure = 70000 does not fit into uint16"):
        adapter.apply({**GOOD, "pressure": 70_000}, 5.0)
    assert press.memory["holding"][100] == 0


@pytest.mark.parametrize("word_order", ["big", "little"])
@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("int16", -7),
        ("uint16", 65_000),
        ("int32", -70_000),
        ("uint32", 4_000_000_000),
        ("float32", 0.5),
        ("float64", 0.1),
    ],
)
def test_every_type_and_word_order_agrees_with_pymodbus(adapters, press, form, value, word_order):
    adapter, register = adapters(word_order=word_order), Register(address=150, type=form)
    datatype = DataType[form.upper()]
    adapter._begin(5.0)
    adapter._write([("speed", register, value)])
    assert press.get("holding", 150, datatype, int(form[-2:]) // 16, word_order) == value
    press.put("holding", 160, value, datatype, word_order)
    assert adapter._one("speed", Register(address=160, type=form)) == value


def test_little_byte_order_swaps_the_bytes_of_every_word(adapters, press):
    adapter = adapters(byte_order="little", trial__tag=None)
    adapter.apply({**GOOD, "pressure": 0x0201}, 5.0)
    assert press.memory["holding"][104] == 0x0102
    assert adapter.read_back(5.0)["pressure"] == 0x0201


def test_a_machine_that_is_not_there_does_not_answer(plant):
    adapter = made_from(plant.port)
    plant.off()
    with pytest.raises(LinkError, match=r"127\.0\.0\.1 does not answer"):
        adapter.open(2.0)
    assert not adapter.health(2.0).ok
    plant.on()
    assert adapter.health(2.0).ok
    adapter.close()


def test_the_machine_goes_and_comes_back_and_the_next_call_finds_it(adapter, plant):
    adapter.apply(GOOD, 5.0)
    plant.off()
    with pytest.raises(LinkError) as caught:
        adapter.read_back(2.0)
    assert caught.value.retry
    plant.on()
    assert adapter.read_back(5.0)["pressure"] == 400


def test_a_restart_between_two_calls_is_not_noticed(adapter, plant):
    adapter.apply(GOOD, 5.0)
    plant.off()
    plant.on()
    assert adapter.read_back(5.0)["pressure"] == 400


def test_a_machine_that_goes_during_a_trial_is_a_lost_link_and_the_part_is_found_afterwards(plant, press):
    press.looks_per_part = 1000
    naps = []

    def nap(seconds):
        naps.append(seconds)
        if len(naps) == 2:
            plant.off()

    adapter = made_from(plant.port, sleep=nap)
    adapter.open(5.0)
    with pytest.raises(LinkError):
        adapter.run_trial("A1", 5.0)
    press.looks = 1
    plant.on()
    assert adapter.run_trial("A1", 5.0).valid
    assert press.parts == ["A1"]
    adapter.close()


def test_a_machine_that_takes_the_call_and_says_nothing_is_a_missed_deadline_or_a_lost_link():
    listener, port = silent_server()
    with listener:
        adapter = made_from(port, timeout_s=0.1)
        adapter.open(5.0)
        with pytest.raises(LinkError, match="does not answer to temperature"):
            adapter.read_back(5.0)
        adapter.open(5.0)
        with pytest.raises(DeadlineError, match=r"within 0\.05 s"):
            adapter.read_back(0.05)
        adapter.close()


def test_it_can_be_closed_twice_and_does_not_answer_afterwards(adapter):
    adapter.close()
    adapter.close()
    with pytest.raises(LinkError, match="is closed"):
        adapter.read_back(1.0)
    assert not adapter.health(1.0).ok
    adapter.open(5.0)
    assert adapter.health(5.0).ok


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A certificate that is its own authority, with its key, and another one."""
    directory = tmp_path_factory.mktemp("certificates")
    for name in ("press", "other"):
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (directory / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        (directory / f"{name}.key").write_bytes(secret)
    return directory


@pytest.fixture
def encrypted(press, certificates):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates / "press.pem")
    context.load_cert_chain(certificates / "press.pem", certificates / "press.key")
    context.verify_mode = ssl.CERT_REQUIRED
    plant = Plant(press, context)
    yield plant
    plant.close()


def tls(certificates, authority, own):
    own_files = {"certificate_file": str(certificates / f"{own}.pem"), "key_file": str(certificates / f"{own}.key")}
    return {"ca_file": str(certificates / f"{authority}.pem"), **own_files}


def test_a_connection_can_be_encrypted_with_certificates_on_both_sides(encrypted, certificates):
    adapter = made_from(encrypted.port, tls=tls(certificates, "press", "press"))
    adapter.open(5.0)
    adapter.apply(GOOD, 5.0)
    assert adapter.read_back(5.0)["pressure"] == 400
    assert adapter.run_trial("A1", 5.0).valid
    adapter.close()


def test_a_machine_with_a_certificate_of_another_authority_is_not_trusted(encrypted, certificates):
    adapter = made_from(encrypted.port, tls=tls(certificates, "other", "press"))
    with pytest.raises(LinkError):
        adapter.open(5.0)
    adapter.close()


def test_certificates_that_cannot_be_read_are_told(plant):
    adapter = made_from(plant.port, tls={"ca_file": "/nowhere/ca.pem"})
    with pytest.raises(RefusedError, match="certificates"):
        adapter.open(5.0)


class TestConformance(LinkConformance):
    adapter = ModbusAdapter
    parameters = PARAMETERS

    @pytest.fixture
    def settings(self, plant):
        self.plant = plant
        changed = {**table(trial__tag={"address": TAG, "length": 8}), "port": plant.port}
        return ModbusSettings.model_validate_json(json.dumps(changed))

    def lose_machine(self):
        self.plant.off()

    def return_machine(self):
        self.plant.on()

    def mute_machine(self):
        self.plant.press.mute = True


class SerialPlant(Plant):
    """The same machine at the far end of a serial line: two pseudo-terminals with a thread that copies between them."""

    def __init__(self, press):
        ends = [pty.openpty() for _ in range(2)]
        for _, slave in ends:
            tty.setraw(slave)
        self.masters = [master for master, _ in ends]
        self.slaves = [slave for _, slave in ends]
        self.near, self.far = (os.ttyname(slave) for slave in self.slaves)
        self.hang_up, self.hung_up = os.pipe()
        self.wire = threading.Thread(target=self.copy)
        self.wire.start()
        super().__init__(press)

    def copy(self):
        other = dict(zip(self.masters, reversed(self.masters), strict=True))
        while True:
            ready, _, _ = select.select([*self.masters, self.hang_up], [], [])
            if self.hang_up in ready:
                return
            for master in ready:
                os.write(other[master], os.read(master, 1000))

    async def _on(self):
        unused = SimDevice(0, [SimData(0, datatype=DataType.REGISTERS)])
        self.server = ModbusSerialServer(unused, port=self.far, framer=FramerType.RTU, baudrate=115_200)
        self.server.context = self.press
        await self.server.serve_forever(background=True)

    async def _rest(self):
        """There are no connections on a serial line."""

    def close(self):
        super().close()
        os.write(self.hung_up, b"x")
        self.wire.join(10)
        for descriptor in (*self.masters, *self.slaves, self.hang_up, self.hung_up):
            os.close(descriptor)


def test_a_machine_on_a_serial_line_works_the_same(press):
    line = SerialPlant(press)
    try:
        settings = table(serial={"port": line.near, "baudrate": 115_200, "parity": "N"}, host=None)
        settings = ModbusSettings.model_validate_json(json.dumps(settings))
        assert ModbusAdapter.complaints(settings, PARAMETERS) == []
        adapter = ModbusAdapter(settings, PARAMETERS)
        adapter.open(5.0)
        adapter.apply(GOOD, 5.0)
        assert adapter.read_back(5.0)["speed"] == 81.25
        assert adapter.run_trial("A1", 5.0).valid
        press.refused["holding", 102] = ExcCodes.ILLEGAL_VALUE
        with pytest.raises(RefusedError, match="illegal value"):
            adapter.apply(GOOD, 5.0)
        adapter.close()
    finally:
        line.close()


def test_a_serial_line_that_is_not_there_is_a_lost_link():
    settings = ModbusSettings.model_validate_json(json.dumps(table(serial={"port": "/nowhere/ttyS9"}, host=None)))
    with pytest.raises(LinkError, match="/nowhere/ttyS9 does not answer"):
        ModbusAdapter(settings, PARAMETERS).open(2.0)


HALF = {"address": 102, "scale": 0.5}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"host": None}, "either host or serial must be given, and not both"),
        ({"serial": {"port": "/dev/ttyS0"}}, "either host or serial must be given, and not both"),
        ({"parameters__speed": None}, "parameters.speed is missing: where the machine keeps it"),
        ({"parameters__sped": {"address": 180}}, "parameters.sped is no parameter of the campaign; did you mean"),
        ({"parameters__speed__codes": {"a": 1}}, "parameters.speed is a number, it has no codes"),
        ({"parameters__cooling__codes": None}, 'parameters.cooling.codes lacks "water", "oil"'),
        (
            {"parameters__cooling__codes": {"water": 1, "oil": 70_000}},
            "parameters.cooling: the code 70000 does not fit",
        ),
        ({"parameters__cooling__codes": {"water": 1, "oil": "o"}}, 'parameters.cooling: the code "o" does not fit'),
        (
            {"parameters__temperature": {"address": 100, "type": "int16", "scale": 0.001}},
            "parameters.temperature: 200 to 300 is 200000 to 300000 in the machine, int16 has -32768 to 32767",
        ),
        (
            {"parameters__temperature": {"address": 100, "type": "int16", "offset": 210.0, "scale": 0.2}},
            "parameters.temperature: its values 200, 200.5, ... are not among the register's steps of 0.2",
        ),
        (
            {"parameters__pressure": {"address": 104, "scale": 2.0}},
            "parameters.pressure: its values 200, 201, ... are not",
        ),
        (
            {"parameters__speed": HALF},
            "parameters.speed: the register has steps of 0.5, the tolerance for reading back",
        ),
        (
            {"parameters__speed": {"address": 102, "type": "float32", "offset": 1e6}},
            "parameters.speed: float32 rounds by up to 0.06, more than the tolerance 0.01",
        ),
        ({"parameters__speed": {"address": 3, "table": "coil"}}, "parameters.speed: a number does not fit into bool"),
        (
            {"parameters__speed": {"address": 102, "table": "input", "type": "float32"}},
            "parameters.speed cannot be written: only a holding register or a coil can",
        ),
        ({"trial__start": {"table": "discrete", "address": 3}}, "trial.start cannot be written"),
        ({"trial__start": {"address": 5, "bit": 3}}, "trial.start cannot be written"),
        ({"trial__done__clear": True}, "trial.done cannot be written"),
        ({"trial__valid__on": 2}, "trial.valid can never be 2"),
        ({"state__ready": {"address": 1, "on": "auto"}}, 'state.ready can never be "auto"'),
        ({"trial__start": {"address": 103}}, "trial.start and parameters.speed are both written at holding 103"),
        ({"trial__tag__address": 98}, "trial.tag and parameters.temperature are both written at holding 100"),
        (
            {"parameters__speed": {"address": 102, "type": "float32", "read_address": 103, "read_table": "input"}},
            "parameters.pressure and parameters.speed are both read back at input 104",
        ),
    ],
)
def test_a_map_that_does_not_fit_is_complained_about(changes, sentence):
    settings = ModbusSettings.model_validate_json(json.dumps(table(**changes)))
    found = ModbusAdapter.complaints(settings, PARAMETERS)
    assert len(found) == 1
    assert found[0].startswith(sentence)


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters__speed": {"address": 70_000}},
        {"parameters__speed": {"address": 1, "scale": 0.0}},
        {"parameters__speed": {"address": 1, "table": "coil", "type": "int16"}},
        {"state__ready": {"address": 1, "type": "float32", "bit": 2}},
        {"state__ready": {"address": 1, "table": "coil", "bit": 2}},
        {"trial__start": None},
        {"unit_id": 256},
    ],
)
def test_settings_that_make_no_sense_are_not_accepted(changes):
    with pytest.raises(ValidationError):
        ModbusSettings.model_validate_json(json.dumps(table(**changes)))
