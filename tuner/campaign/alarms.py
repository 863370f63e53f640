"""The alarms of a campaign: what went wrong, when, whether it is over, and who has acknowledged it; pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from tuner.basics.telling import Kept
from tuner.campaign import events as e

Cause = Literal["refused", "unverified", "failed", "fault", "home"]


@dataclass(frozen=True)
class Alarm:
    """Something that a person has to know.

    Attributes:
        number: In its campaign, from 1 on.
        cause: What kind: the gate refused a setting, a setting was not read back, it could not be sent, another fault
            of the machine or its adapter, or the machine does not come home.
        text: What happened, in a sentence.
        at: When.
        cleared_at: When it was over: tuning went on, or the machine was home.
        acknowledged_by: Who has seen it.
        acknowledged_at: When.
    """

    number: int
    cause: Cause
    text: Kept
    at: datetime
    cleared_at: datetime | None = None
    acknowledged_by: str | None = None
    acknowledged_at: datetime | None = None


Alarms = tuple[Alarm, ...]


def after(alarms: Alarms, event: e.Event, at: datetime, actor: str) -> Alarms:
    """The alarms after an event."""
    rule = _RULES.get(type(event))
    return alarms if rule is None else rule(alarms, event, at, actor)


def _raised(alarms: Alarms, cause: Cause, text: str, at: datetime) -> Alarms:
    return (*alarms, Alarm(len(alarms) + 1, cause, text, at))


def _cleared(alarms: Alarms, at: datetime, *, home: bool) -> Alarms:
    return tuple(
        replace(one, cleared_at=at) if one.cleared_at is None and (one.cause == "home") is home else one
        for one in alarms
    )


def _held(alarms: Alarms, event: e.CampaignHeld, at: datetime, actor: str) -> Alarms:
    return _raised(alarms, _cause(event.reason), event.reason, at) if event.fault else alarms


def _cause(reason: str) -> Cause:
    said = reason.partition(":")[0]
    found: dict[str, Cause] = {f"setting {one}": one for one in ("refused", "unverified", "failed")}
    return found.get(said, "fault")


def _not_home(alarms: Alarms, text: str, at: datetime) -> Alarms:
    known = next((one for one in reversed(alarms) if one.cause == "home" and one.cleared_at is None), None)
    if known is None:
        return _raised(alarms, "home", text, at)
    if known.text == text:
        return alarms
    return (*alarms[: known.number - 1], replace(known, text=text), *alarms[known.number :])  # the same, told anew


def _home_answered(alarms: Alarms, event: e.HomeAnswered, at: datetime, actor: str) -> Alarms:
    if event.result == "applied":
        return _cleared(alarms, at, home=True)
    return _not_home(alarms, event.text, at)


def _acknowledged(alarms: Alarms, event: e.AlarmAcknowledged, at: datetime, actor: str) -> Alarms:
    if not 1 <= event.alarm <= len(alarms):
        raise IndexError(event.alarm)
    known = replace(alarms[event.alarm - 1], acknowledged_by=actor, acknowledged_at=at)
    return (*alarms[: event.alarm - 1], known, *alarms[event.alarm :])


_RULES: dict[type[Any], Callable[[Alarms, Any, datetime, str], Alarms]] = {
    e.CampaignHeld: _held,
    e.CampaignStarted: lambda alarms, event, at, actor: _cleared(alarms, at, home=False),
    e.CampaignResumed: lambda alarms, event, at, actor: _cleared(alarms, at, home=False),
    e.HomeDelayed: lambda alarms, event, at, actor: _not_home(alarms, event.text, at),
    e.HomeAnswered: _home_answered,
    e.AlarmAcknowledged: _acknowledged,
}
