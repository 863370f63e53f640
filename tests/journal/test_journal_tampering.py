"""What verification finds when somebody has worked on the file, and what only a head written down elsewhere finds."""

import sqlite3
from collections.abc import Callable

import pytest

from tests.journal.helpers import event, tampering
from tuner.journal import GENESIS, DamagedError, Store
from tuner.journal.chain import extend
from tuner.journal.records import NewRow


@pytest.fixture
def path(tmp_path):
    """A closed journal of two campaigns and ten events."""
    path = tmp_path / "journal.sqlite"
    with Store.open(path) as store:
        store.append([event(number, ("kiln", "press")[number % 2]) for number in range(10)])
    return path


def verdict(path, **options):
    with Store.open_reading(path) as store:
        return store.verify(**options)


def rewrite(connection: sqlite3.Connection, change: Callable[[list[NewRow]], list[NewRow]]) -> None:
    """Change the events and make all numbers, hashes and the table of campaigns anew."""
    rows = [
        NewRow(*row) for row in connection.execute("SELECT campaign, at, type, body, actor FROM journal ORDER BY seq")
    ]
    connection.execute("DELETE FROM journal")
    made = list(extend((0, GENESIS), change(rows)))
    connection.executemany(
        "INSERT INTO journal (seq, campaign, at, type, body, actor, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(row.seq, row.campaign, row.at, row.type, row.body, row.actor, row.hash) for row in made],
    )
    connection.execute("DELETE FROM campaigns")
    connection.execute(
        "INSERT INTO campaigns SELECT campaign, min(seq), max(seq), count(*) FROM journal GROUP BY campaign"
    )


def test_a_missing_event_is_found(path):
    with tampering(path) as connection:
        connection.execute("DELETE FROM journal WHERE seq = 4")
    found = verdict(path)
    assert (found.ok, found.events, found.first_bad_seq) == (False, 3, 4)
    assert found.why == "the event is missing: event 3 is followed by event 5"


def test_events_missing_at_the_end_are_found_by_the_table_of_campaigns(path):
    with tampering(path) as connection:
        connection.execute("DELETE FROM journal WHERE seq > 7")
    path.with_name("journal.sqlite.lock").unlink()
    found = verdict(path)
    assert (found.ok, found.first_bad_seq) == (False, 8)
    assert found.why == "the events up to 10 are missing at the end"


def test_events_missing_at_the_end_are_found_by_the_mark_of_the_last_writer(path):
    with tampering(path) as connection:
        connection.execute("DELETE FROM journal WHERE seq > 7")
        connection.execute("DELETE FROM campaigns")
        connection.execute(
            "INSERT INTO campaigns SELECT campaign, min(seq), max(seq), count(*) FROM journal GROUP BY campaign"
        )
    found = verdict(path)
    assert (found.ok, found.first_bad_seq) == (False, 8)
    assert found.why == "the events up to 10 are missing at the end"
    path.with_name("journal.sqlite.lock").unlink()
    assert verdict(path).ok  # without the mark, what is left is a right journal


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda rows: rows[:4] + rows[5:], "the events up to 10 are missing at the end"),
        (lambda rows: rows[:4] + rows[:1] + rows[5:], "the event is not the one that the lock file remembers"),
    ],
)
def test_a_journal_written_anew_is_found_by_the_mark_or_by_a_head_written_down_elsewhere(path, change, found):
    written_down = verdict(path).head[1]
    with tampering(path) as connection:
        rewrite(connection, change)
    assert verdict(path).why == found
    path.with_name("journal.sqlite.lock").unlink()
    assert verdict(path).ok
    assert "no event has the expected hash" in verdict(path, expect_head=written_down).why


def test_the_expected_head_may_be_older_than_the_journal(path):
    written_down = verdict(path).head[1]
    with Store.open(path) as store:
        store.append([event(11)])
    assert verdict(path, expect_head=written_down).ok
    assert verdict(path, expect_head=GENESIS).ok


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE campaigns SET count = 9 WHERE name = 'kiln'",
        "UPDATE campaigns SET first_seq = 2 WHERE name = 'kiln'",
        "DELETE FROM campaigns WHERE name = 'kiln'",
        "UPDATE campaigns SET name = CAST(x'ff' AS TEXT) WHERE name = 'kiln'",
    ],
)
def test_a_table_of_campaigns_that_does_not_fit_the_journal_is_found(path, statement):
    with tampering(path) as connection:
        connection.execute(statement)
    found = verdict(path)
    assert (found.ok, found.events, found.first_bad_seq) == (False, 10, None)
    assert "the table of campaigns is wrong" in found.why


@pytest.mark.parametrize(
    "change", ["", "CREATE TRIGGER journal_keeps_its_rows BEFORE DELETE ON journal BEGIN SELECT 1; END"]
)
def test_a_trigger_that_was_taken_away_or_changed_is_found(path, change):
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER journal_keeps_its_rows")
    if change:
        connection.execute(change)
    connection.close()
    assert "journal_keeps_its_rows" in verdict(path).why


def test_an_index_that_does_not_fit_its_table_is_found(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute("UPDATE sqlite_schema SET sql = 'CREATE INDEX journal_by_campaign ON journal (actor)'"
                       " WHERE name = 'journal_by_campaign'")  # fmt: skip
    connection.close()
    found = verdict(path)
    assert not found.ok
    assert "integrity check" in found.why


def test_a_page_that_cannot_be_read_is_found_with_the_first_event_on_it(tmp_path):
    path = tmp_path / "journal.sqlite"
    with Store.open(path) as store:
        store.append([event(number) for number in range(200)])
    data = bytearray(path.read_bytes())
    start = data.index(b'{"number":99}') // 4096 * 4096
    data[start] = 0xEE  # no kind of page
    path.write_bytes(data)
    found = verdict(path)
    assert "SQLite cannot read the event" in found.why
    assert 1 < found.first_bad_seq <= 100
    assert found.first_bad_seq == found.events + 1


def test_reading_a_damaged_event_is_a_sentence(path):
    with tampering(path) as connection:
        connection.execute("UPDATE journal SET body = CAST(x'ff' AS TEXT) WHERE seq = 4")
    with Store.open_reading(path) as store, pytest.raises(DamagedError, match="see `tuner journal verify`"):
        list(store.rows())


def test_verification_tells_how_far_it_is(path, tmp_path):
    told = []
    verdict(path, progress=lambda done, total: told.append((done, total)))
    assert told == [(10, 10)]
    with Store.open(tmp_path / "large.sqlite") as store:
        store.append([event(0)] * 25_000)
        told.clear()
        store.verify(lambda done, total: told.append((done, total)))
    assert told == [(10_000, 25_000), (20_000, 25_000), (25_000, 25_000)]


def test_verification_sees_one_moment_while_the_writer_appends(path):
    with Store.open(path) as writer, Store.open_reading(path) as reader:
        writer.append([event(0)] * 12_000)
        during = []

        def append(_done: int, _total: int) -> None:
            during.append(writer.append([event(1, "oven")])[0].seq)

        found = reader.verify(append)
        assert found.ok
        assert found.events == 12_010
        assert during == [12_011, 12_012]
        assert reader.verify().events == 12_012
