import json

import pytest
from click.testing import CliRunner

from tuner.cli.main import cli


def scale(*arguments):
    return CliRunner().invoke(cli, ["bench", "scale", *arguments])


def test_each_size_has_its_row_and_what_is_left_out_has_none():
    done = scale("--duels", "5", "--campaigns", "", "--events", "", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    (row,) = found["duels"]
    assert row["duels"] == 5
    assert row["seconds"] > 0
    assert row["mb"] > 20
    assert found["campaigns"] == found["events"] == []
    assert found["events_a_part"] > 5


@pytest.mark.slow
def test_daemons_and_journals_are_measured_and_shown():
    done = scale("--duels", "", "--campaigns", "1,3", "--events", "1000")
    assert done.exit_code == 0, done.output
    assert "a daemon whose campaigns wait" in done.stdout
    assert "a journal" in done.stdout


def test_what_cannot_be_measured_is_wrong_usage():
    for wrong in (("--duels", "x"), ("--duels", "2"), ("--campaigns", "0"), ("--events", "10")):
        assert scale(*wrong).exit_code == 2
