"""Whatever is asked of the gate and whatever the machine says: nothing outside limits, steps and rates is ever sent."""

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.campaign.helpers import terms
from tuner.adapter import Health, LinkError, RefusedError
from tuner.gate.gate import Gate
from tuner.gate.plan import GateRefusal, checked, plan
from tuner.gate.whereabouts import Whereabouts

PARAMETERS = [
    {"kind": "continuous", "name": "x", "low": 0.0, "high": 10.0, "start": 5.0, "step_limit": 2.5, "order": 1},
    {"kind": "integer", "name": "n", "low": 0, "high": 8, "start": 2, "step_limit": 3, "rate_limit": 60.0},
    {"kind": "stepped", "name": "s", "low": 0.0, "high": 1.0, "step": 0.1, "start": 0.5, "step_limit": 0.35},
    {"kind": "choice", "name": "c", "choices": ["a", "b"], "start": "a"},
    {"kind": "continuous", "name": "t", "low": -1.0, "high": 1.0, "start": 0.0, "rate_limit": 30.0},
]
TERMS = terms(parameters=PARAMETERS, constraints=["x + n <= 15"])
HOME = TERMS.known_good

numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-2, 12),
    st.integers(-3, 12),
    st.integers(),
    st.sampled_from([0.30000000000000004, 1e308, -0.0, True, None, "a", "7", [1.0]]),
)
good = st.fixed_dictionaries(
    {
        "x": st.floats(0, 10),
        "n": st.integers(0, 8),
        "s": st.integers(0, 10).map(lambda k: k * 0.1),
        "c": st.sampled_from(["a", "b"]),
        "t": st.floats(-1, 1),
    }
)
wild = st.fixed_dictionaries(dict.fromkeys(["x", "n", "s", "c", "t"], numbers))


class Recorder:
    """A machine that takes what it gets and notes it, with the times of a clock that only waits move."""

    def __init__(self, have=None, *, faults=(), health=None) -> None:
        self.have = dict(HOME if have is None else have)
        self.sent: list[tuple[float, dict]] = []
        self.now_s = 0.0
        self.faults = list(faults)
        self.state = health or Health(ok=True)

    async def health(self):
        return self.state

    async def read_back(self):
        return dict(self.have)

    async def apply(self, setting):
        self.sent.append((self.now_s, dict(setting)))
        fault = self.faults.pop(0) if self.faults else None
        if fault in (None, "late"):
            self.have = dict(setting)
        if fault is not None:
            raise RefusedError("no") if fault == "no" else LinkError("gone")

    go_to = apply

    async def wait(self, seconds):
        self.now_s += seconds


def gate(machine):
    where = Whereabouts(lambda: machine.now_s)
    return Gate(machine, machine.wait, lambda text, done: None, where)


def send(machine, setting, **options):
    return asyncio.run(gate(machine).send(TERMS, setting, **options))


def assert_lawful(start, sent):
    before, then = start, 0.0
    for now, setting in sent:
        for parameter in TERMS.parameters:
            value, old = setting[parameter.name], before[parameter.name]
            if parameter.kind == "choice":
                assert value in parameter.choices
                continue
            assert math.isfinite(value)
            slack = 1e-9 * (parameter.high - parameter.low)
            if old != value:  # what the machine has had from the beginning is not ours
                assert parameter.low - slack <= value <= parameter.high + slack
            if parameter.step_limit is not None:
                assert abs(value - old) <= parameter.step_limit + slack
            if parameter.rate_limit is not None and sent[0][1] is not setting:
                assert abs(value - old) <= parameter.rate_limit * max(now - then, 1.0) / 60 + 1.0 + slack
        before, then = setting, now


@given(wild)
def test_a_wild_setting_never_reaches_the_machine_unless_it_is_lawful(setting):
    machine = Recorder()
    answer = send(machine, setting)
    assert_lawful(HOME, machine.sent)
    if answer.result == "applied":
        assert checked(TERMS, setting) == machine.have or not machine.sent
    else:
        assert answer.result == "refused"
        assert answer.text
        assert not machine.sent


@given(good, good)
def test_a_lawful_setting_is_reached_by_lawful_moves_or_refused_before_any(start, target):
    machine = Recorder(start)
    answer = send(machine, target)
    assert_lawful(start, machine.sent)
    if answer.result == "applied":
        for name, value in target.items():
            assert machine.have[name] == value or machine.have[name] == pytest.approx(value, abs=1e-4)
    else:
        assert "constraint" in answer.text
        assert not machine.sent


@given(wild, good)
def test_whatever_the_machine_says_it_has_no_step_is_too_large(have, target):
    machine = Recorder(have)
    answer = send(machine, target)
    assert_lawful(have, machine.sent)
    if not machine.sent:
        assert answer.result in ("refused", "applied")


@given(good, st.lists(st.sampled_from(["no", "lost", "late", None]), max_size=4))
def test_applied_is_said_only_when_it_was_read_back(target, faults):
    machine = Recorder(faults=faults)
    answer = send(machine, target)
    assert_lawful(HOME, machine.sent)
    reached = all(machine.have[name] == pytest.approx(value) for name, value in target.items() if name != "c")
    if answer.result == "applied":
        assert reached
        assert machine.have["c"] == target["c"]
    if answer.result == "refused":
        assert not any(fault == "late" for fault in faults[: len(machine.sent)])


def test_lower_orders_move_first_and_ramps_keep_their_rate():
    moves = plan(TERMS, HOME, {**HOME, "x": 9.0, "n": 4})
    assert [(move.setting["x"], move.setting["n"]) for move in moves] == [(5.0, 3), (5.0, 4), (7.5, 4), (9.0, 4)]
    assert [move.wait_s for move in moves] == [1.0, 1.0, 0.0, 0.0]


def test_two_settings_in_a_row_keep_the_rate_between_them():
    machine = Recorder()
    for n in (HOME["n"] + 1, HOME["n"]):
        assert send(machine, {**HOME, "n": n}).result == "applied"
    (first_s, _), (second_s, _) = machine.sent
    assert second_s - first_s >= 1.0


def test_nothing_is_sent_if_the_machine_has_the_setting():
    machine = Recorder()
    assert send(machine, HOME).result == "applied"
    assert machine.sent == []


def test_interlocks_and_health_forbid_sending():
    for health in (Health(ok=False, text="guard open"), Health(ok=True, interlocks={"guard": False, "air": True})):
        machine = Recorder(health=health)
        answer = send(machine, {**HOME, "x": 6.0})
        assert answer.result == "refused"
        assert "guard" in answer.text
        assert not machine.sent


def test_a_busy_machine_may_go_on_but_not_with_an_open_interlock():
    for ok in (True, False):
        for interlocks, said in (({"air": True}, None), ({"guard": False}, 'interlock "guard" does not hold')):
            machine = Recorder(health=Health(ok=ok, interlocks=interlocks))
            assert asyncio.run(gate(machine).interlocked()) == said


def test_a_dry_run_checks_everything_and_sends_nothing():
    machine = Recorder()
    assert send(machine, {**HOME, "x": 6.0}, dry_run=True).text == "dry run: nothing was sent"
    assert send(machine, {**HOME, "x": 60.0}, dry_run=True).result == "refused"
    assert not machine.sent


def test_what_the_machine_took_differently_is_unverified():
    class Stubborn(Recorder):
        async def apply(self, setting):
            self.sent.append((0.0, dict(setting)))

    machine = Stubborn()
    answer = send(machine, {**HOME, "x": 6.0})
    assert answer.result == "unverified"
    assert "x is 5.0, not 6.0" in answer.text


def test_a_machine_outside_of_its_limits_is_left_to_people():
    with pytest.raises(GateRefusal, match="by hand"):
        plan(TERMS, {**HOME, "x": 30.0}, HOME)


def test_a_number_that_is_too_large_to_compute_with_is_refused_like_any_other():
    with pytest.raises(GateRefusal, match="x must be a finite number"):
        checked(TERMS, {**HOME, "x": 10**400})
    with pytest.raises(GateRefusal, match=r"x is 1000000.*no finite number"):
        plan(TERMS, {**HOME, "x": 10**400}, HOME)
