"""The gate and a machine that says it has no setting yet, or has another one than it was sent."""

import asyncio

import pytest

from tests.campaign.helpers import terms
from tests.gate.test_gate import Recorder
from tuner.adapter import LinkError
from tuner.gate.gate import Gate
from tuner.gate.plan import GateRefusal, plan

FREE = terms(policy={"waiting": {"verify_s": 0.05}})  # x from 0 to 10, n from 0 to 4, no limits on their steps
HOME = FREE.known_good
LIMITED = terms(
    parameters=[{"kind": "continuous", "name": "x", "low": 0.0, "high": 10.0, "start": 5.0, "step_limit": 1.0}]
)


def gate(machine) -> Gate:
    return Gate(machine, machine.wait, lambda text, done: None)


def send(machine, setting, **options):
    return asyncio.run(gate(machine).send(FREE, setting, **options))


def test_a_machine_without_a_setting_gets_the_known_good_one_first():
    machine = Recorder({})
    answer = send(machine, {"x": 7.0, "n": 4})
    assert answer.result == "applied"
    assert [setting for _, setting in machine.sent] == [HOME, {"x": 7.0, "n": 4}]


def test_its_way_home_is_one_move():
    machine = Recorder({})
    assert send(machine, HOME, home=True).result == "applied"
    assert [setting for _, setting in machine.sent] == [HOME]


def test_where_steps_are_limited_people_have_to_bring_it_to_a_first_setting():
    with pytest.raises(GateRefusal, match=r'no setting yet, and "x" may only move in steps.*by hand'):
        plan(LIMITED, {}, LIMITED.known_good)


@pytest.mark.parametrize(("fault", "result"), [("lost", "failed"), ("no", "refused"), ("late", "unverified")])
def test_when_its_first_setting_goes_wrong_the_machine_itself_says_whether_it_arrived(fault, result):
    machine = Recorder({}, faults=[fault])
    answer = send(machine, {"x": 7.0, "n": 4})
    assert answer.result == result
    assert len(machine.sent) == 1


def test_a_machine_that_says_only_some_of_its_setting_is_not_believed():
    machine = Recorder({"x": 5.0})
    answer = send(machine, HOME)
    assert (answer.result, answer.text) == ("refused", "the machine does not say its n")


@pytest.mark.parametrize(
    ("have", "told"),
    [
        (HOME, None),
        ({**HOME, "x": 5.5}, "x is 5.5, not 5.0"),
        ({"x": 5.0}, "does not say its n"),
        ({}, "does not say its x"),
        ({**HOME, "x": float("nan")}, "no finite number"),
    ],
)
def test_what_has_changed_since_a_setting_was_sent_is_told(have, told):
    changed = asyncio.run(gate(Recorder(have)).changed(FREE, HOME))
    assert (changed is None) if told is None else (told in changed)


def test_a_machine_that_does_not_say_its_setting_is_not_taken_for_unchanged():
    class Silent(Recorder):
        async def read_back(self):
            raise LinkError("gone")

    with pytest.raises(LinkError):
        asyncio.run(gate(Silent()).changed(FREE, HOME))
