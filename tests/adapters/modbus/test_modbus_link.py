"""Modbus machines that go, come back or say nothing; TLS and serial lines."""

import json
import os
import pty
import select
import ssl
import threading
import tty
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pymodbus import FramerType
from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusSerialServer
from pymodbus.simulator import DataType, SimData, SimDevice

from adapters.modbus import ModbusAdapter
from adapters.modbus.register_map import ModbusSettings
from tests.adapters.helpers import GOOD, PARAMETERS, closed_twice, lost_in_a_trial
from tests.adapters.modbus.moulding_machine import TAG, Plant, made_from, silent_server, table
from tests.patience import PATIENT_S
from tuner.adapter import DeadlineError, LinkError, RefusedError
from tuner.testing import LinkConformance


def test_a_machine_that_is_not_there_does_not_answer(plant):
    adapter = made_from(plant.port)
    plant.off()
    with pytest.raises(LinkError, match=r"127\.0\.0\.1 does not answer"):
        adapter.open(2.0)
    with pytest.raises(LinkError, match=r"127\.0\.0\.1 does not answer"):
        adapter.health(2.0)
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
    lost_in_a_trial(plant, press, lambda nap: made_from(plant.port, sleep=nap))


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
    closed_twice(adapter)


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
        self.wire.join(PATIENT_S)
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
