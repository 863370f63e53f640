"""BoTorch itself: `make test-peers` installs it and runs these."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from tuner.cli.main import cli
from tuner.lab.bench.protocol import Options
from tuner.lab.bench.rivals.botorch import propose_botorch, require_botorch
from tuner.lab.bench.rivals.regret import run_peer

# torch takes long to import on a busy machine
pytestmark = [pytest.mark.peers, pytest.mark.timeout(900)]


def peers(*arguments):
    return CliRunner().invoke(cli, ["bench", "peers", *arguments])


def duelled(count, rng):
    points = rng.random((count, 2))
    costs = ((points - 0.3) ** 2).sum(axis=1)
    champion, duels = 0, []
    for new in range(1, count):
        duel = (new, champion) if costs[new] < costs[champion] else (champion, new)
        duels.append(duel)
        champion = duel[0]
    return points, duels, champion


def test_the_versions_of_what_is_compared_are_known():
    assert set(require_botorch()) == {"botorch", "torch", "numpy"}


def test_a_proposal_lies_in_the_cube_and_depends_on_the_seed_alone():
    points, duels, champion = duelled(15, np.random.default_rng(0))
    first = propose_botorch(points, duels, champion, 5)
    assert first.shape == (2,)
    assert ((first >= 0) & (first <= 1)).all()
    assert propose_botorch(points, duels, champion, 5) == pytest.approx(first, abs=1e-5)


def test_our_random_numbers_and_those_of_torch_are_left_alone():
    import torch

    points, duels, champion = duelled(8, np.random.default_rng(1))
    before = torch.random.get_rng_state()
    propose_botorch(points, duels, champion, 0)
    assert (torch.random.get_rng_state() == before).all()


def test_a_run_of_the_rival_improves_on_its_start():
    found = run_peer("six_hump", 0, Options(trials=20), propose_botorch)
    assert found.regret[-1] < 0.5 * found.regret[0]


def test_json_has_the_ratio_of_every_size_and_the_paired_regret():
    found = peers(
        *("--json", "--rivals", "botorch", "--rows", "6,8", "--dimensions", "1,2", "--repeats", "1"),
        *("--regret", "--problems", "sasena", "--seeds", "2", "--trials", "2", "--jobs", "1"),
    )
    assert found.exit_code == 0, found.output
    data = json.loads(found.stdout)
    assert [(row["dimensions"], row["duels"]) for row in data["speed"]] == [(1, 6), (1, 8), (2, 6), (2, 8)]
    assert all(row["ratio"]["value"] > 0 for row in data["speed"])
    assert data["rivals"] == ["botorch"]
    assert {row["rival"] for row in data["speed"] + data["regret"]} == {"botorch"}
    assert [r["seed"] for r in data["regret"][0]["runs"]] == [0, 1]
    assert data["regret"][0]["theirs"]["seconds"] > 0


def test_the_table_says_whether_the_goal_is_reached():
    found = peers("--rivals", "botorch", "--rows", "6", "--dimensions", "2", "--repeats", "1")
    assert found.exit_code == 0, found.output
    assert "goal: <= 0.1" in found.stdout
    assert "reached" in found.stdout or "missed" in found.stdout
