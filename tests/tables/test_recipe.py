import csv
import io
import json

import pytest
from click.testing import CliRunner

from tests.tables.helpers import journal
from tuner.cli.main import cli
from tuner.journal.store import FILE_NAME, Store
from tuner.lab.bench import machines
from tuner.lab.bench.history import history
from tuner.tables.history import history_of_journal, in_state
from tuner.tables.recipe import recipe as recipe_of


def recipe(*words):
    return CliRunner().invoke(cli, ["recipe", *map(str, words)])


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return journal(tmp_path_factory.mktemp("s"))


def test_a_recipe_says_the_setting_beside_champion_and_known_good_and_what_it_rests_on(state):
    shown = recipe("press", "--state", state)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[2].split() == ["parameter", "unit", "recommended", "champion", "P1", "known-good", "window"]
    assert " to " in lines[3]
    assert any(line.startswith("The window says how far each parameter may wander alone") for line in lines)
    assert "12 trials, 8 of them scrap; 3 judgments by 1 operator." in lines
    assert "The champion P1 won 3, lost 0, could not be told apart in 0 duels." in lines
    assert "Nothing is believed better than the known-good setting: keep it." in lines
    assert lines[-1] == "1 part made at the recommended setting so far: 3 won, 0 lost, 0 could not be told."


def test_programs_get_the_same_numbers_in_full(state, tmp_path):
    told = json.loads(recipe("press", "--state", state, "--format", "json").stdout)
    shown = recipe("press", "--state", state, "--format", "csv", "--to", tmp_path / "r.csv")
    assert shown.exit_code == 0, shown.output
    rows = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert [float(row["recommended"]) for row in rows] == [line["recommended"] for line in told["lines"]]
    assert 0 < told["evidence"]["p_better"] < 1
    assert (told["evidence"]["keep"], told["evidence"]["parts_made"], told["evidence"]["parts_won"]) == (True, 1, 3)


def test_without_a_part_nothing_is_recommended(tmp_path):
    with Store.open(tmp_path / FILE_NAME) as store:
        store.append(history("press", machines.campaign("press", trials=50, seconds=0.0), 1)[:1])
    shown = recipe("press", "--state", tmp_path)
    assert shown.exit_code == 1
    assert shown.stderr == "press: no part was made yet, so nothing can be recommended\n"


def test_a_window_is_told_where_the_model_gives_one(state):
    known = history_of_journal(in_state(state), "press").state
    window = [
        {"name": "x1", "low": 3.0, "high": 4.5, "below": "valid", "above": "limit"},
        {"name": "x2", "options": ("a", "b")},
    ]
    found = {"setting": {"x1": 3.7, "x2": 1.7}, "p_better": 0.7, "p_valid": 0.9, "window": window}
    found |= {"better_than_known_good": 0.81, "window_valid": 0.95, "window_better": 0.75}
    made = recipe_of("press", known, found)
    lines = made.as_text().splitlines()
    assert lines[2].split()[-1] == "window"
    assert lines[-1].startswith("No part was made at it yet")
    assert lines[3].endswith("3 to 4.5")
    assert "  x1: scrap beyond 3" in lines
    assert max(map(len, lines[:5])) <= 80
    sure = recipe_of("press", known, {**found, "better_than_known_good": 0.9999, "p_valid": 1.0}).as_text()
    assert ">99 % likely to be better" in sure
    assert "100 %" not in sure
    assert "It is 81 % likely to be better than the known-good setting." in lines
    window = "95 % likely, and 75 % likely to be better than the known-good setting."
    assert any(line.endswith(window) for line in lines)
    assert lines[4].endswith("a, b")
    assert json.loads(made.as_json())["lines"][0]["window_high"] == 4.5
    assert made.as_csv().splitlines()[1].endswith("3.0,4.5,,valid,limit,")
    assert "window" not in recipe_of("press", known, {**found, "window": []}).as_text()
