"""From a state and an event to the next state; pure, and the only place where state comes from."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from tuner.basics.sentences import Sentence, say
from tuner.campaign import events as e
from tuner.campaign.alarms import after
from tuner.campaign.contract_words import changed_reason
from tuner.campaign.importing import imported
from tuner.campaign.moves import LEADS
from tuner.campaign.state import (
    MOVED_STAGES,
    CampaignJudgment,
    CampaignTrial,
    Change,
    Duel,
    MachineState,
    Restriction,
    Stage,
    State,
)
from tuner.campaign.tray import hand_after
from tuner.core.optimizer.questions import Question
from tuner.errors import TunerError


class HistoryError(TunerError):
    """Events that no campaign can have had: the journal is damaged or was written by another program."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event with what the journal says about it."""

    seq: int
    at: datetime
    actor: str
    event: e.Event


def fold(name: str, recorded: Iterable[Recorded], state: State | None = None) -> State | None:
    """The state after all these events."""
    for one in recorded:
        state = evolve(name, state, one)
    return state


def evolve(name: str, state: State | None, one: Recorded) -> State:
    """The state after one more event."""
    if isinstance(one.event, e.CampaignCreated):
        if state is not None:
            raise HistoryError(say("history.created_before", seq=one.seq, name=name))
        series = hashlib.sha256(f"{name} {one.at.isoformat()}".encode()).hexdigest()[:6]
        mode = LEADS[e.CampaignCreated]
        return State(name, one.event.terms, mode, since=one.at, created_at=one.at, series=series, count=1, seq=one.seq)
    if state is None:
        raise HistoryError(say("history.not_created", seq=one.seq, name=name))
    try:
        changed = _RULES[type(one.event)](_moved(state, one), one.event, one)
        alarms = after(state.alarms, one.event, one.at, one.actor)
    except (IndexError, AttributeError, TypeError, KeyError, ValueError) as error:
        raise HistoryError(say("history.no_fit", seq=one.seq, type=one.event.type)) from error
    if changed.wanted is not None and type(one.event) in _NEWS:
        changed = replace(changed, wanted=None)  # the model did not know that
    changed = replace(changed, hand=hand_after(state, changed, one.event))
    if (state.trial or state.duel) and not (changed.trial or changed.duel):
        changed = replace(changed, idle_since=one.at)
    return replace(_dated(state, changed, one), alarms=alarms, count=state.count + 1, seq=one.seq)


def _moved(state: State, one: Recorded) -> State:
    """The state in the mode that the event leads to."""
    mode = LEADS.get(type(one.event))
    if mode is None:
        return state
    return replace(state, mode=mode, since=one.at, reason=getattr(one.event, "reason", ""))


def _dated(before: State, after: State, one: Recorded) -> State:
    """Note when the newest trial came to its stage: waiting at one is not waiting at the next."""
    if not before.trials or not after.trials or before.trials[-1].stage is after.trials[-1].stage:
        return after
    if len(before.trials) != len(after.trials):
        return after
    return replace(after, trials=(*after.trials[:-1], replace(after.trials[-1], staged_at=one.at)))


def _trial(state: State, number: int, **changes: Any) -> State:
    if not 1 <= number <= len(state.trials):
        raise IndexError(number)
    trials = list(state.trials)
    trials[number - 1] = replace(trials[number - 1], **changes)
    return replace(state, trials=tuple(trials))


def _known(state: State, *numbers: int) -> None:
    """Trials that are spoken of must be there: whoever reads the state later relies on it."""
    if not all(1 <= number <= len(state.trials) for number in numbers):
        raise IndexError(numbers)


def _duel(state: State, number: int, **changes: Any) -> State:
    if not 1 <= number <= len(state.duels):
        raise IndexError(number)
    duels = list(state.duels)
    duels[number - 1] = replace(duels[number - 1], **changes)
    return replace(state, duels=tuple(duels))


def _home(state: State, reason: str, one: Recorded) -> State:
    """Want the machine home, unless it is known to be there or was never moved."""
    machine = state.machine
    if machine.home or machine.requested is None:
        return state
    return replace(state, machine=replace(machine, home_wanted=reason, home_failed=None, home_since=one.at))


def _terms_changed(state: State, event: e.TermsChanged, one: Recorded) -> State:
    home = state.machine.home and state.terms.known_good == event.terms.known_good
    trial, pretended = state.trial, state.terms.policy.dry_run and not event.terms.policy.dry_run
    if trial is not None and trial.stage in MOVED_STAGES and pretended:
        state = _trial(state, trial.number, stage=Stage.APPROVED)  # now it is done in earnest
    if state.contract_held and event.terms.scrap != state.terms.scrap:
        state = replace(state, reason=changed_reason(state.name))  # the old one is of a contract that is no more
    return replace(state, terms=event.terms, machine=replace(state.machine, home=home))


def _without_fault(state: State, event: e.Event, one: Recorded) -> State:
    """Somebody goes on: a machine that does not come home has been looked at, and is sent its next setting instead."""
    machine = state.machine
    if machine.home_failed is not None:
        machine = replace(machine, home_wanted=None)
    return replace(state, fault=None, machine=machine)


def _held(state: State, event: e.CampaignHeld, one: Recorded) -> State:
    state = replace(state, contract_hold=event.contract)
    if not event.fault:
        return state
    state = replace(state, fault=state.fault or event.reason)  # the first fault is the one that explains the others
    return _home(state, event.reason, one)


def _aborted(state: State, event: e.CampaignAborted, one: Recorded) -> State:
    machine = replace(state.machine, verified=False, home=False, home_wanted=None)
    return replace(state, machine=machine, change=None)


def _proposed(state: State, event: e.ProposalMade, one: Recorded) -> State:
    if event.trial != len(state.trials) + 1:
        raise IndexError(event.trial)
    trial = CampaignTrial.of(event, number=event.trial, lot=state.lot, proposed_at=one.at, staged_at=one.at)
    return replace(
        state,
        trials=(*state.trials, trial),
        memory=event.model or state.memory,
        repeat=_without(state.repeat, event.repeats) if event.source in ("repeat", "remake") else state.repeat,
    )


def _without(repeat: tuple[int, ...], made: int | None) -> tuple[int, ...]:
    """The trials that are still to be made again: one of them is being made."""
    place = repeat.index(made) if made in repeat else 0
    return (*repeat[:place], *repeat[place + 1 :])


def _sent(state: State, event: e.SettingSent, one: Recorded) -> State:
    state = _trial(state, event.trial, stage=Stage.SENT)
    if state.terms.policy.dry_run:
        return state  # nothing will be sent, the machine stays as it is
    machine = MachineState(requested=state.trials[event.trial - 1].setting, read_back=state.machine.read_back)
    return replace(state, machine=machine)


def _answered(state: State, event: e.SettingAnswered, one: Recorded) -> State:
    applied = event.result == "applied"
    state = _trial(state, event.trial, stage=Stage.APPLIED if applied else Stage.APPROVED)
    read_back = event.read_back if event.read_back is not None else state.machine.read_back
    if state.terms.policy.dry_run:
        return replace(state, machine=replace(state.machine, read_back=read_back))
    return replace(state, machine=replace(state.machine, read_back=read_back, verified=applied))


def _began(state: State, event: e.TrialStarted, one: Recorded) -> State:
    return _trial(state, event.trial, stage=Stage.RUNNING, started_at=one.at)


def _interrupted(state: State, event: e.TrialInterrupted, one: Recorded) -> State:
    state = _trial(state, event.trial, stage=Stage.APPROVED)
    return replace(state, machine=replace(state.machine, verified=False))


def _outcome(state: State, event: e.OutcomeTold, one: Recorded) -> State:
    _known(state, event.trial)
    known = state.trials[event.trial - 1]
    return _trial(
        state,
        event.trial,
        stage=Stage.DONE,
        ended_at=known.ended_at or one.at,
        valid=event.valid,
        outcome_reason=event.reason,
        measurements=event.measurements or known.measurements,
        photo=event.photo or known.photo,
    )


def _dropped(state: State, event: e.TrialDropped, one: Recorded) -> State:
    state = _trial(state, event.trial, stage=Stage.DROPPED, outcome_reason=event.reason, ended_at=one.at)
    trial = state.trials[event.trial - 1]
    if state.change is not None and state.change.trial == trial.number:
        state = replace(state, change=None)
    if trial.repeats is None or trial.source == "lot":  # whether a champion is still to be made says the lot
        return state
    return replace(state, repeat=(trial.repeats, *state.repeat))  # it is still to be made


def _asked(state: State, event: e.DuelAsked, one: Recorded) -> State:
    if event.duel != len(state.duels) + 1:
        raise IndexError(event.duel)
    _known(state, event.left, event.right)
    duel = Duel(event.duel, event.left, event.right, event.why, one.at)
    looks = tuple(pair for pair in state.looks if frozenset(pair) != duel.pair)
    reduel = state.reduel and event.why != "reduel"
    return replace(state, duels=(*state.duels, duel), reduel=reduel, wanted=None, looks=looks)


def _duel_wanted(state: State, event: e.DuelWanted, one: Recorded) -> State:
    _known(state, event.trial, event.opponent)
    question = Question(event.trial, event.opponent, repeat=event.why == "again", why=event.why)
    return replace(state, wanted=question, memory=event.model or state.memory)


def _judged(state: State, event: e.JudgmentGiven, one: Recorded) -> State:
    if event.judgment != len(state.judgments) + 1:
        raise IndexError(event.judgment)
    state = _duel(state, event.duel, judgment=event.judgment)
    duel = state.duels[event.duel - 1]
    if event.winner is not None and event.winner not in duel.pair:
        raise IndexError(event.winner)
    judgment = CampaignJudgment.of(
        event, number=event.judgment, left=duel.left, right=duel.right, at=one.at, by=one.actor
    )
    return replace(state, judgments=(*state.judgments, judgment))


def _retracted(state: State, event: e.JudgmentRetracted, one: Recorded) -> State:
    if not 1 <= event.judgment <= len(state.judgments):
        raise IndexError(event.judgment)
    judgments = list(state.judgments)
    judgments[event.judgment - 1] = replace(
        judgments[event.judgment - 1], retracted=event.reason or say("answer.taken_back")
    )
    return replace(state, judgments=tuple(judgments))


def _repeat_wanted(state: State, event: e.RepeatWanted, one: Recorded) -> State:
    _known(state, event.trial)
    return replace(state, repeat=(*state.repeat, event.trial))


def _change_asked(state: State, event: e.ChangeAsked, one: Recorded) -> State:
    if event.change != state.changes + 1:
        raise IndexError(event.change)
    known = {name: value for name, value in state.manual.items() if name not in event.setting}
    change = Change(event.change, event.setting, event.trial, one.at)
    return replace(state, manual=known, change=change, changes=event.change)


def _change_confirmed(state: State, event: e.ChangeConfirmed, one: Recorded) -> State:
    if event.change != state.changes:
        raise IndexError(event.change)
    return replace(state, manual={**state.manual, **event.setting}, change=None)


def _restricted(state: State, event: e.ParameterRestricted, one: Recorded) -> State:
    fields = event.model_dump(exclude={"type"})
    others = tuple(known for known in state.restrictions if known.parameter != event.parameter)
    return replace(state, restrictions=(*others, Restriction(**fields, by=one.actor, at=one.at)))


def _lifted(state: State, event: e.RestrictionLifted, one: Recorded) -> State:
    others = tuple(known for known in state.restrictions if known.parameter != event.parameter)
    return replace(state, restrictions=others)


def _look_wanted(state: State, event: e.LookWanted, one: Recorded) -> State:
    _known(state, event.left, event.right)
    return replace(state, looks=(*state.looks, (min(event.left, event.right), max(event.left, event.right))))


def _home_wanted(state: State, event: e.HomeWanted, one: Recorded) -> State:
    machine = replace(state.machine, home_wanted=event.reason, home_since=one.at, home=False, home_failed=None)
    return replace(state, machine=machine)


def _home_answered(state: State, event: e.HomeAnswered, one: Recorded) -> State:
    applied = event.result == "applied"
    machine = MachineState(
        requested=state.terms.known_good,
        read_back=event.read_back if event.read_back is not None else state.machine.read_back,
        verified=applied,
        home=applied,
        home_failed=None if applied else event.text,
    )
    return replace(_sent_again(state), machine=machine)


def _home_delayed(state: State, event: e.HomeDelayed, one: Recorded) -> State:
    machine = MachineState(
        requested=state.terms.known_good,
        read_back=event.read_back if event.read_back is not None else state.machine.read_back,
        home_wanted=state.machine.home_wanted,
        home_failed=event.text,
        home_since=state.machine.home_since,
    )
    return replace(_sent_again(state), machine=machine)


def _sent_again(state: State) -> State:
    """The setting of the open trial is not the machine's any more."""
    trial = state.trial
    if trial is not None and trial.stage in (Stage.SENT, Stage.APPLIED):
        return _trial(state, trial.number, stage=Stage.APPROVED)
    return state


_NEWS = (e.TermsChanged, e.OutcomeTold, e.JudgmentGiven, e.JudgmentRetracted, e.TrialExcluded, e.EarlierImported)

_RULES: dict[type[Any], Callable[[State, Any, Recorded], State]] = {
    e.TermsChanged: _terms_changed,
    e.CampaignStarted: _without_fault,
    e.CampaignHeld: _held,
    e.CampaignResumed: _without_fault,
    e.CampaignStopped: lambda s, ev, one: _home(s, say("tuning.was_stopped"), one),
    e.CampaignAborted: _aborted,
    e.CampaignCompleted: lambda s, ev, one: _home(replace(s, memory=ev.model or s.memory), ev.reason, one),
    e.ProposalMade: _proposed,
    e.ProposalApproved: lambda s, ev, one: _trial(s, ev.trial, stage=Stage.APPROVED),
    e.ProposalRejected: lambda s, ev, one: _trial(
        s, ev.trial, stage=Stage.REJECTED, outcome_reason=ev.reason, ended_at=one.at
    ),
    e.SettingSent: _sent,
    e.SettingAnswered: _answered,
    e.TrialStarted: _began,
    e.TrialInterrupted: _interrupted,
    e.TrialDropped: _dropped,
    e.OutcomeTold: _outcome,
    e.DuelWanted: _duel_wanted,
    e.DuelAsked: _asked,
    e.DuelClosed: lambda s, ev, one: _duel(s, ev.duel, closed=ev.reason),
    e.JudgmentGiven: _judged,
    e.JudgmentRetracted: _retracted,
    e.TrialExcluded: lambda s, ev, one: _trial(s, ev.trial, excluded=ev.reason),
    e.RepeatWanted: _repeat_wanted,
    e.ReduelDue: lambda s, ev, one: replace(s, reduel=True),
    e.LotChanged: lambda s, ev, one: replace(s, lot=ev.lot),
    e.ChangeAsked: _change_asked,
    e.ChangeConfirmed: _change_confirmed,
    e.EarlierImported: lambda s, ev, one: imported(s, ev, one.at, one.actor),
    e.ParameterRestricted: _restricted,
    e.RestrictionLifted: _lifted,
    e.AlarmAcknowledged: lambda s, ev, one: s,
    e.LookWanted: _look_wanted,
    e.HomeWanted: _home_wanted,
    e.HomeAnswered: _home_answered,
    e.HomeDelayed: _home_delayed,
}


def _why(error: ValidationError) -> Sentence:
    """The first thing that is wrong, in one line."""
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "union_tag_invalid":
        return say("history.unknown_event", type=str(first["ctx"]["tag"]))
    where = ".".join(map(str, first["loc"]))
    return Sentence(f"{where}: {first['msg']}" if where else first["msg"])


def parsed(seq: int, at: str, actor: str, body: str) -> Recorded:
    """An event from its row of the journal."""
    try:
        return Recorded(seq, datetime.fromisoformat(at), actor, e.EVENT.validate_json(body))
    except ValidationError as error:
        raise HistoryError(say("history.unreadable", seq=seq, why=_why(error))) from error
    except ValueError as error:
        raise HistoryError(say("history.unreadable", seq=seq, why=str(error))) from error
