"""Whatever a machine drops and says about itself: no step, rate or bound is ever broken at the machine."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.campaign.helpers import terms
from tests.daemon.lying import SAYS, TAKES, LyingMachine
from tests.gate.test_gate import PARAMETERS, good
from tuner.gate.gate import Gate
from tuner.gate.whereabouts import Whereabouts

TERMS = terms(parameters=PARAMETERS, constraints=["x + n <= 15"])
HOME = TERMS.known_good
STEP = terms(parameters=[{"kind": "continuous", "name": "x", "low": 0.0, "high": 5.0, "start": 1.0, "step_limit": 0.8}])


class Bench:
    """A lying machine, the gate to it and the clock of both."""

    def __init__(self, given_terms=TERMS, *, verified=True, seed=0, **lies) -> None:
        self.now_s = 0.0
        self.terms = given_terms
        rng = random.Random(seed)  # noqa: S311 - lies, not secrets
        self.machine = LyingMachine(given_terms, lambda: self.now_s, rng, **lies)
        self.where = Whereabouts(lambda: self.now_s, given_terms.known_good if verified else None)

    async def wait(self, seconds) -> None:
        self.now_s += seconds

    def gate(self) -> Gate:
        """A new one for every call, as the daemon makes it."""
        return Gate(self.machine, self.wait, lambda text, done: None, self.where)

    def send(self, setting, **options):
        return asyncio.run(self.gate().send(self.terms, setting, **options))


says = st.lists(st.sampled_from(SAYS), max_size=60)
takes = st.lists(st.sampled_from(TAKES), max_size=30)
targets = st.lists(st.tuples(good, st.booleans()), min_size=1, max_size=6)


@given(targets, takes, says, st.integers(0, 1000))
def test_no_limit_is_broken_at_a_machine_that_drops_and_lies_and_applied_is_true(targets, takes, says, seed):
    bench = Bench(takes=takes, says=says, seed=seed)
    for target, home in targets:
        answer = bench.send(HOME if home else target, home=home)
        if answer.result == "applied":
            have, wanted = bench.machine.held, HOME if home else target
            assert have["c"] == wanted["c"]
            assert all(have[name] == pytest.approx(wanted[name], abs=1e-3) for name in ("x", "n", "s", "t"))
        else:
            assert answer.text


@given(targets, takes, says, st.lists(st.one_of(st.none(), good), min_size=6, max_size=6), st.integers(0, 1000))
def test_nor_when_people_have_the_machine_between_two_settings_and_move_it(targets, takes, says, hands, seed):
    bench = Bench(verified=False, takes=takes, says=["truth", "truth", *says], seed=seed, steady=False)
    for (target, home), hand in zip(targets, hands, strict=False):
        bench.send(HOME if home else target, home=home)
        bench.where.release()
        if hand is not None:
            bench.machine.by_hand(hand)


def test_a_dropped_move_is_noticed_before_the_next_one():
    bench = Bench(STEP, takes=["take", "drop"])
    answer = bench.send({"x": 4.0})
    assert answer.result == "unverified"
    assert "x is 1.8, not 2.6" in answer.text
    assert bench.machine.received == 2
    assert bench.send(STEP.known_good, home=True).result == "applied"
    assert bench.machine.held == STEP.known_good


@pytest.mark.parametrize("lie", [3.7, 1.5, 0.2])
def test_one_false_answer_is_asked_again_and_moves_nothing(lie):
    bench = Bench(STEP)
    truth, bench.machine._truth = bench.machine._truth, lambda: {"x": lie}
    answer = bench.send({"x": 4.0})
    assert answer.result == "unverified"
    assert f"x is {lie}, but was left at 1.0; look at it, then resume or send it home" in answer.text
    assert bench.machine.received == 0
    bench.machine._truth = truth
    assert bench.send({"x": 4.0}).result == "applied"


def test_a_value_that_was_changed_by_hand_is_believed_once_people_had_the_machine():
    bench = Bench(STEP)
    bench.machine.by_hand({"x": 4.5})
    assert bench.send({"x": 2.0}).result == "unverified"
    bench.where.release()
    assert bench.send({"x": 2.0}).result == "applied"
    assert bench.machine.held == {"x": 2.0}


def test_where_a_limit_became_smaller_than_what_is_not_known_people_have_to_look():
    bench = Bench(STEP, takes=["drop"])
    assert bench.send({"x": 1.8}).result == "unverified"
    fine = [{"kind": "continuous", "name": "x", "low": 0.0, "high": 5.0, "start": 1.0, "step_limit": 0.1}]
    bench.terms = bench.machine.terms = terms(parameters=fine)
    answer = bench.send({"x": 1.2})
    assert (answer.result, answer.text) == ("refused", "x may be anywhere from 1.0 to 1.8: bring it back by hand")
    bench.where.release()
    assert bench.send({"x": 1.2}).result == "applied"


def test_a_machine_that_is_not_known_must_say_the_same_twice():
    bench = Bench(STEP, verified=False, says=["false"] * 50, seed=3)
    answer = bench.send({"x": 2.0})
    assert (answer.result, bench.machine.received) == ("failed", 0)
    assert "one setting now and another one a moment later" in answer.text


def test_a_machine_that_still_says_what_it_had_is_waited_for():
    bench = Bench(STEP, says=["truth", "stale", "near"])
    assert bench.send({"x": 1.5}).result == "applied"
    assert bench.machine.received == 1


def test_the_rate_counts_from_the_last_command_also_over_settings_and_commands_that_went_wrong():
    rate = terms(
        parameters=[{"kind": "continuous", "name": "x", "low": 0.0, "high": 5.0, "start": 1.0, "rate_limit": 60.0}]
    )
    bench = Bench(rate, takes=["late", "take"])
    assert bench.send({"x": 2.0}).result == "unverified"
    begin_s = bench.now_s
    assert bench.send({"x": 1.0}).result == "applied"
    assert bench.now_s - begin_s >= 1.0
    bench.now_s += 30.0
    begin_s = bench.now_s
    assert bench.send({"x": 1.5}).result == "applied"
    assert bench.now_s == begin_s, "nothing was sent for long enough"


def test_a_command_that_was_given_up_while_it_was_sent_counts_as_sent_when_the_machine_answers_again():
    rate = terms(
        parameters=[{"kind": "continuous", "name": "x", "low": 0.0, "high": 5.0, "start": 1.0, "rate_limit": 60.0}]
    )
    bench = Bench(rate)
    machine = bench.machine

    async def give_up() -> None:
        real, begun = machine.apply, asyncio.Event()

        async def slow(setting) -> None:
            begun.set()
            await asyncio.Event().wait()

        machine.apply = slow
        task = asyncio.create_task(bench.gate().send(rate, {"x": 2.0}))
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        machine.apply = real
        bench.now_s += 100.0
        await machine.apply({"x": 2.0})  # it arrives after all, late

    asyncio.run(give_up())
    assert bench.send({"x": 1.0}).result == "applied"
    assert machine.held == {"x": 1.0}


def test_a_command_whose_link_was_lost_counts_as_sent_when_the_machine_answers_again():
    rate = terms(
        parameters=[{"kind": "continuous", "name": "x", "low": 0.0, "high": 5.0, "start": 1.0, "rate_limit": 60.0}]
    )
    bench = Bench(rate, takes=["fail"], says=["truth", "gone"])  # it answers neither the command nor what it has now
    assert bench.send({"x": 2.0}).result == "unverified"
    bench.now_s += 10.0
    asyncio.run(bench.machine.apply({"x": 2.0}))  # a frozen controller goes on, and takes what was sent before
    assert bench.send({"x": 1.0}).result == "applied"
    assert bench.machine.held == {"x": 1.0}
