import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.campaign.helpers import Driver, terms
from tuner.campaign import commands as c
from tuner.campaign.asking_times import left_this_hour, may_ask_at
from tuner.campaign.effects import wake_at
from tuner.config.campaign import Questions


def questions(**given) -> Questions:
    return Questions.model_validate_json(json.dumps(given))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_without_windows_one_may_always_ask():
    now = at("2026-03-02 03:00")
    assert may_ask_at(questions(), now, []) == now


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("2026-03-02 21:59", "2026-03-02 21:59"),
        ("2026-03-02 22:00", "2026-03-03 06:15"),
        ("2026-03-03 05:59:30", "2026-03-03 06:15"),
        ("2026-03-03 06:15", "2026-03-03 06:15"),
    ],
)
def test_quiet_hours_over_midnight_and_a_break_after_them(now, then):
    windows = questions(quiet_hours=["22:00-06:00"], breaks=["06:00-06:15"])
    assert may_ask_at(windows, at(now), []) == at(then)


def test_windows_are_in_the_zone_of_the_plant_also_when_clocks_change():
    vienna = questions(timezone="Europe/Vienna", quiet_hours=["01:00-05:00"])
    # on 29 March 2026 the clock in Vienna goes from 02:00 to 03:00: 05:00 is 03:00 UTC
    assert may_ask_at(vienna, at("2026-03-29 00:30"), []) == at("2026-03-29 03:00")
    assert may_ask_at(vienna, at("2026-03-28 00:30"), []) == at("2026-03-28 04:00")


def test_windows_that_leave_no_time_are_refused():
    with pytest.raises(ValidationError, match="no minute of the day"):
        questions(quiet_hours=["00:00-12:00", "12:00-00:00"])


def test_a_clock_that_was_set_back_does_not_silence_the_daemon():
    now = at("2026-03-02 08:00")
    assert may_ask_at(questions(per_hour=1), now, [now + timedelta(days=1)]) == now


def test_the_questions_of_an_hour_are_counted():
    now = at("2026-03-02 08:00")
    asked = [now - timedelta(minutes=minutes) for minutes in (70, 50, 10)]
    two = questions(per_hour=2)
    assert may_ask_at(two, now, asked) == now + timedelta(minutes=10)
    assert left_this_hour(two, now, asked) == 0
    assert left_this_hour(questions(per_hour=5), now, asked) == 3
    assert left_this_hour(questions(), now, asked) is None


@given(st.lists(st.integers(0, 100), max_size=30), st.integers(1, 5))
def test_never_more_questions_in_an_hour_than_allowed(waits, per_hour):
    now, asked = at("2026-03-02 08:00"), []
    for minutes in waits:
        now += timedelta(minutes=minutes)
        now = may_ask_at(questions(per_hour=per_hour), now, asked)
        asked.append(now)
        assert sum(one > now - timedelta(hours=1) for one in asked) <= per_hour


def test_a_question_waits_for_its_window_and_is_asked_when_it_opens():
    driver = Driver(terms(policy={"questions": {"quiet_hours": ["08:00-09:00"]}})).begun()
    driver.propose()
    assert driver.make() == ["outcome_told"]
    opening = wake_at(driver.state, driver.now)
    assert opening == at("2026-03-02 09:00")
    driver.now = opening
    assert driver.tell(c.Tick()) == ["duel_asked"]
