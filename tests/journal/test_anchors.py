import sqlite3

import pytest
from click.testing import CliRunner

from tests.journals.make import restore
from tuner.cli.main import cli
from tuner.journal import anchor as anchors
from tuner.journal.records import NewRow
from tuner.journal.security import FILE_NAME as SECURITY
from tuner.journal.security import SecurityLog
from tuner.journal.store import FILE_NAME, Store
from tuner.wire.key_ring import KeyRing


@pytest.fixture
def state(tmp_path):
    """A state directory with a journal, security events and an anchor of each, which lies elsewhere."""
    directory = tmp_path / "state"
    restore("0.2.0", directory)
    secret = KeyRing.open(directory).server.secret.get_secret_value()
    log = SecurityLog(directory)
    for name in ("lab", "desk"):
        log.note("keys", "added", name)
    with Store.open(directory / FILE_NAME) as store:
        half = next(iter(store.rows(after=store.head[0] // 2, limit=1)))
        for seq, head in ((half.seq, half.hash), store.head):
            anchor = anchors.Anchor("2026-03-02T08:00:00Z", seq, head, *log.head)
            anchors.write(tmp_path / "anchors", anchors.sealed(anchor, secret))
    log.close()
    return directory


def verify(state):
    return CliRunner().invoke(
        cli, ["journal", "verify", "--state", str(state), "--anchor", str(state.parent / "anchors")]
    )


def rewrite(state, keep=lambda rows: rows, actor=None):
    """What somebody can do who may write the files and knows this program: other events, and all hashes right."""
    with Store.open_reading(state / FILE_NAME) as store:
        rows = [NewRow(r.campaign, r.at, r.type, r.body, actor or r.actor) for r in keep(list(store.rows()))]
    for name in (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", f"{FILE_NAME}.lock"):
        (state / name).unlink(missing_ok=True)
    with Store.open(state / FILE_NAME) as store:
        store.append(rows)


def test_a_journal_as_it_was_agrees_with_its_anchors_also_when_it_has_grown(state):
    done = verify(state)
    assert done.exit_code == 0, done.output
    assert "2 anchors" in done.output
    with Store.open(state / FILE_NAME) as store:
        store.append(
            [NewRow("press", "2027-03-03T00:02:00.000000Z", "lot_changed", '{"lot":"L","type":"lot_changed"}', "a")]
        )
    assert verify(state).exit_code == 0


def test_a_journal_written_anew_with_all_hashes_right_is_found_by_its_anchor_only(state):
    rewrite(state, actor="somebody else")
    without = CliRunner().invoke(cli, ["journal", "verify", "--state", str(state)])
    assert without.exit_code == 0, without.output
    done = verify(state)
    assert done.exit_code == 1
    assert "the journal was written anew" in done.output


def test_a_journal_that_was_cut_off_is_found_by_its_anchor(state):
    rewrite(state, keep=lambda rows: rows[:-1])
    done = verify(state)
    assert done.exit_code == 1
    assert "the journal was cut off" in done.output


def test_an_anchor_that_somebody_else_wrote_has_a_wrong_seal(state):
    path = state.parent / "anchors"
    path.write_text(path.read_text().replace("2026-03-02", "2026-03-01"))
    done = verify(state)
    assert done.exit_code == 1
    assert "its seal is wrong" in done.output


def test_without_the_daemons_secret_heads_are_compared_and_seals_are_said_to_be_unchecked(state):
    (state / "keys" / "server.secret").unlink()
    done = verify(state)
    assert done.exit_code == 0, done.output
    assert "seals were not checked" in done.output


def test_security_events_that_were_removed_at_the_end_or_begun_anew_are_found(state):
    path = state / SECURITY
    path.write_text("".join(path.read_text().splitlines(True)[:1]))
    done = verify(state)
    assert done.exit_code == 1
    assert "security events were removed" in done.output
    path.unlink()
    assert verify(state).exit_code == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no anchor yet"),
        ("{}\n", "line 1 is no anchor"),
        ('{"at":', "no anchor yet"),
        ('{"at":"x","seq":"1","head":"y"}\n', "line 1 is no anchor"),
        ("[" * 5000 + "\n", "line 1 is no anchor"),
    ],
)
def test_a_file_without_anchors_is_told_so(state, text, words):
    (state.parent / "anchors").write_text(text)
    done = verify(state)
    assert done.exit_code == 1
    assert words in done.output


@pytest.mark.parametrize("left", [7, 60, -1, -2])
def test_an_anchor_that_was_cut_off_costs_that_one_and_not_those_after_it(state, left):
    path = state.parent / "anchors"
    first, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + last[:left])
    (one, *more) = anchors.read(path)
    anchors.write(path, one)
    assert list(anchors.read(path)) == [one, *more, one]
    done = verify(state)
    assert done.exit_code == 0, done.output
    rewrite(state, actor="somebody else")
    assert "the journal was written anew" in verify(state).output


def test_an_anchor_is_written_whole_where_the_disk_takes_it_in_pieces(tmp_path, monkeypatch):
    real = anchors.os.write
    monkeypatch.setattr(anchors.os, "write", lambda fd, data: real(fd, data[:10]))
    one = anchors.Anchor("2026-03-02T08:00:00Z", 1, "abc")
    anchors.write(tmp_path / "anchors", one)
    assert list(anchors.read(tmp_path / "anchors")) == [one]


def test_sqlite_is_not_needed_to_read_an_anchor(state):
    first, last = anchors.read(state.parent / "anchors")
    assert 0 < first.seq < last.seq
    with sqlite3.connect(state / FILE_NAME) as connection:
        assert connection.execute("SELECT hash FROM journal WHERE seq = ?", (last.seq,)).fetchone()[0] == last.head
