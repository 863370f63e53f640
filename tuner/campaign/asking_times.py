"""When operators may be asked: quiet hours, breaks and the number of questions in an hour."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from tuner.config.campaign import Questions

HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
_FURTHEST = timedelta(days=2)


def may_ask_at(questions: Questions, now: datetime, asked: Sequence[datetime]) -> datetime | None:
    """The first moment from now on, in UTC, when a question may be asked after those that were; None: there is none."""
    moment = _after_pause(questions, now, asked)
    zone = zone_of(questions.timezone)
    windows = (*questions.quiet_hours, *questions.breaks)
    while any(window.contains(moment.astimezone(zone).time()) for window in windows):
        if moment - now > _FURTHEST:
            return None
        # minute by minute, because clocks change: the end of a window may not exist on that day
        moment = moment.replace(second=0, microsecond=0) + _MINUTE
    return moment


def left_this_hour(questions: Questions, now: datetime, asked: Sequence[datetime]) -> int | None:
    """How many questions may still be asked within the hour; None if there is no limit."""
    if questions.per_hour is None:
        return None
    return max(0, questions.per_hour - sum(now - HOUR < at <= now for at in asked))


def _after_pause(questions: Questions, now: datetime, asked: Sequence[datetime]) -> datetime:
    recent = [at for at in asked if now - HOUR < at <= now]  # a clock that was set back must not silence us
    if questions.per_hour is None or len(recent) < questions.per_hour:
        return now
    return recent[-questions.per_hour] + HOUR


def zone_of(name: str) -> tzinfo:
    """The time zone of a name in the configuration."""
    return UTC if name == "UTC" else ZoneInfo(name)
