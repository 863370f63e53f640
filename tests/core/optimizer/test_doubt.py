"""Judges whose answers are sometimes wrong."""

import json

import numpy as np
import pytest

from tests.core.helpers import LIGHT
from tests.core.reference import champion_duels
from tuner.core.optimizer.knowledge import Fits, _refit_preferences
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.strategy import Strategy
from tuner.core.posterior.fitting import fit_hyper
from tuner.core.posterior.observations import Observations
from tuner.core.space.parameters import Continuous
from tuner.core.space.space import Space

PLANE = Space([Continuous("x", 0.0, 1.0), Continuous("y", 0.0, 1.0)])


def quality(setting):
    return -((setting["x"] - 0.3) ** 2) - (setting["y"] - 0.6) ** 2


def judged(count, flips, seed=0):
    """An optimiser that has been told duels of random settings, some answered wrongly."""
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(PLANE, strategy=LIGHT, seed=seed)
    for _ in range(14):
        trial = optimizer.add({"x": float(rng.random()), "y": float(rng.random())})
        optimizer.tell_outcome(trial, True)
    for _ in range(count):
        first, second = (int(t) for t in rng.choice(np.arange(1, 15), 2, replace=False))
        right = quality(optimizer.ledger.trials[first].setting) > quality(optimizer.ledger.trials[second].setting)
        winner, loser = (first, second) if right != (rng.random() < flips) else (second, first)
        optimizer.tell_judgment(winner, loser)
    return optimizer


def test_answers_that_agree_are_not_doubted():
    optimizer = judged(60, flips=0.0)
    optimizer.ask()
    assert optimizer.state()["doubted"] is False
    assert optimizer.champion == optimizer.ledger.champion


def test_answers_that_are_often_wrong_are_doubted_and_the_champion_is_the_one_the_model_believes_best():
    optimizer = judged(60, flips=0.2)
    proposal = optimizer.ask()
    assert optimizer.state()["doubted"] is True
    assert proposal.opponent == optimizer.champion
    values = {t.number: quality(t.setting) for t in optimizer.ledger.usable}
    assert sorted(values, key=values.get)[-3:].count(optimizer.champion) == 1


def test_a_state_keeps_the_doubt_and_the_champion_and_goes_on_bit_for_bit():
    optimizer = judged(60, flips=0.2)
    optimizer.ask()
    other = Optimizer.from_state(PLANE, json.loads(json.dumps(optimizer.state())), strategy=LIGHT)
    assert other.champion == optimizer.champion
    assert other.ask() == optimizer.ask()


def test_a_doubted_champion_that_is_excluded_gives_way():
    optimizer = judged(60, flips=0.2)
    optimizer.ask()
    champion = optimizer.champion
    optimizer.exclude(champion)
    assert optimizer.champion != champion
    assert optimizer.ledger.trials[optimizer.champion].usable


def test_while_in_doubt_the_question_is_the_duel_that_was_proposed():
    optimizer = judged(60, flips=0.2)
    proposal = optimizer.ask()
    optimizer.tell_outcome(proposal.number, True)
    assert proposal.opponent != optimizer.ledger.champion  # else this would not tell the two apart
    question = optimizer.question()
    assert (question.number, question.opponent) == (proposal.number, proposal.opponent)


def test_a_recommendation_made_when_doubt_has_just_arisen_is_the_model_s_champion_not_the_last_one():
    optimizer = judged(60, flips=0.2)  # no proposal since: the optimiser has not yet learned that it doubts
    known = optimizer.learned()
    assert known.fits.doubted
    assert known.champion_id != optimizer.champion
    recommended = PLANE.encode(optimizer.recommend())
    reach = 0.3 * known.model.hyper.kernel.lengthscales + 1e-9
    assert (np.abs(recommended - known.champion) <= reach).all()


@pytest.mark.parametrize("dimensions", [1, 2, 6])
def test_the_unsteady_judge_s_first_fit_from_the_sure_one_s_finds_what_cold_starts_find(dimensions):
    strategy = Strategy()
    points, duels = champion_duels(np.random.default_rng(dimensions), 40, dimensions)
    data, groups = Observations(points, duels=duels), np.arange(dimensions)
    cold = fit_hyper(data, prior=strategy.unsteady, groups=groups)
    fits = _refit_preferences(data, strategy, Fits(), (), groups)
    assert fits.unsteady.objective == pytest.approx(cold.objective, abs=0.05)
    assert fits.unsteady.evaluations <= 20  # a cold fit makes three starts


def test_where_answers_go_in_a_circle_the_champion_is_the_one_the_model_believes_best():
    line = Space([Continuous("x", 0.0, 1.0)])
    optimizer = Optimizer(line, strategy=LIGHT, budget=20)
    best, slipped, last, near, far = (optimizer.add({"x": x}) for x in (0.5, 0.9, 0.8, 0.45, 0.1))
    for number in optimizer.ledger.trials:
        optimizer.tell_outcome(number, True)
    optimizer.tell_judgment(slipped, best)  # a slip
    for winner, loser in ((last, slipped), (near, far), (best, near), (best, far), (near, slipped), (best, last)):
        optimizer.tell_judgment(winner, loser)
    assert optimizer.ledger.contested
    assert optimizer.ledger.champion != best  # by the duels alone: it reigned before
    optimizer.ask()
    assert optimizer.champion == best
