"""What people decide beside a trial's road: restrict parameters, acknowledge alarms, ask again; pure."""

from datetime import datetime
from typing import Any

from tuner.basics.sentences import say
from tuner.basics.vocabulary import Role
from tuner.campaign import commands as c
from tuner.campaign import events as e
from tuner.campaign.refusal import Actor, Refusal
from tuner.campaign.restricting import RestrictionError, restricted
from tuner.campaign.state import Restriction, State


def restrict(state: State, command: c.Freeze | c.Narrow, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    """Keep or narrow a parameter for a while."""
    engineer = actor.role == Role.ENGINEER
    known = _restriction(state, command.parameter)
    if not engineer:
        _may(state, known, actor)
        if command.until is None:
            raise Refusal("denied", say("restriction.needs_end"))
    try:
        event = restricted(state, command.parameter, _wanted(command), command.until, now)
    except RestrictionError as error:
        missing = command.parameter not in [one.name for one in state.terms.parameters]
        raise Refusal("not_found" if missing else "bad_request", say("restriction.nothing", why=str(error))) from error
    same = {"low", "high", "options", "until"}
    if known is not None and all(getattr(known, name) == getattr(event, name) for name in same):
        raise Refusal("unchanged", say("restriction.already", name=command.parameter, by=known.by, why=known.reason))
    return (event.model_copy(update={"reason": command.reason, "by_engineer": engineer}),)


def _wanted(command: c.Freeze | c.Narrow) -> Any:
    if isinstance(command, c.Freeze):
        return command.value
    numbers = (command.low, command.high)
    if command.options and any(one is not None for one in numbers):
        raise RestrictionError(say("restriction.either"))
    return list(command.options) if command.options or not any(one is not None for one in numbers) else numbers


def _restriction(state: State, parameter: str) -> Restriction | None:
    return next((one for one in state.restrictions if one.parameter == parameter), None)


def _may(state: State, known: Restriction | None, actor: Actor) -> None:
    if not state.terms.policy.operators_restrict:
        raise Refusal("denied", say("restriction.engineers_only", name=state.name))
    if known is not None and known.by_engineer:
        raise Refusal("denied", say("restriction.of_an_engineer", name=known.parameter, by=known.by))


def free(state: State, command: c.Free, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    """Lift a restriction."""
    if command.parameter not in [one.name for one in state.terms.parameters]:
        raise Refusal("not_found", say("restriction.no_parameter", name=command.parameter, campaign=state.name))
    known = _restriction(state, command.parameter)
    if known is None:
        raise Refusal("unchanged", say("restriction.none", name=command.parameter))
    if actor.role != Role.ENGINEER:
        _may(state, known, actor)
    return (e.RestrictionLifted(parameter=command.parameter, reason=command.reason),)


def acknowledge(state: State, command: c.Acknowledge, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    """Somebody has seen an alarm."""
    if not 1 <= command.alarm <= len(state.alarms):
        raise Refusal("not_found", say("refused.no_alarm", number=command.alarm, name=state.name))
    known = state.alarms[command.alarm - 1]
    if known.acknowledged_at is not None:
        seen = {"by": known.acknowledged_by, "time": f"{known.acknowledged_at:%H:%M:%S}"}
        raise Refusal("unchanged", say("refused.alarm_seen", number=known.number, **seen))
    return (e.AlarmAcknowledged(alarm=known.number),)


def ask_again(state: State, command: c.AskAgain, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    """Have a duel looked at once more."""
    if not 1 <= command.judgment <= len(state.judgments):
        raise Refusal("not_found", say("refused.no_judgment", number=command.judgment, name=state.name))
    judgment = state.judgments[command.judgment - 1]
    pair = min(judgment.left, judgment.right), max(judgment.left, judgment.right)
    if not all(state.trials[number - 1].usable for number in pair):
        raise Refusal("not_open", say("refused.look_left_out", number=judgment.number))
    kept = state.at_hand
    if kept is not None and not {state.original(number) for number in pair} <= set(kept):
        raise Refusal(
            "not_open", say("refused.look_put_away", number=judgment.number, tray=state.terms.policy.tray or len(kept))
        )
    if pair in state.looks or (state.duel is not None and state.duel.pair == frozenset(pair)):
        raise Refusal("unchanged", say("refused.look_wanted", number=judgment.number))
    return (e.LookWanted(judgment=judgment.number, left=judgment.left, right=judgment.right),)
