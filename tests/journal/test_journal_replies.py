"""The exactly-once memory: whose it is, how long it lasts, and that nobody changes it unnoticed."""

import pytest

from tests.journal.helpers import AT, answer, event, tampering
from tests.journals.make import expected, restore
from tuner.journal import GENESIS, DuplicateRequestError, Reply, Store, tables
from tuner.journal.chain import chained

DAY_S = 86_400.0


class Clock:
    """A monotonic clock that is wound by hand."""

    def __init__(self) -> None:
        self.now_s = 1e6

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def path(tmp_path):
    """A closed journal with five replies of two keys."""
    path = tmp_path / "journal.sqlite"
    with Store.open(path) as store:
        for number in range(5):
            store.append([event(number)], [answer(f"request {number}", ("desk", "panel")[number % 2])])
    return path


def why(path) -> str:
    with Store.open_reading(path) as store:
        return store.verify().why


def test_an_id_belongs_to_its_owner(path):
    with Store.open(path) as store:
        assert store.reply("desk", "request 0") == answer("request 0", "desk")
        assert store.reply("panel", "request 0") is None
        store.append([], [answer("request 0", "panel")])
        with pytest.raises(DuplicateRequestError):
            store.append([], [answer("request 0", "desk")])
        assert store.verify().ok


def test_the_hash_covers_the_reply_and_the_hash_before_it(path):
    with Store.open(path) as store:
        rows = store._db.execute("SELECT * FROM replies ORDER BY n").fetchall()
    before = GENESIS
    for n, owner, request_id, digest, reply, at, ran_s, hash_ in rows:
        parts = [str(part).encode() for part in (before, n, owner, request_id, digest, reply, at, ran_s)]
        assert hash_ == chained(*parts)
        before = hash_


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE replies SET reply = '{}' WHERE n = 3", "the reply 3 or its hash was changed"),
        ("UPDATE replies SET owner = 'eve' WHERE n = 1", "the reply 1 or its hash was changed"),
        ("UPDATE replies SET ran_s = 9 WHERE n = 5", "the reply 5 or its hash was changed"),
        ("UPDATE replies SET at = CAST(x'ff' AS TEXT) WHERE n = 2", "the reply 2 or its hash was changed"),
        ("DELETE FROM replies WHERE n = 1", "the reply 1 is missing"),
        ("DELETE FROM replies WHERE n = 3", "the reply 3 is missing"),
        ("DELETE FROM replies WHERE n > 3", "the replies 4 to 5 are missing at the end"),
        ("DELETE FROM replies", "the replies 1 to 5 are missing at the end"),
        ("DELETE FROM reply_ends", "the reply 1 or its hash was changed"),
        ("DROP TABLE reply_ends", "SQLite cannot read the replies"),
        ("INSERT INTO replies SELECT 6, owner, 'new', digest, reply, at, ran_s, hash FROM replies WHERE n = 5",
         "the reply 6 or its hash was changed"),
        ("UPDATE reply_ends SET last = 4", "the reply 5 was added"),
        ("UPDATE reply_ends SET forgotten = 1", "the reply 2 is missing"),
    ],
)  # fmt: skip
def test_a_changed_removed_or_inserted_reply_is_found(path, statement, found):
    assert why(path) == ""
    with tampering(path) as connection:
        connection.execute(statement)
    assert why(path).startswith(found)


def test_a_reply_is_forgotten_after_daemons_have_run_so_long_and_its_chain_goes_on(tmp_path):
    clock = Clock()
    with Store.open(tmp_path / "journal.sqlite", monotonic=clock) as store:
        for day in range(10):
            store.append([event(day)], [answer(f"day {day}")])
            clock.now_s += DAY_S
        assert store.prune_replies(7 * DAY_S) == 3
        assert store.prune_replies(7 * DAY_S) == 0
        assert store.reply("desk", "day 2") is None
        assert store.reply("desk", "day 3") == answer("day 3")
        assert store.head[0] == 10
        assert store.verify().ok
        store.append([], [answer("day 2")])
        assert store.verify().ok
    with Store.open(tmp_path / "journal.sqlite") as store:
        assert store.verify().ok
    with tampering(tmp_path / "journal.sqlite") as connection:
        connection.execute("DELETE FROM replies WHERE n = 4")
    assert why(tmp_path / "journal.sqlite").startswith("the reply 4 is missing")


def test_the_time_of_earlier_daemons_counts_and_the_time_between_them_does_not(tmp_path):
    clock = Clock()
    for run in range(5):
        with Store.open(tmp_path / "journal.sqlite", monotonic=clock) as store:
            clock.now_s += 2 * DAY_S
            store.append([], [answer(f"run {run}")])
            assert store.prune_replies(7 * DAY_S) == (1 if run == 4 else 0)
        clock.now_s = 50.0  # the computer was off, or started anew
    with Store.open(tmp_path / "journal.sqlite", monotonic=clock) as store:
        assert store.reply("desk", "run 0") is None
        assert store.reply("desk", "run 1")


def test_all_replies_may_be_forgotten(tmp_path):
    clock = Clock()
    with Store.open(tmp_path / "journal.sqlite", monotonic=clock) as store:
        store.append([], [answer("one"), answer("two")])
        clock.now_s += 8 * DAY_S
        assert store.prune_replies(7 * DAY_S) == 2
        assert store.verify().ok
    with Store.open(tmp_path / "journal.sqlite") as store:
        store.append([], [answer("one")])
        assert store.verify().ok


def test_the_replies_of_0_1_0_are_taken_over_and_count_for_the_very_same_request_only(tmp_path):
    path = restore("0.1.0", tmp_path)
    with Store.open_reading(path) as store:  # as it is: verified before anything is changed
        assert store.verify().ok
        old = store._db.execute("SELECT * FROM replies ORDER BY rowid").fetchall()
    assert len(old) == expected("0.1.0")["replies"]
    with Store.open(path) as store:
        assert tables.check_version(store._db, "") == frozenset()
        assert store.verify().ok
        for request_id, digest, reply, at in old:
            assert store.reply("anybody", request_id, digest) == Reply("", request_id, digest, reply, at)
            assert store.reply("anybody", request_id, "another") is None
        store.append([], [Reply("desk", old[0][0], "another", "{}", AT)])  # the id of another key poisons nothing
        assert store.reply("desk", old[0][0], old[0][1]).digest == "another"
        assert store.verify().ok
    with tampering(path) as connection:
        connection.execute("UPDATE replies SET reply = '[]' WHERE n = 7")
    assert why(path).startswith("the reply 7 or its hash was changed")


def test_a_reply_is_found_by_its_index(path):
    with Store.open(path) as store:
        plan = store._db.execute(
            "EXPLAIN QUERY PLAN SELECT reply FROM replies WHERE owner IN (?, ?) AND request_id = ? ORDER BY owner DESC",
            ("desk", "", "one"),
        ).fetchall()
    assert "(owner=? AND request_id=?)" in str(plan)
