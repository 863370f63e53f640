"""`tuner import` and [campaign.earlier]: what `tuner export` wrote comes back, or is refused in a sentence."""

import csv
import io
import zipfile

import openpyxl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from tests.daemon.running import campaign_text, daemon, tune
from tests.tables.helpers import journal
from tuner.campaign import commands as c
from tuner.campaign.importing import import_of
from tuner.cli.main import cli
from tuner.tables.earlier import LARGEST_BYTES, MOST_CELLS, NotReadError, read_earlier
from tuner.tables.history import history_of_journal, in_state

KINDS = {"x1": "continuous", "x2": "continuous"}
HEAD = ["trial", "valid", "setting.x1", "setting.x2"]


def tuner(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """Twelve trials, one left out for a reason that looks like a formula."""
    return journal(tmp_path_factory.mktemp("s"), c.Exclude(trial=2, reason="=bad"), c.ChangeLot(lot="+lot 7"))


def written(path, rows, head=HEAD):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.mark.parametrize("name", ["all.json", "all.xlsx", "tables", "parquet"])
def test_what_was_exported_is_read_as_the_campaign_knows_it(state, tmp_path, name):
    more = ["--format", "parquet"] if name == "parquet" else []
    done = tuner("export", "press", "--to", tmp_path / name, "--state", state, *more)
    assert done.exit_code == 0, done.output
    known = history_of_journal(in_state(state), "press").state
    read, told = read_earlier(tmp_path / name, KINDS, 1.0), import_of(known, 1.0)
    if name.endswith("xlsx"):  # a workbook has 16 digits of a number; the resolution of parameters brings them back
        rounded = [
            [{n: round(v, 12) for n, v in {**t.setting, **t.measurements}.items()} for t in one.trials]
            for one in (read, told)
        ]
        assert rounded[0] == rounded[1]
        read = read.model_copy(update={"trials": told.trials})
    assert read.model_copy(update={"source": told.source}) == told
    assert [t.excluded for t in read.trials if t.excluded] == ["=bad"]
    assert read.judgments
    assert read.model == known.memory


def test_a_table_by_hand_needs_the_settings_and_whether_a_part_was_made(tmp_path):
    rows = [[3, "yes", "1.5", 2], [7, "no", 0, 1], [9, "true", 4, 4]]
    read = read_earlier(written(tmp_path / "mine.csv", rows), KINDS)
    assert [(t.setting, t.valid) for t in read.trials] == [
        ({"x1": 1.5, "x2": 2.0}, True),
        ({"x1": 0.0, "x2": 1.0}, False),
        ({"x1": 4.0, "x2": 4.0}, True),
    ]
    written(tmp_path / "judgments.csv", [[3, 9, 9], [9, 3, ""]], ["left", "right", "winner"])
    (tmp_path / "mine.csv").rename(tmp_path / "trials.csv")
    assert [(j.left, j.right, j.winner) for j in read_earlier(tmp_path, KINDS).judgments] == [(1, 3, 3), (3, 1, None)]


def test_a_number_that_is_the_name_of_a_choice_stays_a_text(tmp_path):
    read = read_earlier(written(tmp_path / "a.csv", [[1, "true", 3, 2]]), {"x1": "choice", "x2": "integer"})
    assert read.trials[0].setting == {"x1": "3", "x2": 2}


@pytest.mark.parametrize(
    ("rows", "head", "sentence"),
    [
        ([], HEAD, "there is no table trials with a row"),
        ([[1, "perhaps", 1, 1]], HEAD, "allowed are true and false, not"),
        ([[1, "true", 1, 1], [1, "true", 2, 2]], HEAD, "has a trial twice"),
        ([[0, "true", 1, 1]], HEAD, "the number of a trial is 1 or more"),
        ([[1, "true", "", 1]], HEAD, "setting.x1 is empty"),
        ([[1, "true", 5]], ["trial", "valid", "speed"], "there is no column setting.NAME"),
        ([[1, "", 1, 1]], HEAD, "no trial of it has an outcome yet"),
    ],
)
def test_what_is_no_table_of_trials_is_told_in_a_sentence(tmp_path, rows, head, sentence):
    with pytest.raises(NotReadError, match=sentence):
        read_earlier(written(tmp_path / "a.csv", rows, head), KINDS)


ENTITIES = b'<!DOCTYPE a [<!ENTITY b "' + b"b" * 9000 + b'">]><Types>' + b"&b;" * 99_000 + b"</Types>"


def packed(types: bytes) -> bytes:
    """A workbook with nothing but this list of its parts."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("[Content_Types].xml", types)
    return made.getvalue()


@pytest.mark.parametrize("name", ["a.json", "a.xlsx", "a.parquet", "a.csv"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff[1, 2", b'{"trials": 7}'])
def test_a_file_of_rubbish_is_told_in_a_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NotReadError):
        read_earlier(tmp_path / name, KINDS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", lambda: b"[" * 100_000),
        ("a.csv", lambda: b"trial,x\n1," + b"a" * 200_000),
        ("a.xlsx", lambda: packed(ENTITIES)),
        ("a.xlsx", lambda: packed(b" " * (LARGEST_BYTES + 1))),
    ],
    ids=["nested", "long cell", "entities", "bomb"],
)
def test_a_file_that_is_an_attack_is_told_in_a_sentence(tmp_path, name, content):
    test_a_file_of_rubbish_is_told_in_a_sentence(tmp_path, name, content())


def wide_book() -> bytes:
    """A sheet with a cell in its last column and another in its last row, of a kilobyte."""
    made, out = openpyxl.Workbook(), io.BytesIO()
    made.active.title = "trials"
    made.active["XFD1"], made.active["A1048576"] = "x", 1
    made.save(out)
    return out.getvalue()


def same_rows(cell: str, rows: int) -> bytes:
    """A table of one column with the same text in every row, which takes room once."""
    table, out = (
        pa.table({"trial": pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), [cell])}),
        io.BytesIO(),
    )
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.xlsx", wide_book, "cells"),
        ("a.parquet", lambda: same_rows("1", MOST_CELLS + 1), "cells"),
        ("a.parquet", lambda: same_rows("1" * 1000, LARGEST_BYTES // 1000 + 1000), "bytes when it is unpacked"),
        ("a.csv", lambda: b",".join(b"%d" % n for n in range(3000)) + b"\n" + b"1\n" * 3000, "cells"),
    ],
    ids=["workbook", "many rows", "long text", "short lines"],
)
def test_a_small_file_that_stands_for_millions_of_cells_is_refused(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content())
    assert (tmp_path / name).stat().st_size < 200_000
    with pytest.raises(NotReadError, match=f"it has more than [0-9]+ {sentence}"):
        read_earlier(tmp_path / name, KINDS)


def test_a_judgment_about_a_trial_that_is_not_there_is_told(tmp_path):
    written(tmp_path / "trials.csv", [[1, "true", 1, 1]])
    written(tmp_path / "judgments.csv", [[1, 4, 1]], ["left", "right", "winner"])
    with pytest.raises(NotReadError, match="speaks of trial 4, which the table trials does not have"):
        read_earlier(tmp_path, KINDS)


def test_check_config_says_what_could_not_be_imported(tmp_path):
    head = '[campaign.earlier]\nfrom = "old.csv"'
    config = tmp_path / "press.toml"
    config.write_text(campaign_text(head=head))
    for rows, sentence in (
        ([[1, "true", 9, 1]], "earlier: earlier trial 1: x1 must lie between low (0.0) and high (5.0), not 9.0"),
        ([[1, "true", 3, 1]], ""),
    ):
        written(tmp_path / "old.csv", rows)
        done = tuner("check-config", config)
        assert done.exit_code == (78 if sentence else 0)
        assert sentence in done.output
    (tmp_path / "old.csv").unlink()
    assert "there is no such file" in tuner("check-config", config).output


@pytest.mark.slow
def test_a_daemon_imports_by_its_configuration_and_by_the_command_line(tmp_path, state):
    assert tuner("export", "press", "--to", tmp_path / "old.json", "--state", state).exit_code == 0
    head = f'[campaign.earlier]\nfrom = "{tmp_path / "old.json"}"\ndiscount = 0.4'
    text = campaign_text("oven", head=head, trials=4, autostart=False) + campaign_text("press", autostart=False)
    text += campaign_text("large", autostart=False)
    with daemon(text) as running:
        running.start()
        here = ["--state", running.state]
        shown = tuner("status", *here)
        assert "oven: 12 trials and" in shown.output
        assert "of file old.json inform the model, discount 0.4" in shown.output
        refused = tuner("import", "oven", "--from", tmp_path / "old.json", *here)
        assert refused.exit_code == 1
        assert "the campaign oven knows these trials and judgments already" in refused.output
        written(tmp_path / "bad.csv", [[1, "true", 9, 1]])
        refused = tuner("import", "press", "--from", tmp_path / "bad.csv", *here)
        assert refused.exit_code == 1
        assert "nothing was imported: earlier trial 1: x1 must lie between" in refused.output
        assert tuner("import", "press", "--from", "nobody", *here).exit_code == 1
        assert tuner("import", "press", "--from", tmp_path / "none.json", *here).exit_code == 2
        assert tuner("import", "press", "--from", "oven", "--discount", "0", *here).exit_code == 2
        rows = [[n, "true", n % 50 / 10, n % 40 / 10] for n in range(1, 4_001)]
        done = tuner("import", "large", "--from", written(tmp_path / "large.csv", rows), *here)
        assert "large: 4000 trials and 0 judgments of file large.csv inform the model" in done.output
        with running.client() as client:
            assert client.snapshot("press").earlier == []
            assert [one.trials for one in client.snapshot("large").earlier] == [4_000]
            client.start("oven")
            tune(client, "oven")
        done = tuner("import", "press", "--from", "oven", "--discount", "1", *here)
        assert done.exit_code == 0, done.output
        assert "4 trials and" in done.output
        assert "of campaign oven are its own now" in done.output
        for name in ("again.json", "again.xlsx"):
            assert tuner("export", "oven", "--to", tmp_path / name, *here).exit_code == 0
            kept = history_of_journal(in_state(running.state), "oven").state.memory
            assert read_earlier(tmp_path / name, KINDS).model == kept
            assert kept.fits["preference"]
        with running.client() as client:
            view = client.snapshot("press")
            assert (view.budget.spent, view.champion.tag[0]) == (4, "O")
            client.start("press")
            tune(client, "press")
        report = tuner("report", "press", *here, "--out", tmp_path / "r.html")
        assert report.exit_code == 0, report.output
        assert "of campaign oven, its own" in (tmp_path / "r.html").read_text()
        replayed = tuner("replay", *here, "--jobs", "1")
        assert replayed.exit_code == 0, replayed.output
        assert "every one identical" in replayed.output
