"""What is known of where the machine makes parts at all: a latent function of its own, from the first part on."""

from dataclasses import replace

import numpy as np

from tuner.core.linalg import IntArray
from tuner.core.optimizer.surface import Surface, ep_surface
from tuner.core.posterior.ep import expectation_propagation
from tuner.core.posterior.fitting import Fit, Prior, fit_hyper
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.rows import row_covariance


def prior_fit(labels: Observations, prior: Prior, groups: IntArray, level: float) -> Fit:
    """Return the prior's medians: where everything was valid, labels tell nothing about how soon that changes.

    What they tell is the share of valid settings: a constant whose prior variance is `level` times the function's.
    """
    plain = fit_hyper(labels.part(np.arange(0)), prior=prior, groups=groups)
    kernel = replace(plain.hyper.kernel, mean_variance=level * plain.hyper.kernel.variance)
    noise = np.array((1.0, *prior.noise, *[1.0] * labels.judges)[: labels.judges])
    return replace(plain, hyper=replace(plain.hyper, kernel=kernel, noise=noise))


def validity_surface(labels: Observations, fitted: Fit) -> Surface:
    """Return the latent function of validity at fitted hyper-parameters."""
    kernel = fitted.hyper.kernel
    C = row_covariance(labels, kernel.matrix(labels.points, labels.points), fitted.hyper.noise)
    found = expectation_propagation(C, *labels.intervals(), start=fitted.sites)
    return ep_surface(labels, fitted.hyper, found)
