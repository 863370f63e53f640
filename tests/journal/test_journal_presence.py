"""Files that are removed or replaced under a journal that is open for writing."""

import os
import shutil

import pytest

from tests.journal.helpers import answer, event, events
from tuner.journal import DamagedError, LostError, Store
from tuner.journal.lock import Mark, read_mark
from tuner.journal.presence import SUFFIXES


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_removed_file_is_noticed_at_the_next_commit(path, suffix):
    with Store.open(path) as store:
        store.append(events(3))
        head = store.head
        os.unlink(f"{path}{suffix}")  # noqa: PTH108 - by the name that the store has for it
        with pytest.raises(LostError, match=f"{path}{suffix} was removed under the running daemon"):
            store.append([event(4)], [answer("one")])
        assert store.head == head
        with pytest.raises(LostError):
            store.append([event(5)])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_replaced_file_is_noticed_at_the_next_commit(path, suffix):
    with Store.open(path) as store:
        store.append(events(3))
        shutil.copyfile(f"{path}{suffix}", f"{path}.copy")
        os.replace(f"{path}.copy", f"{path}{suffix}")  # noqa: PTH105 - as above
        with pytest.raises(LostError, match=f"{path}{suffix} was replaced"):
            store.append([event(4)])


def test_a_directory_that_was_moved_is_noticed(tmp_path):
    path = tmp_path / "state" / "journal.sqlite"
    with Store.open(path) as store:
        store.append(events(3))
        path.parent.rename(tmp_path / "elsewhere")
        with pytest.raises(LostError):
            store.append([event(4)])


def test_every_write_notices_it(path):
    with Store.open(path) as store:
        store.append(events(3))
        path.unlink()
        for write in (
            lambda: store.save_snapshot("kiln", 1, "{}"),
            lambda: store.prune_replies(1.0),
        ):
            with pytest.raises(LostError):
                write()


def test_the_next_opening_does_not_begin_a_new_journal_in_silence(path):
    """Also where the journal was new: the mark of an empty journal would miss nothing."""
    store = Store.open(path)
    store.append(events(3))
    head = store.head
    for suffix in ("", "-wal", "-shm"):
        os.unlink(f"{path}{suffix}")  # noqa: PTH108 - as above
    with pytest.raises(LostError):
        store.append(events(1))
    assert read_mark(path) == Mark(False, *head)
    store._db.close()
    store._lock.release()
    with pytest.raises(DamagedError, match="is gone or empty, but it had 3 events"):
        Store.open(path)


def test_readers_checkpoints_and_backups_do_not_look_like_a_loss(path, tmp_path):
    with Store.open(path) as store:
        for number in range(30):
            store.append([event(number)] * 200)
            with Store.open_reading(path) as reader:
                assert reader.verify().ok
        store.backup(tmp_path / "copy.sqlite")
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert store.append([event(1)])
