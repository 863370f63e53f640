import json
from datetime import UTC, datetime, timedelta

import pytest

from tuner.journal import security
from tuner.journal.errors import DamagedError
from tuner.journal.security import FILE_NAME, LINES_A_DAY, MOST_SOURCES, OTHERS, SecurityLog, read

START = datetime(2026, 3, 2, 8, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def log(tmp_path):
    one = SecurityLog(tmp_path, Clock())
    yield one
    one.close()


def lines(tmp_path):
    return [(e.category, e.result, e.source, e.count) for e in read(tmp_path / FILE_NAME)]


def test_events_follow_each_other_over_restarts_and_the_file_is_its_owners(tmp_path):
    for number in range(3):
        log = SecurityLog(tmp_path)
        log.note("daemon", "started", "tuner", f"start {number}")
        log.close()
    assert [event.seq for event in read(tmp_path / FILE_NAME)] == [1, 2, 3]
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


def changed(text):
    return text.replace("start 1", "start 7")


def without(number):
    return lambda text: "".join(line for n, line in enumerate(text.splitlines(True)) if n != number)


def exchanged(text):
    first, second, third = text.splitlines(True)
    return second + first + third


def doubled(text):
    return text + text.splitlines(True)[-1]


@pytest.mark.parametrize("spoil", [changed, without(0), without(1), exchanged, doubled, lambda text: text + "{}\n"])
def test_a_line_that_was_changed_removed_exchanged_or_added_is_found(tmp_path, spoil):
    log = SecurityLog(tmp_path)
    for number in range(3):
        log.note("daemon", "started", "tuner", f"start {number}")
    log.close()
    path = tmp_path / FILE_NAME
    path.write_text(spoil(path.read_text()))
    with pytest.raises(DamagedError):
        list(read(path))


def test_half_a_line_of_a_power_cut_is_no_damage_and_goes_at_the_next_start(tmp_path):
    log = SecurityLog(tmp_path)
    log.note("daemon", "started", "tuner")
    log.close()
    with (tmp_path / FILE_NAME).open("ab") as file:
        file.write(b'{"seq": 2, "at"')
    assert len(list(read(tmp_path / FILE_NAME))) == 1
    again = SecurityLog(tmp_path)
    assert again.torn
    again.note("daemon", "started", "tuner")
    again.close()
    assert [event.seq for event in read(tmp_path / FILE_NAME)] == [1, 2]


def test_a_flood_from_one_source_is_two_lines_with_its_number(log, tmp_path):
    for _ in range(10_000):
        log.note("role", "denied", "press-3", "campaign.start")
    log.report()
    assert lines(tmp_path) == [("role", "denied", "press-3", 1), ("role", "denied", "press-3", 9_999)]


def test_a_flood_from_many_sources_hides_nothing_else_and_every_one_is_counted(log, tmp_path):
    for number in range(5_000):
        log.note("key", "refused", f"key {number}")
        if number == 2_500:
            log.note("role", "denied", "press-3")
            log.note("keys", "added", "lab")
    log.report()
    written = lines(tmp_path)
    assert ("role", "denied", "press-3", 1) in written
    assert ("keys", "added", "lab", 1) in written
    refused = [line for line in written if line[0] == "key"]
    assert sum(line[3] for line in refused) == 5_000
    assert len(refused) == MOST_SOURCES + 2
    assert OTHERS in {line[2] for line in refused}


def test_a_flood_of_a_whole_day_has_a_bounded_number_of_lines_and_loses_no_count(log, tmp_path):
    for minute in range(24 * 60 - 1):
        for number in range(MOST_SOURCES * 2):
            log.note("key", "refused", f"key {minute} {number}")
        log.report()
        log._clock.now = START.replace(hour=0) + timedelta(minutes=minute)
    log.note("keys", "added", "lab")
    assert len(lines(tmp_path)) <= LINES_A_DAY + MOST_SOURCES + 3
    log._clock.now = START + timedelta(days=1)
    log.report()
    written = lines(tmp_path)
    assert ("keys", "added", "lab", 1) in written
    assert sum(line[3] for line in written if line[0] == "key") == (24 * 60 - 1) * MOST_SOURCES * 2


def test_a_text_of_others_is_one_short_line(log, tmp_path):
    log.note("daemon", "started", "x\n{}\x1b[2J" + "y" * 1000)
    (line,) = (tmp_path / FILE_NAME).read_text().splitlines()
    assert len(json.loads(line)["source"]) < 220
    assert "\x1b" not in json.loads(line)["source"]


def test_a_disk_that_takes_nothing_is_told_and_how_many_events_it_has_cost_is_one_when_there_is_room(
    log, tmp_path, monkeypatch
):
    log.note("daemon", "started", "tuner")
    with monkeypatch.context() as full:
        full.setattr(security.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        log.note("keys", "added", "lab")
        log.note("role", "denied", "press-3", count=3)
    assert "the disk is full" in log.failure
    log.note("keys", "added", "desk")
    assert log.failure == ""
    log.note("keys", "added", "hall")
    assert [line[2] for line in lines(tmp_path)] == ["tuner", FILE_NAME, "desk", "hall"]
    (lost,) = [event for event in read(tmp_path / FILE_NAME) if event.result == "events lost"]
    assert (lost.category, lost.count) == ("store", 4)
    assert "the disk is full" in lost.text


def test_a_file_whose_last_line_is_no_event_is_refused_with_what_to_do(tmp_path):
    (tmp_path / FILE_NAME).write_text("rubbish\n")
    with pytest.raises(DamagedError, match="tuner security verify"):
        SecurityLog(tmp_path)
