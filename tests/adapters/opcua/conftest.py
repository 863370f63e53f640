"""One press for the tests of a file, as it is new for each, and adapters for it."""

import threading

import pytest

from tests.adapters.opcua.moulding_machine import Press, made_from
from tests.patience import PATIENT_S


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    press = Press(tmp_path_factory.mktemp("press"))
    yield press
    press.close()


@pytest.fixture
def press(plant):
    plant.reset()
    return plant


@pytest.fixture
def adapters(press):
    made = []
    before = set(threading.enumerate())

    def make(*, opened=True, **changes):
        made.append(made_from(press.endpoint, **changes))
        if opened:
            made[-1].open(10.0)
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENT_S)
        assert not thread.is_alive()
