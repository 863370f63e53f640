import json
import stat

import pytest

from tuner.wire.key_ring import KeyRing
from tuner.wire.keyfiles import ClientKey


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


def test_a_new_key_is_one_secret_file_that_the_ring_knows(tuner, state, tmp_path):
    out = tmp_path / "desk.tuner-key"
    done = tuner("keys", "new", "desk", "--role", "operator", "--out", out, "--state", state, "--connect", "tcp://a:1")
    assert done.exit_code == 0, done.output
    assert "desk, operator. It is a secret" in done.output
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    key = ClientKey.load(out)
    assert key.requests == "tcp://a:1"
    assert KeyRing.open(state).role_of(key.public) == ("desk", "operator")
    assert key.secret.get_secret_value() not in done.output


def test_without_a_place_the_key_lies_in_the_present_directory(tuner, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = tuner("keys", "new", "desk", "--role", "viewer", "--state", state)
    assert "give --connect ENDPOINT too" in done.output
    assert ClientKey.load(tmp_path / "desk.tuner-key").name == "desk"


def test_a_key_that_cannot_be_written_is_not_known(tuner, state, tmp_path):
    out = tmp_path / "taken"
    out.write_text("precious")
    done = tuner("keys", "new", "desk", "--role", "viewer", "--out", out, "--state", state)
    assert done.exit_code == 1
    assert "never takes the place" in done.stderr
    assert KeyRing.open(state).list() == ()
    assert out.read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["new", "desk"], 2),
        (["new", "desk", "--role", "boss"], 2),
        (["new", "a b", "--role", "viewer"], 1),
        (["new", "desk", "--role", "viewer", "--connect", "host:1"], 1),
        (["new", "desk", "--role", "viewer", "--events", "tcp://a:1"], 2),
        (["revoke", "desk"], 1),
    ],
)
def test_a_wrong_order_makes_no_key(tuner, state, tmp_path, monkeypatch, arguments, code):
    monkeypatch.chdir(tmp_path)
    done = tuner("keys", *arguments, "--state", state)
    assert done.exit_code == code, done.output
    assert "unexpected error" not in done.output
    assert not list(tmp_path.rglob("*.tuner-key"))
    assert not list(tmp_path.rglob("desk.key"))


def test_the_list_shows_roles_and_revocations(tuner, state):
    assert "there are no keys" in tuner("keys", "list", "--state", state).output
    ring = KeyRing.open(state)
    desk = ring.new("desk", "operator")
    ring.new("lab", "engineer")
    assert tuner("keys", "revoke", "lab", "--state", state).output.startswith("lab: not accepted since 20")
    done = tuner("keys", "list", "--state", state)
    assert done.exit_code == 0
    lines = {line.split()[0]: line for line in done.output.splitlines()}
    assert "operator" in lines["desk"]
    assert desk.public in lines["desk"]
    assert "engineer" in lines["lab"]
    assert lines["desk"].split()[3] == "-"
    assert lines["lab"].split()[3].endswith("Z")


def test_the_list_tells_of_broken_files(tuner, state):
    KeyRing.open(state).new("desk", "viewer")
    (state / "keys" / "clients" / "desk.key").write_text("{}")
    done = tuner("keys", "list", "--state", state)
    assert done.exit_code == 1
    assert "desk.key is not a KnownKey file" in done.stderr


def test_schema_prints_one_json_document(tuner):
    done = tuner("schema")
    assert done.exit_code == 0
    table = json.loads(done.stdout)["$defs"]["protocol"]["const"]
    assert table["ops"]["judgment.give"]["command"] is True
