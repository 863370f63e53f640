import json
import math

import pytest
from click.testing import CliRunner

from tuner.cli.bench import ACQUISITIONS
from tuner.cli.main import cli
from tuner.core.optimizer import optimizer
from tuner.lab.bench.protocol import Options, Run
from tuner.lab.bench.published import MEDIANS, PEERS, PROBLEMS, Goal, goals_of
from tuner.lab.bench.table import Mark, Row, measure_table, table_data
from tuner.problems import get_problem


def table(*arguments):
    return CliRunner().invoke(cli, ["bench", "table", *arguments])


def run(seed, regret, scrap=0):
    return Run("sasena", seed, (math.inf, regret), scrap, (0.1, 0.3))


@pytest.mark.slow
def test_results_are_the_same_with_one_job_and_with_two():
    options, seen = Options(trials=2), []
    one = measure_table(["forrester", "sasena"], range(2), options, 1, seen.append)
    two = measure_table(["forrester", "sasena"], range(2), options, 2, seen.append)
    assert one == two
    assert len(seen) == 8
    assert [[r.seed for r in row.runs] for row in one] == [[0, 1], [0, 1]]


def test_statistics_are_over_the_seeds_at_the_end_of_the_runs():
    found = Row("sasena", (run(0, 1.0, 2), run(1, 2.0, 4), run(2, 9.0, 0)), ()).statistics
    assert (found["median"], found["mean"], found["worst"]) == (2.0, 4.0, 9.0)
    assert (found["scrap"], found["scrap_worst"], found["seconds"]) == (2.0, 4.0, pytest.approx(0.2))


def test_a_goal_is_reached_at_its_limit_but_a_peer_must_be_beaten():
    assert Mark(Goal("median", 2.0), 2.0).reached
    assert not Mark(Goal("median", 2.0, "best peer, X"), 2.0).reached
    assert Mark(Goal("median", 2.0), 5.0).factor == 2.5


def test_every_published_problem_exists_has_all_peers_and_a_goal_against_the_best_of_them():
    for name in PROBLEMS:
        assert get_problem(name).name == name
        assert set(MEDIANS[name]) == set(PEERS)
        assert goals_of(name)[-1].limit == min(MEDIANS[name].values())
    assert goals_of("branin") == ()


def test_a_regret_without_champion_is_null_in_json():
    data = table_data([Row("sasena", (run(0, math.inf),), goals_of("sasena"))], Options())
    text = json.dumps(data, allow_nan=False)
    assert json.loads(text)["problems"][0]["median"] is None
    assert not json.loads(text)["problems"][0]["goals"][0]["reached"]


def test_json_is_all_that_is_printed_and_carries_goals_and_peers():
    shown = table("--json", "--seeds", "1", "--first", "5", "--problems", "forrester, branin", "--trials", "1")
    assert shown.exit_code == 0, shown.output
    forrester, branin = json.loads(shown.stdout)["problems"]
    assert [r["seed"] for r in forrester["runs"]] == [5]
    assert {goal["statistic"] for goal in forrester["goals"]} == {"median"}
    assert forrester["peers"]["HB-EI"] == 1.8e-6
    assert branin["peers"] == {}
    assert "runs: 2 of 2" in shown.stderr


@pytest.mark.slow
def test_the_table_marks_goals_and_with_flipped_answers_has_none():
    shown = table("--seeds", "1", "--problems", "forrester", "--trials", "1", "--flips", "1", "--jobs", "1")
    assert shown.exit_code == 0, shown.output
    assert "100% flipped answers" in shown.stdout
    assert "missed" not in shown.stdout
    exact = table("--seeds", "1", "--problems", "forrester", "--trials", "1", "--acquisition", "ei")
    assert "missed" in exact.stdout
    assert "Optuna" in exact.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--problems", "sixhump"], 'did you mean "six_hump"?'),
        (["--problems", " , "], "at least one problem"),
        (["--seeds", "0"], "--seeds"),
        (["--flips", "1.5"], "--flips"),
        (["--flips", "nan"], "nan is not a finite number"),
        (["--noise", "nan"], "nan is not a finite number"),
        (["--noise", "inf"], "inf is not a finite number"),
        (["--flips", "0.1", "--noise", "1"], "not both"),
        (["--acquisition", "best"], "hb-ei"),
        (["--jobs", "0"], "--jobs"),
    ],
)
def test_wrong_options_are_wrong_usage_and_say_what_is_allowed(arguments, words):
    shown = table(*arguments)
    assert shown.exit_code == 2
    assert words in shown.stderr
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""


def test_the_command_knows_the_optimisers_acquisitions():
    assert ACQUISITIONS == optimizer.ACQUISITIONS
