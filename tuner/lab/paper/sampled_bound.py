"""The paper's upper credible bound as the paper computes it: the shortest interval of 2000 samples of f(x) - f(x_r).

tuner.core has the exact bound of the mixture, ten times as slow; here both models get the same sampling error.

Glossary:
    M    (p, S) component means of f(x) - f(reference)       s    (p,) shared standard deviation
    F    (p, N) samples, one normal deviate each; the same deviates for every x and both models
"""

from functools import cached_property

import numpy as np

from tuner.core.linalg import FloatArray, IntArray
from tuner.core.optimizer.dueling import Partials, UpperCredibleBound

SAMPLES = 2000
_DEVIATES_SEED = 2000  # fixed, as in the paper


class SampledBound(UpperCredibleBound):
    """The upper end of the shortest interval that holds 95 % of the samples of f(x) - f(reference)."""

    @cached_property
    def _deviates(self) -> FloatArray:
        return np.random.default_rng(_DEVIATES_SEED).standard_normal(SAMPLES)

    def score(self, M: FloatArray, s: FloatArray) -> FloatArray:  # noqa: N803 - matrix of means
        """Return the value for component means (p, S) and deviations (p,)."""
        ordered = np.sort(self._samples(M, s), axis=1)
        return np.asarray(ordered[np.arange(len(ordered)), self._upper(ordered)])

    def partials(self, means: FloatArray, s: float) -> Partials:
        """Return the value at one point and its derivatives: those of the one sample at the upper end."""
        samples = self._samples(means[None], np.array([s]))[0]
        order = np.argsort(samples, kind="stable")
        at = int(order[self._upper(samples[order][None])[0]])
        by_mean = np.zeros_like(means)
        by_mean[at % len(means)] = 1.0
        return float(samples[at]), by_mean, float(self._deviates[at])

    def _samples(self, M: FloatArray, s: FloatArray) -> FloatArray:  # noqa: N803 - matrix of means
        component = np.arange(SAMPLES) % M.shape[1]
        return np.asarray(M[:, component] + s[:, None] * self._deviates)

    def _upper(self, ordered: FloatArray) -> IntArray:
        inside = int(np.ceil(self.mass * SAMPLES)) - 1
        return np.asarray(np.argmin(ordered[:, inside:] - ordered[:, :-inside], axis=1) + inside)
