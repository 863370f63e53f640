"""Adapters as a test wants them, from the `adapters` that each protocol makes."""

import pytest

from tests.adapters.helpers import Hurry


@pytest.fixture
def adapter(adapters):
    return adapters()


@pytest.fixture
def hurried(adapters):
    hurry = Hurry()
    return lambda **changes: adapters(sleep=hurry.sleep, clock=hurry.clock, **changes)
