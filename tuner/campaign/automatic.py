"""What follows from a state by itself, without being asked: the next question, trial or end; pure."""

from datetime import datetime

from tuner.basics.sentences import Sentence, say
from tuner.basics.vocabulary import ENDED
from tuner.campaign import events as e
from tuner.campaign.asking_times import may_ask_at
from tuner.campaign.by_hand import needed
from tuner.campaign.questions import due, model_may_ask, sides, to_make_first, to_remake
from tuner.campaign.restricting import ended, withdrawn
from tuner.campaign.state import Change, Mode, Stage, State
from tuner.core.optimizer.records import Setting


def automatic(state: State, now: datetime) -> e.Event | None:
    """The next event that follows from the state by itself, or None."""
    duel = state.duel
    if duel is not None and not (state.trials[duel.left - 1].usable and state.trials[duel.right - 1].usable):
        return e.DuelClosed(duel=duel.number, reason=say("tuning.part_left_out"))
    if duel is not None and state.mode in ENDED:
        return e.DuelClosed(duel=duel.number, reason=say(f"tuning.{state.mode.lower()}"))
    first = None if duel is None else to_make_first(state)
    if duel is not None and first is not None:
        return e.DuelClosed(duel=duel.number, reason=say("tuning.made_first", tag=state.trials[first - 1].tag))
    over = ended(state, now)
    if over is not None:
        return e.RestrictionLifted(parameter=over, reason=say("restriction.over"), ended=True)
    trial = state.trial
    if trial is not None and state.mode in ENDED and (trial.stage is not Stage.RUNNING or state.mode is Mode.ABORTED):
        return e.TrialDropped(trial=trial.number, reason=say(f"tuning.{state.mode.lower()}"))
    outside = withdrawn(state)
    if trial is not None and outside is not None:
        return e.TrialDropped(trial=trial.number, reason=outside)
    need = needed(state)
    if need is not None and (state.change is None or (need.setting, need.trial) != _asked_for(state.change)):
        return e.ChangeAsked(change=state.changes + 1, setting=need.setting, trial=need.trial)
    if state.mode is not Mode.EXECUTE:
        return None
    if trial is not None:
        if trial.stage is Stage.PROPOSED and not state.terms.policy.approval:
            return e.ProposalApproved(trial=trial.number)
        return None
    return None if duel is not None else _next_step(state, now)


def _asked_for(change: Change) -> tuple[Setting, int | None]:
    return change.setting, change.trial


def _next_step(state: State, now: datetime) -> e.Event | None:
    """What comes when neither a trial nor a question is open; None if it takes time or a computation."""
    question, first = due(state), to_make_first(state)
    if first is not None and budget_end(state) is None:
        return _again(state, first, "remake")
    if question is not None:
        if may_ask_at(state.terms.policy.questions, now, [d.asked_at for d in state.duels[-1000:]]) != now:
            return None
        left, right = sides(state, question)
        return e.DuelAsked(duel=len(state.duels) + 1, left=left, right=right, why=question.why)
    end = budget_end(state)
    if end is not None:  # before it ends, the model looks whether an answer is worth another look
        return None if model_may_ask(state) else e.CampaignCompleted(reason=end)
    if not state.begun:
        return _proposal(state, state.terms.known_good, "start", say("why.start"))
    champion = to_remake(state)
    if champion is not None:
        why = say("why.lot", tag=state.trials[champion - 1].tag)
        return _proposal(state, state.trials[champion - 1].setting, "lot", why).model_copy(update={"repeats": champion})
    return None if state.to_repeat is None else _again(state, state.to_repeat, "repeat")


def _again(state: State, number: int, source: e.Source) -> e.ProposalMade:
    old = state.trials[number - 1]
    made = _proposal(state, old.setting, source, say("why.repeat", tag=old.tag))
    return made.model_copy(update={"repeats": old.number})


def budget_end(state: State) -> Sentence | None:
    """Why the budget allows no further trial, or None."""
    budget = state.terms.budget
    if state.spent >= budget.trials:
        return say("budget.trials", trials=budget.trials)
    if budget.scrap is not None and state.scrap >= max(budget.scrap, 1):
        return say("budget.scrap", trials=budget.scrap)
    return None


def _proposal(state: State, setting: Setting, source: e.Source, reason: Sentence) -> e.ProposalMade:
    number = len(state.trials) + 1
    return e.ProposalMade(
        trial=number,
        tag=part_tag(state, number),
        setting=setting,
        source=source,
        reason=reason,
        opponent=state.champion,
    )


def part_tag(state: State, number: int) -> str:
    """Short enough to be written on a part."""
    return f"{state.name[0].upper()}{number}"
