"""The press of each test, and adapters for it."""

import pytest

from tests.adapters.s7.moulding_machine import Press, made_from


@pytest.fixture
def press():
    press = Press()
    press.on()
    yield press
    press.off()


@pytest.fixture
def adapters(press):
    made = []

    def make(*, opened=True, **changes):
        made.append(made_from(press.port, **changes))
        if opened:
            made[-1].open(10.0)
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()
