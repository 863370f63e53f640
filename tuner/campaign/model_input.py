"""From a campaign's state to what the optimiser is told, as the plain data that compute processes read."""

from typing import Any

from tuner.campaign.state import CampaignTrial, Stage, State
from tuner.core.optimizer.records import FITS, Judgment, OptimizerState, Trial


def model_input(state: State) -> dict[str, Any]:
    """Space and optimiser state: the same data give the same proposal, bit for bit."""
    return {"space": state.terms.space_json(), "state": optimizer_state(state).to_json()}


def optimizer_state(state: State) -> OptimizerState:
    """The state of an optimiser that was told what the campaign knows."""
    budget = state.terms.budget
    # by their order and not by name: who answers first does not change a proposal, and names stay in the daemon
    operators = {name: f"operator {place}" for place, name in enumerate(operator_names(state), 1)}
    return OptimizerState.of(
        state.memory,
        seed=state.terms.seed,
        budget=budget.trials,
        scrap_budget=budget.scrap,
        fits=state.memory.fits or dict.fromkeys(FITS),
        trials=tuple(map(_told, state.trials)),
        judgments=tuple(
            Judgment.of(judgment, number=place, operator=operators[judgment.operator])
            for place, judgment in enumerate(state.active, 1)
        ),
    )


def operator_names(state: State) -> list[str]:
    """Who has judged, in the order of their first answer that counts."""
    return list(dict.fromkeys(judgment.operator for judgment in state.active))


def _told(trial: CampaignTrial) -> Trial:
    """What the optimiser needs to know: people's reasons stay in the daemon."""
    rejected = trial.stage is Stage.REJECTED  # nobody wants to see its like again
    left_out = trial.excluded is not None or trial.stage is Stage.DROPPED
    return Trial.of(
        trial,
        valid=False if rejected else trial.valid if trial.stage is Stage.DONE else None,
        outcome_reason="",
        excluded="left out" if left_out else None,
    )
