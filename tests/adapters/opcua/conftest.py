"""One press for the tests of a file, as it is new for each, and adapters for it."""

import threading
from functools import partial

import pytest

from tests.adapters.helpers import closed_at_the_end
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
    before = set(threading.enumerate())
    with closed_at_the_end(partial(made_from, press.endpoint)) as make:
        yield make
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENT_S)
        assert not thread.is_alive()
