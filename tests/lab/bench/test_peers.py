"""Comparisons with rivals, as far as they need no rival: stand-ins propose in their place."""

import json
import math
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from tuner.cli.main import cli
from tuner.lab.bench.protocol import Options, Run, start_points, to_box
from tuner.lab.bench.ratios import paired_ratio
from tuner.lab.bench.rivals.display import show_peer_regret, show_peer_speed
from tuner.lab.bench.rivals.regret import Comparison, run_peer
from tuner.lab.bench.rivals.speed import MOST_RATIO, Campaign, Turns, measure_turns, quality
from tuner.problems import get_problem


def peers(*arguments):
    return CliRunner().invoke(cli, ["bench", "peers", *arguments])


def centre(points, duels, champion, seed):
    """Propose the middle of the cube."""
    return np.full(points.shape[1], 0.5)


class Witness:
    """Propose at random and keep what was shown."""

    def __init__(self):
        self.seen = []

    def __call__(self, points, duels, champion, seed):
        self.seen.append((points.copy(), list(duels), champion, seed))
        return np.random.default_rng(seed).random(points.shape[1])


def shown(show, *arguments):
    console = Console(width=200)
    with console.capture() as capture:
        show(*arguments, console)
    return capture.get()


def run(seed, regret, scrap=0, seconds=0.1):
    return Run("sasena", seed, (math.inf, regret), scrap, (seconds, seconds))


@pytest.mark.parametrize("package", ["botorch", "torch"])
@pytest.mark.parametrize("arguments", [[], ["--json"], ["--regret", "--seeds", "1"]])
def test_without_its_packages_one_sentence_says_how_to_install_them(monkeypatch, package, arguments):
    monkeypatch.setitem(sys.modules, "botorch", None)
    monkeypatch.setitem(sys.modules, package, None)
    found = peers(*arguments)
    assert found.exit_code == 1
    assert found.stdout == ""
    assert len(found.stderr.splitlines()) == 1
    assert "needs BoTorch" in found.stderr
    assert 'pip install "process-tuner[peers]"' in found.stderr
    assert "CPU build of torch first" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rows", "2"], "from 3 to 5000"),
        (["--dimensions", "0"], "such as 2,6"),
        (["--dimensions", "two"], "such as 2,6"),
        (["--seeds", "3"], "give --regret too"),
        (["--problems", "sasena"], "give --regret too"),
        (["--regret", "--problems", "sixhump"], 'did you mean "six_hump"?'),
        (["--regret", "--problems", ","], "at least one problem"),
    ],
)
def test_wrong_options_are_wrong_usage_before_anything_is_imported(monkeypatch, arguments, words):
    monkeypatch.setitem(sys.modules, "botorch", None)
    found = peers(*arguments)
    assert found.exit_code == 2
    assert words in found.stderr


def test_a_ratio_is_paired_and_its_interval_holds_it():
    found = paired_ratio([1.0, 10.0, 100.0], [2.0, 20.0, 200.0], centre="geometric mean")
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
    spread = paired_ratio([1.0, 4.0, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0], centre="geometric mean")
    assert spread.value == pytest.approx(8**0.25)
    assert 1.0 <= spread.low < spread.value < spread.high <= 4.0
    assert paired_ratio([1.0, 9.0, 2.0], [1.0, 1.0, 1.0], centre="median").value == pytest.approx(2.0)


def test_the_interval_of_many_ratios_is_the_one_of_the_normal_law():
    logs = np.random.default_rng(0).standard_normal(400)
    found = paired_ratio(np.exp(logs).tolist(), [1.0] * 400, centre="geometric mean")
    half = 1.96 * logs.std() / 20
    assert np.log([found.low, found.high]) == pytest.approx([logs.mean() - half, logs.mean() + half], abs=0.01)


def test_a_regret_of_zero_counts_as_the_least_and_an_infinite_one_has_no_ratio():
    assert paired_ratio([0.0], [1e-8], centre="geometric mean", least=1e-10).value == pytest.approx(0.01)
    assert paired_ratio([math.inf, 1.0], [1.0, 1.0], centre="median").to_json() == dict.fromkeys(
        ("value", "low", "high")
    )
    assert math.isnan(paired_ratio([0.0], [1.0], centre="median").value)


def test_a_campaign_is_champion_duels_that_the_optimiser_and_the_rival_know_alike():
    campaign = Campaign(9, 3, seed=0)
    assert len(campaign.duels) == campaign.optimizer.ledger.preferences()[1].m == 9
    assert np.array(campaign.points).shape == (10, 3)
    best = max(range(10), key=lambda i: quality(campaign.points[i]))
    assert campaign.champion == best
    champion = campaign.optimizer.ledger.trials[campaign.optimizer.champion]
    assert list(champion.setting.values()) == campaign.points[best].tolist()
    campaign.go_on()
    assert len(campaign.duels) == 10


def test_a_campaign_of_too_few_duels_is_refused():
    with pytest.raises(ValueError, match="at least 3"):
        Campaign(2, 2, seed=0)


def test_the_rival_is_shown_one_duel_more_each_turn():
    witness = Witness()
    [turns] = measure_turns(6, 2, {"botorch": witness}, repeats=2)
    assert [len(duels) for _, duels, _, _ in witness.seen] == [6, 6, 7]
    assert len(turns.ours_s) == len(turns.theirs_s) == 2
    assert min(turns.ours_s) > 0.0


def test_the_goal_is_a_tenth_of_the_rivals_time():
    reached = Turns("botorch", 50, 2, (0.1, 0.1, 9.0), (1.0, 1.0, 1.0))
    assert reached.ratio.value == pytest.approx(MOST_RATIO)
    missed = Turns("botorch", 100, 6, (0.2,), (1.0,))
    assert missed.reached is False
    text = shown(show_peer_speed, [Turns("botorch", 50, 2, (0.09,), (1.0,)), missed], {"botorch": "1.2"})
    assert "reached" in text
    assert "missed, 2 x" in text
    assert "botorch 1.2" in text
    assert json.loads(json.dumps(missed.to_json(), allow_nan=False))["goal"] == MOST_RATIO


def test_the_rival_starts_at_our_settings_and_duels_against_the_best_of_them():
    witness, problem = Witness(), get_problem("hartmann6")
    run_peer("hartmann6", 4, Options(trials=1), witness)
    points, duels, champion, _ = witness.seen[0]
    assert (points == start_points(problem, 4, 11)).all()
    assert len(duels) == 10
    assert champion == duels[-1][0] == int(problem.evaluate(to_box(problem, points)).argmin())
    assert all({winner, loser} >= {new} for new, (winner, loser) in enumerate(duels, start=1))


def test_a_rivals_run_depends_on_its_seed_alone_and_counts_regret_as_ours_does():
    first = run_peer("forrester", 1, Options(trials=3), Witness())
    assert first == run_peer("forrester", 1, Options(trials=3), Witness())
    fixed = run_peer("forrester", 1, Options(trials=2), centre)
    problem = get_problem("forrester")
    tried = to_box(problem, np.vstack([start_points(problem, 1, 11), [[0.5]]]))
    assert fixed.regret == pytest.approx([problem.evaluate(tried).min() - problem.minimum] * 2)
    assert len(fixed.seconds) == 2


def test_the_judge_that_errs_for_us_errs_for_the_rival_too():
    contrary = run_peer("forrester", 1, Options(trials=1, flips=1.0), centre)
    assert contrary.regret[0] > run_peer("forrester", 1, Options(trials=1), centre).regret[0]


def test_a_trial_that_is_not_valid_loses_its_duel():
    witness, problem = Witness(), get_problem("branin_discs")
    found = run_peer("branin_discs", 0, Options(trials=30), witness)
    points, duels, _, _ = witness.seen[-1]
    valid = problem.is_valid(to_box(problem, points))
    assert 0 < valid.sum() < len(points)
    assert all(valid[winner] or not valid[loser] for winner, loser in duels)
    assert found.scrap >= 29 - valid[11:].sum()


def test_two_parts_of_one_setting_differ_for_the_rival_too_and_regret_is_the_true_cost():
    shown_duels = []

    def stay(points, duels, champion, seed):
        shown_duels[:] = duels
        return np.full(2, 0.7)

    found = run_peer("six_hump_noisy", 0, Options(start=2, trials=12), stay)
    assert any(winner > loser > 2 for winner, loser in shown_duels)
    problem = get_problem("six_hump")
    assert found.regret[-1] == pytest.approx(
        problem.evaluate(to_box(problem, np.full((1, 2), 0.7)))[0] - problem.minimum
    )
    run_peer("six_hump", 0, Options(start=2, trials=12), stay)
    assert not any(winner > loser > 2 for winner, loser in shown_duels)


def test_the_rivals_problem_drifts_as_ours_does():
    witness, problem = Witness(), get_problem("levy2_drifting")
    found = run_peer("levy2_drifting", 2, Options(trials=20), witness)
    points, duels, champion, _ = witness.seen[-1]
    made = [
        problem.at_trial(number).evaluate(to_box(problem, point[None, :]))[0] for number, point in enumerate(points)
    ]
    assert duels[-1] == ((29, champion) if champion == 29 else (champion, 29))
    assert champion == int(np.argmin(made))
    now = problem.at_trial(len(points) - 1).evaluate(to_box(problem, points[champion][None, :]))[0]
    assert found.regret[-2] == pytest.approx(now - problem.minimum)
    assert now != made[champion]


def test_without_any_duel_the_rival_is_not_asked_and_without_a_valid_trial_its_regret_is_infinite():
    witness = Witness()
    found = run_peer("branin_discs", 1, Options(start=0, trials=3), witness)
    [(points, duels, _, _)] = witness.seen
    assert len(points) == 2
    assert len(duels) == 1
    problem = get_problem("branin_discs")
    assert not problem.is_valid(to_box(problem, points)).any()
    assert found.regret[:2] == (math.inf, math.inf)


def test_a_comparison_is_paired_over_the_seeds():
    ours, theirs = (run(0, 1.0, 2), run(1, 0.1)), (run(0, 2.0, 8, 1.0), run(1, 0.05, 8, 1.0))
    row = Comparison("botorch", "sasena", ours, theirs)
    assert row.regret.value == pytest.approx(1.0)
    assert row.seconds.value == pytest.approx(0.1)
    assert row.better == 1
    data = json.loads(json.dumps(row.to_json(), allow_nan=False))
    assert data["ours"]["median"] == pytest.approx(0.55)
    assert data["theirs"]["scrap"] == 8
    text = shown(show_peer_regret, [row], Options())
    assert "1 of 2" in text
    assert "seeds 0 to 1" in text


def test_a_comparison_without_champion_has_null_instead_of_numbers():
    row = Comparison("optuna", "sasena", (run(0, math.inf),), (run(0, 1.0),))
    data = json.loads(json.dumps(row.to_json(), allow_nan=False))
    assert data["ours"]["median"] is None
    assert data["regret_ratio"]["value"] is None
    assert "-" in shown(show_peer_regret, [row], Options())
