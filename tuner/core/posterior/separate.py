"""Preferences and validity as two independent latent functions: each posterior is exact, and so is the pair."""

import numpy.typing as npt

from tuner.core.linalg import FloatArray
from tuner.core.posterior.mixture import Mixture
from tuner.core.posterior.model import Model
from tuner.core.posterior.observations import Observations


class SeparateSkewGP(Model):
    """f for preferences and g for validity; `valid_probability` is E[Phi(g(x))], everything else speaks of f."""

    def __init__(self, data: Observations, preference: Model, validity: Model) -> None:
        self.data, self.hyper = data, preference.hyper
        self.preference, self.validity = preference, validity

    def at(self, X: npt.ArrayLike) -> Mixture:
        """Return the marginals of f at each row of X."""
        return self.preference.at(X)

    def difference(self, X: npt.ArrayLike, reference: npt.ArrayLike) -> Mixture:
        """Return the marginals of f(x) - f(reference) at each row of X."""
        return self.preference.difference(X, reference)

    def valid_probability(self, X: npt.ArrayLike) -> FloatArray:
        """Return P(valid) = E[Phi(g(x))], (p,)."""
        return self.validity.valid_probability(X)

    def log_evidence(self) -> float:
        """Return the log evidence of both kinds of rows together."""
        return self.preference.log_evidence() + self.validity.log_evidence()
