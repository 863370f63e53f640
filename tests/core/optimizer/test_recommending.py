"""What is recommended, on which evidence, and how far each parameter may wander."""

import json

import numpy as np
import pytest

from tests.core.helpers import LIGHT, run
from tuner import Choice, Continuous, Integer, Optimizer, Space
from tuner.core.optimizer.records import Recommended

LINE = Space([Continuous("x", 0, 10, unit="bar")])


def told(space, settings, duels, scrap=()):
    optimizer = Optimizer(space, strategy=LIGHT)
    for place, setting in enumerate(settings, 1):
        optimizer.tell_outcome(optimizer.add(setting), place not in scrap)
    for winner, loser in duels:
        optimizer.tell_judgment(winner, loser)
    return optimizer


def test_the_known_good_setting_is_kept_where_nothing_is_believed_better():
    optimizer = told(LINE, [{"x": x} for x in (5.0, 1.0, 9.0, 4.6, 5.4)], [(1, 2), (1, 3), (1, 4), (1, 5)])
    best = optimizer.recommendation()
    assert best.setting == optimizer.recommend() == {"x": 5.0}
    assert best.keep
    assert (best.better_than_known_good, best.window_better) == (None, None)
    assert (best.parts, best.won, best.lost, best.tied) == (1, 4, 0, 0)


def test_a_better_setting_is_recommended_with_its_evidence():
    optimizer = told(LINE, [{"x": x} for x in (2.0, 5.0, 9.0, 4.0, 6.0)], [(2, 1), (2, 3), (2, 4), (2, 5), (4, 1)])
    optimizer.tell_tie(2, 4)
    best = optimizer.recommendation()
    assert not best.keep
    assert best.champion == 2
    assert best.known_good == 1
    assert best.better_than_known_good > 0.9
    if best.setting == {"x": 5.0}:
        assert (best.parts, best.won, best.lost, best.tied) == (1, 4, 0, 1)
    else:
        assert (best.parts, best.won) == (0, 0)


def test_a_window_ends_where_it_is_no_longer_better_than_the_known_good_setting():
    settings = [{"x": x} for x in (2.0, 5.0, 8.0, 3.5, 6.5, 4.5, 5.5)]
    optimizer = told(
        LINE, settings, [(2, 1), (2, 3), (2, 4), (2, 5), (4, 1), (5, 3), (1, 3), (6, 4), (7, 5), (2, 6), (2, 7)]
    )
    best = optimizer.recommendation()
    (window,) = best.window
    assert 2.0 < window.low <= best.setting["x"] <= window.high < 8.0
    assert (window.below, window.above) == ("better", "better")
    known = optimizer.learned()
    edges = np.array([LINE.encode({"x": window.low}), LINE.encode({"x": window.high})])
    assert (known.model.win_probability(edges, LINE.encode({"x": 2.0})) >= best.window_better).all()


def test_a_window_ends_at_scrap_and_at_the_limits_of_parameters():
    optimizer = told(LINE, [{"x": x} for x in (2.0, 3.0, 4.0, 1.0, 9.0, 8.5)], [(1, 2), (1, 3), (1, 4)], scrap=(5, 6))
    best = optimizer.recommendation()
    (window,) = best.window
    assert best.keep
    assert window.above == "valid"
    assert window.high < 8.5
    assert window.low == 0.0 or window.below == "valid"
    at = np.array([LINE.encode({"x": window.high})])
    assert optimizer.learned().valid_probability(at)[0] >= best.window_valid


def test_a_window_of_a_choice_names_options_and_of_a_whole_number_whole_ends():
    space = Space([Integer("k", 0, 20), Choice("c", ["a", "b"])], ["k <= 14"])
    settings = [{"k": 10, "c": "a"}, {"k": 3, "c": "a"}, {"k": 12, "c": "b"}, {"k": 9, "c": "a"}]
    best = told(space, settings, [(1, 2), (1, 3), (1, 4)]).recommendation()
    number, choice = best.window
    assert number.low == int(number.low) <= best.setting["k"] <= number.high == int(number.high) <= 14
    assert best.setting["c"] in choice.options
    assert (choice.low, choice.high) == (None, None)


@pytest.mark.slow
def test_a_recommendation_lies_where_parts_are_likely_although_the_champion_is_on_the_border():
    optimizer = Optimizer(LINE, strategy=LIGHT, seed=2, budget=20, scrap_budget=8)
    optimizer.tell_outcome(optimizer.add({"x": 2.0}), True)
    run(optimizer, 18, lambda s: s["x"], lambda s: s["x"] < 6.0)
    best, known = optimizer.recommendation(), optimizer.learned()
    assert best.p_valid >= 0.95
    assert best.setting["x"] <= known.ledger.trials[best.champion].setting["x"]
    assert best.better_than_known_good > 0.9


def test_a_recommendation_survives_json():
    best = told(LINE, [{"x": 2.0}, {"x": 5.0}], [(2, 1)]).recommendation()
    assert Recommended.from_json(json.loads(json.dumps(best.to_json()))) == best


def test_nothing_is_recommended_before_there_is_a_part():
    with pytest.raises(ValueError, match="before there is a valid trial"):
        Optimizer(LINE, strategy=LIGHT).recommendation()


def test_beside_a_champion_whose_part_was_near_scrap_a_safer_setting_is_recommended_and_not_a_far_worse_one():
    places = (2.0, 2.4, 1.6, 7.0, 6.6, 6.2, 7.4, 7.8, 4.0)
    duels = [(2, 1), (1, 3), (4, 2), (4, 5), (5, 6), (6, 2)]
    optimizer = told(LINE, [{"x": x} for x in places], duels, scrap=(7, 8, 9))
    known = optimizer.learned()
    safe = LIGHT.telling.recommended_validity
    champion, start = known.ledger.rows([known.ledger.trials[n] for n in (4, 1)])
    assert known.champion_id == 4
    assert known.valid_probability(champion[None])[0] < safe
    row = LINE.encode(optimizer.recommend())[None]
    reach = LIGHT.telling.trusted * known.model.hyper.kernel.lengthscales
    beside = np.linspace(champion - reach, champion + reach, 101)
    if (known.valid_probability(beside) >= safe).any():
        assert known.valid_probability(row)[0] >= safe - 1e-9
    assert known.mean.mean(row)[0] >= known.mean.mean(start[None])[0]


def test_where_no_trial_is_likely_enough_a_recommendation_is_one_of_the_likeliest_and_not_the_riskiest_champion():
    places = (3.0, 5.8, 6.2, 6.0, 2.0)
    optimizer = told(LINE, [{"x": x} for x in places], [(2, 1)], scrap=(3, 4, 5))
    known = optimizer.learned()
    valid = known.valid_probability(known.ledger.rows(known.ledger.usable))
    assert known.champion_id == 2
    assert valid.max() < LIGHT.telling.recommended_validity
    assert valid[1] < valid.max() - LIGHT.telling.window_slack
    best = optimizer.recommendation()
    assert best.p_valid >= valid.max() - LIGHT.telling.window_slack
    assert best.setting["x"] in places


def test_a_known_good_setting_whose_first_part_was_scrap_by_chance_is_still_what_others_have_to_beat():
    settings = [{"x": x} for x in (5.0, 5.0, 1.0, 9.0, 4.6)]
    optimizer = told(LINE, settings, [(2, 3), (2, 4), (2, 5)], scrap=(1,))
    assert optimizer.ledger.known_good == 2
    best = optimizer.recommendation()
    assert best.known_good == 2
    assert best.better_than_known_good is None or best.better_than_known_good >= LIGHT.telling.believed


def test_before_the_first_scrap_too_a_recommendation_lies_where_parts_are_likely_if_any_trial_does():
    optimizer = told(LINE, [{"x": x} for x in (2.0, 2.2, 2.4, 2.1, 2.3, 9.9)], [(2, 1), (3, 2), (6, 3), (3, 4), (3, 5)])
    known, safe = optimizer.learned(), LIGHT.telling.recommended_validity
    valid = known.valid_probability(known.ledger.rows(known.ledger.usable))
    assert known.border is None
    assert known.champion_id == 6
    assert valid.max() >= safe > valid[5]
    assert optimizer.recommendation().p_valid >= safe
