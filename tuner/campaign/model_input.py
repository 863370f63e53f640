"""From a campaign's state to what the optimiser is told, as the plain data that compute processes read."""

from typing import Any

from tuner.campaign.automatic import budget_end
from tuner.campaign.importing import as_earlier
from tuner.campaign.state import CampaignTrial, Stage, State
from tuner.core.optimizer.records import FITS, REJECTED, Judgment, OptimizerState, Trial


def model_input(state: State) -> dict[str, Any]:
    """Space, optimiser state and whether the budget is used up: the same data give the same answer, bit for bit.

    Where parameters are restricted for now, "within" says what is allowed of them.
    """
    data = {
        "space": state.terms.space_json(),
        "state": optimizer_state(state).to_json(),
        "ended": budget_end(state) is not None,
    }
    within = {name: list(limits) for name, limits in state.within.items()}
    return {**data, "within": within} if within else data


def optimizer_state(state: State) -> OptimizerState:
    """The state of an optimiser that was told what the campaign knows."""
    budget, policy, scrap = state.terms.budget, state.terms.policy, state.terms.scrap
    # by their order and not by name: who answers first does not change a proposal, and names stay in the daemon
    operators = {name: f"operator {place}" for place, name in enumerate(operator_names(state), 1)}
    # after the campaign's own, so that these have the numbers that people know
    earlier, said = as_earlier(state.imports, len(state.trials), len(state.told))
    return OptimizerState.of(
        state.memory,
        seed=state.terms.seed,
        budget=budget.trials,
        scrap_budget=budget.scrap if scrap is None or scrap.budget is None else scrap.budget,
        scrap_rate=None if scrap is None else scrap.rate,
        strictness="expected" if scrap is None else scrap.strictness,
        confidence=0.95 if scrap is None else scrap.confidence,
        tray=policy.tray,
        hand=state.at_hand,
        looks_per_part=policy.looks_per_part if policy.repeat_after is None else 1.0,
        fits=state.memory.fits or dict.fromkeys(FITS),
        trials=(*(_told(trial, stands=trial.number in state.remade) for trial in state.trials), *earlier),
        judgments=(
            *(
                Judgment.of(judgment, number=place, operator=operators[judgment.operator])
                for place, judgment in enumerate(state.told, 1)
            ),
            *said,
        ),
    )


def operator_names(state: State) -> list[str]:
    """Who has judged, in the order of their first answer that counts."""
    return list(dict.fromkeys(judgment.operator for judgment in state.active))


def _told(trial: CampaignTrial, *, stands: bool) -> Trial:
    """What the optimiser needs to know: people's reasons stay in the daemon.

    A part that `stands` for another trial's is not asked about by its own number: what is said of it is the other's.
    """
    hidden = trial.excluded is not None or trial.stage is Stage.DROPPED or (stands and trial.usable)
    left_out = "left out" if hidden else None
    return Trial.of(
        trial,
        valid=trial.valid if trial.stage is Stage.DONE else None,
        outcome_reason="",
        excluded=REJECTED if trial.stage is Stage.REJECTED else left_out,
    )
