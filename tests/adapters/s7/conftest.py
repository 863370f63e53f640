"""The press of each test, and adapters for it."""

from functools import partial

import pytest

from tests.adapters.helpers import closed_at_the_end
from tests.adapters.s7.moulding_machine import Press, made_from


@pytest.fixture
def press():
    press = Press()
    press.on()
    yield press
    press.off()


@pytest.fixture
def adapters(press):
    with closed_at_the_end(partial(made_from, press.port)) as make:
        yield make
