"""A PLC looks at its registers once in a scan: what goes off and on between two looks was never off for it."""

import pytest

from tests.adapters.helpers import GOOD
from tests.adapters.modbus.moulding_machine import made_from
from tests.patience import PATIENT_S

CONTROL, MADE, ORDER = 50, 53, 52
MOST_SCANS = 50


class Plc:
    """Scans while tuner waits, and only then; on each rising edge of its control word it does its work."""

    def __init__(self, press) -> None:
        self.memory = press.memory["holding"]
        self.memory_of_bits = press.memory["discrete"]
        self.before = 0
        self.edges = self.scans = 0

    def scan(self, seconds: float) -> None:
        self.scans += 1
        assert self.scans < MOST_SCANS, "tuner waits for what the PLC was never told"
        now = self.memory[CONTROL]
        if now and not self.before:
            self.edges += 1
            self.memory[MADE] = self.memory[ORDER]
            self.memory_of_bits[1] = 1
        self.before = now


@pytest.fixture
def plc(press):
    return Plc(press)


def test_a_scan_sees_start_go_off_and_on_for_each_part(plant, plc):
    changes = {
        "trial__start": {"address": CONTROL},
        "trial__done": None,
        "trial__tag": {"address": ORDER, "type": "uint16"},
    }
    adapter = made_from(plant.port, sleep=plc.scan, **changes, trial__made={"address": MADE, "type": "uint16"})
    adapter.open(PATIENT_S)
    try:
        for tag in ("abcdef-P1", "abcdef-P2", "abcdef-P3"):
            assert adapter.run_trial(tag, PATIENT_S).valid
    finally:
        adapter.close()
    assert plc.edges == 3


def test_a_scan_sees_the_sign_of_a_recipe_go_off_and_on_for_each_setting(plant, plc):
    adapter = made_from(plant.port, sleep=plc.scan, recipe={"valid": {"address": CONTROL}})
    adapter.open(PATIENT_S)
    try:
        for speed in (81.25, 90.0, 95.0):
            adapter.apply({**GOOD, "speed": speed}, PATIENT_S)
            plc.scan(0.1)
    finally:
        adapter.close()
    assert plc.edges == 3
