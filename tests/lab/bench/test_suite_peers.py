import numpy as np
import pytest

from tuner.lab.bench.rivals.all_rivals import RIVALS
from tuner.lab.bench.rivals.rival import Rival
from tuner.lab.bench.suite.instances import draw_instance
from tuner.lab.bench.suite.methods import run_method


class Guesser:
    """A rival that proposes by chance and remembers what it was told."""

    def __init__(self):
        self.told = []

    def __call__(self, points, duels, champion, seed):
        self.told.append((len(points), list(duels), champion))
        return np.random.default_rng(seed).random(points.shape[1])


@pytest.fixture
def guesser(monkeypatch):
    one = Guesser()
    monkeypatch.setitem(RIVALS, "guesser", Rival("guesser", "G", "Guesser", "nothing", dict, lambda: one))
    return one


@pytest.mark.parametrize("group", ["shop", "constraints", "ties"])
def test_a_rival_of_points_keeps_to_the_grid_and_the_constraints_and_a_part_not_made_has_lost(guesser, group):
    instance = draw_instance(group, 1)
    run = run_method("guesser", instance, 1, 20)
    given = run.given[-1]
    assert given.champion == given.recommended
    assert given.looks + given.scrap == 20
    parts, duels, champion = guesser.told[-1]
    assert parts == 20
    assert all(winner <= parts and loser <= parts for winner, loser in duels)
    assert champion == (duels[-1][0] if duels else 0)
    assert len(duels) == 19 or group == "ties"
    assert run == run_method("guesser", instance, 1, 20)


@pytest.mark.peers
@pytest.mark.timeout(900)
@pytest.mark.parametrize("rival", ["botorch", "optuna"])
def test_the_rivals_themselves_tune_a_process(rival):
    run = run_method(rival, draw_instance("shop", 2), 2, 6)
    assert run.given[-1].looks + run.given[-1].scrap == 6
