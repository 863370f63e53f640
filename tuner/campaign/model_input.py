"""From a campaign's state to what the optimiser is told, as the plain data that compute processes read."""

from typing import Any

from tuner.campaign.state import Stage, State, Trial

STATE_VERSION = 1
NO_FITS: dict[str, None] = {"preference": None, "validity": None, "unsteady": None}


def model_input(state: State) -> dict[str, Any]:
    """Space and optimiser state: the same data give the same proposal, bit for bit."""
    return {"space": state.terms.space_json(), "state": optimizer_state(state)}


def optimizer_state(state: State) -> dict[str, Any]:
    """The state of an optimiser that was told what the campaign knows."""
    budget, memory = state.terms.budget, state.memory
    # by their order and not by name: who answers first does not change a proposal, and names stay in the daemon
    operators = {name: f"operator {place}" for place, name in enumerate(operator_names(state), 1)}
    return {
        "version": STATE_VERSION,
        "seed": state.terms.seed,
        "acquisition": "auto",
        "validity": "auto",
        "budget": budget.trials,
        "scrap_budget": budget.scrap,
        "asks": memory.asks,
        "trials": [_trial(trial) for trial in state.trials],
        "judgments": [
            {
                "judgment_id": place,
                "winner": judgment.left if judgment.winner is None else judgment.winner,
                "loser": judgment.right if judgment.loser is None else judgment.loser,
                "tie": judgment.winner is None,
                "operator": operators[judgment.operator],
                "retracted": False,
                "discount": 1.0,
            }
            for place, judgment in enumerate(state.active, 1)
        ],
        "leader": memory.leader,
        "doubted": memory.doubted,
        "fits": memory.fits or NO_FITS,
    }


def operator_names(state: State) -> list[str]:
    """Who has judged, in the order of their first answer that counts."""
    return list(dict.fromkeys(judgment.operator for judgment in state.active))


def _trial(trial: Trial) -> dict[str, Any]:
    rejected = trial.stage is Stage.REJECTED  # nobody wants to see its like again
    return {
        "trial_id": trial.number,
        "setting": trial.setting,
        "kind": trial.kind,
        "valid": False if rejected else trial.valid if trial.stage is Stage.DONE else None,
        "reason": None,
        "excluded": trial.excluded is not None or trial.stage is Stage.DROPPED,
        "earlier": False,
        "discount": 1.0,
        "opponent_id": trial.champion,
    }
