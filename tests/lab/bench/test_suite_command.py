import json

import pytest
from click.testing import CliRunner

from tests.lab.bench.helpers import finish
from tuner.cli import bench_suite
from tuner.cli.main import cli
from tuner.lab.bench.suite.groups import GROUPS, TOGETHER
from tuner.lab.bench.suite.tasks import Task


def bench(*arguments):
    return CliRunner().invoke(cli, ["bench", *arguments])


SMALL = ("--group", "numbers,slips5", "--seeds", "3", "--parts", "4", "--jobs", "1")
TASKS = [Task(group, 3, 4, method) for group in ("numbers", "slips5") for method in ("tuner", "tuner design=0")]


def test_the_suite_prints_a_table_that_says_which_seeds_were_used(tmp_path):
    finish(TASKS, tmp_path)
    out = ("--out", str(tmp_path))
    shown = bench("suite", *SMALL, *out)
    assert shown.exit_code == 0, shown.output
    assert "what the user is given after 4 parts" in shown.stdout
    assert "for choosing" in shown.stdout
    plain = bench("suite", *SMALL, *out, "--set", "design=0", "--against", "default", "--json")
    told = json.loads(plain.stdout)
    assert (told["ours"], told["seeds"], told["seeds_are"]) == ("tuner design=0", [3], "for choosing")
    assert told["rows"][0]["paired"]["tuner"]["pairs"] == 1
    # the runs of the suite are those that are looked at, so nothing is run again
    said = bench("calibration", *SMALL, *out)
    assert said.exit_code == 0, said.output
    assert "P(better) of" in said.stdout
    assert "no bin has more than 50 cases" in said.stdout
    assert "runs:" not in said.stderr
    cases = json.loads(bench("calibration", *SMALL, *out, "--json").stdout)
    assert cases["p_valid"]["cases"] == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--group", "bordr"], 'did you mean "border"?'),
        (["--seeds", "a"], "not a list of seeds"),
        (["--seeds", "9-1"], "not a list of seeds"),
        (["--parts", "1"], "--parts"),
        (["--set", "islnds=1"], 'did you mean "islands"?'),
        (["--against", "hbei"], 'did you mean "hb-ei"?'),
        (["--against", "default"], "give --set NAME=VALUE too"),
        (["--jobs", "0"], "--jobs"),
        (["--dask", "here"], "no address"),
    ],
)
def test_wrong_options_are_wrong_usage_and_say_what_is_allowed(arguments, words, tmp_path):
    shown = bench("suite", *arguments, "--out", str(tmp_path / "out"))
    assert shown.exit_code == 2
    assert words in shown.stderr
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""
    assert not (tmp_path / "out").exists()


def test_a_directory_without_such_runs_is_refused_before_anything_is_run(tmp_path):
    shown = bench("suite", *SMALL, "--against", str(tmp_path), "--out", str(tmp_path / "out"))
    assert shown.exit_code == 1
    assert "has no runs of these groups and seeds with 4 parts" in shown.stderr
    assert not (tmp_path / "out").exists()


def test_help_says_which_seeds_are_for_what():
    assert "Below 1000 for choosing" in " ".join(bench("suite", "--help").stdout.split())


def test_help_names_every_group():
    assert f"{', '.join(GROUPS)}; for several {', '.join(TOGETHER)}" == bench_suite.GROUPS
