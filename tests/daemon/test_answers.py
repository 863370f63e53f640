"""The table of operations and the daemon's handlers agree."""

import inspect
from typing import get_type_hints

import pytest

from tuner.campaign import people
from tuner.daemon.operations import Answers
from tuner.wire.operations import OPS

HANDLERS = {name: method for name, method in vars(Answers).items() if not name.startswith("_")}
OWN = {row.method: row for row in OPS.values() if not issubclass(row.body, people.CommandBase)}


def test_every_operation_has_a_handler_and_every_handler_an_operation():
    assert HANDLERS.keys() == OWN.keys(), "what is no command of a campaign has a method of its name"


@pytest.mark.parametrize("name", OWN)
def test_a_handler_takes_the_body_and_gives_the_answer_of_its_operation(name):
    assert inspect.iscoroutinefunction(HANDLERS[name])
    hints = get_type_hints(HANDLERS[name])
    assert hints["body"] is OWN[name].body
    assert issubclass(OWN[name].answer, hints["return"])
