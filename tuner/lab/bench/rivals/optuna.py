"""Optuna's preferential sampler, which ships with optuna-dashboard: a Gaussian process sampled by Gibbs, and EI."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.lab.bench.rivals.rival import Duel, Rival, imported

_TITLE = "Optuna PreferentialGPSampler"


def require_optuna() -> dict[str, str]:
    """Import the sampler, which has needs of its own, and return the versions of what is compared."""
    packages = ("optuna", "optuna-dashboard", "botorch", "torch", "optuna_dashboard.preferential.samplers.gp")
    return imported(_TITLE, "optuna-dashboard with BoTorch", packages)


class OptunaProposer:
    """One study in memory, told each setting and duel once, with the sampler's defaults in one thread.

    The sampler goes on from its last fit and its last draw, so a study lives as long as its campaign. Its random
    numbers come from the seed of the first call: it has no way to be seeded again. It does not know the champion:
    its acquisition compares with the best posterior mean.
    """

    def __init__(self) -> None:
        self._study: Any = None
        self._trials: list[Any] = []
        self._told: list[Duel] = []

    def __call__(self, points: FloatArray, duels: Sequence[Duel], champion: int, seed: int) -> FloatArray:
        """Tell what is new and ask for a setting; see `Propose`.

        Raises:
            ValueError: The duels do not begin with those of the last call.
        """
        if list(duels[: len(self._told)]) != self._told:
            raise ValueError("a proposer serves one campaign: these duels do not begin with those it knows")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch
            from optuna.distributions import FloatDistribution

            torch.set_num_threads(1)
            if self._study is None:
                self._study = _new_study(seed)
            cube = {f"p{i}": FloatDistribution(0.0, 1.0) for i in range(points.shape[1])}
            self._tell(points, duels, cube)
            asked = self._study.ask(cube)
        return np.array([asked.params[name] for name in cube])

    def _tell(self, points: FloatArray, duels: Sequence[Duel], cube: dict[str, Any]) -> None:
        """Add what is new; asked trials stay unanswered, and the sampler looks only at those with a preference."""
        from optuna.trial import create_trial

        for point in points[len(self._trials) :].tolist():
            # the value says nothing: a preferential study has none, but a trial that is complete must have one
            trial = create_trial(params=dict(zip(cube, point, strict=True)), distributions=cube, value=0.0)
            self._study.add_trial(trial)
            self._trials.append(self._study.get_trials(deepcopy=False)[-1])
        for winner, loser in duels[len(self._told) :]:
            self._study.report_preference(self._trials[winner], self._trials[loser])
            self._told.append((winner, loser))


def _new_study(seed: int) -> Any:
    import optuna
    from optuna_dashboard.preferential import create_study
    from optuna_dashboard.preferential.samplers.gp import PreferentialGPSampler

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # each new study would be a line on stderr
    try:
        return create_study(n_generate=1, sampler=PreferentialGPSampler(seed=seed))
    finally:
        optuna.logging.set_verbosity(verbosity)


OPTUNA = Rival(
    name="optuna",
    label="Optuna",
    title=_TITLE,
    timed="a fit from its last one, a Gibbs draw and the optimised acquisition, its defaults",
    require=require_optuna,
    start=OptunaProposer,
)
