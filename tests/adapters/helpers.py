"""What the tests of several adapters share: a press, settings with some changes, a clock that hurries, a lost link."""

import time
from contextlib import contextmanager

import pytest

from tests.patience import PATIENT_S
from tuner.adapter import LinkError, ParameterInfo
from tuner.testing import LinkConformance

PARAMETERS = (
    ParameterInfo("temperature", "stepped", 230.0, 200.0, 300.0, 0.5, tolerance=0.05),
    ParameterInfo("speed", "continuous", 80.0, 20.0, 150.0, tolerance=0.01),
    ParameterInfo("pressure", "integer", 400, 200, 700),
    ParameterInfo("cooling", "choice", "water", choices=("water", "oil")),
)
GOOD = {"temperature": 230.5, "speed": 81.25, "pressure": 400, "cooling": "oil"}


def changed(settings: dict, changes: dict) -> dict:
    """The settings with some keys changed, `a__b` for a key of a table, None to leave it out."""
    for key, value in changes.items():
        *path, last = key.split("__")
        at = settings
        for step in path:
            at = at[step]
        if value is None:
            del at[last]
        else:
            at[last] = value
    return settings


@contextmanager
def closed_at_the_end(made_from):
    """Makes adapters, open unless the test wants to open them, and closes them all."""
    made = []

    def make(*, opened=True, **changes):
        made.append(made_from(**changes))
        if opened:
            made[-1].open(PATIENT_S)
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


class PressConformance(LinkConformance):
    """For a press that is switched off and on, and can be kept from speaking."""

    @pytest.fixture(autouse=True)
    def at_the_press(self, press):
        self.press = press

    def lose_machine(self):
        self.press.off()

    def return_machine(self):
        self.press.on()

    def mute_machine(self):
        self.press.speaking.clear()


class Hurry:
    """A clock that only goes on while one waits, a second at a time: deadlines pass without waiting for them."""

    def __init__(self):
        self.now_s = 0.0

    def clock(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += 1.0


def closed_twice(adapter):
    """It does not answer afterwards, and can be opened again."""
    adapter.close()
    adapter.close()
    with pytest.raises(LinkError, match="is closed"):
        adapter.read_back(1.0)
    with pytest.raises(LinkError, match="is closed"):
        adapter.health(1.0)
    adapter.open(PATIENT_S)
    assert adapter.health(PATIENT_S).ok


def lost_in_a_trial(server, press, made):
    """The server goes while a part is made: the link is lost, and the same part is found when it is back."""
    press.looks_per_part = 1000
    naps = []

    def nap(seconds):
        naps.append(seconds)
        if len(naps) == 2:
            server.off()

    adapter = made(nap)
    adapter.open(10.0)
    with pytest.raises(LinkError):
        adapter.run_trial("A1", 5.0)
    press.looks = 1
    server.on()
    assert adapter.run_trial("A1", 10.0).valid
    assert press.parts == ["A1"]
    adapter.close()


def wait_until(happened):
    """Look again and again until it has happened in another thread; only a hang takes long."""
    ends_s = time.monotonic() + PATIENT_S
    while not happened():
        assert time.monotonic() < ends_s
        time.sleep(0.002)
