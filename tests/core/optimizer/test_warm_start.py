import itertools
import json

import numpy as np
import pytest

from tests.core.helpers import LIGHT, run
from tuner import Continuous, Integer, Optimizer, Space
from tuner.core import Observations, Prior, fit_hyper

LINE = Space([Continuous("x", 0, 1)])


def quality(setting):
    return -abs(setting["x"] - 0.7)


def earlier(count=15, seed=0):
    xs = np.random.default_rng(seed).random(count)
    trials = [({"x": float(x)}, bool(x < 0.9)) for x in xs]
    valid = [i for i, (_, made) in enumerate(trials) if made]
    pairs = [(i, j) if quality(trials[i][0]) > quality(trials[j][0]) else (j, i) for i, j in itertools.pairwise(valid)]
    return trials, pairs


def test_earlier_trials_are_never_champion_nor_counted():
    optimizer = Optimizer(LINE, strategy=LIGHT, budget=20)
    numbers = optimizer.warm_start(*earlier())
    assert numbers == list(range(1, 16))
    assert optimizer.champion is None
    assert optimizer.question() is None
    assert optimizer.operators() == {}
    assert optimizer.ledger.scrap == 0
    plain = Optimizer(LINE, strategy=LIGHT, budget=20)
    assert optimizer._risk() == plain._risk()
    first = optimizer.ask()
    assert first.opponent is None
    assert first.distance is None
    run(optimizer, 3, quality)
    champion = optimizer.champion
    assert champion not in numbers
    # even an earlier part that wins today's duel does not take the crown
    optimizer.tell_judgment(numbers[0] if optimizer.ledger.trials[1].usable else numbers[1], champion)
    assert optimizer.champion == champion


def test_earlier_answers_shape_what_is_believed():
    optimizer = Optimizer(LINE, strategy=LIGHT)
    optimizer.warm_start(*earlier(), discount=0.5)
    known = optimizer.learned()
    assert known.model.win_probability([[0.7]], [0.1])[0] > 0.9
    assert known.valid_probability(np.array([[0.98]]))[0] < known.valid_probability(np.array([[0.3]]))[0]


def test_a_smaller_discount_counts_less():
    believed = []
    for discount in (1.0, 0.5, 0.1):
        optimizer = Optimizer(LINE, strategy=LIGHT)
        optimizer.warm_start([({"x": 0.2}, True), ({"x": 0.8}, True)], [(0, 1), (0, 1)], discount=discount)
        # today's judge says the opposite, once
        for x in (0.2, 0.8):
            optimizer.tell_outcome(optimizer.add({"x": x}), True)
        optimizer.tell_judgment(4, 3)
        believed.append(float(optimizer.learned().model.win_probability([[0.2]], [0.8])[0]))
    assert believed[0] > 0.6
    assert believed[0] > believed[1] > believed[2]
    assert believed[2] < 0.4


def test_the_noise_of_a_judge_is_centred_where_the_prior_says():
    data = Observations([[0.1], [0.9]], duels=[(0, 1), (0, 1)], duel_judges=[0, 1])
    centre, _ = Prior(noise=(4.0,)).of(data, 1)
    assert centre[2] == pytest.approx(np.log(4.0))
    assert Prior().of(data, 1)[0][2] == 0.0
    fitted = fit_hyper(data, prior=Prior(noise=(4.0,), noise_spread=0.01))
    assert fitted.hyper.noise == pytest.approx([1.0, 4.0], rel=0.05)
    warm = fit_hyper(data, prior=Prior(noise=(4.0,), noise_spread=0.01), warm=fit_hyper(data.part(np.array([0]))))
    assert warm.hyper.noise == pytest.approx([1.0, 4.0], rel=0.05)


def test_a_warm_started_state_goes_on_bit_for_bit():
    optimizer = Optimizer(LINE, strategy=LIGHT, budget=8)
    optimizer.warm_start(*earlier(), discount=0.3)
    run(optimizer, 5, quality)
    copy = Optimizer.from_state(LINE, json.loads(json.dumps(optimizer.state())), strategy=LIGHT)
    assert copy.state() == optimizer.state()
    assert copy.ask() == optimizer.ask()


def test_the_best_earlier_setting_may_be_tried_again():
    space = Space([Integer("k", 0, 3)])
    optimizer = Optimizer(space, strategy=LIGHT)
    optimizer.warm_start([({"k": k}, True) for k in range(4)], [(2, 0), (2, 1), (2, 3)])
    assert {p.setting["k"] for p in run(optimizer, 4, lambda s: -abs(s["k"] - 2))} == {0, 1, 2, 3}
