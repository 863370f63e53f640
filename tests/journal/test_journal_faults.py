"""Killed processes, power cuts and full disks: what was acknowledged is there."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journal.helpers import answer, event, events
from tuner.journal import DiskFullError, Store

ROOT = Path(__file__).parents[2]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT)


def lines_of(*arguments: str) -> list[dict]:
    with start(*arguments) as child:
        out, _ = child.communicate(timeout=1000)
    assert child.returncode == 0
    return [json.loads(line) for line in out.splitlines()]


def test_whatever_a_killed_process_acknowledged_is_there(tmp_path):
    path = tmp_path / "journal.sqlite"
    rng = random.Random(4)  # noqa: S311 - the moment to kill
    for _ in range(6):
        with start("tests.journal.appender", str(path), "forever") as child:
            told = [child.stdout.readline() for _ in range(rng.randint(1, 60))]
            child.kill()
            # told before it died; the last line may be torn
            told += [line for line in child.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        assert child.returncode == -9
        acknowledged = [json.loads(line) for line in told]
        with Store.open_reading(path) as store:  # also before a writer has recovered the log
            assert store.head[0] >= acknowledged[-1]["seq"]
        with Store.open(path) as store:
            assert store.verify().ok
            kept = {row.seq: row.hash for row in store.rows()}
            for line in acknowledged:
                assert kept[line["seq"]] == line["hash"]
                assert store.reply("desk", line["request"]) == answer(line["request"])


def test_power_cuts_lose_nothing_that_was_acknowledged():
    (found,) = lines_of("tests.journal.powercut", "2", "150", "as-opened")
    assert found["cuts"] > 30
    assert found["restarted_logs"] > 5
    assert found["acknowledged"] > 1000
    assert (found["lost"], found["wrong"]) == (0, 0)


@pytest.mark.slow
def test_the_simulated_power_cuts_do_find_a_journal_that_does_not_wait_for_the_disk():
    (found,) = lines_of("tests.journal.powercut", "2", "150", "NORMAL")
    assert found["lost"] > 0
    (found,) = lines_of("tests.journal.powercut", "2", "150", "OFF")
    assert found["lost"] > 0
    assert found["wrong"] > 0


@pytest.mark.slow
def test_hundreds_of_power_cuts_lose_nothing_that_was_acknowledged():
    (found,) = lines_of("tests.journal.powercut", "3", "1500", "as-opened")
    assert found["cuts"] > 350
    assert (found["lost"], found["wrong"]) == (0, 0)


def test_the_writer_waits_for_the_disk_at_every_commit(tmp_path):
    with Store.open(tmp_path / "journal.sqlite") as store:
        assert store._db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert store._db.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL


def test_a_full_disk_stores_nothing_and_the_next_append_with_room_succeeds(tmp_path):
    path = tmp_path / "journal.sqlite"
    with Store.open(path) as store:
        store.append(events(10))
        head = store.head
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count={pages + 2}")
        with pytest.raises(DiskFullError, match="disk is full, nothing was stored") as caught:
            store.append(events(1000, "press"), [answer("one")])
        assert caught.value.__cause__.sqlite_errorname == "SQLITE_FULL"
        assert caught.value.exit_code == 75
        assert store.head == head
        assert store.reply("desk", "one") is None
        assert [row.name for row in store.campaigns()] == ["kiln"]
        store.append([event(10)])  # a small one still fits
        store._db.execute("PRAGMA max_page_count=1000000")
        store.append(events(1000, "press"), [answer("one")])
        assert store.verify().events == 1011


def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path):
    path = tmp_path / "journal.sqlite"
    *failures, last = lines_of("tests.journal.appender", str(path), "full")
    assert [line["cause"] for line in failures] == ["SQLITE_IOERR_WRITE"] * 3
    heads = [line["head"] for line in failures]
    assert heads[0] == heads[-1]
    assert last["head"][0] == heads[0][0] + 1
    with Store.open(path) as store:
        assert list(store.head) == last["head"]
        assert store.verify().ok


def test_a_backup_that_does_not_fit_leaves_nothing_behind(tmp_path):
    failure, done = lines_of("tests.journal.appender", str(tmp_path / "journal.sqlite"), "backup")
    assert "the disk is full" in failure["failure"]
    assert failure["left"] == []
    assert done == {"seq": 2000}
