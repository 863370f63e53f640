"""Any sequence of calls, legal or not, keeps every promise of the optimiser."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.helpers import MIXED
from tuner import Continuous, Optimizer, Space
from tuner.core.optimizer.ledger import TellError
from tuner.core.optimizer.strategy import Strategy

TINY = Strategy(draws=20, uniform=40, near=(10, 5))
LINE = Space([Continuous("x", 0, 1)])

IDS = st.one_of(st.integers(1, 7), st.sampled_from([0, -1, 99, True, "1", None, 1.0]))
WHO = st.sampled_from([None, "ann", "bob"])
CALLS = st.one_of(
    st.tuples(st.just("ask")),
    st.tuples(st.just("tell_outcome"), st.integers(1, 6), st.sampled_from([True, True, True, False])),
    st.tuples(st.just("tell_outcome"), IDS, st.sampled_from([True, False, None, 1])),
    st.tuples(st.just("tell_judgment"), st.integers(1, 6), st.integers(1, 6), WHO),
    st.tuples(st.just("tell_judgment"), IDS, IDS, WHO),
    st.tuples(st.just("tell_tie"), st.integers(1, 6), st.integers(1, 6), WHO),
    st.tuples(st.just("retract"), IDS),
    st.tuples(st.just("exclude"), IDS),
)


def check(optimizer, space):
    ledger = optimizer.ledger
    for trial in ledger.trials.values():
        assert space.checked(trial.setting) == trial.setting
    if optimizer.champion is None:
        assert not ledger.usable
    else:
        assert ledger.trials[optimizer.champion].usable
    state = optimizer.state()
    text = json.loads(json.dumps(state, allow_nan=False))
    assert Optimizer.from_state(space, text, strategy=TINY).state() == state


@pytest.mark.thorough
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    space=st.sampled_from([MIXED, LINE]),
    acquisition=st.sampled_from(["auto", "auto", "eubo", "thompson", "hb-ei", "ei"]),
    validity=st.sampled_from(["auto", "shared", "none"]),
    calls=st.lists(CALLS, min_size=5, max_size=25),
)
def test_any_sequence_of_calls_keeps_every_promise(space, acquisition, validity, calls):
    optimizer = Optimizer(space, acquisition=acquisition, validity=validity, budget=3, strategy=TINY)
    optimizer.ask(2)
    asked = 2
    for name, *arguments in calls:
        if name == "ask":
            asked += 1
            if asked > 7:
                continue
            champion = optimizer.champion
            proposal = optimizer.ask()
            assert proposal.number == len(optimizer.ledger.trials)
            assert (proposal.opponent is None) == (champion is None)
            continue
        before = optimizer.state()
        try:
            getattr(optimizer, name)(*arguments)
            refused = False
        except TellError:
            refused = True
        if refused:
            assert optimizer.state() == before
        elif name != "tell_outcome":
            assert optimizer.state() != before
    check(optimizer, space)
    copy = Optimizer.from_state(space, json.loads(json.dumps(optimizer.state())), strategy=TINY)
    assert copy.ask() == optimizer.ask()
    assert copy.question() == optimizer.question()
    check(optimizer, space)
    every = [tuple(t.setting.values()) for t in optimizer.ledger.trials.values()]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("space", [MIXED, LINE], ids=["mixed", "line"])
def test_contradictory_answers_do_not_stop_it(space):
    optimizer = Optimizer(space, strategy=TINY, budget=6)
    for proposal in optimizer.ask(5):
        optimizer.tell_outcome(proposal.number, True)
    for first in range(1, 6):
        for second in range(1, 6):
            if first != second:
                optimizer.tell_judgment(first, second, operator="ann" if first < second else "bob")
    assert optimizer.contradictions()
    assert optimizer.ask().p_better is None  # every duel is a draw: nothing is known
