"""What the shell should be doing for a campaign: a pure function of its state, so that a restart resumes by itself.

The shell compares what is wanted with what it does: it begins what is missing and gives up what is no longer wanted.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from tuner.campaign.decide import budget_end
from tuner.campaign.questions import due
from tuner.campaign.state import Mode, Stage, State
from tuner.campaign.windows import may_ask_at


@dataclass(frozen=True, slots=True)
class ComputeProposal:
    """Compute the next setting; `basis` names what the model is to know."""

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


Effect = ComputeProposal | Send | Run | ReturnHome


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
            return Send(trial.number)
        return Run(trial.number) if trial.stage is Stage.APPLIED else None
    if proposal_due(state):
        return ComputeProposal(basis(state))
    return None


def proposal_due(state: State) -> bool:
    """Whether the model is to propose the next setting."""
    return (
        state.mode is Mode.EXECUTE
        and state.trial is None
        and state.duel is None
        and state.begun
        and not state.repeat
        and due(state) is None
        and budget_end(state) is None
    )


def basis(state: State) -> str:
    """A digest of all that a proposal depends on."""
    trials = [(t.number, t.stage.value, t.valid, t.excluded is not None) for t in state.trials]
    judgments = [j.known for j in state.active]
    budget = state.terms.budget
    known = (state.name, state.terms.seed, budget.trials, budget.scrap, state.memory.asks, trials, judgments)
    return hashlib.sha256(repr(known).encode()).hexdigest()


def wake_at(state: State, now: datetime) -> datetime | None:
    """When a question that is due may be asked, if that is later than now."""
    if state.mode is not Mode.EXECUTE or state.trial is not None or state.duel is not None or due(state) is None:
        return None
    moment = may_ask_at(state.terms.policy.questions, now, [d.asked_at for d in state.duels[-1000:]])
    return moment if moment is not None and moment > now else None
