import json

import pytest

from tests.docs.documents import ROOT
from tests.faults import crowd, rows, table
from tests.faults.fuzz_line import fuzz_line
from tests.faults.fuzz_page import fuzz_page
from tests.faults.rows import Done, NotAsItShouldBeError, Row


def nothing_told(_):
    pass


@pytest.fixture
def two_rows(monkeypatch):
    """One row that fails, and one that counts how often it was run."""
    runs = []

    def bad(_size, _told):
        raise NotAsItShouldBeError("3 were lost")

    def good(size, _told):
        runs.append(size)
        return Done(size, 0, "fine")

    monkeypatch.setattr(table, "ROWS", (Row("a", 9, 2, bad), Row("b", 9, 2, good)))
    return runs


def test_a_row_that_fails_is_told_and_the_rest_is_run(two_rows, capsys):
    assert table.main(["--short"]) == 1
    said = capsys.readouterr().out
    assert "FAILED: 3 were lost" in said
    assert "ok: fine" in said
    assert "1 of 2 kinds of faults" in said
    assert table.main(["--short", "--row", "b"]) == 0
    assert two_rows == [2, 2]


def test_full_rows_are_kept_and_a_run_goes_on_with_those_that_this_commit_has_not_passed(two_rows, tmp_path, capsys):
    file = ["--kept", str(tmp_path / "kept.json")]
    assert table.main(["--row", "b", "--size", "5", *file]) == 0
    assert not (tmp_path / "kept.json").exists(), "a part is not kept as the whole"
    assert table.main(file) == 1
    assert table.main(file) == 1
    assert two_rows == [5, 9]
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert (kept["a"]["ok"], kept["b"]["ok"], kept["b"]["commit"]) == (False, True, table.commit())
    assert table.main(["--show", *file]) == 1
    assert capsys.readouterr().out.count("FAILED") == 3
    table.main(["--again", *file])
    assert two_rows == [5, 9, 9]


def test_a_check_that_must_find_a_loss_and_finds_none_fails(monkeypatch):
    nothing = {"cuts": 5, "lost": 0, "wrong": 0, "acknowledged": 10}
    monkeypatch.setattr(rows, "lines_of", lambda *_: [nothing])
    with pytest.raises(NotAsItShouldBeError):
        rows.power_cuts("NORMAL")(150, nothing_told)
    assert rows.power_cuts("as-opened")(150, nothing_told).lost == 0
    monkeypatch.setattr(rows, "lines_of", lambda *_: [{**nothing, "lost": 1}])
    with pytest.raises(NotAsItShouldBeError):
        rows.power_cuts("as-opened")(150, nothing_told)


def test_tests_that_select_nothing_are_no_success():
    with pytest.raises(NotAsItShouldBeError):
        rows.selected("tests/faults/test_orphans.py", words="no_such_word")(0, nothing_told)


@pytest.mark.parametrize("wrong", [["--row", "earthquake"], ["--size", "3"]])
def test_what_cannot_be_run_is_wrong_usage_and_names_the_rows(wrong, capsys):
    assert table.main(wrong) == 2
    assert "kill -9" in capsys.readouterr().err


def test_every_message_of_a_line_controller_is_answered():
    found = fuzz_line(400, seed=1)
    assert found["lost"] == 0
    assert found["error"] > 100


@pytest.mark.slow
def test_the_page_answers_nonsense_without_an_error_of_its_own_or_a_line_in_its_log():
    assert fuzz_page(80, seed=1)["requests"] == 80


@pytest.mark.slow
def test_many_requests_are_answered_and_idle_connections_leave_nothing():
    crowd.check_requests(crowd.many_requests(4 * crowd.REPORT_EVERY))
    crowd.check_idle(crowd.idle_connections(20), 20)


def test_make_has_the_table():
    text = (ROOT / "Makefile").read_text()
    assert "test-faults:" in text
    assert "tests.faults.table" in text
