import json
import random
import zipfile
from dataclasses import replace

import pytest
from click.testing import CliRunner

from tests.daemon.running import campaign_text, daemon, tune
from tests.tables.helpers import journal
from tuner.cli import bundle as command
from tuner.cli.main import cli
from tuner.journal.store import FILE_NAME, Store
from tuner.tables.bundle import LEFT_OUT, BundleError, clean, read, without_secrets


def tuner(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture(autouse=True)
def no_doctor(monkeypatch):
    """What the doctor says has tests of its own, and takes a while."""
    monkeypatch.setattr(command, "_doctor", lambda directory: "all is well\n")


def test_secrets_are_left_out_wherever_a_key_names_them():
    told = {
        "password": "hush",
        "password_file": "/etc/p",
        "environment": {"PRESS": "7"},
        "tls": [{"client_secret": "hush", "ca_file": "/etc/ca"}],
        "url": "mqtt://ann:hush@broker/topic",
        "user": "ann",
    }
    found = without_secrets(told)
    assert "hush" not in json.dumps(found)
    assert found["password_file"] == told["password_file"]
    assert found["environment"] == {"PRESS": LEFT_OUT}
    assert found["url"] == f"mqtt://ann:{LEFT_OUT}@broker/topic"
    assert found["user"] == "ann"


def test_a_bundle_has_what_whoever_helps_needs(tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    journal(state)
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "tuner.log").write_text("one\n" * 400_000)
    shown = tuner("bundle", "press", "--to", tmp_path / "b.zip", "--logs", logs, "--state", state)
    assert shown.exit_code == 0, shown.output
    with zipfile.ZipFile(tmp_path / "b.zip") as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
        assert manifest["packages"]["process-tuner"]
        assert json.loads(bundle.read("terms.json"))["machine"] == "press"
        assert len(bundle.read("events.jsonl").splitlines()) == manifest["events"] == 80
        assert bundle.read("doctor.txt") == b"all is well\n"
        assert 900_000 < len(bundle.read("logs/tuner.log")) <= 1_000_000
    assert (tmp_path / "b.zip").stat().st_mode & 0o007 == 0


def test_an_event_s_secrets_are_cleaned_and_others_are_as_they_were(tmp_path):
    journal(tmp_path, trials=1)
    with Store.open_reading(tmp_path / FILE_NAME) as store:
        first, *others = store.rows()
    body = json.loads(first.body)
    body["terms"]["adapter"]["settings"]["pass" + "word"] = "hush"
    assert "hush" not in clean(replace(first, body=json.dumps(body))).body
    assert [clean(row) for row in others] == others


@pytest.mark.slow
def test_a_bundle_is_replayed_elsewhere_bit_for_bit(tmp_path):
    with daemon(campaign_text(trials=3)) as running:
        running.start()
        with running.client() as client:
            tune(client, "press")
        running.stop()
        shown = tuner("bundle", "press", "--to", tmp_path / "b.zip", "--state", running.state)
        assert shown.exit_code == 0, shown.output
    shown = tuner("replay", tmp_path / "b.zip", "--jobs", "1")
    assert shown.exit_code == 0, shown.output
    assert "2 proposals recomputed, every one identical" in shown.stdout


def broken(path, **files):
    with zipfile.ZipFile(path, "w") as bundle:
        for name, text in files.items():
            bundle.writestr(name.replace("_", "."), text)
    return path


def test_a_file_that_is_no_bundle_is_said(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"no zip")
    for path, sentence in (
        (tmp_path / "a.zip", "cannot be read: File is not a zip file"),
        (tmp_path / "none.zip", "cannot be read: No such file or directory"),
        (broken(tmp_path / "b.zip", other="x"), "is no bundle"),
        (broken(tmp_path / "c.zip", manifest_json='{"format": 9}', events_jsonl=""), "is a bundle of format 9"),
        (broken(tmp_path / "d.zip", manifest_json='{"format": 1}', events_jsonl="{}\n"), "line 1 of events.jsonl"),
        (broken(tmp_path / "e.zip", manifest_json="[]", events_jsonl=""), "is damaged"),
    ):
        shown = tuner("replay", path)
        assert shown.exit_code == 1
        assert sentence in shown.stderr, shown.stderr


def test_a_campaign_that_is_not_there_is_said_and_nothing_is_written(tmp_path):
    journal(tmp_path)
    shown = tuner("bundle", "pres", "--to", tmp_path / "b.zip", "--state", tmp_path)
    assert shown.exit_code == 1
    assert 'did you mean "press"?' in shown.stderr
    assert not (tmp_path / "b.zip").exists()


def test_an_archive_that_was_spoilt_anywhere_is_told_in_a_sentence_or_read(tmp_path):
    line = {"seq": 1, "campaign": "c", "at": "", "type": "lot_changed", "actor": "a", "hash": "x", "body": {}}
    good = broken(tmp_path / "a.zip", manifest_json='{"format": 1}', events_jsonl=json.dumps(line) + "\n")
    content, rng = good.read_bytes(), random.Random(1)  # noqa: S311 - which byte
    refused = 0
    for _ in range(300):
        spoilt = bytearray(content)
        for _ in range(rng.randint(1, 6)):
            spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
        good.write_bytes(spoilt)
        try:
            list(read(good))
        except BundleError:
            refused += 1
    assert refused > 200
    for events in ("[" * 100_000, json.dumps({**line, "seq": "x", "campaign": []})):
        with pytest.raises(BundleError):
            list(read(broken(tmp_path / "b.zip", manifest_json='{"format": 1}', events_jsonl=events)))
