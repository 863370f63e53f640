"""The press of each test, and adapters for it."""

import pytest

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
    made = []

    def make(**changes):
        made.append(made_from(plant.port, **changes))
        made[-1].open(5.0)
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()
