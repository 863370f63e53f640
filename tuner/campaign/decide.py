"""From a state and a command to events, or a refusal; pure."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tuner.basics.names import VIA, same_name
from tuner.basics.text import counted
from tuner.basics.vocabulary import ENDED
from tuner.campaign import commands as c
from tuner.campaign import events as e
from tuner.campaign.automatic import budget_end, part_tag
from tuner.campaign.by_hand import needed
from tuner.campaign.importing import fitting, objection, problems, same, unreadable
from tuner.campaign.moves import MOVES, illegal
from tuner.campaign.questions import due
from tuner.campaign.state import MOVED_STAGES, CampaignTrial, Mode, Stage, State
from tuner.core.optimizer.records import Judgment


class Refusal(Exception):  # noqa: N818 - the design's word; it is an answer, not a defect
    """Why a command is not done, with a code for programs and a sentence for people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks: a person or program by name, what it may do, and whether a PIN or badge has proved the name."""

    name: str
    role: str
    via: str = ""
    proved: bool = False

    @property
    def signature(self) -> str:
        """As the journal has it: the person, and the key of the client if it has one.

        The key is always said: without it a local client of the same name would sign alike.
        """
        return f"{self.name}{VIA}{self.via}" if self.via else self.name


def decide(state: State | None, command: c.Command, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    """The events that a command makes."""
    if isinstance(command, c.Create):
        if state is not None:
            raise Refusal("exists", f"there is a campaign {state.name} already")
        return (e.CampaignCreated(terms=command.terms),)
    if state is None:
        raise Refusal("not_found", "there is no such campaign")
    if (why := illegal(state.name, state.mode, command)) is not None:
        raise Refusal("illegal_state" if MOVES[type(command)].of_people else "stale", why)
    return _RULES[type(command)](state, command, actor, now)


def _get(state: State, number: int) -> CampaignTrial:
    if not 1 <= number <= len(state.trials):
        raise Refusal("not_found", f"there is no trial {number} in the campaign {state.name}")
    return state.trials[number - 1]


def _open(state: State, number: int, *stages: Stage) -> CampaignTrial:
    """The trial of an internal command, if it still is where the command thinks it is."""
    trial = _get(state, number)
    if trial is not state.trial or trial.stage not in stages:
        raise Refusal("stale", f"trial {number} is {trial.stage} by now")
    return trial


def _waiting(state: State, number: int) -> CampaignTrial:
    trial = _get(state, number)
    if trial.stage is not Stage.PROPOSED:
        raise Refusal("not_open", f"trial {number} waits for no approval: it is {trial.stage}")
    return trial


def _change(state: State, command: c.ChangeTerms, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    terms = command.terms.like(state.terms)
    if terms == state.terms:
        return ()
    if terms.fixed() != state.terms.fixed():
        raise Refusal(
            "fixed_terms",
            f"the campaign {state.name} cannot change its machine, seed, parameters or constraints: "
            "its trials would mean something else; make a new campaign with another name",
        )
    for parameter in terms.parameters:  # the resolution it began with may not go with a new limit
        for complaint in parameter.more_complaints():
            raise Refusal("config", f"{parameter.name}: {'.'.join(map(str, complaint.path))}: {complaint.sentence}")
    return (e.TermsChanged(terms=terms),)


def _start(state: State, command: c.Start, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    end = budget_end(state)
    if end is not None and due(state) is None:
        raise Refusal("budget_used_up", f"{end}; raise it in the configuration first")
    return (e.CampaignStarted(),)


def _hold(state: State, command: c.Hold, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    return (e.CampaignHeld(reason=command.reason or f"held by {actor.name}"),)


def _reject(state: State, command: c.Reject, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = _waiting(state, command.trial)
    if trial.source == "start":
        raise Refusal("not_allowed", "the known-good setting cannot be rejected; change it in the configuration")
    return (e.ProposalRejected(trial=command.trial, reason=command.reason),)


def _tell(state: State, command: c.TellOutcome, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = _get(state, command.trial)
    if not command.valid and not command.reason:
        raise Refusal("bad_request", "a non-valid outcome needs a reason")
    if trial.stage not in (Stage.RUNNING, Stage.DONE):
        raise Refusal("not_open", f"trial {trial.number} has no part yet: it is {trial.stage}")
    if trial.stage is Stage.DONE and trial.valid is command.valid:
        said = "valid" if command.valid else "non-valid"
        raise Refusal("unchanged", f"trial {trial.number} is {said} already")
    return (e.OutcomeTold(trial=trial.number, valid=command.valid, reason=command.reason),)


def _judge(state: State, command: c.Judge | c.Tie, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if not 1 <= command.duel <= len(state.duels):
        raise Refusal("not_found", f"there is no duel {command.duel} in the campaign {state.name}")
    duel = state.duels[command.duel - 1]
    if duel.judgment is not None:
        known = state.judgments[duel.judgment - 1]
        raise Refusal(
            "already_answered",
            f"duel {duel.number} was answered by {known.operator} at {known.at:%H:%M:%S} UTC: {_answer(state, known)}",
        )
    if duel.closed is not None:
        raise Refusal("closed", f"duel {duel.number} is closed: {duel.closed}")
    winner = command.winner if isinstance(command, c.Judge) else None
    if winner is not None and winner not in duel.pair:
        raise Refusal("bad_request", f"duel {duel.number} is between trials {duel.left} and {duel.right}, not {winner}")
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
        raise Refusal(
            "not_allowed",
            f'the campaign {state.name} takes no "clearly better": its [campaign.policy] would need graded = true',
        )
    return None


def _answer(state: State, judgment: Judgment) -> str:
    if judgment.winner is None:
        return "can't tell"
    return f"part {state.trials[judgment.winner - 1].tag} is {'clearly ' if judgment.clearly else ''}better"


def _retract(state: State, command: c.Retract, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if not 1 <= command.judgment <= len(state.judgments):
        raise Refusal("not_found", f"there is no judgment {command.judgment} in the campaign {state.name}")
    judgment = state.judgments[command.judgment - 1]
    if judgment.retracted is not None:
        raise Refusal("unchanged", f"judgment {judgment.number} was taken back before")
    if actor.role != "engineer":
        minutes = state.terms.policy.undo_minutes
        if not same_name(judgment.by, actor.signature):  # the person, by the same key: a name alone is only said
            raise Refusal("denied", f"judgment {judgment.number} is by {judgment.by}; an engineer can retract it")
        if now - judgment.at > timedelta(minutes=minutes):
            raise Refusal("too_late", f"answers can be taken back for {minutes:g} minutes; ask an engineer")
    return (e.JudgmentRetracted(judgment=judgment.number, reason=command.reason),)


def _exclude(state: State, command: c.Exclude, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = _get(state, command.trial)
    if trial.stage is not Stage.DONE:
        raise Refusal("not_open", f"trial {trial.number} has no outcome that could be excluded: it is {trial.stage}")
    if trial.excluded is not None:
        raise Refusal("unchanged", f"trial {trial.number} was excluded before: {trial.excluded}")
    return (e.TrialExcluded(trial=trial.number, reason=command.reason),)


def _repeat(state: State, command: c.Repeat, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = _get(state, command.trial)
    if trial.stage is not Stage.DONE:
        raise Refusal("not_open", f"trial {trial.number} was not made yet: it is {trial.stage}")
    end = budget_end(state)
    if end is None and state.spent + len(state.repeat) >= state.terms.budget.trials:
        end = f"{counted(len(state.repeat), 'part')} to be made again will use up the budget"
    if end is not None:
        raise Refusal("budget_used_up", f"{end}; part {trial.tag} cannot be made again")
    return (e.RepeatWanted(trial=trial.number),)


def _propose(state: State, command: c.Propose, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if state.trial is not None:
        raise Refusal("stale", "no proposal is wanted by now")
    number = len(state.trials) + 1
    told = {**command.proposal.to_json(), "trial": number, "tag": part_tag(state, number)}
    del told["number"]
    return (e.ProposalMade(**told, source=command.source, model=command.model, engine=command.engine),)


def _ask(state: State, command: c.Ask, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    question, end = command.question, budget_end(state)
    if state.trial is not None or state.duel is not None or due(state) is not None:
        raise Refusal("stale", "no question is wanted by now")
    if question is None:
        return () if end is None else (e.CampaignCompleted(reason=end, model=command.model),)
    if not all(_get(state, number).usable for number in (question.number, question.opponent)):
        raise Refusal("stale", "one of the parts is out of account by now")
    asked = {"trial": question.number, "opponent": question.opponent, "why": question.why}
    return (e.DuelWanted(**asked, model=command.model, engine=command.engine),)


def _answered(state: State, command: c.AnswerSetting, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    _open(state, command.trial, Stage.SENT)
    answer = e.SettingAnswered(**dict(command))
    if command.result == "applied" or state.mode is not Mode.EXECUTE:
        return (answer,)
    return (answer, e.CampaignHeld(reason=f"setting {command.result}: {command.text}", fault=True))


def _outcome(state: State, command: c.MachineOutcome, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    _open(state, command.trial, Stage.RUNNING)
    return (e.OutcomeTold(**dict(command)),)


def _begin(state: State, command: c.BeginTrial, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    _open(state, command.trial, Stage.APPLIED)
    return (e.TrialStarted(trial=command.trial),)


def _send(state: State, command: c.SendSetting, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    trial = _open(state, command.trial, Stage.APPROVED, Stage.SENT)
    if needed(state) is not None:
        raise Refusal("stale", f"trial {trial.number} waits for a change by hand")
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
        raise Refusal("dry_run", "this is a dry run: the machine was never moved, and nothing is sent to it")
    return (e.HomeWanted(reason=f"{actor.name} asked for it"),)


def _confirm(state: State, command: c.ConfirmChange, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    change = state.change
    if change is None:
        raise Refusal("not_open", f"no change by hand is asked for in the campaign {state.name}")
    if command.change != change.number:
        raise Refusal("not_open", f"change {command.change} is not asked for any more; look at change {change.number}")
    return (e.ChangeConfirmed(change=change.number, setting=change.setting),)


def _import(state: State, command: c.ImportEarlier, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if why := problems(state.terms, command):
        raise Refusal("bad_request", f"nothing was imported: {why}")
    trials = tuple(
        trial.model_copy(update={"setting": fitting(state.terms, trial.setting)}) for trial in command.trials
    )
    if any(same(one, trials, command.judgments) for one in state.imports):
        raise Refusal("unchanged", f"the campaign {state.name} knows these trials and judgments already")
    if unreadable(command.model, len(trials)):
        raise Refusal("bad_request", "nothing was imported: what the model remembered cannot be read; leave it out")
    own = command.discount == 1.0
    if own and (why := objection(state, command)):
        raise Refusal("not_allowed", f"nothing was imported: {why}")
    brought = {"trials": trials, "judgments": command.judgments, "model": command.model if own else None}
    return (e.EarlierImported(source=command.source, discount=command.discount, **brought),)


def _delay_home(state: State, command: c.DelayHome, actor: Actor, now: datetime) -> tuple[e.Event, ...]:
    if state.machine.home_wanted is None:
        raise Refusal("stale", "the machine is not wanted home by now")
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
    c.Stop: lambda s, k, a, n: (e.CampaignStopped(reason=k.reason or f"stopped by {a.name}"),),
    c.Abort: lambda s, k, a, n: (e.CampaignAborted(reason=k.reason or f"aborted by {a.name}"),),
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
    c.SendSetting: _send,
    c.AnswerSetting: _answered,
    c.BeginTrial: _begin,
    c.MachineOutcome: _outcome,
    c.Fault: _fault,
    c.AnswerHome: lambda s, k, a, n: (e.HomeAnswered(**dict(k)),),
    c.DelayHome: _delay_home,
    c.ConfirmChange: _confirm,
    c.ImportEarlier: _import,
    c.Interrupt: _interrupt,
    c.Park: _park,
    c.Reduel: lambda s, k, a, n: () if s.reduel else (e.ReduelDue(),),
    c.Tick: lambda s, k, a, n: (),
}
