"""What every posterior answers, and what the exact one and Laplace's have in common.

Glossary:
    X    (p, d) where to predict                 V    (n, S) the points' weights, one column a mixture component
    k    (p, n) = k(X, points)                   P    (n, n) the precision that the rows add, P = G' G
    G    (m, n) its half: under a huge variance k P k' cancels to nothing in P's digits, but not in G's
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tuner.core.linalg import FloatArray
from tuner.core.posterior.kernels import Kernel, KernelName
from tuner.core.posterior.mixture import Mixture
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.rows import Hyper, row_covariance

Numbers = Sequence[float] | npt.NDArray[np.float64] | float

BLOCK = 200  # points whose mixtures are held in memory together: 32 MB at 20,000 draws


class Model:
    """What every posterior answers, given the marginals of f and of differences of f."""

    data: Observations
    hyper: Hyper

    def at(self, X: npt.ArrayLike) -> Mixture:
        """Return the marginals of f at each row of X."""
        raise NotImplementedError

    def difference(self, X: npt.ArrayLike, reference: npt.ArrayLike) -> Mixture:
        """Return the marginals of f(x) - f(reference) at each row of X."""
        raise NotImplementedError

    def mean(self, X: npt.ArrayLike) -> FloatArray:
        """Return E[f(x)], (p,)."""
        return self._each(X, lambda part: self.at(part).mean)

    def variance(self, X: npt.ArrayLike) -> FloatArray:
        """Return the variance of f(x), (p,)."""
        return self._each(X, lambda part: self.at(part).variance)

    def skewness(self, X: npt.ArrayLike) -> FloatArray:
        """Return the skewness of f(x), (p,)."""
        return self._each(X, lambda part: self.at(part).skewness)

    def quantile(self, X: npt.ArrayLike, level: float) -> FloatArray:
        """Return the quantile of f(x), (p,)."""
        return self._each(X, lambda part: self.at(part).quantile(level))

    def interval(self, X: npt.ArrayLike, mass: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the minimum-width credible interval of f(x), two (p,)."""
        ends = self._each(X, lambda part: np.stack(self.at(part).interval(mass), axis=1))
        return ends[:, 0], ends[:, 1]

    def win_probability(self, X: npt.ArrayLike, reference: npt.ArrayLike) -> FloatArray:
        """Return P(f(x) > f(reference)), without the judge's noise, (p,)."""
        return self._each(X, lambda part: self.difference(part, reference).probability_positive())

    def valid_probability(self, X: npt.ArrayLike) -> FloatArray:
        """Return P(valid) = E[Phi(f(x))], (p,)."""
        return self._each(X, lambda part: self.at(part).probability_positive(extra=1.0))

    def log_evidence(self) -> float:
        """Return the log evidence."""
        raise NotImplementedError

    def _each(self, X: npt.ArrayLike, statistic: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return the statistic of all rows of X, a block at a time."""
        x = checked_query(X, self.data.dimension)
        return np.concatenate([statistic(x[begin : begin + BLOCK]) for begin in range(0, max(len(x), 1), BLOCK)])


class Latent(Model):
    """One latent function with fixed hyper-parameters, of which the posterior is V and G.

    Args:
        data: What is known.
        lengthscales: One per coordinate, or one for all.
        variance: The kernel's variance, in units of the squared noise.
        seed: Makes the draws repeatable.
        kernel: "rbf" or "matern52".
        mean_variance: Prior variance of a constant mean.
        noise: Noise scale of each judge; one number for all.
        jnd: The just-noticeable difference of ties; the data's if not given.
    """

    def __init__(
        self,
        data: Observations,
        lengthscales: Numbers,
        variance: float,
        *,
        seed: int = 0,
        kernel: KernelName = "rbf",
        mean_variance: float = 0.0,
        noise: Numbers = 1.0,
        jnd: float | None = None,
    ) -> None:
        self.data = data
        self.hyper = Hyper(
            Kernel(_lengthscales(lengthscales, data.dimension), float(variance), float(mean_variance), kernel),
            _noise(noise, data.judges),
            data.jnd if jnd is None else float(jnd),
        )
        if data.has_ties and not (np.isfinite(self.hyper.jnd) and self.hyper.jnd > 0.0):
            raise ValueError(f"jnd must be positive and finite where there are ties, got {self.hyper.jnd}")
        self.seed = seed
        self.lower, self.upper = data.intervals(self.hyper.jnd)

    @classmethod
    def from_hyper(cls, data: Observations, hyper: Hyper, **options: Any) -> Self:
        """Build the posterior from fitted hyper-parameters; options as in the constructor."""
        kernel = hyper.kernel
        return cls(
            data,
            kernel.lengthscales,
            kernel.variance,
            kernel=kernel.name,
            mean_variance=kernel.mean_variance,
            noise=hyper.noise,
            jnd=hyper.jnd,
            **options,
        )

    @property
    def weights(self) -> FloatArray:
        """V: the points' weights, (n, S)."""
        raise NotImplementedError

    @property
    def half_precision(self) -> FloatArray:
        """G: half of the precision that the rows add, (m, n)."""
        raise NotImplementedError

    @cached_property
    def covariance(self) -> FloatArray:
        """C = W K W', the rows' covariance without their noise."""
        K = self.hyper.kernel.matrix(self.data.points, self.data.points)
        return row_covariance(self.data, K, self.hyper.noise)

    def at(self, X: npt.ArrayLike) -> Mixture:
        """Return the marginals of f at each row of X."""
        k = self._k(self._points(X))
        return self._mixture(k, np.full(len(k), self.hyper.kernel.prior_variance))

    def difference(self, X: npt.ArrayLike, reference: npt.ArrayLike) -> Mixture:
        """Return the marginals of f(x) - f(reference) at each row of X."""
        x, r = self._points(X), self._points(np.atleast_2d(np.asarray(reference, dtype=np.float64)))
        if len(r) != 1:
            raise ValueError(f"the reference is one point, got {len(r)}")
        kernel = self.hyper.kernel
        prior = 2.0 * (kernel.prior_variance - kernel.matrix(x, r)[:, 0])
        return self._mixture(self._k(x) - self._k(r), prior)

    def _mixture(self, k: FloatArray, prior: FloatArray) -> Mixture:
        if self.data.m == 0:
            return Mixture(np.zeros((len(k), 1)), prior)
        known = k @ self.half_precision.T
        spread = prior - np.einsum("pm,pm->p", known, known)
        return Mixture(self._components(k), np.maximum(spread, 0.0))

    def _components(self, k: FloatArray) -> FloatArray:
        """Return the means under each component, k V."""
        return k @ self.weights

    def _k(self, x: FloatArray) -> FloatArray:
        return self.hyper.kernel.matrix(x, self.data.points)

    def _points(self, X: npt.ArrayLike) -> FloatArray:
        return checked_query(X, self.data.dimension)


def checked_query(X: npt.ArrayLike, dimension: int) -> FloatArray:
    """Return X as a finite (p, d) array, or say what is wrong with it."""
    x = np.asarray(X, dtype=np.float64)
    if x.ndim == 1 and x.size == dimension and dimension > 1:
        x = x[None]
    elif x.ndim == 1 and dimension == 1:
        x = x[:, None]
    if x.ndim != 2 or x.shape[1] != dimension:
        raise ValueError(f"expected rows of {dimension} coordinates, got an array of shape {x.shape}")
    bad = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if bad.size:
        raise ValueError(f"row {bad[0]}: {x[bad[0]].tolist()} is not finite")
    return x


def _lengthscales(given: Numbers, dimension: int) -> FloatArray:
    array = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if array.shape == (1,):
        array = np.repeat(array, dimension)
    if array.shape != (dimension,):
        raise ValueError(f"expected {dimension} lengthscales, got {array.tolist()}")
    return array


def _noise(given: Numbers, judges: int) -> FloatArray:
    array = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if array.shape == (1,):
        array = np.repeat(array, judges)
    if array.ndim != 1 or len(array) < judges:
        raise ValueError(f"expected {judges} noise scales, got {array.tolist()}")
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"noise scales must be positive and finite, got {array.tolist()}")
    return array
