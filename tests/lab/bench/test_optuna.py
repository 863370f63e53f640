"""Optuna's preferential sampler itself: `make test-peers` installs it and runs these."""

import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from tuner.cli.main import cli
from tuner.lab.bench.protocol import Options
from tuner.lab.bench.rivals.optuna import OptunaProposer, require_optuna
from tuner.lab.bench.rivals.regret import run_peer

# torch takes long to import on a busy machine
pytestmark = [pytest.mark.peers, pytest.mark.timeout(900)]

SMALL = ("--rows", "6", "--dimensions", "2", "--repeats", "1")


def peers(*arguments):
    return CliRunner().invoke(cli, ["bench", "peers", *arguments])


def duelled(count, seed=0):
    points = np.random.default_rng(seed).random((count, 2))
    costs = ((points - 0.3) ** 2).sum(axis=1)
    champion, duels = 0, []
    for new in range(1, count):
        duel = (new, champion) if costs[new] < costs[champion] else (champion, new)
        duels.append(duel)
        champion = duel[0]
    return points, duels, champion


def told(proposer):
    """Return the settings of each (winner, loser) that the study knows."""
    return [tuple(list(trial.params.values()) for trial in pair) for pair in proposer._study.preferences]


def test_the_versions_of_what_is_compared_are_known():
    assert set(require_optuna()) == {"optuna", "optuna-dashboard", "botorch", "torch", "numpy"}


def test_a_campaign_proposes_the_same_again_from_the_same_seed_and_something_else_from_another():
    def campaign(seed):
        proposer, (points, duels, champion) = OptunaProposer(), duelled(8)
        first = proposer(points[:6], duels[:5], 0, seed)
        return np.array([first, proposer(points, duels, champion, 0)])

    found = campaign(5)
    assert found.shape == (2, 2)
    assert ((found >= 0) & (found <= 1)).all()
    assert campaign(5) == pytest.approx(found, abs=1e-4)
    assert np.abs(campaign(6) - found).max() > 1e-3


def test_the_study_knows_every_duel_once_as_it_was_judged():
    proposer, (points, duels, champion) = OptunaProposer(), duelled(7)
    proposer(points[:4], duels[:3], 0, 0)
    proposer(points, duels, champion, 0)
    assert told(proposer) == [(points[winner].tolist(), points[loser].tolist()) for winner, loser in duels]


def test_the_sampler_goes_on_from_its_last_fit():
    proposer, (points, duels, champion) = OptunaProposer(), duelled(7)
    proposer(points[:4], duels[:3], 0, 0)
    sampler = proposer._study._study.sampler
    fitted = sampler._gp
    proposer(points, duels, champion, 0)
    assert proposer._study._study.sampler._gp is fitted
    assert len(fitted.diff) == len(duels)


def test_duels_of_another_campaign_are_refused_and_change_nothing():
    proposer, (points, duels, champion) = OptunaProposer(), duelled(5)
    proposer(points, duels, champion, 0)
    before = told(proposer)
    with pytest.raises(ValueError, match="serves one campaign"):
        proposer(points, [(loser, winner) for winner, loser in duels], champion, 0)
    assert told(proposer) == before


def test_nothing_is_printed_and_the_random_numbers_of_torch_are_left_alone(capfd):
    import torch

    points, duels, champion = duelled(5)
    before = torch.random.get_rng_state()
    OptunaProposer()(points, duels, champion, 0)
    assert (torch.random.get_rng_state() == before).all()
    assert capfd.readouterr() == ("", "")


def test_a_run_of_the_rival_improves_on_its_start():
    found = run_peer("six_hump", 0, Options(trials=20), OptunaProposer())
    assert found.regret[-1] < 0.1 * found.regret[0]


def test_json_has_both_rivals_beside_the_same_runs_of_ours():
    found = peers("--json", *SMALL, "--regret", "--problems", "sasena", "--seeds", "2", "--trials", "2", "--jobs", "1")
    assert found.exit_code == 0, found.output
    data = json.loads(found.stdout)
    assert data["rivals"] == ["botorch", "optuna"]
    assert data["left_out"] == {}
    assert [row["rival"] for row in data["speed"]] == [row["rival"] for row in data["regret"]] == data["rivals"]
    first, second = data["regret"]
    assert first["ours"] == second["ours"]
    assert first["runs"] != second["runs"]
    assert all(row[ratio]["value"] > 0 for row in data["regret"] for ratio in ("regret_ratio", "seconds_ratio"))


def test_where_it_is_not_installed_botorch_is_still_compared(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna_dashboard", None)
    found = peers(*SMALL)
    assert found.exit_code == 0, found.output
    assert "left out: Optuna PreferentialGPSampler needs optuna-dashboard" in found.stderr
    assert "BoTorch PairwiseGP + EUBO" in found.stdout
    assert "PreferentialGPSampler" not in found.stdout
