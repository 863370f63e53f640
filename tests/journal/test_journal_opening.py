"""Who may open a journal, and what is found out at that moment."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journal.helpers import event, events, tampering
from tests.patience import PATIENT_S
from tuner.journal import DamagedError, HeldError, JournalError, Store, store
from tuner.journal import tables as schema
from tuner.journal.lock import Lock, Mark, read_mark

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


@pytest.fixture
def filled(path):
    with Store.open(path) as store:
        store.append(events(300))
    return path


def leave_unclean(path: Path) -> None:
    """Append one event in a process that ends without closing the journal."""
    program = (
        "import os, sys; from pathlib import Path;"
        "from tests.journal.helpers import event; from tuner.journal import Store;"
        "store = Store.open(Path(sys.argv[1])); store.append([event(0)]); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=PATIENT_S, cwd=ROOT)


def test_a_second_writer_is_refused_with_a_sentence_and_readers_are_not(path):
    with Store.open(path) as first:
        first.append([event(1)])
        with pytest.raises(
            HeldError, match="in use by another process, probably a running daemon: stop it first"
        ) as no:
            Store.open(path)
        assert no.value.exit_code == 75
        with Store.open_reading(path) as reader:
            assert reader.head == first.head
    with Store.open(path) as second:
        assert second.head[0] == 1


def test_a_writer_in_another_process_is_refused(path):
    program = "import sys; from pathlib import Path; from tuner.journal import Store; Store.open(Path(sys.argv[1]))"
    with Store.open(path):
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)],
            capture_output=True,
            text=True,
            timeout=PATIENT_S,
            cwd=ROOT,
            check=False,
        )
    assert done.returncode == 1
    assert "HeldError" in done.stderr


def test_only_the_owner_may_read_what_operators_did(tmp_path):
    path = tmp_path / "state" / "journal.sqlite"
    with Store.open(path) as store:
        store.append([event(1)])
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_journal_that_must_exist_is_not_made(path):
    with pytest.raises(JournalError, match="there is no journal"):
        Store.open(path, create=False)
    with pytest.raises(JournalError, match="there is no journal"):
        Store.open_reading(path)
    assert list(path.parent.iterdir()) == []


def test_a_writer_leaves_a_mark_of_how_it_ended(path):
    with Store.open(path) as store:
        store.append(events(3))
        head = store.head
        store.append(events(3))
        assert read_mark(path) == Mark(False, *head)  # of the first append: a new journal has nothing to be missed
        head = store.head
    assert read_mark(path) == Mark(True, *head)
    leave_unclean(path)
    assert read_mark(path) == Mark(False, *head)


def test_after_a_clean_stop_no_check_of_the_file_is_due(filled, monkeypatch):
    checked = []
    monkeypatch.setattr(store.verify, "quick_check", lambda *_: checked.append("quick"))
    with Store.open(filled) as opened:
        assert not opened.check_due
    assert checked == []
    leave_unclean(filled)
    with Store.open(filled) as opened:
        assert not opened.check_due
    assert checked == ["quick"]
    filled.with_name("journal.sqlite.lock").unlink()  # nothing is known any more
    with Store.open(filled):
        assert checked == ["quick", "quick"]


def test_after_an_unclean_stop_the_check_of_a_large_file_is_left_to_another_thread(filled, monkeypatch):
    leave_unclean(filled)
    monkeypatch.setattr(store, "_LARGE_BYTES", 1000)
    with Store.open(filled) as opened:
        assert opened.check_due
        with Store.open_reading(filled) as reader:
            reader.quick_check()
        opened.checked()
    with Store.open(filled) as opened:
        assert not opened.check_due


def test_a_check_that_was_not_made_stays_due(filled, monkeypatch):
    leave_unclean(filled)
    monkeypatch.setattr(store, "_LARGE_BYTES", 1000)
    for _ in range(2):
        with Store.open(filled) as opened:
            assert opened.check_due


def test_a_torn_page_is_found_after_an_unclean_stop(filled):
    leave_unclean(filled)
    with Store.open(filled):
        pass
    data = bytearray(filled.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 2048] = bytes(2048)
    filled.write_bytes(data)
    filled.with_name("journal.sqlite.lock").unlink()
    with pytest.raises(DamagedError, match="restore a backup with `tuner journal restore`"):
        Store.open(filled)
    with Lock(filled) as lock:  # nobody holds it after a refusal
        assert lock.mark is None


def test_a_file_that_is_no_database_is_refused_with_a_sentence(path):
    path.write_bytes(b"not a database, but long enough to have a header" * 100)
    with pytest.raises(DamagedError, match="file is not a database"):
        Store.open(path)
    with pytest.raises(DamagedError, match="file is not a database"):
        Store.open_reading(path)


def test_another_database_is_not_taken_for_a_journal(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE journal (x)")
    connection.close()
    with pytest.raises(JournalError, match="is not a journal"):
        Store.open_reading(path)
    with pytest.raises(JournalError, match="table journal already exists"):
        Store.open(path)


def test_a_journal_of_a_newer_version_is_refused(filled):
    connection = sqlite3.connect(filled, isolation_level=None)
    connection.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('tuner.journal', '9 more', '')"
    )
    connection.close()
    for opening in (Store.open, Store.open_reading):
        with pytest.raises(JournalError, match="written by a newer version of tuner"):
            opening(filled)


def test_a_wrong_event_among_the_last_is_found_at_opening(filled):
    with tampering(filled) as connection:
        connection.execute("UPDATE journal SET body = '{}' WHERE seq = 299")
    with pytest.raises(DamagedError, match="event 299: the event or its hash was changed"):
        Store.open(filled)


def test_an_older_copy_in_the_place_of_a_journal_is_found_at_opening(filled, tmp_path):
    with Store.open(filled) as store:
        store.backup(tmp_path / "backup.sqlite")
        store.append(events(5))
    filled.unlink()
    (tmp_path / "backup.sqlite").rename(filled)
    with pytest.raises(DamagedError, match=r"not the journal that was here: event 305 is missing.*remove .*\.lock"):
        Store.open(filled)
    filled.with_name("journal.sqlite.lock").unlink()
    with Store.open(filled) as store:
        assert store.head[0] == 300


def test_another_journal_in_the_place_of_a_journal_is_found_at_opening(filled, tmp_path):
    with Store.open(tmp_path / "other.sqlite") as other:
        other.append([event(number, "press") for number in range(400)])
    (tmp_path / "other.sqlite").replace(filled)
    with pytest.raises(DamagedError, match="event 300 was changed"):
        Store.open(filled)


@pytest.mark.parametrize("loss", ["removed", "emptied"])
def test_no_new_journal_is_begun_in_silence_where_one_was_lost(filled, loss):
    filled.unlink()
    if loss == "emptied":
        filled.touch()
    with pytest.raises(DamagedError, match="is gone or empty, but it had 300 events"):
        Store.open(filled)
    filled.with_name("journal.sqlite.lock").unlink()
    with Store.open(filled) as store:
        assert store.head[0] == 0


def test_a_log_without_its_journal_is_not_deleted(path):
    leave_unclean(path)
    path.unlink()
    path.with_name("journal.sqlite.lock").unlink()
    log = path.with_name("journal.sqlite-wal")
    before = log.read_bytes()
    with pytest.raises(DamagedError, match=r"its log journal\.sqlite-wal is there"):
        Store.open(path)
    assert log.read_bytes() == before


def test_an_unreadable_mark_counts_as_none(filled):
    for text in (b"clean 300", b"\xff\xfe", b"clean x y end", b"shut 1 a end", b""):
        filled.with_name("journal.sqlite.lock").write_bytes(text)
        assert read_mark(filled) is None
        with Store.open(filled) as store:
            assert store.head[0] == 300


def test_a_directory_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="making the directory"):
        Store.open(tmp_path / "file" / "journal.sqlite")
    (tmp_path / "journal.sqlite").mkdir()
    with pytest.raises(JournalError, match="unable to open database file; have you the rights"):
        Store.open(tmp_path / "journal.sqlite")


def test_a_child_process_does_not_keep_the_journal_from_being_opened(path):
    with Store.open(path):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with Store.open(path) as store:
            assert os.get_inheritable(store._lock._fd) is False
    finally:
        child.communicate(b"\n", timeout=PATIENT_S)


TABLES = ("journal", "replies", "reply_ends", "campaigns", "snapshots", "_sqlite_migrations")


def test_every_migration_is_known_by_its_name(path):
    with Store.open(path) as store:
        assert {step.name for step in schema.migrations().applied(store._db)} == schema.NAMES
        tables = store._db.execute(
            "SELECT name, strict FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%'"
        ).fetchall()
    # every table is strict: a value of another kind is an error and not a surprise
    assert dict(tables) == dict.fromkeys(TABLES, 1)
