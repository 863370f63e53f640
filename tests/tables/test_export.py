import csv
import json
import shutil
import subprocess

import pandas as pd
import pytest
from click.testing import CliRunner
from openpyxl import load_workbook

from tests.daemon.running import campaign_text, daemon, tune
from tests.tables.helpers import EVIL, journal
from tuner.campaign import commands as c
from tuner.cli.main import cli
from tuner.tables import formats
from tuner.tables.campaign_tables import campaign_tables
from tuner.tables.history import history_of_journal, in_state
from tuner.tables.table import Column, Table

SHEETS = ["trials", "judgments", "looks", "events", "columns"]


def export(*words):
    return CliRunner().invoke(cli, ["export", *map(str, words)])


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """Twelve trials, of which one is left out for a reason that looks like a formula, and a lot that does too."""
    return journal(tmp_path_factory.mktemp("s"), c.Exclude(trial=2, reason=EVIL), c.ChangeLot(lot="+lot 7"))


def written(state, target, *more):
    shown = export("press", "--to", target, "--state", state, *more)
    assert shown.exit_code == 0, shown.output
    return target


def test_trials_judgments_looks_and_events_are_rows_with_typed_columns(state, tmp_path):
    trials = pd.read_csv(written(state, tmp_path / "out") / "trials.csv", parse_dates=["proposed_at"])
    assert trials["trial"].tolist() == list(range(1, 13))
    assert trials["valid"].dtype == bool
    assert trials["setting.x1"].dtype == float
    assert trials["proposed_at"].is_monotonic_increasing
    assert trials.loc[trials["champion"], "trial"].tolist() == [1]
    judgments = pd.read_csv(tmp_path / "out" / "judgments.csv")
    assert judgments.loc[judgments["counts"], "winner_tag"].tolist() == ["P1", "P1"]
    looks = pd.read_csv(tmp_path / "out" / "looks.csv")
    assert looks["judgment"].tolist() == judgments["judgment"].tolist()
    events = pd.read_csv(tmp_path / "out" / "events.csv")
    assert events.iloc[-1][["type", "actor"]].tolist() == ["lot_changed", "ada"]


def test_every_column_is_explained_and_settings_have_their_unit(tmp_path):
    history = history_of_journal(in_state(journal(tmp_path)), "press")
    *tables, columns = campaign_tables(history)
    told = {(row[0], row[1]): row for row in columns.rows}
    for table in tables:
        for column in table.columns:
            assert told[table.name, column.name][4]
    assert told["trials", "setting.x1"][2:] == ("number", "", "value of the parameter x1, from 0 to 5")
    assert told["judgments", "took_s"][3] == "s"


def test_the_formats_say_the_same(state, tmp_path):
    plain = json.loads(written(state, tmp_path / "a.json").read_text())
    book = load_workbook(written(state, tmp_path / "a.xlsx"))
    assert book.sheetnames == SHEETS
    written(state, tmp_path / "p", "--format", "parquet")
    written(state, tmp_path / "c")
    for name in SHEETS:
        frames = [
            pd.DataFrame(plain[name]),
            pd.read_excel(tmp_path / "a.xlsx", sheet_name=name),
            pd.read_parquet(tmp_path / "p" / f"{name}.parquet"),
            pd.read_csv(tmp_path / "c" / f"{name}.csv"),
        ]
        for frame in frames[1:]:
            assert list(frame.columns) == list(frames[0].columns)
            assert len(frame) == len(frames[0])
    costs = [row["measured.objective"] for row in plain["trials"]]
    for frame in (pd.read_parquet(tmp_path / "p" / "trials.parquet"), pd.read_csv(tmp_path / "c" / "trials.csv")):
        assert [None if pd.isna(one) else one for one in frame["measured.objective"]] == costs


def test_no_cell_is_taken_for_a_formula(state, tmp_path):
    with (written(state, tmp_path / "out") / "trials.csv").open(newline="") as file:
        assert [row["excluded"] for row in csv.DictReader(file)][1] == f"'{EVIL}"
    sheet = load_workbook(written(state, tmp_path / "a.xlsx"))["trials"]
    (cell,) = [cell for row in sheet.iter_rows() for cell in row if cell.value == EVIL]
    assert cell.data_type == "s"
    assert cell.quotePrefix


def test_a_name_that_ends_like_a_table_is_one_file_with_the_trials_or_the_table_that_is_named(state, tmp_path):
    assert "setting.x1" in pd.read_csv(written(state, tmp_path / "a.csv")).columns
    assert "took_s" in pd.read_csv(written(state, tmp_path / "b.csv", "--table", "judgments")).columns
    assert load_workbook(written(state, tmp_path / "c.xlsx", "--table", "looks")).sheetnames == ["looks"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["a.txt"], "say --format, or let the name end with one of"),
        (["a.csv", "--format", "xlsx"], "ends with .csv, but the format is xlsx"),
        (["a.csv", "--table", "looks", "--table", "events"], "has room for one table"),
        (["no/a.csv"], "there is no directory"),
        (["link.csv"], "it is a link; name the file itself"),
        (["link"], "it is a link; name the directory itself"),
    ],
)
def test_what_cannot_be_written_is_said_and_nothing_is_written(state, tmp_path, words, sentence):
    there = tmp_path / "there"
    there.mkdir()
    for name in ("link.csv", "link"):
        (tmp_path / name).symlink_to(there)
    shown = export("press", "--to", tmp_path / words[0], *words[1:], "--state", state)
    assert shown.exit_code in (1, 2)
    assert sentence in shown.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "link.csv", "there"]
    assert list(there.iterdir()) == []


def test_a_campaign_that_is_not_there_is_said_with_the_nearest_name(state, tmp_path):
    shown = export("pres", "--to", tmp_path / "a.csv", "--state", state)
    assert shown.exit_code == 1
    assert 'there is no campaign "pres"; did you mean "press"?' in shown.stderr
    assert list(tmp_path.iterdir()) == []
    assert export("press", "--to", tmp_path / "a.csv", "--state", tmp_path).exit_code == 69


def test_a_text_that_excel_has_no_room_or_no_sign_for_is_written_all_the_same(tmp_path):
    texts = ("a\x07b", "x" * 40_000)
    formats.write(
        tmp_path / "a.xlsx", [Table("t", (Column("c", "text", ""),), tuple((text,) for text in texts))], "xlsx"
    )
    sheet = load_workbook(tmp_path / "a.xlsx")["t"]
    assert sheet["A2"].value == "a\N{REPLACEMENT CHARACTER}b"
    assert len(sheet["A3"].value) == 32_767
    assert sheet["A3"].value.endswith("(cut: a cell has no room for more)")


def test_a_running_daemon_and_its_journal_give_the_same_tables(tmp_path):
    with daemon(campaign_text(trials=4)) as running:
        running.start()
        with running.client() as client:
            tune(client, "press")
        at = f"ipc://{running.state}/requests.sock"
        shown = export("press", "--to", tmp_path / "wire.json", "--connect", at)
        assert shown.exit_code == 0, shown.output
        running.stop()
        written(running.state, tmp_path / "file.json")
    wire, file = (json.loads((tmp_path / name).read_text()) for name in ("wire.json", "file.json"))
    assert wire["trials"] == file["trials"]
    assert wire["judgments"] == file["judgments"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.xlsx", "a.csv"])
def test_libreoffice_opens_an_export_and_reads_the_same_numbers(state, tmp_path, name):
    program = shutil.which("soffice")
    if program is None:
        pytest.skip("needs LibreOffice (Debian: apt-get install libreoffice-calc)")
    written(state, tmp_path / name)
    (tmp_path / "out").mkdir()
    home = f"-env:UserInstallation=file://{tmp_path}/home"
    command = [program, home, "--headless", "--convert-to", "csv", "--outdir", tmp_path / "out", tmp_path / name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # without Java, which nothing here needs, it warns of that
    said = [line for line in (done.stdout + done.stderr).lower().splitlines() if "java" not in line]
    assert not [line for line in said if "warning" in line or "error" in line]
    back = pd.read_csv(tmp_path / "out" / "a.csv")
    assert (
        back["setting.x1"].round(6).tolist()
        == pd.read_csv(written(state, tmp_path / "b.csv"))["setting.x1"].round(6).tolist()
    )
    assert EVIL in back["excluded"].dropna().iloc[0]
