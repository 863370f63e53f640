"""What goes in comes out, in one transaction or not at all."""

import sqlite3
import threading

import pytest

from tests.journal.helpers import AT, answer, event, events
from tuner.journal import (
    GENESIS,
    CampaignRow,
    DuplicateRequestError,
    JournalError,
    NewRow,
    Reply,
    Row,
    Store,
    canonical,
)
from tuner.journal.chain import link


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "journal.sqlite"


@pytest.fixture
def store(path):
    with Store.open(path) as opened:
        yield opened


def test_a_new_journal_is_empty(store):
    assert store.head == (0, GENESIS)
    assert list(store.rows()) == []
    assert store.campaigns() == []
    assert store.verify().ok


def test_events_are_numbered_from_one_over_all_campaigns(store):
    first = store.append([event(1), event(2, "press")])
    second = store.append([event(3)])
    assert [row.seq for row in first + second] == [1, 2, 3]
    assert list(store.rows()) == first + second
    assert store.head == (3, second[-1].hash)


def test_the_hash_covers_the_event_and_the_hash_before_it(store):
    one, two = store.append([event(1), event(2)])
    texts = [text.encode() for text in (two.campaign, two.at, two.type, two.body, two.actor)]
    assert two.hash == link(one.hash.encode(), 2, *texts)
    assert one.hash == link(GENESIS.encode(), 1, b"kiln", AT.encode(), b"proposed", b'{"number":1}', b"ada")


def test_the_hash_of_a_known_event_never_changes():
    # computed with sha256sum from the documented encoding: seven lengths of eight bytes, then the texts
    expected = "44fa8548dd2950746105b42f4763d823de5542bfc6d82c5dc2df665458baf314"
    assert link(GENESIS.encode(), 1, b"kiln", b"2026", b"proposed", b"{}", b"ada") == expected


def test_text_moved_from_one_column_to_the_next_changes_the_hash():
    assert link(b"", 1, b"ab", b"c", b"", b"", b"") != link(b"", 1, b"a", b"bc", b"", b"", b"")


def test_events_and_replies_are_stored_together_or_not_at_all(store):
    store.append([event(1)], [answer("one")])
    before = (store.head, store.campaigns())
    with pytest.raises(DuplicateRequestError, match="one has been answered already"):
        store.append([event(2), event(3, "press")], [answer("two"), answer("one")])
    assert (store.head, store.campaigns()) == before
    assert store.reply("desk", "two") is None
    assert store.append([event(2)])[0].seq == 2


def test_a_reply_is_given_again(store, path):
    reply = Reply("desk", "one", "digest", '{"text":"gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n"}', AT)
    assert store.append([], [reply]) == []
    assert store.reply("desk", "one") == reply
    assert store.reply("desk", "two") is None
    store.close()
    with Store.open(path) as again:
        assert again.reply("desk", "one") == reply


def test_appending_nothing_changes_nothing(store):
    assert store.append([]) == []
    assert store.head == (0, GENESIS)


def test_rows_of_one_campaign_come_in_their_order_after_a_number(store):
    store.append([event(number, ("kiln", "press")[number % 2]) for number in range(3000)])
    rows = list(store.rows(campaign="press", after=100))
    assert [row.seq for row in rows] == list(range(102, 3001, 2))
    assert [row.seq for row in store.rows(after=2990)] == list(range(2991, 3001))
    assert [row.seq for row in store.rows(limit=1500)] == list(range(1, 1501))
    assert [row.seq for row in store.rows(campaign="kiln", after=10, limit=2)] == [11, 13]
    assert list(store.rows(limit=0)) == []
    assert list(store.rows(campaign="oven")) == []


def test_events_appended_while_rows_are_read_are_read_too(store):
    store.append(events(1500))
    reading = store.rows()
    assert next(reading).seq == 1
    store.append(events(10))
    assert sum(1 for _ in reading) == 1509


def test_a_campaigns_events_are_found_by_the_index(store):
    plan = store._db.execute(
        "EXPLAIN QUERY PLAN SELECT * FROM journal WHERE campaign = ? AND seq > ? ORDER BY seq LIMIT ?", ("kiln", 1, 1)
    ).fetchall()
    assert "journal_by_campaign (campaign=? AND rowid>?)" in str(plan)
    assert "TEMP B-TREE" not in str(plan)


def test_pages_go_from_the_newest_to_the_oldest(store):
    store.append([event(number, ("kiln", "press")[number % 2]) for number in range(10)])
    assert [row.seq for row in store.page("kiln", None, 2)] == [9, 7]
    assert [row.seq for row in store.page("kiln", 7, 10)] == [5, 3, 1]
    assert [row.seq for row in store.page(None, 4, 2)] == [3, 2]
    assert store.page("kiln", 1, 10) == []
    assert store.page("kiln", None, 0) == []


def test_a_part_is_counted_by_the_campaigns_own_events(store):
    store.append([event(number, ("kiln", "press")[number % 2]) for number in range(10)])
    assert [row.seq for row in store.part("press", 1, 2)] == [2, 4]
    assert [row.seq for row in store.part("press", 4, 10)] == [8, 10]
    assert store.part("press", 6, 10) == []
    assert store.part("press", 1, 0) == []


def test_the_table_of_campaigns_follows_the_journal(store):
    store.append([event(1, "press"), event(2), event(3, "press")])
    store.append([event(4)])
    assert store.campaigns() == [CampaignRow("press", 1, 3, 2), CampaignRow("kiln", 2, 4, 2)]


def test_the_newest_snapshot_is_given_and_two_are_kept(store):
    store.append(events(5))
    assert store.snapshot("kiln") is None
    for seq in (1, 3, 4):
        store.save_snapshot("kiln", seq, canonical({"at": seq}))
    found = store.snapshot("kiln")
    assert (found.seq, found.state) == (4, '{"at":4}')
    assert found.journal_hash == list(store.rows())[3].hash
    assert store._db.execute("SELECT seq FROM snapshots ORDER BY seq").fetchall() == [(3,), (4,)]
    store.save_snapshot("kiln", 4, "{}")
    assert store.snapshot("kiln").state == "{}"
    assert store.snapshot("press") is None


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE snapshots SET state = '{\"at\":5}' WHERE seq = 4",
        "UPDATE snapshots SET state = CAST(x'ff' AS TEXT) WHERE seq = 4",
        "UPDATE snapshots SET journal_hash = (SELECT hash FROM journal WHERE seq = 3) WHERE seq = 4",
        "UPDATE snapshots SET digest = 'x' WHERE seq = 4",
        "UPDATE snapshots SET seq = 5 WHERE seq = 4",
        "UPDATE snapshots SET seq = 99 WHERE seq = 4",
    ],
)
def test_a_damaged_snapshot_is_passed_over(store, damage):
    store.append(events(5))
    store.save_snapshot("kiln", 3, '{"at":3}')
    store.save_snapshot("kiln", 4, '{"at":4}')
    store._db.execute(damage)
    assert store.snapshot("kiln").state == '{"at":3}'


def test_there_is_no_snapshot_of_an_event_that_is_not_there(store):
    store.append(events(5))
    with pytest.raises(JournalError, match="there is no such event"):
        store.save_snapshot("kiln", 6, "{}")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET body = '{}' WHERE seq = 2",
        "DELETE FROM journal WHERE seq = 3",
        "DELETE FROM journal",
        "INSERT OR REPLACE INTO journal SELECT seq, campaign, at, type, '{}', actor, hash FROM journal WHERE seq = 2",
        "INSERT INTO journal SELECT 5, campaign, at, type, body, actor, hash FROM journal WHERE seq = 3",
        "INSERT INTO journal (campaign, at, type, body, actor, hash) VALUES ('', '', '', '', '', '')",
    ],
)
def test_the_journal_is_append_only_whoever_writes(store, path, statement):
    kept = store.append(events(3))
    connection = sqlite3.connect(path)
    try:
        with pytest.raises(sqlite3.IntegrityError, match="the journal is append-only"):
            connection.execute(statement)
    finally:
        connection.close()
    assert list(store.rows()) == kept


def test_a_value_of_another_kind_is_refused_and_nothing_is_stored(store):
    with pytest.raises(JournalError, match=r"cannot store BLOB value in TEXT column journal\.body"):
        store.append([NewRow("kiln", AT, "proposed", _Blob("{}"), "ada")])
    assert store.head == (0, GENESIS)


class _Blob(str):
    """A text that gives SQLite a blob."""

    __slots__ = ()

    def __conform__(self, _protocol):
        return b"\xff"


def test_text_that_is_no_unicode_is_refused_with_a_sentence(store):
    with pytest.raises(JournalError, match="characters that cannot be stored"):
        store.append([NewRow("kiln", AT, "proposed", "{}", "\udc80")])
    assert store.head == (0, GENESIS)


def test_a_reader_sees_what_the_writer_appends_and_cannot_write(store, path):
    store.append([event(1)])
    with Store.open_reading(path) as reader:
        assert reader.head[0] == 1
        store.append([event(2)])
        assert reader.head == store.head
        for write in (
            lambda: reader.append([event(3)]),
            lambda: reader.save_snapshot("kiln", 1, "{}"),
            lambda: reader.prune_replies(1.0),
        ):
            with pytest.raises(JournalError, match="is not open for writing"):
                write()
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader._db.execute("DELETE FROM replies")


def test_a_reader_that_closes_leaves_the_log_to_the_writer(store, path):
    store.append([event(1)])
    log = path.with_name("journal.sqlite-wal")
    before = log.read_bytes()
    with Store.open_reading(path) as reader:
        assert reader.verify().ok
    assert log.read_bytes() == before


def test_a_store_belongs_to_the_thread_that_opened_it(store):
    caught = []

    def work() -> None:
        try:
            store.append([event(1)])
        except JournalError as error:
            caught.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "thread" in caught[0]
    assert store.append([event(1)])[0].seq == 1


def test_canonical_json_has_sorted_keys_no_blanks_and_no_nan():
    assert (
        canonical({"b": [1, 2.5], "a": "\N{GREEK SMALL LETTER ALPHA}"})
        == '{"a":"\N{GREEK SMALL LETTER ALPHA}","b":[1,2.5]}'
    )
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"a": float("nan")})


def test_rows_are_frozen():
    with pytest.raises(AttributeError):
        Row(1, "", "", "", "", "", "").seq = 2
