"""What the shell should be doing for a campaign: a pure function of its state, so that a restart resumes by itself.

The shell compares what is wanted with what it does: it begins what is missing and gives up what is no longer wanted.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from tuner.campaign.asking_times import may_ask_at
from tuner.campaign.automatic import budget_end
from tuner.campaign.by_hand import needed
from tuner.campaign.questions import due, model_may_ask, to_remake
from tuner.campaign.state import Mode, Stage, State


@dataclass(frozen=True, slots=True)
class ComputeNext:
    """Compute the next setting or the next question; `basis` names what the model is to know."""

    basis: str


@dataclass(frozen=True, slots=True)
class Send:
    """Bring the machine to the trial's setting."""

    trial: int


@dataclass(frozen=True, slots=True)
class Run:
    """Make the trial's part."""

    trial: int


@dataclass(frozen=True, slots=True)
class ReturnHome:
    """Bring the machine to its known-good setting."""

    reason: str


Effect = ComputeNext | Send | Run | ReturnHome


def wanted(state: State) -> Effect | None:
    """The one thing to do now, or None: one machine does one thing at a time."""
    trial = state.trial
    if trial is not None and trial.stage is Stage.RUNNING and state.mode is not Mode.ABORTED:
        return None if state.terms.policy.dry_run else Run(trial.number)  # a part under way is finished in any mode
    if state.machine.home_wanted is not None:
        return ReturnHome(state.machine.home_wanted)
    if state.mode is not Mode.EXECUTE:
        return None
    if trial is not None:
        if trial.stage in (Stage.APPROVED, Stage.SENT):
            return None if needed(state) is not None else Send(trial.number)  # people come before the machine
        return Run(trial.number) if trial.stage is Stage.APPLIED else None
    if model_due(state):
        return ComputeNext(basis(state))
    return None


def model_due(state: State) -> bool:
    """Whether the model is to propose the next setting, or to say what is worth asking."""
    return (
        state.mode is Mode.EXECUTE
        and state.trial is None
        and state.duel is None
        and state.begun
        and (budget_end(state) is not None or (state.to_repeat is None and to_remake(state) is None))
        and due(state) is None
        and (budget_end(state) is None or model_may_ask(state))
    )


def basis(state: State) -> str:
    """A digest of all that the next step depends on."""
    trials = [(t.number, t.stage.value, t.valid, t.excluded is not None) for t in state.trials]
    judgments = [j.known for j in state.active]
    budget, policy, scrap = state.terms.budget, state.terms.policy, state.terms.scrap
    known = (
        (state.name, state.terms.seed, budget.trials, budget.scrap),
        (policy.tray, policy.looks_per_part, policy.repeat_after),
        [parameter.cost for parameter in state.terms.parameters],
        (state.memory.asks, trials, judgments),
        [(one.at.isoformat(), one.source, one.discount) for one in state.imports],
        sorted(state.within.items()),
    )
    if state.at_hand is not None:
        known = (*known, state.at_hand)  # type: ignore[assignment]
    if scrap is not None:  # without one the digest is as it was before there were contracts
        known = (*known, scrap.model_dump_json())  # type: ignore[assignment]
    return hashlib.sha256(repr(known).encode()).hexdigest()


def wake_at(state: State, now: datetime) -> datetime | None:
    """When a question that is due may be asked, if that is later than now."""
    if state.mode is not Mode.EXECUTE or state.trial is not None or state.duel is not None or due(state) is None:
        return None
    moment = may_ask_at(state.terms.policy.questions, now, [d.asked_at for d in state.duels[-1000:]])
    return moment if moment is not None and moment > now else None
