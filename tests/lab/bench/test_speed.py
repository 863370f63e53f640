import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from tests.patience import PATIENT_S
from tuner.cli.main import cli
from tuner.lab.bench.effective import effective_sizes, worst_share
from tuner.lab.bench.speed import MOST_PROPOSAL, SpeedRow, converged, duelled, quality


def speed(*arguments):
    return CliRunner().invoke(cli, ["bench", "speed", *arguments])


def autoregressive(coefficient, count, rng):
    draws = np.empty(count)
    draws[0] = rng.standard_normal()
    for i in range(1, count):
        draws[i] = coefficient * draws[i - 1] + np.sqrt(1 - coefficient**2) * rng.standard_normal()
    return draws


def test_the_effective_sample_size_of_independent_draws_is_their_number():
    draws = np.random.default_rng(0).standard_normal((20_000, 3))
    assert effective_sizes(draws) == pytest.approx(np.full(3, 20_000), rel=0.1)


@pytest.mark.parametrize("coefficient", [0.5, 0.9])
def test_the_effective_sample_size_of_a_correlated_chain_is_what_theory_says(coefficient):
    draws = autoregressive(coefficient, 50_000, np.random.default_rng(1))[:, None]
    expected = 50_000 * (1 - coefficient) / (1 + coefficient)
    assert effective_sizes(draws)[0] == pytest.approx(expected, rel=0.15)


def test_the_worst_coordinate_counts():
    rng = np.random.default_rng(2)
    draws = np.column_stack([rng.standard_normal(5000), autoregressive(0.9, 5000, rng)])
    assert worst_share(draws) == pytest.approx(0.1 / 1.9, rel=0.4)


def test_a_chain_that_does_not_move_is_worth_next_to_nothing_or_is_constant():
    assert np.isfinite(effective_sizes(np.ones((100, 2)))).all()


def test_the_data_are_as_many_duels_as_asked_for_and_a_copy_goes_on_from_there():
    campaign = duelled(12, seed=0)
    assert campaign.optimizer.ledger.preferences()[1].m == 12
    one, other = campaign.again(), campaign.again()
    one.ask()
    other.ask()
    assert campaign.optimizer.ledger.preferences()[1].m == 12
    assert one.values == other.values
    assert len(one.values) == len(campaign.values) + 1


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [1, 2])
def test_a_campaign_s_data_are_those_of_a_run_that_has_converged(dimensions):
    campaign, cost = converged(dimensions, 60)
    assert (cost.dimensions, cost.duels) == (dimensions, 60)
    assert cost.seconds > 0
    assert campaign.optimizer.ledger.preferences()[1].m == 60
    best = max(quality(dict(enumerate(point))) for point in np.random.default_rng(0).random((20_000, dimensions)))
    assert max(campaign.values.values()) >= best - 1e-5


@pytest.mark.slow
def test_json_has_every_ratio_and_its_goals():
    shown = speed("--json", "--rows", "8,12", "--repeats", "1", "--campaign", "6")
    assert shown.exit_code == 0, shown.output
    data = json.loads(shown.stdout)
    assert [(row["data"], row["m"]) for row in data["rows"]] == [
        ("random, 2-D", 8),
        ("random, 2-D", 12),
        ("campaign, 1-D", 6),
        ("campaign, 2-D", 6),
    ]
    for row in data["rows"]:
        assert {goal["name"] for goal in row["goals"]} == {"truncated", "effective"}
        assert all(row[name] > 0 for name in ("truncated", "effective", "proposal", "lin_ess", "laplace"))
        assert row["slowest"] >= row["proposal"]
        assert (row["first"] is None) == row["data"].startswith("campaign")
    seconds = {one["dimensions"]: one["seconds"] for one in data["campaigns"]}
    assert set(seconds) == {1, 2, 6}
    assert data["goals"][0]["value"] == pytest.approx(seconds[1] / seconds[6])


@pytest.mark.slow
def test_the_table_says_which_goals_are_reached():
    shown = speed("--rows", "8", "--repeats", "1", "--campaign", "6")
    assert shown.exit_code == 0, shown.output
    words = " ".join(shown.stdout.replace("│", " ").split())
    assert "campaign of 6 duels in 6-D" in words
    assert "1-D over 6-D" in words
    assert "(<= 1)" in words
    assert "reached" in words


def test_without_campaigns_there_are_none():
    data = json.loads(speed("--json", "--rows", "8", "--repeats", "1", "--campaign", "0").stdout)
    assert [row["data"] for row in data["rows"]] == ["random, 2-D"]
    assert data["campaigns"] == data["goals"] == []
    assert speed("--campaign", "4").exit_code == 2


def test_a_proposal_has_a_goal_at_100_and_500_rows_only():
    def marks(m, proposal):
        row = SpeedRow("random, 2-D", m, 1.0, 4.0, 0.7, proposal, 99.0, 12.0, 1.0, 1.0, 1.0)
        return {mark.name: mark.reached for mark in row.marks}

    assert set(MOST_PROPOSAL) == {100, 500}
    assert marks(200, 99.0) == {"truncated": False, "effective": True}
    assert marks(100, 15.0)["proposal"]
    assert not marks(500, 15.0)["proposal"]
    assert (marks(100, 1.0)["first"], marks(500, 1.0)["first"]) == (True, False)


@pytest.mark.parametrize("rows", ["abc", "", "2", "20,,x", "100000"])
def test_rows_that_are_no_numbers_of_duels_are_wrong_usage(rows):
    shown = speed("--rows", rows)
    assert shown.exit_code == 2
    assert "such as 20,50,100" in shown.stderr


def test_help_of_the_bench_imports_nothing_heavy():
    program = (
        "import sys; from tuner.cli.main import cli; cli.main(['bench', '--help'], standalone_mode=False);"
        "print([m for m in ('numpy', 'scipy', 'rich', 'pydantic') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENT_S, check=True
    )
    assert done.stderr.strip() == "[]"
    assert "speed" in done.stdout
    assert "table" in done.stdout
