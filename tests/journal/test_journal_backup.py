"""Copies are whole, checked and never in the way of anything."""

import os
import shutil
from pathlib import Path

import pytest

from tests.journal.helpers import answer, event, events, tampering
from tuner.journal import DamagedError, HeldError, JournalError, Store
from tuner.journal.backup import restore


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "state" / "journal.sqlite"
    with Store.open(path) as store:
        store.append(events(50), [answer("one")])
        store.save_snapshot("kiln", 40, "{}")
    return path


@pytest.fixture
def copy(path, tmp_path):
    with Store.open(path) as store:
        store.backup(tmp_path / "copy.sqlite")
    return tmp_path / "copy.sqlite"


def names(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.iterdir())


def test_a_backup_is_the_journal_of_that_moment(path, tmp_path):
    target = tmp_path / "backups" / "monday.sqlite"
    with Store.open(path) as store:
        store.append([event(51)])
        info = store.backup(target)
        head = store.head
        store.append([event(52)])
    assert (info.path, info.seq, info.hash) == (target, *head)
    assert info.size_bytes == target.stat().st_size
    assert names(target.parent) == ["monday.sqlite"]
    assert target.stat().st_mode & 0o777 == 0o600
    with Store.open_reading(target) as copied:
        assert copied.verify().ok
        assert copied.head == head
        assert copied.reply("desk", "one") == answer("one")
        assert copied.snapshot("kiln").seq == 40


def test_an_empty_journal_can_be_backed_up(tmp_path):
    with Store.open(tmp_path / "journal.sqlite") as store:
        assert store.backup(tmp_path / "copy.sqlite").seq == 0


def test_a_reader_makes_a_backup_while_the_writer_appends(path, tmp_path):
    with Store.open(path) as writer, Store.open_reading(path) as reader:
        writer.append([event(51)])
        info = reader.backup(tmp_path / "copy.sqlite")
        assert info.seq == 51
        writer.append([event(52)])


def test_a_backup_never_takes_the_place_of_another_file(path, tmp_path):
    (tmp_path / "precious").write_text("precious")
    with Store.open(path) as store, pytest.raises(JournalError, match="exists: a backup never takes the place"):
        store.backup(tmp_path / "precious")
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_damaged_journal_gives_no_backup(path, tmp_path):
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 100] = bytes(100)
    path.write_bytes(data)
    with Store.open_reading(path) as store, pytest.raises(DamagedError):
        store.backup(tmp_path / "backups" / "copy.sqlite")
    assert names(tmp_path / "backups") == []


def test_a_restored_backup_is_a_journal_that_goes_on(copy, tmp_path):
    journal = tmp_path / "new" / "journal.sqlite"
    info = restore(copy, journal)
    assert (info.path, info.seq) == (journal, 50)
    assert names(journal.parent) == ["journal.sqlite", "journal.sqlite.lock"]
    with Store.open(journal) as store:
        assert store.append([event(51)])[0].seq == 51
        assert store.verify().ok
        assert store.reply("desk", "one")


def test_a_lost_journal_is_replaced_by_its_backup(path, copy):
    with Store.open(path) as store:
        store.append(events(5))
    path.unlink()
    restore(copy, path)
    with Store.open(path) as store:
        assert store.head[0] == 50


def test_nothing_is_restored_over_a_journal(path, copy):
    before = path.read_bytes()
    with pytest.raises(JournalError, match="exists: move it away"):
        restore(copy, path)
    assert path.read_bytes() == before


def test_nothing_is_restored_beside_the_log_of_another_journal(path, copy):
    path.unlink()
    path.with_name("journal.sqlite-wal").write_bytes(b"frames")
    with pytest.raises(JournalError, match=r"journal\.sqlite-wal exists"):
        restore(copy, path)


def test_nothing_is_restored_while_a_daemon_holds_the_journal(path, copy):
    with Store.open(path), pytest.raises(HeldError, match="stop it first"):
        restore(copy, path)


def test_a_journal_in_use_is_not_a_backup(path, tmp_path):
    with Store.open(path) as store:
        store.append([event(51)])
        with pytest.raises(JournalError, match="is a journal in use, not a backup"):
            restore(path, tmp_path / "new" / "journal.sqlite")


def test_a_changed_backup_is_not_restored(copy, tmp_path):
    with tampering(copy) as connection:
        connection.execute("UPDATE journal SET actor = 'eve' WHERE seq = 17")
    journal = tmp_path / "new" / "journal.sqlite"
    with pytest.raises(DamagedError, match="not a right journal at event 17"):
        restore(copy, journal)
    assert names(journal.parent) == ["journal.sqlite.lock"]


def test_what_is_no_journal_is_not_restored(tmp_path):
    journal = tmp_path / "new" / "journal.sqlite"
    with pytest.raises(JournalError, match="there is no such backup"):
        restore(tmp_path / "nothing", journal)
    (tmp_path / "text").write_text("text" * 1000)
    with pytest.raises(DamagedError, match="not a database"):
        restore(tmp_path / "text", journal)
    shutil.copy(os.devnull, tmp_path / "empty")
    with pytest.raises(JournalError, match="not a copy of a journal"):
        restore(tmp_path / "empty", journal)
    assert not journal.exists()
