"""BoTorch's PairwiseGP with the expected utility of the best option (EUBO)."""

import warnings
from collections.abc import Sequence

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.lab.bench.rivals.rival import Duel, Propose, Rival, imported

_TITLE = "BoTorch PairwiseGP + EUBO"
# as in BoTorch's tutorial on pairwise comparisons
RESTARTS = 3
RAW_SAMPLES = 512


def require_botorch() -> dict[str, str]:
    """Import BoTorch and return the versions of what is compared."""
    return imported(_TITLE, "BoTorch", ("botorch", "torch"))


def propose_botorch(points: FloatArray, duels: Sequence[Duel], champion: int, seed: int) -> FloatArray:
    """Fit a PairwiseGP afresh and maximise the expected utility of the best of the new setting and the champion.

    BoTorch's defaults throughout, in one thread. Its model has no warm start: each proposal pays for a whole fit.
    The same arguments give the same proposal to some eight digits, not bit for bit.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that is tried again says so each time
        import torch
        from botorch.acquisition.preference import AnalyticExpectedUtilityOfBestOption
        from botorch.exceptions.errors import ModelFittingError
        from botorch.fit import fit_gpytorch_mll
        from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood
        from botorch.optim import optimize_acqf

        torch.set_num_threads(1)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            tried = torch.tensor(points, dtype=torch.float64)
            model = PairwiseGP(tried, torch.tensor(duels, dtype=torch.long))
            try:
                fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
            except ModelFittingError:
                model.eval()  # after its own attempts: go on with the hyper-parameters it has
            acquisition = AnalyticExpectedUtilityOfBestOption(
                pref_model=model, previous_winner=tried[champion : champion + 1]
            )
            cube = torch.stack([torch.zeros(tried.shape[1]), torch.ones(tried.shape[1])]).to(tried)
            found, _ = optimize_acqf(
                acq_function=acquisition, bounds=cube, q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES
            )
            return np.asarray(np.clip(found[0].detach().numpy(), 0.0, 1.0))


def _start() -> Propose:
    return propose_botorch


BOTORCH = Rival(
    name="botorch",
    label="BoTorch",
    title=_TITLE,
    timed="a whole fit and the optimised acquisition, its defaults",
    require=require_botorch,
    start=_start,
)
