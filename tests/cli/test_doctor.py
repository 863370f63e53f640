import socket
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.daemon.running import campaign_text
from tests.journals.make import restore
from tuner.basics.places import Places
from tuner.cli import doctor_checks
from tuner.config import parse_config
from tuner.journal import FILE_NAME, NewRow, Store
from tuner.wire.key_ring import KeyRing

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LOCAL = Places(Path("/x"), "ipc:///x/r", "ipc:///x/e")
NETWORK = Places(Path("/x"), "tcp://host:1", "tcp://host:2")


@pytest.fixture
def state(tmp_path):
    directory = tmp_path / "state"
    directory.mkdir(mode=0o700)
    return directory


def levels(findings):
    return [finding.level for finding in findings]


def contents(directory):
    return {path: (path.stat().st_mode, path.read_bytes() if path.is_file() else b"") for path in directory.rglob("*")}


def test_a_fresh_installation_is_well_and_nothing_is_made(tuner, tmp_path):
    config = tmp_path / "tuner.toml"
    config.write_text(campaign_text("press"))
    done = tuner("doctor", "--no-files", config, "--state", tmp_path / "state")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert f"ok    config: {config}: 1 campaign" in lines
    assert any(line.startswith("warn  daemon: none answers") for line in lines)
    assert any(line.startswith("ok    machine press-machine: adapter simulated: ready") for line in lines)
    assert not (tmp_path / "state").exists()


def test_something_bad_is_exit_code_1_and_all_of_it_is_told(tuner, tmp_path, state):
    config = tmp_path / "tuner.toml"
    config.write_text('[[campaign]]\nname = "a b"\n')
    KeyRing.open(state).new("desk", "viewer")
    (state / "keys" / "server.secret").chmod(0o644)
    state.chmod(0o777)
    done = tuner("doctor", "--no-files", config, tmp_path / "missing.toml", "--state", state, "--no-machines")
    assert done.exit_code == 1
    bad = [line for line in done.stdout.splitlines() if line.startswith("bad ")]
    for words in (f"{config}:2", "missing.toml:1", "server.secret is secret", "can be changed by other users"):
        assert any(words in line for line in bad), words


def test_looking_changes_no_file(tuner, state):
    KeyRing.open(state).new("desk", "viewer")
    restore("0.1.0", state)
    before = contents(state)
    assert tuner("doctor", "--no-files", "--state", state).exit_code == 0
    after = contents(state)
    # SQLite's readers leave an empty log and its index behind
    beside = {state / f"{FILE_NAME}-wal", state / f"{FILE_NAME}-shm"}
    assert {path: after[path] for path in after if path not in beside} == before


def test_keys_are_counted_and_a_network_without_clients_is_a_warning(state):
    assert levels(doctor_checks.keys(state, LOCAL)) == ["ok"]
    assert levels(doctor_checks.keys(state, NETWORK)) == ["warn"]
    ring = KeyRing.open(state)
    (finding,) = doctor_checks.keys(state, NETWORK)
    assert (finding.level, "nobody can connect" in finding.text) == ("warn", True)
    ring.new("desk", "viewer")
    ring.new("lab", "viewer")
    ring.revoke("lab")
    (finding,) = doctor_checks.keys(state, NETWORK)
    assert (finding.level, finding.text) == ("ok", "1 of 2 keys accepted")


def test_a_changed_journal_is_bad(state):
    restore("0.1.0", state)
    assert levels(doctor_checks.journal(state, NOW)) == ["ok"]
    content = (state / FILE_NAME).read_bytes()
    place = content.rindex(b'"trial":')
    (state / FILE_NAME).write_bytes(content[:place] + b'"trail":' + content[place + 8 :])
    (finding,) = doctor_checks.journal(state, NOW)
    assert finding.level == "bad"
    assert "was changed" in finding.text


def test_a_campaign_that_cannot_be_read_is_bad(state):
    restore("0.1.0", state)
    with Store.open(state / FILE_NAME) as store:
        store.append([NewRow("press", "2026-03-03T00:02:00.000000Z", "melted", '{"type":"melted"}', "a")])
    fine, bad = doctor_checks.journal(state, NOW)
    assert (fine.level, bad.level) == ("ok", "bad")
    assert "the campaign press cannot be read: event 2" in bad.text


def test_what_is_no_journal_is_bad(state):
    (state / FILE_NAME).write_text("not a journal" * 1000)
    assert levels(doctor_checks.journal(state, NOW)) == ["bad"]


def test_an_event_from_the_future_means_that_the_clock_is_wrong(state):
    restore("0.1.0", state)
    with Store.open(state / FILE_NAME) as store:
        lot = '{"lot":"L","type":"lot_changed"}'
        store.append([NewRow("press", "2026-06-01T00:02:00.000000Z", "lot_changed", lot, "a")])
    assert levels(doctor_checks.journal(state, NOW)) == ["ok", "bad"]
    assert levels(doctor_checks.journal(state, NOW.replace(day=2))) == ["ok"]


@pytest.mark.parametrize(("year", "level"), [(1970, "bad"), (2026, "ok"), (2150, "bad")])
def test_an_implausible_year_is_bad(year, level):
    assert levels(doctor_checks.clock([], NOW.replace(year=year), lambda _: None))[0] == level


def test_a_clock_that_is_set_meanwhile_is_a_warning(monkeypatch):
    times = iter([100.0, 103.0])
    monkeypatch.setattr(doctor_checks.time, "time", lambda: next(times))
    findings = list(doctor_checks.clock([], NOW, lambda _: None))
    assert levels(findings) == ["ok", "warn"]
    assert "+3.0" in findings[1].text


def test_a_missing_time_zone_database_is_bad_only_if_it_is_needed(monkeypatch):
    def missing(name):
        raise doctor_checks.ZoneInfoNotFoundError(name)

    zoned = campaign_text("press", policy='[campaign.policy.questions]\ntimezone = "Europe/Vienna"')
    campaigns = parse_config(zoned, "x").campaigns
    monkeypatch.setattr(doctor_checks, "ZoneInfo", missing)
    assert levels(doctor_checks.clock([], NOW, lambda _: None)) == ["ok", "warn"]
    assert levels(doctor_checks.clock(campaigns, NOW, lambda _: None)) == ["ok", "bad"]


@pytest.mark.parametrize(("free", "level"), [(5e9, "ok"), (5e8, "warn"), (5e7, "bad")])
def test_a_disk_that_fills_is_told(monkeypatch, tmp_path, free, level):
    monkeypatch.setattr(doctor_checks.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert levels(doctor_checks.disk(tmp_path / "not" / "there")) == [level]


def test_a_socket_that_was_left_behind_is_a_warning_and_one_in_use_is_none(tmp_path):
    path = tmp_path / "r"
    places = Places(tmp_path, f"ipc://{path}", f"ipc://{tmp_path}/e")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        assert levels(doctor_checks.sockets(places)) == []
    assert levels(doctor_checks.sockets(places)) == ["warn"]


def test_a_path_too_long_for_a_socket_is_bad_and_ends_in_no_traceback(tuner, tmp_path):
    done = tuner("doctor", "--no-files", "--state", tmp_path / ("x" * 120))
    assert done.exit_code == 1
    assert "longer than 107 bytes" in done.stdout


def test_a_machine_that_cannot_be_reached_is_bad(tmp_path):
    text = campaign_text("press").replace('name = "simulated"', 'name = "command"')
    text = text.replace('problem = "sasena"', 'argv = ["/does/not/exist"]')
    campaigns = parse_config(text, "x").campaigns
    (finding,) = doctor_checks.machines(campaigns, 2.0)
    assert (finding.level, finding.what) == ("bad", "machine press-machine")
