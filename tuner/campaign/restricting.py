"""Parameters that are kept at a value or narrowed for a while: what may be asked for, and until when; pure.

A restriction binds what the model proposes, and parts made again. The known-good setting, which the machine goes home
to, and what was tried before may lie outside.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

from tuner.basics.sentences import Sentence, say
from tuner.basics.times import text_of
from tuner.campaign.asking_times import zone_of
from tuner.campaign.events import ParameterRestricted
from tuner.campaign.state import CampaignTrial, Restriction, Stage, State
from tuner.campaign.terms import Terms
from tuner.core.space.restriction import Allowed, allowed, outside
from tuner.core.space.values import SpaceError, Value, finite

SHIFT = "shift"
_LONGEST = timedelta(days=366)


class RestrictionError(ValueError):
    """Why a parameter cannot be restricted so, as a sentence."""


def outside_of(state: State, trial: CampaignTrial) -> list[str]:
    """What people call the parameters whose values in a trial are not allowed now."""
    names = outside(state.within, trial.setting)
    return [one.called for one in state.terms.parameters if one.name in names]


def sentence(state: State, one: Restriction) -> Sentence:
    """What is allowed of a parameter, until when, by whom and why."""
    parameter = next(known for known in state.terms.parameters if known.name == one.parameter)
    if len(set(one.allowed)) == 1:
        kept = one.allowed[0]
        what = say("restriction.kept", value=kept if isinstance(kept, str) else parameter.shown(kept, unit=True))
    elif one.options:
        what = say("restriction.one_of", options=one.options)
    else:
        low, high = parameter.shown(one.low), parameter.shown(one.high, unit=True)
        what = say("restriction.between", low=low, high=high)
    end = say("restriction.until_lifted")
    if one.until is not None:
        end = say("restriction.until", moment=text_of(one.until))
    return say("restriction.is", name=parameter.called, what=what, end=end, by=one.by, why=one.reason)


def withdrawn(state: State) -> Sentence | None:
    """Why the open trial is not to be sent any more: a restriction came after it was proposed. None: it is."""
    trial = state.trial
    if trial is None or trial.source == "start" or trial.stage not in (Stage.PROPOSED, Stage.APPROVED):
        return None
    names = outside_of(state, trial)
    return say("restriction.outside", names=names) if names else None


def ended(state: State, now: datetime) -> str | None:
    """The parameter whose restriction has come to its end."""
    return next((one.parameter for one in state.restrictions if one.until is not None and one.until <= now), None)


def next_end(state: State) -> datetime | None:
    """When the next restriction ends by itself."""
    return min((one.until for one in state.restrictions if one.until is not None), default=None)


def restricted(
    state: State, parameter: str, wanted: Value | Sequence[Value | None], until: str | None, now: datetime
) -> ParameterRestricted:
    """The event that restricts a parameter, without who and why.

    Raises:
        RestrictionError: It contradicts something.
    """
    known = {one.name: one for one in state.terms.parameters}
    if parameter not in known:
        raise RestrictionError(say("restriction.unknown", name=parameter, names=list(known)))
    domain = known[parameter].domain
    try:
        limits = allowed(domain, _typed(domain.kind == "choice", wanted))
    except SpaceError as error:
        raise RestrictionError(str(error)) from error
    everything = {**state.within, parameter: limits}
    start = state.terms.known_good
    if not state.begun and outside({parameter: limits}, start):
        raise RestrictionError(say("restriction.known_good", name=parameter, value=start[parameter]))
    if len(everything) == len(known) and all(len(set(one)) == 1 for one in everything.values()):
        raise RestrictionError(say("restriction.nothing_free"))
    if state.terms.constraints:
        _possible(state.terms, everything)
    choice = domain.kind == "choice"
    return ParameterRestricted(
        parameter=parameter,
        low=None if choice else limits[0],
        high=None if choice else limits[1],
        options=limits if choice else (),
        until=_moment(state.terms, until, now),
    )


def _typed(choice: bool, wanted: Any) -> Any:
    """What was typed, as the parameter has it: a number in a text is a number, but not where options are texts."""
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return [one if one is None else _typed(choice, one) for one in wanted]
    if choice:
        return wanted if isinstance(wanted, str) else f"{wanted:.12g}"
    try:
        return wanted if finite(wanted) is not None else float(str(wanted).replace(",", "."))
    except ValueError:
        return wanted


def _possible(terms: Terms, restriction: Mapping[str, Allowed]) -> None:
    """Look whether any setting is left that satisfies the constraints."""
    from tuner.core.space.parameters import parameter_from_json  # numpy and scipy: only where it is needed
    from tuner.core.space.space import Space, some_setting

    data = terms.space_json()
    try:
        some_setting(Space(list(map(parameter_from_json, data["parameters"])), data["constraints"]).within(restriction))
    except SpaceError as error:
        raise RestrictionError(say("restriction.impossible", why=str(error))) from error


def _moment(terms: Terms, until: str | None, now: datetime) -> datetime | None:
    """When it ends, in UTC: at an instant, at the next such time of day, at the next change of shift; None: never."""
    if until is None or not until.strip():
        return None
    zone = zone_of(terms.policy.questions.timezone)
    local = now.astimezone(zone)
    if until.strip().lower() == SHIFT:
        if not terms.policy.shifts:
            raise RestrictionError(say("restriction.no_shifts"))
        return min(_next(local, time.fromisoformat(one)) for one in terms.policy.shifts)
    try:
        if len(until.strip()) <= len("23:59"):
            return _next(local, time.fromisoformat(until.strip()))
        moment = datetime.fromisoformat(until.strip())
    except ValueError:
        raise RestrictionError(say("restriction.no_time", until=until, shift=SHIFT)) from None
    moment = (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)).astimezone(UTC)
    if not now < moment <= now + _LONGEST:
        raise RestrictionError(say("restriction.far", until=until))
    return moment


def _next(local: datetime, at: time) -> datetime:
    """The next time that the clock on the wall shows this."""
    day = local.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    return (day if day > local else day + timedelta(days=1)).astimezone(UTC)
