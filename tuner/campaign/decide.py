"""From a state and a command to events, or a refusal; pure."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from tuner.basics.names import same_name
from tuner.basics.sentences import Sentence, say
from tuner.basics.vocabulary import ENDED
from tuner.campaign import commands as c
from tuner.campaign import events as e
from tuner.campaign.automatic import budget_end, part_tag
from tuner.campaign.by_hand import needed
from tuner.campaign.contract_words import hold_reason
from tuner.campaign.importing import continues, fitting, objection, problems, same, together, unreadable
from tuner.campaign.moves import MOVES, illegal
from tuner.campaign.questions import due
from tuner.campaign.refusal import Actor as Actor
from tuner.campaign.refusal import Refusal as Refusal
from tuner.campaign.restricting import outside_of
from tuner.campaign.state import MOVED_STAGES, CampaignJudgment, CampaignTrial, Mode, Stage, State
from tuner.campaign.steering import acknowledge, ask_again, free, restrict
from tuner.core.optimizer.records import Judgment


def decide(state: State | None, command: c.Command, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    """The events that a command makes."""
    if isinstance(command, c.Create):
        if state is not None:
            raise Refusal("exists", say("refused.campaign_exists", name=state.name))
        return (e.CampaignCreated(terms=command.terms),)
    if state is None:
        raise Refusal("not_found", say("refused.no_such_campaign"))
    if (why := illegal(state.name, state.mode, command)) is not None:
        raise Refusal("illegal_state" if MOVES[type(command)].of_people else "stale", why)
    return _RULES[type(command)](state, command, actor, now)


def _stage(trial: CampaignTrial) -> Sentence:
    return say(f"stage.{trial.stage}")


def _get(state: State, number: int) -> CampaignTrial:
    if not 1 <= number <= len(state.trials):
        raise Refusal("not_found", say("refused.no_trial", number=number, name=state.name))
    return state.trials[number - 1]


def _open(state: State, number: int, *stages: Stage) -> CampaignTrial:
    """The trial of an internal command, if it still is where the command thinks it is."""
    trial = _get(state, number)
    if trial is not state.trial or trial.stage not in stages:
        raise Refusal("stale", say("refused.trial_by_now", number=number, stage=_stage(trial)))
    return trial


def _waiting(state: State, number: int) -> CampaignTrial:
    trial = _get(state, number)
    if trial.stage is not Stage.PROPOSED:
        raise Refusal("not_open", say("refused.no_approval_awaited", number=number, stage=_stage(trial)))
    return trial


def _change(state: State, command: c.ChangeTerms, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    terms = command.terms.like(state.terms)
    if terms == state.terms:
        return ()
    if terms.fixed() != state.terms.fixed():
        raise Refusal("fixed_terms", say("refused.fixed_terms", name=state.name, keys=state.terms.unlike(terms)))
    for parameter in terms.parameters:  # the resolution it began with may not go with a new limit
        for complaint in parameter.more_complaints():
            place = ".".join(map(str, complaint.path))
            raise Refusal("config", say("refused.complaint", name=parameter.name, place=place, why=complaint.sentence))
    return (e.TermsChanged(terms=terms),)


def _start(state: State, command: c.Start, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    end = budget_end(state)
    if end is not None and due(state) is None:
        raise Refusal("budget_used_up", say("refused.budget_used_up", end=end))
    return (e.CampaignStarted(),)


def _hold(state: State, command: c.Hold, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    return (e.CampaignHeld(reason=command.reason or say("people.held_by", name=actor.name)),)


def _reject(state: State, command: c.Reject, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = _waiting(state, command.trial)
    if trial.source == "start":
        raise Refusal("not_allowed", say("refused.known_good_rejected"))
    return (e.ProposalRejected(trial=command.trial, reason=command.reason),)


def _tell(state: State, command: c.TellOutcome, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = _get(state, command.trial)
    if not command.valid and not command.reason:
        raise Refusal("bad_request", say("refused.outcome_needs_reason"))
    if trial.stage not in (Stage.RUNNING, Stage.DONE):
        raise Refusal("not_open", say("refused.no_part_yet", number=trial.number, stage=_stage(trial)))
    if trial.stage is Stage.DONE and trial.valid is command.valid:
        valid = "refused.valid_already" if command.valid else "refused.non_valid_already"
        raise Refusal("unchanged", say(valid, number=trial.number))
    return (e.OutcomeTold(trial=trial.number, valid=command.valid, reason=command.reason),)


def _judge(state: State, command: c.Judge | c.Tie, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if not 1 <= command.duel <= len(state.duels):
        raise Refusal("not_found", say("refused.no_duel", number=command.duel, name=state.name))
    duel = state.duels[command.duel - 1]
    if duel.judgment is not None:
        known = state.judgments[duel.judgment - 1]
        told = {"operator": known.operator, "time": f"{known.at:%H:%M:%S}", "answer": _answer(state, known)}
        raise Refusal("already_answered", say("refused.already_answered", number=duel.number, **told))
    if duel.closed is not None:
        raise Refusal("closed", say("refused.closed", number=duel.number, why=duel.closed))
    winner = command.winner if isinstance(command, c.Judge) else None
    if winner is not None and winner not in duel.pair:
        pair = {"left": duel.left, "right": duel.right}
        raise Refusal("bad_request", say("refused.not_in_duel", number=duel.number, **pair, winner=winner))
    said = e.JudgmentGiven(
        judgment=len(state.judgments) + 1,
        duel=duel.number,
        winner=winner,
        clearly=_grade(state, command),
        operator=actor.name,
        took_s=command.took_s,
    )
    return (said,)


def _grade(state: State, command: c.Judge | c.Tie) -> bool | None:
    """Whether a part is clearly better; None where answers have no grades."""
    if isinstance(command, c.Tie):
        return None
    if state.terms.policy.graded:
        return command.clearly
    if command.clearly:
        raise Refusal("not_allowed", say("refused.no_grades", name=state.name))
    return None


def _answer(state: State, judgment: Judgment) -> Sentence:
    if judgment.winner is None:
        return say("answer.tie")
    return say("answer.clearly" if judgment.clearly else "answer.better", tag=state.trials[judgment.winner - 1].tag)


def _retract(state: State, command: c.Retract, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if not 1 <= command.judgment <= len(state.judgments):
        raise Refusal("not_found", say("refused.no_judgment", number=command.judgment, name=state.name))
    judgment = state.judgments[command.judgment - 1]
    if judgment.retracted is not None:
        raise Refusal("unchanged", say("refused.taken_back_before", number=judgment.number))
    if actor.role != "engineer":
        minutes = state.terms.policy.undo_minutes
        if not same_name(judgment.by, actor.signature):  # the person, by the same key: a name alone is only said
            raise Refusal("denied", say("refused.of_another", number=judgment.number, by=judgment.by))
        if now - judgment.at > timedelta(minutes=minutes):
            raise Refusal("too_late", say("refused.too_late", minutes=minutes))
    taken = e.JudgmentRetracted(judgment=judgment.number, reason=command.reason)
    return (taken, *_asked_again(state, judgment, actor, now)) if same_name(judgment.by, actor.signature) else (taken,)


def _asked_again(state: State, judgment: CampaignJudgment, actor: Actor, now: datetime) -> Iterator[e.Event]:
    """Whoever takes an answer of their own back wants to give another one: the question comes next.

    A setting that waits for approval was computed from that answer, so it is withdrawn. A part that has no other answer
    is asked about by itself.
    """
    if state.mode is not Mode.EXECUTE:
        return
    trial = state.trial
    if trial is not None and trial.stage is Stage.PROPOSED and trial.source == "model":
        yield e.TrialDropped(trial=trial.number, reason=say("tuning.answer_taken_back"))
    others = frozenset[int]().union(*(one.pair for one in state.told if one.number != judgment.number))
    with suppress(Refusal):  # it is asked already, or one of the parts is out of account
        if judgment.pair <= others:
            yield from ask_again(state, c.AskAgain(judgment=judgment.number), actor, now)


def _exclude(state: State, command: c.Exclude, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = _get(state, command.trial)
    if trial.stage is not Stage.DONE:
        raise Refusal("not_open", say("refused.no_outcome_yet", number=trial.number, stage=_stage(trial)))
    if trial.excluded is not None:
        raise Refusal("unchanged", say("refused.excluded_before", number=trial.number, why=trial.excluded))
    return (e.TrialExcluded(trial=trial.number, reason=command.reason),)


def _repeat(state: State, command: c.Repeat, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = _get(state, command.trial)
    if trial.stage is not Stage.DONE:
        raise Refusal("not_open", say("refused.not_made_yet", number=trial.number, stage=_stage(trial)))
    if names := outside_of(state, trial):
        raise Refusal("not_allowed", say("refused.part_outside", tag=trial.tag, names=names))
    end = budget_end(state)
    if end is None and state.spent + len(state.repeat) >= state.terms.budget.trials:
        end = say("budget.repeats", parts=len(state.repeat))
    if end is not None:
        raise Refusal("budget_used_up", say("refused.not_again", end=end, tag=trial.tag))
    return (e.RepeatWanted(trial=trial.number),)


def _propose(state: State, command: c.Propose, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if state.trial is not None:
        raise Refusal("stale", say("refused.no_proposal_wanted"))
    number = len(state.trials) + 1
    told = {**command.proposal.to_json(), "trial": number, "tag": part_tag(state, number)}
    del told["number"]
    return (e.ProposalMade(**told, source=command.source, model=command.model, engine=command.engine),)


def _ask(state: State, command: c.Ask, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    question, end = command.question, budget_end(state)
    if state.trial is not None or state.duel is not None or due(state) is not None:
        raise Refusal("stale", say("refused.no_question_wanted"))
    if question is None:
        return () if end is None else (e.CampaignCompleted(reason=end, model=command.model),)
    if not all(_get(state, number).usable for number in (question.number, question.opponent)):
        raise Refusal("stale", say("refused.part_left_out"))
    asked = {"trial": question.number, "opponent": question.opponent, "why": question.why}
    return (e.DuelWanted(**asked, model=command.model, engine=command.engine),)


def _keep(state: State, command: c.KeepContract, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if state.trial is not None or state.duel is not None:
        raise Refusal("stale", say("refused.no_proposal_wanted"))
    return (e.CampaignHeld(reason=hold_reason(state, command.reason), contract=True),)


def _answered(state: State, command: c.AnswerSetting, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    _open(state, command.trial, Stage.SENT)
    answer = e.SettingAnswered(**dict(command))
    if command.result == "applied" or state.mode is not Mode.EXECUTE:
        return (answer,)
    return (answer, e.CampaignHeld(reason=say(f"setting.{command.result}", text=command.text), fault=True))


def _outcome(state: State, command: c.MachineOutcome, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    _open(state, command.trial, Stage.RUNNING)
    return (e.OutcomeTold(**dict(command)),)


def _begin(state: State, command: c.BeginTrial, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    _open(state, command.trial, Stage.APPLIED)
    return (e.TrialStarted(trial=command.trial),)


def _send(state: State, command: c.SendSetting, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = _open(state, command.trial, Stage.APPROVED, Stage.SENT)
    if needed(state) is not None:
        raise Refusal("stale", say("refused.change_first", number=trial.number))
    return (e.SettingSent(trial=trial.number),) if trial.stage is Stage.APPROVED else ()


def _interrupt(state: State, command: c.Interrupt, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = state.trial
    if trial is None or trial.stage not in MOVED_STAGES:
        return ()
    if state.mode in ENDED:
        return (e.TrialDropped(trial=trial.number, reason=command.reason),)
    return (e.TrialInterrupted(trial=trial.number, reason=command.reason),)


def _park(state: State, command: c.Park, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    events = _interrupt(state, c.Interrupt(reason=command.reason), actor, now)
    machine = state.machine
    if machine.home or machine.requested is None or machine.home_wanted is not None or state.mode is Mode.ABORTED:
        return events
    return (*events, e.HomeWanted(reason=command.reason))


def _go_home(state: State, command: c.GoHome, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if state.terms.policy.dry_run and state.machine.requested is None:
        raise Refusal("dry_run", say("refused.dry_run"))
    return (e.HomeWanted(reason=say("people.asked", name=actor.name)),)


def _confirm(state: State, command: c.ConfirmChange, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    change = state.change
    if change is None:
        raise Refusal("not_open", say("refused.no_change", name=state.name))
    if command.change != change.number:
        raise Refusal("not_open", say("refused.other_change", number=command.change, now=change.number))
    return (e.ChangeConfirmed(change=change.number, setting=change.setting),)


def _import(state: State, command: c.ImportEarlier, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if not continues(state.arriving, command):
        raise Refusal("stale", say("refused.not_imported", why=say("earlier.pieces")))
    before = state.arriving.trials if command.after and state.arriving else ()
    if why := problems(state.terms, command, before):
        raise Refusal("bad_request", say("refused.not_imported", why=why))
    own = command.discount == 1.0
    event = e.EarlierImported(
        source=command.source,
        discount=command.discount,
        trials=fitting(state.terms, command.trials),
        judgments=command.judgments,
        model=command.model if own else None,
        more=command.more,
        after=command.after,
    )
    whole = together(state.arriving, event, now)
    if own and (why := objection(state, whole.trials)):
        raise Refusal("not_allowed", say("refused.not_imported", why=why))
    if command.more:
        return (event,)
    if any(same(one, whole) for one in state.imports):
        raise Refusal("unchanged", say("refused.imported_before", name=state.name))
    if unreadable(command.model, len(whole.trials)):
        raise Refusal("bad_request", say("refused.not_imported", why=say("earlier.memory")))
    return (event,)


def _delay_home(state: State, command: c.DelayHome, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if state.machine.home_wanted is None:
        raise Refusal("stale", say("refused.home_not_wanted"))
    return () if state.machine.home_failed == command.text else (e.HomeDelayed(**dict(command)),)


def _fault(state: State, command: c.Fault, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    events = _interrupt(state, c.Interrupt(reason=command.text), actor, now)
    if state.mode in (Mode.EXECUTE, Mode.HELD):
        return (*events, e.CampaignHeld(reason=command.text, fault=True))
    return events


_RULES: dict[type[Any], Callable[[State, Any, Actor, datetime], tuple[e.Event, ...]]] = {
    c.ChangeTerms: _change,
    c.Start: _start,
    c.Hold: _hold,
    c.Resume: lambda s, k, a, n: (e.CampaignResumed(),),
    c.Stop: lambda s, k, a, n: (e.CampaignStopped(reason=k.reason or say("people.stopped_by", name=a.name)),),
    c.Abort: lambda s, k, a, n: (e.CampaignAborted(reason=k.reason or say("people.aborted_by", name=a.name)),),
    c.GoHome: _go_home,
    c.Approve: lambda s, k, a, n: (e.ProposalApproved(trial=_waiting(s, k.trial).number),),
    c.Reject: _reject,
    c.TellOutcome: _tell,
    c.Judge: _judge,
    c.Tie: _judge,
    c.Retract: _retract,
    c.Exclude: _exclude,
    c.Repeat: _repeat,
    c.ChangeLot: lambda s, k, a, n: () if k.lot == s.lot else (e.LotChanged(lot=k.lot),),
    c.Propose: _propose,
    c.Ask: _ask,
    c.KeepContract: _keep,
    c.SendSetting: _send,
    c.AnswerSetting: _answered,
    c.BeginTrial: _begin,
    c.MachineOutcome: _outcome,
    c.Fault: _fault,
    c.AnswerHome: lambda s, k, a, n: (e.HomeAnswered(**dict(k)),),
    c.DelayHome: _delay_home,
    c.ConfirmChange: _confirm,
    c.ImportEarlier: _import,
    c.Freeze: restrict,
    c.Narrow: restrict,
    c.Free: free,
    c.Acknowledge: acknowledge,
    c.AskAgain: ask_again,
    c.Interrupt: _interrupt,
    c.Park: _park,
    c.Reduel: lambda s, k, a, n: () if s.reduel else (e.ReduelDue(),),
    c.Tick: lambda s, k, a, n: (),
}
