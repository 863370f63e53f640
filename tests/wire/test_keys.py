import json
import os
import stat
import time
from datetime import UTC, datetime

import pytest

from tuner.basics.vocabulary import Role
from tuner.wire import keyfiles
from tuner.wire.key_ring import KeyRing
from tuner.wire.keyfiles import ClientKey, KeyFileError


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def ring(state):
    return KeyRing.open(state, now=lambda: datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_all_files_and_directories_are_for_their_owner_only_whatever_the_umask(state, tmp_path):
    before = os.umask(0)
    try:
        KeyRing.open(state).new("desk", "viewer").save(tmp_path / "desk.tuner-key")
    finally:
        os.umask(before)
    made = [state, *state.rglob("*"), tmp_path / "desk.tuner-key"]
    assert {path.name for path in made} >= {"keys", "clients", "server.key", "server.secret", "desk.key"}
    for path in made:
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_a_new_key_is_known_with_its_role_and_its_secret_is_not_kept(ring, state):
    key = ring.new("desk", "operator", requests="tcp://host:5555")
    assert ring.role_of(key.public) == ring.role_of(key.public.encode()) == ("desk", "operator")
    assert key.server == ring.server.public
    secret = key.secret.get_secret_value()
    assert len(secret) == 40
    assert all(secret not in path.read_text() for path in state.rglob("*") if path.is_file())
    (known,) = ring.list()
    assert (known.name, known.role, known.created, known.revoked) == ("desk", "operator", "2026-05-04T03:02:01Z", None)


def test_a_client_needs_exactly_one_file(ring, tmp_path):
    key = ring.new("desk", "viewer", requests="tcp://host:5555", events="tcp://host:5556")
    key.save(tmp_path / "desk.tuner-key")
    assert ClientKey.load(tmp_path / "desk.tuner-key") == key


def test_a_secret_is_shown_neither_by_repr_nor_by_an_error(ring, tmp_path):
    key = ring.new("desk", "viewer")
    secret = key.secret.get_secret_value()
    assert secret not in repr(key)
    path = tmp_path / "k"
    key.save(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "role": secret}))
    with pytest.raises(KeyFileError, match=r"\(see role\)") as caught:
        ClientKey.load(path)
    assert secret not in str(caught.value)


def test_a_secret_that_others_can_read_is_refused_in_a_sentence(ring, state, tmp_path):
    path = tmp_path / "desk.tuner-key"
    ring.new("desk", "viewer").save(path)
    path.chmod(0o640)
    with pytest.raises(KeyFileError, match=r"other users may use it \(mode 0640\).*chmod 600"):
        ClientKey.load(path)
    (state / "keys" / "server.secret").chmod(0o604)
    with pytest.raises(KeyFileError, match="is secret, but other users"):
        KeyRing.open(state)


def test_the_daemons_key_stays_the_same(ring, state):
    assert KeyRing.open(state).server == ring.server
    assert json.loads((state / "keys" / "server.key").read_text()) == {"public": ring.server.public}


def test_a_lost_secret_is_not_replaced_in_silence(ring, state):
    (state / "keys" / "server.secret").unlink()
    with pytest.raises(KeyFileError, match="restore it from a backup"):
        KeyRing.open(state)


def test_reading_only_makes_nothing(state):
    with pytest.raises(KeyFileError, match="cannot be read"):
        KeyRing.open(state, create=False)
    assert not state.exists()


def test_a_revoked_key_is_not_accepted_and_its_name_stays_taken(ring):
    key = ring.new("desk", "viewer")
    assert ring.revoke("desk").revoked == "2026-05-04T03:02:01Z"
    assert ring.role_of(key.public) is None
    assert ring.revoke("desk").revoked == "2026-05-04T03:02:01Z"
    with pytest.raises(KeyFileError, match="a name stays taken"):
        ring.new("desk", "viewer")


def test_revoking_what_is_not_there_is_an_error(ring):
    with pytest.raises(KeyFileError, match='no key "desk"'):
        ring.revoke("desk")


def test_another_process_is_noticed_when_it_adds_revokes_or_removes(ring, state):
    other = KeyRing.open(state)
    assert not other.reload_if_changed()
    key = ring.new("desk", "viewer")
    assert other.role_of(key.public) is None
    assert other.reload_if_changed()
    assert other.role_of(key.public) == ("desk", "viewer")
    ring.revoke("desk")
    assert other.reload_if_changed()
    assert other.role_of(key.public) is None
    (state / "keys" / "clients" / "desk.key").unlink()
    assert other.reload_if_changed()
    assert other.list() == ()


@pytest.fixture
def later(monkeypatch):
    """Clocks that stand still, and go on by so many seconds when it is called."""
    now = {"wall": time.time_ns(), "steady": time.monotonic()}
    monkeypatch.setattr("tuner.wire.key_ring.time.time_ns", lambda: now["wall"])
    monkeypatch.setattr("tuner.wire.key_ring.time.monotonic", lambda: now["steady"])

    def go_on(seconds):
        now["wall"] += int(seconds * 1e9)
        now["steady"] += seconds

    return go_on


def test_what_is_asked_for_every_request_looks_at_no_file_while_nothing_changes(ring, state, later, monkeypatch):
    key, looks = ring.new("desk", "viewer"), []
    later(60)
    ring.refresh()
    monkeypatch.setattr(KeyRing, "_look", lambda ring: looks.append(1))
    for _ in range(100):
        ring.refresh()
    assert looks == []
    assert ring.role_of(key.public) == ("desk", "viewer")


def test_a_revoked_key_is_noticed_by_the_very_next_request_however_soon_after_another_change(ring, state, later):
    other = KeyRing.open(state)
    for number in range(50):
        key = ring.new(f"desk{number}", "viewer")
        other.refresh()
        assert other.role_of(key.public)
        ring.revoke(f"desk{number}")
        other.refresh()
        assert other.role_of(key.public) is None


def test_a_key_revoked_when_nothing_happened_for_long_is_noticed_by_the_very_next_request(ring, state, later):
    other = KeyRing.open(state)
    key = ring.new("desk", "viewer")
    for _ in range(3):
        later(60)
        other.refresh()
    assert other.role_of(key.public)
    ring.revoke("desk")
    other.refresh()
    assert other.role_of(key.public) is None


def test_a_file_changed_in_place_and_a_directory_taken_away_are_noticed_within_a_second(ring, state, later):
    key, clients = ring.new("desk", "viewer"), state / "keys" / "clients"
    later(60)
    ring.refresh()
    (clients / "desk.key").chmod(0o666)
    later(1.1)
    ring.refresh()
    assert ring.role_of(key.public) is None
    (clients / "desk.key").chmod(0o600)
    later(1.1)
    ring.refresh()
    assert ring.role_of(key.public)
    clients.rename(state / "keys" / "gone")
    ring.refresh()
    assert ring.role_of(key.public) is None


def test_a_broken_file_is_told_and_locks_only_its_own_client_out(ring, state):
    good, bad = ring.new("good", "viewer"), ring.new("bad", "viewer")
    (state / "keys" / "clients" / "bad.key").write_text("{")
    assert ring.reload_if_changed()
    assert ring.role_of(good.public)
    assert ring.role_of(bad.public) is None
    (problem,) = ring.problems
    assert "bad.key" in problem


def test_a_key_that_others_can_change_is_not_accepted(ring, state):
    key = ring.new("desk", "viewer")
    (state / "keys" / "clients" / "desk.key").chmod(0o666)
    assert ring.reload_if_changed()
    assert ring.role_of(key.public) is None
    assert "can be changed by other users" in ring.problems[0]


def test_a_copy_under_another_name_is_not_accepted(ring, state):
    key = ring.new("desk", "viewer")
    clients = state / "keys" / "clients"
    keyfiles.write(clients / "boss.key", ring.list()[0])
    ring.reload_if_changed()
    assert ring.role_of(key.public) == ("desk", "viewer")
    assert "the names must agree" in ring.problems[0]
    keyfiles.write(clients / "boss.key", ring.list()[0].model_copy(update={"name": "boss", "role": Role.ENGINEER}))
    ring.reload_if_changed()
    assert ring.role_of(key.public) is None
    assert "the same key: neither is accepted" in ring.problems[0]


@pytest.mark.parametrize("name", ["", "../x", "a b", "1a", "x" * 65, "ä", "a\n"])
def test_a_name_that_is_no_file_name_is_refused(ring, name):
    with pytest.raises(KeyFileError, match="is not a name"):
        ring.new(name, "viewer")


def test_a_key_never_takes_the_place_of_another_file(ring, tmp_path):
    path = tmp_path / "precious"
    path.write_text("precious")
    with pytest.raises(KeyFileError, match="never takes the place"):
        ring.new("desk", "viewer").save(path)
    assert path.read_text() == "precious"
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(ring, state, monkeypatch):
    ring.new("desk", "viewer")
    file = state / "keys" / "clients" / "desk.key"
    before = file.read_text()

    def full(_fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keyfiles.os, "fsync", full)
    with pytest.raises(KeyFileError, match="No space left"):
        ring.revoke("desk")
    assert file.read_text() == before
    assert list(file.parent.iterdir()) == [file]
