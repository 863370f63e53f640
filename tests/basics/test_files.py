"""Files that people ask for: whole, not through links, not for everybody, and no formulas in cells."""

import csv
import io
import os
import subprocess
import sys

import pytest

from tests.patience import PATIENT_S
from tuner.basics.files import FileNotWrittenError, append_to, csv_cell, make_directory, whole_file, write_text


def test_a_file_is_whole_or_as_it_was(tmp_path):
    target = tmp_path / "page.html"
    write_text(target, "old")
    with pytest.raises(TypeError), whole_file(target) as file:
        file.writelines([b"half", "no bytes"])
    assert target.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


def test_a_new_file_is_not_for_everybody_and_rights_that_somebody_gave_stay(tmp_path):
    target = tmp_path / "page.html"
    write_text(target, "one")
    assert target.stat().st_mode & 0o777 == 0o640
    target.chmod(0o644)
    write_text(target, "two")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("two", 0o644)


@pytest.mark.parametrize("exists", [True, False], ids=["to a file", "to nothing"])
def test_a_link_is_not_followed_nor_replaced(tmp_path, exists):
    precious = tmp_path / "precious"
    if exists:
        precious.write_text("precious")
    link = tmp_path / "page.html"
    link.symlink_to(precious)
    with pytest.raises(FileNotWrittenError, match="it is a link; name the file itself"):
        write_text(link, "page")
    assert link.is_symlink()
    assert precious.exists() is exists
    assert not exists or precious.read_text() == "precious"


def test_a_log_and_a_directory_are_not_made_through_a_link(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="it is a link"):
        append_to(link)
    with pytest.raises(FileNotWrittenError, match="it is a link; name the directory itself"):
        make_directory(link)
    assert not (tmp_path / "precious").exists()


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_text(pipe, "through it")
        assert reader.stdout.read() == b"through it"
    assert pipe.is_fifo()


def test_what_cannot_be_written_is_a_sentence(tmp_path):
    for target, why in ((tmp_path / "no" / "page", "there is no directory"), (tmp_path, "it is a directory")):
        with pytest.raises(FileNotWrittenError, match=f"cannot be written: {why}"):
            write_text(target, "page")


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"])  # noqa: RUF001
def test_a_text_is_never_a_formula(text):
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", [-1, -1.5, 3, None, "anna", "a=b", "", "'", True])
def test_numbers_stay_numbers_and_other_texts_as_they_are(value):
    assert csv_cell(value) is value


def test_a_formula_in_the_journal_is_a_text_in_its_table(tmp_path):
    state = tmp_path / "state"
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from tuner.journal.store import Store\nfrom tuner.journal.records import NewRow\n"
        "with Store.open(Path(sys.argv[1])) as store:\n"
        "    store.append([NewRow('press', '2026-01-01T00:00:00.000Z', 't', '{}', '=cmd|x'), "
        "NewRow('press', '2026-01-01T00:00:00.000Z', 't', '{}', 'anna')])\n"
    )
    subprocess.run([sys.executable, "-c", program, str(state / "journal.sqlite")], check=True, timeout=PATIENT_S)
    target = tmp_path / "events.csv"
    command = [sys.executable, "-m", "tuner", "journal", "export", "--format", "csv", "--state", str(state)]
    subprocess.run([*command, str(target)], check=True, timeout=PATIENT_S, capture_output=True)
    printed = subprocess.run([*command, "-"], check=True, timeout=PATIENT_S, capture_output=True, text=True).stdout
    assert target.read_text() == printed
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [row["actor"] for row in rows] == ["'=cmd|x", "anna"]
    assert [row["seq"] for row in rows] == ["1", "2"]
    assert target.stat().st_mode & 0o777 == 0o640
    (tmp_path / "link").symlink_to(target)
    refused = subprocess.run([*command, str(tmp_path / "link")], timeout=PATIENT_S, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "it is a link" in refused.stderr
