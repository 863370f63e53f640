"""For any history: it verifies, it is given back, and one changed byte is found."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.journal.helpers import tampering
from tuner.journal import DuplicateRequestError, JournalError, NewRow, Reply, Store
from tuner.journal.chain import link

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)  # every character that UTF-8 has
ROWS = st.builds(NewRow, st.sampled_from(["kiln", "press", ""]) | TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)
COLUMNS = ("campaign", "at", "type", "body", "actor", "hash")


def opened(path: Path) -> Store:
    """Open a journal that does not wait for the disk: hundreds of them are made here, and no power is cut."""
    store = Store.open(path)
    store._db.execute("PRAGMA synchronous=OFF")
    return store


@contextmanager
def a_journal() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory) / "journal.sqlite"


@given(st.lists(st.lists(ROWS, max_size=5) | st.just("open again"), max_size=8))
def test_any_appends_are_given_back_and_verify(steps):
    with a_journal() as path:
        store = opened(path)
        appended = []
        for step in steps:
            if step == "open again":
                store.close()
                store = opened(path)
            else:
                appended += store.append(step)
        verdict = store.verify()
        assert verdict.ok
        assert verdict.head == store.head
        assert list(store.rows()) == appended
        assert [row.seq for row in appended] == list(range(1, len(appended) + 1))
        for campaign in store.campaigns():
            seqs = [row.seq for row in appended if row.campaign == campaign.name]
            assert (campaign.first_seq, campaign.last_seq, campaign.count) == (seqs[0], seqs[-1], len(seqs))
        assert {row.name for row in store.campaigns()} == {row.campaign for row in appended}
        store.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A journal of seven events without a lock file, for many copies."""
    path = tmp_path_factory.mktemp("template") / "journal.sqlite"
    with Store.open(path) as store:
        store.append([NewRow(f"campaign {n % 2}", f"2026-0{n + 1}", "judged", f'{{"n":{n}}}', "ada") for n in range(7)])
    return path


@given(st.integers(1, 7), st.sampled_from(COLUMNS), st.data())
def test_any_single_changed_byte_of_an_event_is_found(template, seq, column, data):
    with a_journal() as path:
        shutil.copyfile(template, path)
        with tampering(path) as connection:
            select = f"SELECT CAST({column} AS BLOB) FROM journal WHERE seq = ?"  # noqa: S608 - our own names
            (old,) = connection.execute(select, (seq,)).fetchone()
            position = data.draw(st.integers(0, len(old) - 1))
            byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != old[position]))
            new = old[:position] + bytes([byte]) + old[position + 1 :]
            update = f"UPDATE journal SET {column} = CAST(? AS TEXT) WHERE seq = ?"  # noqa: S608 - our own names
            connection.execute(update, (new, seq))
        with Store.open_reading(path) as store:
            verdict = store.verify()
        assert not verdict.ok
        assert verdict.first_bad_seq == seq
        assert verdict.events == seq - 1


@given(st.integers(1, 7), st.integers(-(2**63), 2**63 - 1).filter(lambda number: not 1 <= number <= 7))
def test_any_changed_number_of_an_event_is_found(template, seq, number):
    with a_journal() as path:
        shutil.copyfile(template, path)
        with tampering(path) as connection:
            connection.execute("UPDATE journal SET seq = ? WHERE seq = ?", (number, seq))
        with Store.open_reading(path) as store:
            assert not store.verify().ok


@given(st.data())
def test_any_changed_byte_of_the_file_is_found_or_does_no_harm(template, data):
    content = bytearray(template.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    with Store.open_reading(template) as store:
        rows = list(store.rows())
    with a_journal() as path:
        path.write_bytes(content)
        with suppress(JournalError), Store.open_reading(path) as store:
            if store.verify().ok:  # unused space, or a counter that SQLite does not need
                assert list(store.rows()) == rows


@given(st.permutations(range(1, 8)).filter(lambda order: list(order) != list(range(1, 8))))
def test_any_other_order_of_events_is_found(template, order):
    with a_journal() as path:
        shutil.copyfile(template, path)
        with tampering(path) as connection:
            rows = connection.execute("SELECT * FROM journal ORDER BY seq").fetchall()
            connection.execute("DELETE FROM journal")
            for number, source in enumerate(order, 1):
                connection.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *rows[source - 1][1:]))
        with Store.open_reading(path) as store:
            verdict = store.verify()
        assert verdict.first_bad_seq == next(n for n, source in enumerate(order, 1) if n != source)


@given(st.lists(st.tuples(st.sampled_from("abcd"), TEXTS, TEXTS), max_size=12))
def test_the_first_reply_to_a_request_is_given_for_ever(requests):
    first: dict[str, Reply] = {}
    events = 0
    with a_journal() as path, opened(path) as store:
        for request_id, digest, text in requests:
            reply = Reply("desk", request_id, digest, text, "2026")
            row = NewRow("kiln", "2026", "judged", text, "ada")
            if request_id in first:
                with pytest.raises(DuplicateRequestError):
                    store.append([row], [reply])
            else:
                store.append([row], [reply])
                first[request_id] = reply
                events += 1
            assert {name: store.reply("desk", name) for name in first} == first
            assert store.head[0] == events


@given(st.lists(st.binary(max_size=6), min_size=6, max_size=6), st.lists(st.binary(max_size=6), min_size=6, max_size=6))
def test_two_different_events_never_have_the_same_encoding(one, two):
    same = link(one[0], 1, *one[1:]) == link(two[0], 1, *two[1:])
    assert same == (one == two)
