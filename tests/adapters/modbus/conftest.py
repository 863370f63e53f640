"""The press of each test, and adapters for it."""

from functools import partial

import pytest

from tests.adapters.helpers import closed_at_the_end
from tests.adapters.modbus.moulding_machine import Plant, Press, made_from


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
    with closed_at_the_end(partial(made_from, plant.port)) as make:
        yield make
