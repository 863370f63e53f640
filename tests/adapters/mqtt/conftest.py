"""The broker and the machine of each test, and adapters for them."""

import contextlib

import pytest

from adapters.mqtt import MqttAdapter
from adapters.mqtt.topics import MqttSettings
from tests.adapters.mqtt.moulding_machine import HEAT, SPEED, Broker, Machine
from tests.patience import PATIENT_S


@pytest.fixture
def broker(tmp_path):
    broker = Broker(tmp_path)
    yield broker
    broker.stop()


@pytest.fixture
def machine(broker):
    machine = Machine(broker.port)
    yield machine
    machine.stop()


@pytest.fixture
def opened(broker, machine):
    """An open adapter with settings of the test's choice."""
    with contextlib.ExitStack() as stack:

        def make(parameters=(SPEED, HEAT), **settings):
            adapter = MqttAdapter(MqttSettings(port=broker.port, host="127.0.0.1", **settings), parameters)
            stack.callback(adapter.close)
            adapter.open(PATIENT_S)
            return adapter

        yield make
