import pytest

from tests.docs.documents import ROOT
from tests.faults import table
from tests.faults.table import Done, NotAsItShouldBeError, Row


def test_a_row_that_fails_is_told_and_the_rest_is_run(monkeypatch, capsys):
    def bad(_):
        raise NotAsItShouldBeError("3 were lost")

    rows = (Row("a", 9, 2, bad), Row("b", 9, 2, lambda count: Done(count, 0, "fine")))
    monkeypatch.setattr(table, "ROWS", rows)
    assert table.main(["--short"]) == 1
    said = capsys.readouterr().out
    assert "FAILED: 3 were lost" in said
    assert "ok: fine" in said
    assert "1 of 2 kinds of faults" in said
    assert table.main(["--short", "--only", "b"]) == 0


def test_a_check_that_must_find_a_loss_and_finds_none_fails(monkeypatch):
    nothing = {"cuts": 5, "lost": 0, "wrong": 0, "acknowledged": 10}
    monkeypatch.setattr(table, "lines_of", lambda *_: [nothing])
    with pytest.raises(NotAsItShouldBeError):
        table.power_cuts("NORMAL")(150)
    assert table.power_cuts("as-opened")(150).lost == 0
    monkeypatch.setattr(table, "lines_of", lambda *_: [{**nothing, "lost": 1}])
    with pytest.raises(NotAsItShouldBeError):
        table.power_cuts("as-opened")(150)


def test_tests_that_select_nothing_are_no_success():
    with pytest.raises(NotAsItShouldBeError):
        table.selected("tests/faults/test_orphans.py", words="no_such_word")(0)


def test_an_unknown_word_is_wrong_usage_and_names_the_rows(capsys):
    assert table.main(["--only", "earthquake"]) == 2
    assert "kill -9" in capsys.readouterr().err


def test_make_has_the_table():
    text = (ROOT / "Makefile").read_text()
    assert "test-faults:" in text
    assert "tests.faults.table" in text
