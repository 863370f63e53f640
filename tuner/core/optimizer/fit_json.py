"""Fitted hyper-parameters as plain JSON data, and back: what a proposal's warm start needs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tuner.core.posterior.ep import Sites
from tuner.core.posterior.fitting import Fit
from tuner.core.posterior.kernels import Kernel
from tuner.core.posterior.rows import Hyper
from tuner.core.space.space import Space


def fit_json(fit: Fit | None) -> dict[str, Any] | None:
    """Return a fit as plain data."""
    if fit is None:
        return None
    kernel, sites = fit.hyper.kernel, fit.sites
    return {
        "lengthscales": kernel.lengthscales.tolist(),
        "variance": kernel.variance,
        "mean_variance": kernel.mean_variance,
        "kernel": kernel.name,
        "noise": fit.hyper.noise.tolist(),
        "jnd": fit.hyper.jnd,
        "objective": fit.objective,
        "sites": None if sites is None else [sites.tau.tolist(), sites.nu.tolist()],
    }


def fit_from(data: Mapping[str, Any] | None, space: Space) -> Fit | None:
    """Rebuild a fit; its lengthscales must be those of the space."""
    if data is None:
        return None
    if len(data["lengthscales"]) != space.dimension:
        raise ValueError(f"the state has {len(data['lengthscales'])} lengthscales, the space {space.dimension}")
    kernel = Kernel(np.array(data["lengthscales"]), data["variance"], data["mean_variance"], data["kernel"])
    sites = None if data["sites"] is None else Sites(np.array(data["sites"][0]), np.array(data["sites"][1]))
    return Fit(Hyper(kernel, np.array(data["noise"]), data["jnd"]), data["objective"], sites, 0)
