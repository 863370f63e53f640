"""The page's forms to keep or narrow a parameter for a while and to acknowledge alarms, and what they show."""

from collections.abc import Mapping, Sequence
from typing import Any

from tuner.basics.vocabulary import Mode, Role
from tuner.console.keyboard import ALARMS, Key
from tuner.console.language import Words
from tuner.console.pages.alarms import alarm_text, next_text, seen_text
from tuner.console.requests import CannotError
from tuner.console.restricting import SHIFT, limits_text, restriction_lines
from tuner.web.seat import Seat
from tuner.wire.messages import AlarmView, CampaignView, Welcome

_KEEP = Key("k", "keep", "restrict_to", None, dict.fromkeys(Mode, "parameter.freeze"))
_LIFT = Key("k", "keep", "free", None, dict.fromkeys(Mode, "parameter.free"))


def restricting(words: Words, view: CampaignView, rights: Welcome | None) -> dict[str, Any]:
    """What is restricted now, and what the form offers; without the right to it there is no form."""
    return {
        "restrictions": list(zip(restriction_lines(words, view), view.restrictions, strict=True)),
        "may_restrict": _may_restrict(view, rights),
        "choices": [(one.name, f"{one.called} ({limits_text(words, one)})") for one in view.parameters],
        "reasons": words("ask.keep_reasons").split("|"),
        "shift": SHIFT,
    }


def _may_restrict(view: CampaignView, rights: Welcome | None) -> bool:
    if rights is None or "parameter.freeze" not in rights.ops:
        return False
    return rights.role == Role.ENGINEER or view.operators_restrict


async def restrict(seat: Seat, fields: Mapping[str, str]) -> None:
    """A form was sent: restrict a parameter, or lift that."""
    view = seat.view
    parameter = next((one for one in view.parameters if one.name == fields.get("parameter")), None) if view else None
    if view is None or parameter is None:
        seat.refuse(CannotError("cannot.nothing"))
        return
    until = (fields.get("time") or "").strip() or fields.get("until") or None
    rights = seat.session.welcome
    if rights is not None and not _may_restrict(view, rights):  # whoever is not signed in is told so
        seat.refuse(CannotError("cannot.not_restrict"))
    elif "lift" in fields:
        await seat.press(_LIFT, None, view, parameter)
    else:
        typed, reason = (" ".join(fields.get(name, "").split()) for name in ("allowed", "reason"))
        if not typed or not reason:
            seat.refuse(CannotError("cannot.nothing"))
        else:
            await seat.press(_KEEP, None, view, parameter, typed, until, reason)


async def acknowledge(seat: Seat, fields: Mapping[str, str]) -> None:
    """A form was sent: somebody has seen an alarm."""
    view, number = seat.view, fields.get("number", "")
    alarm = next((one for one in view.alarms if str(one.number) == number), None) if view else None
    if view is None or alarm is None:
        seat.refuse(CannotError("cannot.no_alarm"))
    else:
        await seat.press(ALARMS[0], None, view, alarm)


def alarm_rows(words: Words, alarms: Sequence[AlarmView], rights: Welcome | None) -> list[dict[str, Any]]:
    """The history of a campaign's alarms, the newest first."""
    may = rights is not None and "alarm.acknowledge" in rights.ops
    return [
        {
            "number": one.number,
            "at": words.clock(one.at, seconds=True),
            "text": alarm_text(words, one),
            "over": words("alarms.open")
            if one.cleared_at is None
            else words("alarms.over", time=words.clock(one.cleared_at)),
            "seen": "" if one.acknowledged_at is None else seen_text(words, one),
            "next": next_text(words, one) if one.cleared_at is None else "",
            "may": may and one.acknowledged_at is None,
        }
        for one in alarms
    ]
