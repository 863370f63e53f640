import json

from click.testing import CliRunner

from tuner.cli.main import cli


def scale(*arguments):
    return CliRunner().invoke(cli, ["bench", "scale", *arguments])


def test_each_size_has_its_row_and_what_is_left_out_has_none():
    done = scale("--duels", "5,8", "--campaigns", "2", "--events", "", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [row["duels"] for row in found["duels"]] == [5, 8]
    assert all(row["seconds"] > 0 and row["mb"] > 20 for row in found["duels"])
    assert [row["campaigns"] for row in found["campaigns"]] == [2]
    assert found["events"] == []
    assert found["events_a_part"] > 5


def test_what_cannot_be_measured_is_wrong_usage():
    for wrong in (("--duels", "x"), ("--duels", "2"), ("--campaigns", "0"), ("--events", "10")):
        assert scale(*wrong).exit_code == 2
