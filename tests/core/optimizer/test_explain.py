from dataclasses import replace

import numpy as np
import pytest

from tests.core.helpers import LIGHT, run
from tuner import Choice, Continuous, Integer, Optimizer, Space
from tuner.core.optimizer.explain import chance_better, cycles, sentence
from tuner.core.optimizer.strategy import TELLING

LINE = Space([Continuous("x", 0, 1)])


def told(space, settings, duels):
    optimizer = Optimizer(space, strategy=LIGHT)
    for setting in settings:
        optimizer.tell_outcome(optimizer.add(setting), True)
    for winner, loser in duels:
        optimizer.tell_judgment(winner, loser)
    return optimizer


def test_a_sentence_holds_the_numbers_and_what_changes():
    space = Space([Continuous("speed", 0, 9, unit="mm/s"), Integer("k", 0, 9), Choice("c", ["a", "b"])])
    old, new = {"speed": 3.0, "k": 4, "c": "a"}, {"speed": 4.5, "k": 4, "c": "b"}
    text = sentence("improve", new, old, 0.73, 0.91, 0.125, space)
    for words in ("73% likely to be better", "91% likely to give a part", "0.125 from", "speed by +1.5 mm/s", "c to b"):
        assert words in text
    assert "k by" not in text
    assert text.count(".") - text.count("0.") - text.count("1.5") == 1


def test_a_first_proposal_speaks_of_no_champion():
    text = Optimizer(LINE, strategy=LIGHT).ask().reason
    assert "champion" not in text
    assert "likely to be better" not in text
    assert text.startswith("Explores")


def test_a_proposal_s_sentence_holds_its_own_numbers():
    optimizer = Optimizer(LINE, strategy=LIGHT, budget=8)
    run(optimizer, 6, lambda s: -abs(s["x"] - 0.4))
    proposal = optimizer.ask()
    assert f"{proposal.p_better:.0%} likely to be better" in proposal.reason
    assert f"{proposal.p_valid:.0%} likely to give a part" in proposal.reason
    assert f"{proposal.distance:.3g} from the nearest" in proposal.reason
    assert 0.0 <= proposal.p_better <= 1.0


def test_importance_sums_to_one_and_finds_the_parameter_that_matters():
    space = Space([Continuous("idle", 0, 1), Continuous("x", 0, 1), Choice("c", ["a", "b"])])
    rng = np.random.default_rng(0)
    settings = [space.decode(row) for row in space.sample(30, rng)]
    value = [np.sin(5 * s["x"]) for s in settings]
    pairs = [sorted(rng.choice(30, 2, replace=False), key=lambda i: -value[i]) for _ in range(70)]
    optimizer = told(space, settings, [(int(i) + 1, int(j) + 1) for i, j in pairs])
    share = optimizer.importance()
    assert list(share) == ["idle", "x", "c"]
    assert sum(share.values()) == pytest.approx(1.0)
    assert min(share.values()) >= 0.0
    assert share["x"] > 0.6


def test_importance_is_shared_equally_while_nothing_is_known():
    assert Optimizer(Space([Continuous("x", 0, 1), Integer("k", 0, 3)])).importance() == {"x": 0.5, "k": 0.5}


def test_the_outlook_says_go_on_at_the_start_and_stop_when_it_is_solved():
    def quality(setting):
        return -abs(setting["k"] - 4)

    optimizer = Optimizer(Space([Integer("k", 0, 12)]), strategy=LIGHT)
    start = optimizer.outlook()
    assert (start.left, start.stop) == (1.0, False)
    run(optimizer, 3, quality)
    assert not optimizer.outlook().stop
    # every setting, then some of them again
    run(optimizer, 20, quality)
    end = optimizer.outlook()
    assert end.stop
    assert end.left < 0.05
    assert optimizer.recommend() == {"k": 4}


def test_the_outlook_s_threshold_is_a_share_of_duels():
    for share in (0.5, 1.0, np.nan):
        with pytest.raises(ValueError, match=r"between 0\.5 and 1"):
            Optimizer(LINE, strategy=LIGHT).outlook(against=share)


def test_a_circle_is_found_and_the_least_supported_duel_named():
    settings = [{"x": x} for x in (0.1, 0.3, 0.5, 0.12, 0.52)]
    # 3 over 2 over 1, and neighbours of 3 over neighbours of 1, but once 1 over 3
    duels = [(3, 2), (2, 1), (5, 4), (5, 1), (3, 4), (5, 2), (1, 3)]
    optimizer = told(LINE, settings, duels)
    ((circle, judgment),) = optimizer.contradictions()
    assert set(circle) >= {1, 2, 3}
    assert judgment == 7
    optimizer.retract(7)
    assert optimizer.contradictions() == []


def test_opposite_answers_are_a_circle_of_two_and_ties_are_none():
    optimizer = told(LINE, [{"x": 0.1}, {"x": 0.5}, {"x": 0.9}], [(1, 2), (2, 1)])
    optimizer.tell_tie(2, 3)
    optimizer.tell_tie(3, 1)
    assert cycles(optimizer.ledger) == [[1, 2]]
    assert optimizer.contradictions()[0][1] in (1, 2)


def test_separate_circles_are_told_apart():
    settings = [{"x": x} for x in np.linspace(0, 1, 6)]
    optimizer = told(LINE, settings, [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6), (6, 4), (1, 4)])
    assert cycles(optimizer.ledger) == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.slow
@pytest.mark.thorough
def test_the_recommendation_is_a_setting_where_parts_are_likely():
    optimizer = Optimizer(LINE, strategy=LIGHT, seed=2)
    run(optimizer, 20, lambda s: s["x"], lambda s: s["x"] < 0.6)
    best = optimizer.recommend()["x"]
    assert 0.4 < best < 0.62
    assert optimizer.ledger.trials[optimizer.champion].setting["x"] > 0.5


def test_the_chance_of_the_setting_with_the_largest_mean_is_said_with_the_luck_taken_off():
    known = told(LINE, [{"x": x} for x in (0.1, 0.4, 0.9)], [(2, 1), (2, 3)]).learned()
    row, at = LINE.encode({"x": 0.45}), LINE.encode({"x": 0.1})
    plain = chance_better(known, row, at, TELLING, best=False)
    said = chance_better(known, row, at, TELLING, best=True)
    assert 0.5 < said < plain
    assert chance_better(known, row, at, replace(TELLING, lucky=1.0), best=True) == pytest.approx(plain)
