"""`tuner journal`, as typed."""

import csv
import json
import sqlite3
from io import StringIO

import pytest
from click.testing import CliRunner

from tests.campaign.helpers import terms
from tests.journal.helpers import AT, tampering
from tuner.campaign.events import CampaignCreated, LotChanged
from tuner.cli.main import cli
from tuner.journal import NewRow, Store, canonical

UMLAUT = "J\N{LATIN SMALL LETTER O WITH DIAERESIS}rg"


def real(number: int, campaign: str = "kiln") -> NewRow:
    """An event that a campaign can have: the first two begin two campaigns."""
    made = CampaignCreated(terms=terms()) if number < 2 else LotChanged(lot=str(number))
    return NewRow(campaign, AT, made.type, canonical(made.model_dump(mode="json")), "ada")


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    state = tmp_path / "tuner"
    with Store.open(state / "journal.sqlite") as store:
        store.append([real(number, ("kiln", "press")[number % 2]) for number in range(9)])
        store.append([NewRow("kiln", AT, "lot_changed", '{"lot":"a, \\"b\\"","type":"lot_changed"}', UMLAUT)])
    return state


def run(*arguments: object):
    return CliRunner().invoke(cli, ["journal", *map(str, arguments)])


def test_verify_says_that_all_is_right_and_prints_the_head(state):
    with Store.open_reading(state / "journal.sqlite") as store:
        head = store.head[1]
    result = run("verify")
    assert (result.exit_code, result.stdout) == (0, f"{state / 'journal.sqlite'}: ok: 10 events\nhead: {head}\n")
    assert run("verify", "--state", state, "--expect-head", head.upper()).exit_code == 0


def test_verify_ends_with_1_and_names_the_first_bad_event(state):
    with tampering(state / "journal.sqlite") as connection:
        connection.execute("UPDATE journal SET actor = 'eve' WHERE seq = 6")
    result = run("verify", "--journal", state / "journal.sqlite")
    assert result.exit_code == 1
    assert "event 6: the event or its hash was changed" in result.stderr
    assert "5 events before that follow each other" in result.stderr


def test_verify_reads_every_campaign_and_names_event_and_campaign_that_it_cannot_read(state):
    with Store.open(state / "journal.sqlite") as store:
        store.append([NewRow("kiln", AT, "judged", '{"type":"judged"}', "ada"), real(5, "press"), real(0, "press")])
    result = run("verify")
    assert result.exit_code == 1
    assert "13 events follow each other, but 2 campaigns cannot be read" in result.stderr
    assert "campaign kiln: event 11 cannot be read: no event 'judged' is known" in result.stderr
    assert "campaign press: event 13: the campaign press was created before" in result.stderr


def test_verify_compares_with_a_head_written_down(state):
    result = run("verify", "--expect-head", "a" * 64)
    assert result.exit_code == 1
    assert "no event has the expected hash" in result.stderr
    assert run("verify", "--expect-head", "abc").exit_code == 2


def test_everything_works_while_a_daemon_holds_the_journal(state, tmp_path):
    with Store.open(state / "journal.sqlite") as store:
        store.append([real(11)])
        assert "ok: 11 events" in run("verify").stdout
        assert run("show").exit_code == 0
        assert run("export", tmp_path / "out").exit_code == 0
        assert run("backup", tmp_path / "copy.sqlite").exit_code == 0
        result = run("restore", tmp_path / "copy.sqlite")
        assert result.exit_code == 75
        assert "stop it first" in result.stderr


def test_show_is_a_table_of_the_newest_events_oldest_first(state):
    lines = run("show", "--limit", 3).stdout.splitlines()
    assert lines[0].split() == ["time", "(UTC)", "event", "campaign", "type", "actor", "body"]
    assert [line.split()[2] for line in lines[1:]] == ["8", "9", "10"]
    assert lines[3].split()[3:6] == ["kiln", "lot_changed", UMLAUT]
    assert lines[3].rstrip().endswith('{"lot":"a, \\"b\\"","type":"lot_changed"}')


def test_show_takes_a_campaign_and_a_number(state):
    lines = run("show", "--campaign", "press", "--after", 2, "--limit", 2).stdout.splitlines()
    assert [line.split()[2:4] for line in lines[1:]] == [["4", "press"], ["6", "press"]]


def test_show_gives_json_lines(state):
    lines = [json.loads(line) for line in run("show", "--json", "--after", 8).stdout.splitlines()]
    assert [line["seq"] for line in lines] == [9, 10]
    assert lines[1]["body"] == {"lot": 'a, "b"', "type": "lot_changed"}
    assert lines[1]["actor"] == UMLAUT
    assert set(lines[0]) == {"seq", "campaign", "at", "type", "body", "actor", "hash"}


def test_show_does_not_let_events_command_the_terminal(state):
    with Store.open(state / "journal.sqlite") as store:
        store.append([NewRow("[red]kiln", AT, "judged", "{}", "\x1b]0;evil\x07eve\nadam")])
    out = run("show", "--limit", 1).stdout
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[red]kiln" in out
    assert len(out.splitlines()) == 2


def test_a_body_that_is_no_json_is_shown_as_text(state):
    with Store.open(state / "journal.sqlite") as store:
        store.append([NewRow("kiln", AT, "judged", "{broken", "ada")])
    assert json.loads(run("show", "--json", "--limit", 1).stdout)["body"] == "{broken"


def test_exported_json_lines_hold_the_very_text_that_was_hashed(state, tmp_path):
    result = run("export", tmp_path / "out.jsonl")
    assert result.stdout == f"{tmp_path / 'out.jsonl'}: 10 events\n"
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    with Store.open_reading(state / "journal.sqlite") as store:
        rows = list(store.rows())
    assert [json.loads(line)["hash"] for line in lines] == [row.hash for row in rows]
    assert all(f'"body":{row.body},' in line for line, row in zip(lines, rows, strict=True))


def test_exported_csv_gives_every_column_back(state):
    result = run("export", "--format", "csv", "--campaign", "kiln", "--after", 8)
    header, *lines = csv.reader(StringIO(result.stdout_bytes.decode()))
    assert header == ["seq", "campaign", "at", "type", "body", "actor", "hash"]
    assert [line[0] for line in lines] == ["9", "10"]
    assert lines[1][4:6] == ['{"lot":"a, \\"b\\"","type":"lot_changed"}', UMLAUT]


def test_a_backup_is_restored_into_another_state_directory(state, tmp_path):
    result = run("backup", tmp_path / "copy.sqlite")
    assert "10 events" in result.stdout
    assert "there is no journal" in run("verify", "--state", tmp_path / "new").stderr
    result = run("restore", tmp_path / "copy.sqlite", "--state", tmp_path / "new")
    assert result.exit_code == 0
    assert "ok: 10 events" in run("verify", "--state", tmp_path / "new").stdout
    assert run("restore", tmp_path / "copy.sqlite").exit_code == 1


def test_wrong_usage_ends_with_2(state):
    assert run("verify", "--state", state, "--journal", state / "journal.sqlite").exit_code == 2
    assert run("show", "--limit", 0).exit_code == 2
    assert run("export", "--format", "parquet").exit_code == 2


def test_a_damaged_file_is_a_sentence(state):
    connection = sqlite3.connect(state / "journal.sqlite")
    connection.close()
    (state / "journal.sqlite").write_bytes(b"no database" * 1000)
    for command in ("verify", "show", "export"):
        result = run(command)
        assert result.exit_code == 1
        assert "file is not a database" in result.stderr
        assert "Traceback" not in result.stderr
