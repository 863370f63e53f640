"""From a campaign's state to what clients see of it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from statistics import median
from typing import Any

from tuner.basics.sentences import Sentence, listing, say
from tuner.basics.times import text_of
from tuner.basics.vocabulary import Mode, Phase, Stage
from tuner.campaign.alarms import Alarm
from tuner.campaign.asking_times import left_this_hour
from tuner.campaign.automatic import budget_end
from tuner.campaign.by_hand import needed
from tuner.campaign.contract_words import agreed_scrap, contract_sentences
from tuner.campaign.effects import wake_at
from tuner.campaign.evolve import Recorded
from tuner.campaign.questions import due
from tuner.campaign.restricting import sentence
from tuner.campaign.state import CampaignJudgment, CampaignTrial, Change, State
from tuner.config.parameters import Parameter, parameter_info
from tuner.core.space.values import Value
from tuner.gate.patience import Wait
from tuner.wire import messages as m

_RECENT = 20
_MOST_ALARMS = 20
_STAGE_PHASES = {
    Stage.PROPOSED: (Phase.AWAITING_APPROVAL, "phase.awaiting_approval"),
    Stage.APPROVED: (Phase.SENDING, "phase.about_to_send"),
    Stage.SENT: (Phase.SENDING, "phase.sending"),
    Stage.APPLIED: (Phase.SETTLING, "phase.settling"),
    Stage.RUNNING: (Phase.RUNNING, "phase.running"),
}


def phase(state: State, now: datetime) -> tuple[Phase, Sentence, datetime]:
    """What the campaign does now: a word, a sentence, and since when."""
    trial, duel = state.trial, state.duel
    if state.machine.home_wanted is not None and (trial is None or trial.stage is not Stage.RUNNING):
        home = say("phase.returning_home", why=state.machine.home_wanted)
        return Phase.RETURNING_HOME, _and_home(home, state), state.machine.home_since or state.since
    if trial is not None and (state.mode is Mode.EXECUTE or trial.stage is Stage.RUNNING):
        if state.mode is Mode.EXECUTE and needed(state) is not None and state.change is not None:
            return Phase.AWAITING_CHANGE, _by_hand(state, state.change), state.change.asked_at
        word, code = _STAGE_PHASES[trial.stage]
        if trial.stage is Stage.RUNNING and state.terms.policy.dry_run:
            code = "phase.dry_run"
        # what was held waits anew from when it went on; a part under way is made whatever the mode
        since = trial.staged_at if trial.stage is Stage.RUNNING else max(trial.staged_at, state.since)
        return word, say(code, tag=trial.tag), since
    if state.mode is not Mode.EXECUTE:
        sentence = Sentence.of(state.reason or say(f"tuning.{state.mode.lower()}"))
        return Phase(state.mode.lower()), _and_home(sentence, state), state.since
    if duel is not None:
        tags = [state.trials[number - 1].tag for number in (duel.left, duel.right)]
        return Phase.ASKING, say("phase.asking", tags=tags), max(duel.asked_at, state.since)
    last = max(state.since, state.idle_since or state.since)
    if due(state) is not None:
        return Phase.WAITING_FOR_WINDOW, say("phase.waiting_for_window"), last
    return Phase.PROPOSING, say("phase.proposing"), last


def _and_home(sentence: Sentence, state: State) -> Sentence:
    """A phase's sentence, and that the machine is not where it should be."""
    parts, why = [sentence], state.machine.home_failed
    if why is not None:
        parts.append(say("phase.not_home", why=why))
    if state.change is not None and needed(state):
        parts.append(_by_hand(state, state.change))
    return sentence if len(parts) == 1 else listing(parts)


def _by_hand(state: State, change: Change) -> Sentence:
    """What somebody is asked to do."""
    what = [say("phase.value", name=p.called, value=p.shown(value)) for p, value in _changes(state, change)]
    return say("phase.awaiting_change", number=change.number, what=what)


def _changes(state: State, change: Change) -> list[tuple[Parameter, Value]]:
    return [(one, change.setting[one.name]) for one in state.terms.parameters if one.name in change.setting]


def _with_wait(sentence: Sentence, waiting: m.WaitingView | None, now: datetime) -> Sentence:
    """A phase's sentence, and what is waited for in it."""
    if waiting is None:
        return sentence
    so_far_s = (now - datetime.fromisoformat(waiting.since)).total_seconds()
    wait = Wait(waiting.awaited, Sentence.of(waiting.text), so_far_s, waiting.at_most_s)  # type: ignore[arg-type]  # our own word
    return listing([sentence, wait.sentence])


def typical_s(state: State) -> float | None:
    """How long a part usually takes."""
    known = [
        (t.ended_at - t.started_at).total_seconds() for t in state.trials[-_RECENT:] if t.ended_at and t.started_at
    ]
    return median(known) if known else None


def _parameter_view(parameter: Parameter) -> m.ParameterView:
    return m.ParameterView.model_validate(parameter_info(parameter)).model_copy(update={"manual": parameter.manual})


def campaign_view(state: State, now: datetime, waiting: m.WaitingView | None = None) -> m.CampaignView:
    """Everything a console shows."""
    word, sentence, since = phase(state, now)
    wake = wake_at(state, now)
    duel = state.duel
    return m.CampaignView(
        **dict(m.PolicyView.model_validate(state.terms.policy)),
        name=state.name,
        machine_name=state.terms.machine,
        adapter=state.terms.adapter.name,
        mode=state.mode,
        phase=word,
        phase_text=_with_wait(sentence, waiting, now),
        waiting=waiting,
        phase_since=text_of(since),
        phase_expected_s=_expected_s(state, word),
        wake_at=None if wake is None else text_of(wake),
        since=text_of(state.since),
        reason=state.reason,
        fault=state.fault,
        n=state.count,
        lot=state.lot,
        parameters=[_parameter_view(one) for one in state.terms.parameters],
        machine=m.MachineView.model_validate(state.machine),
        trial=None if state.trial is None else trial_view(state.trial),
        change=None if state.change is None else m.ChangeView.model_validate(state.change),
        duel=None
        if duel is None
        else m.DuelView(
            number=duel.number,
            left=trial_view(state.trials[duel.left - 1]),
            right=trial_view(state.trials[duel.right - 1]),
            asked_at=text_of(duel.asked_at),
        ),
        champion=None if state.champion is None else trial_view(state.trials[state.champion - 1]),
        budget=_budget(state, now),
        contract=contract_view(state),
        earlier=_earlier(state),
        judgments=judgment_views(state, state.judgments[:-11:-1]),
        restrictions=restriction_views(state),
        alarms=alarm_views(one for one in state.alarms if one.cleared_at is None or one.acknowledged_at is None),
        now=text_of(now),
    )


def _expected_s(state: State, word: Phase) -> float | None:
    if word is Phase.RUNNING:
        return typical_s(state)
    return state.terms.policy.settling_s or None if word is Phase.SETTLING else None


def _budget(state: State, now: datetime) -> m.BudgetView:
    budget, spent = state.terms.budget, state.spent
    done = [t for t in state.trials if t.ended_at is not None and t.started_at is not None]
    estimated_s = None
    if len(done) >= 2 and done[-1].ended_at is not None and state.mode is Mode.EXECUTE and not budget_end(state):
        pace_s = (done[-1].ended_at - done[max(0, len(done) - _RECENT)].proposed_at).total_seconds()
        estimated_s = pace_s / min(len(done), _RECENT) * max(0, budget.trials - spent)
    asked = [duel.asked_at for duel in state.duels[-1000:]]
    return m.BudgetView(
        trials=budget.trials,
        spent=spent,
        scrap=state.scrap,
        scrap_limit=budget.scrap,
        questions_left_this_hour=left_this_hour(state.terms.policy.questions, now, asked),
        estimated_s=estimated_s,
    )


def trial_view(trial: CampaignTrial) -> m.TrialView:
    """A trial on the screen."""
    return m.TrialView.model_validate(trial)


def judgment_views(state: State, judgments: Iterable[CampaignJudgment]) -> list[m.JudgmentView]:
    """Answers on the screen, each with how many looks its duel had and how many say the same."""
    looks = Counter(one.pair for one in state.active)
    agreeing = Counter((one.pair, one.winner) for one in state.active)
    counted = {one.number: (looks[one.pair], agreeing[one.pair, one.winner]) for one in state.active}
    views = []
    for judgment in judgments:
        seen, same = counted.get(judgment.number, (1, 1))
        view = m.JudgmentView.model_validate(judgment)
        views.append(view.model_copy(update={"looks": seen, "agreeing": same}))
    return views


def campaign_line(state: State, now: datetime, waiting: m.WaitingView | None = None) -> m.CampaignLine:
    """One line of the status."""
    word, sentence, _ = phase(state, now)
    return m.CampaignLine(
        name=state.name,
        machine_name=state.terms.machine,
        mode=state.mode,
        phase=word,
        phase_text=_with_wait(sentence, waiting, now),
        trials=state.terms.budget.trials,
        spent=state.spent,
        scrap=state.scrap,
        champion=state.champion,
        champion_tag=None if state.champion is None else state.trials[state.champion - 1].tag,
        answers=len(state.active),
        duel=None if state.duel is None else state.duel.number,
        fault=state.fault,
        n=state.count,
        contract=contract_view(state),
        earlier=_earlier(state),
        restrictions=restriction_views(state),
    )


def restriction_views(state: State) -> list[m.RestrictionView]:
    """What is allowed for a while, in the order of the parameters."""
    order = [one.name for one in state.terms.parameters]
    found = sorted(state.restrictions, key=lambda one: order.index(one.parameter))
    return [m.RestrictionView.model_validate({**asdict(one), "text": sentence(state, one)}) for one in found]


def alarm_views(alarms: Iterable[Alarm]) -> list[m.AlarmView]:
    """Alarms on the screen, the newest first and not more than a page."""
    return [m.AlarmView.model_validate(one) for one in list(alarms)[: -_MOST_ALARMS - 1 : -1]]


def contract_view(state: State) -> m.ContractView | None:
    """The scrap contract on the screen, with what is known of the newest proposal under it."""
    agreed, account = state.terms.scrap, state.account
    if agreed is None or account is None:
        return None
    newest = next((trial for trial in reversed(state.trials) if trial.assured is not None), None)
    said: dict[str, Any] = {}
    if newest is not None and newest.assured is not None:
        names = ("risk", "low", "base", "stage", "refused", "refused_better", "refused_risk", "unreached")
        said = {name: getattr(newest.assured, name) for name in names}
        said |= {"trial": newest.number, "p_valid": newest.p_valid}
    return m.ContractView(
        **agreed.model_dump(),
        parts=account.parts,
        scrap=account.scrap,
        left=account.left,
        planned=state.terms.budget.trials,
        most=agreed_scrap(agreed, state.terms.budget.trials, account.parts),
        allowed=account.allowed,
        known_ground=account.known_ground,
        held=state.contract_held,
        texts=list(contract_sentences(state)),
        **said,
    )


def _earlier(state: State) -> list[m.EarlierView]:
    return [
        m.EarlierView(source=one.source, trials=len(one.trials), judgments=len(one.judgments), discount=one.discount)
        for one in state.imports
    ]


def event_message(name: str, one: Recorded, n: int) -> m.EventMessage:
    """An event for subscribers; what only the model needs is left out."""
    body = one.event.model_dump(mode="json", exclude={"model", "type"})
    return m.EventMessage(
        n=n, seq=one.seq, campaign=name, at=text_of(one.at), actor=one.actor, type=one.event.type, body=body
    )
