"""What the tests of several adapters share: settings with some changes, a clock that hurries, a link that is lost."""

import time

import pytest

from tests.patience import PATIENT_S
from tuner.adapter import LinkError


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


class Hurry:
    """A clock that only goes on while one waits, a second at a time: deadlines pass without waiting for them."""

    def __init__(self):
        self.now_s = 0.0

    def clock(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += 1.0


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
