"""The exact posterior of the paper: a Skew Gaussian Process (Theorems 1 and 2, Corollary 1, Proposition 1).

f ~ GP(0, k) seen through rows z = W f(X) + e in a box gives f(x) = k(x, X) W' gamma^-1 U1 + U0(x), where U1 is
N(0, gamma) restricted to the box and U0 is a Gaussian process independent of it. U1 does not depend on x: it is drawn
once and used for every x.

Glossary:
    V        (n, S) = W' gamma^-1 U1', the points' weights, one column a draw
    G        (m, n) = L^-1 W, L L' = gamma, half of the precision that the rows add
    gamma    (m, m) = C + I, C = W K W'           U1     (S, m) draws of the truncated vector
"""

from contextlib import suppress
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from tuner.core.linalg import FloatArray, cholesky, cholesky_jittered, solve_factored, solve_lower
from tuner.core.posterior.bouncing import BOUNCE_LIMIT, TooManyBouncesError
from tuner.core.posterior.correction import third_order
from tuner.core.posterior.ep import Evidence, Sites, expectation_propagation
from tuner.core.posterior.functions import DrawnFunction, draw_waves
from tuner.core.posterior.kernels import KernelName
from tuner.core.posterior.model import Latent, Numbers
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.orthant import log_box_conditioning
from tuner.core.posterior.rounded import sample_rounded
from tuner.core.posterior.rows import row_matrix
from tuner.core.posterior.tilting import log_box_tilting
from tuner.core.posterior.truncated import Sampler, sample_box

MOST_DRAWS = 20_000
LEAST_DRAWS = 2_000
WORK = 2e8
PATIENCE = 2_000
FEW = 20  # points for which it is not worth it to know the weights under each draw
SHORT_PATIENCE = 60  # where rounding costs no run of EP


class SkewGP(Latent):
    """The exact posterior at fixed hyper-parameters, preferences and validity sharing one latent function.

    Takes the arguments of Latent, and:

    Args:
        draws: How many draws of the truncated vector carry the posterior; by default 20,000, fewer above 100
            rows and where draws are costly.
        sampler: "hmc" or the paper's "lin-ess".
        thin: Keep every `thin`-th draw of the sampler.
        sites: EP's sites of a similar problem, to spare its cold start.
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
        draws: int | None = None,
        sampler: Sampler = "hmc",
        thin: int = 1,
        sites: Sites | None = None,
    ) -> None:
        super().__init__(
            data, lengthscales, variance, seed=seed, kernel=kernel, mean_variance=mean_variance, noise=noise, jnd=jnd
        )
        if sampler not in ("hmc", "lin-ess"):
            raise ValueError(f"there is no sampler {sampler!r}; choose 'hmc' or 'lin-ess'")
        if thin < 1 or (draws is not None and draws < 1):
            raise ValueError(f"draws and thin must be at least 1, got {draws} and {thin}")
        self._draws = _default_draws(data.m) if draws is None else draws
        self._work = WORK if draws is None else np.inf
        self._sampler: Sampler = sampler
        self._thin = thin
        self.sites = sites

    @cached_property
    def _factor(self) -> FloatArray:
        return cholesky(self._gamma)

    @property
    def _gamma(self) -> FloatArray:
        return self.covariance + np.eye(self.data.m)

    @cached_property
    def evidence(self) -> Evidence:
        """The converged EP approximation of the evidence."""
        return expectation_propagation(self.covariance, self.lower, self.upper, start=self.sites)

    @cached_property
    def truncated(self) -> FloatArray:
        """U1: draws of the truncated vector, (S, m)."""
        return self.draw(self._draws, np.random.default_rng(self.seed), work=self._work)

    def draw(self, count: int, rng: np.random.Generator, *, work: float = np.inf) -> FloatArray:
        """Draw the truncated vector anew, (count, m); `work` as in sample_box.

        Where trajectories bounce too often they are rounded: by the sites at hand, or if those are none or not enough,
        by EP's own.
        """
        try:
            return sample_box(
                self._gamma,
                self.lower,
                self.upper,
                count,
                rng,
                factor=self._factor,
                method=self._sampler,
                thin=self._thin,
                work=work,
                patience=PATIENCE if self.sites is None else SHORT_PATIENCE,
            )
        except TooManyBouncesError:
            if self.sites is not None:
                with suppress(TooManyBouncesError):
                    return self._rounded(self.sites, count, rng, work, PATIENCE)
            return self._rounded(self.evidence.sites, count, rng, work, BOUNCE_LIMIT)

    def _rounded(self, sites: Sites, count: int, rng: np.random.Generator, work: float, patience: int) -> FloatArray:
        draws = count * self._thin
        rows = sample_rounded(self.covariance, self.lower, self.upper, sites, draws, rng, work=work, patience=patience)
        return rows[self._thin - 1 :: self._thin]

    def weights_of(self, truncated: FloatArray) -> FloatArray:
        """Return W' gamma^-1 u for each row u, (n, count)."""
        W = row_matrix(self.data, self.hyper.noise)
        return np.asarray(W.T @ solve_factored(self._factor, np.asfortranarray(truncated.T)))

    @cached_property
    def weights(self) -> FloatArray:
        """V: the points' weights under each draw, (n, S)."""
        return self.weights_of(self.truncated)

    def _components(self, k: FloatArray) -> FloatArray:
        if len(k) > FEW:
            return k @ self.weights
        rows = row_matrix(self.data, self.hyper.noise) @ k.T
        return np.asarray(solve_factored(self._factor, np.asfortranarray(rows)).T @ self.truncated.T)

    @cached_property
    def half_precision(self) -> FloatArray:
        """G = L^-1 W, (m, n)."""
        return solve_lower(self._factor, row_matrix(self.data, self.hyper.noise).toarray(order="F"))

    def sample(self, X: npt.ArrayLike, count: int, *, seed: int | None = None) -> FloatArray:
        """Draw f jointly at the rows of X, (count, p)."""
        x = self._points(X)
        rng = np.random.default_rng(self.seed + 1 if seed is None else seed)
        k = self._k(x)
        known = k @ self.half_precision.T
        residual = self.hyper.kernel.matrix(x, x) - known @ known.T
        chosen = self.weights[:, rng.integers(self.weights.shape[1], size=count)]
        root = cholesky_jittered(0.5 * (residual + residual.T))
        return (k @ chosen).T + rng.standard_normal((count, len(x))) @ root.T

    def function_draw(self, *, seed: int | None = None) -> DrawnFunction:
        """Draw a whole function from the posterior, for Thompson sampling.

        The prior function is a sum of random cosine features; conditioning it on one exact draw of U1 is exact.
        """
        rng = np.random.default_rng(self.seed + 1 if seed is None else seed)
        prior = draw_waves(self.hyper.kernel, self.data.dimension, rng)
        W = row_matrix(self.data, self.hyper.noise)
        target = self.draw(1, rng)[0] - W @ prior(self.data.points) - rng.standard_normal(self.data.m)
        weight = np.asarray(W.T @ solve_factored(self._factor, target))
        return DrawnFunction(prior, self.hyper.kernel, self.data.points, weight)

    def log_evidence(self, method: Literal["corrected", "ep", "conditioning", "tilting"] = "corrected") -> float:
        """Return the log evidence.

        By EP with its third-order correction, by plain EP (what fits maximise), by bivariate conditioning, or by
        minimax tilting (slow, the reference).
        """
        if method in ("corrected", "ep"):
            plain = self.evidence.log_evidence
            return plain + (
                third_order(self.covariance, self.lower, self.upper, self.evidence) if method != "ep" else 0.0
            )
        if method == "conditioning":
            return log_box_conditioning(self._gamma, self.lower, self.upper)
        if method != "tilting":
            raise ValueError(f"there is no evidence {method!r}; choose 'corrected', 'ep', 'conditioning' or 'tilting'")
        return log_box_tilting(self._gamma, self.lower, self.upper, seed=self.seed)[0]


def _default_draws(rows: int) -> int:
    return int(np.clip(2_000_000 // max(rows, 1), LEAST_DRAWS, MOST_DRAWS))
