"""The paper's duelling acquisitions on the exact posterior of f(x) - f(reference), with analytic gradients.

Given S draws of the truncated vector the difference is a normal mixture whose components share a variance, so each
value is a closed form or a root of one.

Glossary:
    M    (p, S) component means of f(x) - f(reference)       s    (p,) shared standard deviation
    V    (n, S) the points' weights                          J    (n, D) gradient of k(x, points)
"""

from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.strategy import ACQUIRING
from tuner.core.posterior.mixture import Mixture
from tuner.core.posterior.skewgp import SkewGP

_ROOT = np.sqrt(2.0 * np.pi)
# the binary entropy of Phi(z) as a sum of three Gaussian bumps, to 1e-7 (least squares on 0..9)
_BUMP_HEIGHTS = (0.9994448980149551, 0.01121273772683642, -0.3175103744018206)
_BUMP_WIDTHS = (1.0107311801960424, 0.7985502729400719, 0.9400538096054966)

Partials = tuple[float, FloatArray, float]


class Duelling:
    """An acquisition of the mixture of f(x) - f(reference); subclasses give its value and partial derivatives."""

    def __init__(self, model: SkewGP, reference: FloatArray) -> None:
        self.model = model
        self.reference = reference
        self.kernel = model.hyper.kernel
        self.at_reference = self.kernel.matrix(reference[None], model.data.points)[0]

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value at each row."""
        mixture = self.model.difference(X, self.reference)
        return self.score(mixture.means, np.sqrt(np.maximum(mixture.spread, self._least)))

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at one row and its gradient."""
        k, J = self.kernel.gradient(x, self.model.data.points)
        k = k - self.at_reference
        to_reference, slope = self.kernel.gradient(x, self.reference[None])
        known = self.model.half_precision @ k
        back = self.model.half_precision.T @ known
        spread = 2.0 * (self.kernel.prior_variance - float(to_reference[0])) - float(known @ known)
        deviation = float(np.sqrt(max(spread, self._least)))
        d_deviation = (-slope[0] - J.T @ back) / deviation if spread > self._least else np.zeros(len(x))
        value, by_mean, by_deviation = self.partials(k @ self.model.weights, deviation)
        return value, J.T @ (self.model.weights @ by_mean) + by_deviation * d_deviation

    def screen(self, X: FloatArray) -> FloatArray:
        """Return a cheap stand-in that ranks rows alike: the value if the difference were normal."""
        mean, deviation = self._moments(X)
        return self.score(mean[:, None], deviation)

    @cached_property
    def _spread(self) -> FloatArray:
        centred = self.model.weights - self.model.weights.mean(axis=1, keepdims=True)
        return centred @ centred.T / centred.shape[1]

    def _moments(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and standard deviations of the difference by (n, n) forms, whatever the number of draws."""
        k = self.kernel.matrix(X, self.model.data.points) - self.at_reference
        variance = self._within(X, k) + np.einsum("pn,pn->p", k @ self._spread, k)
        return k @ self.model.weights.mean(axis=1), np.sqrt(np.maximum(variance, self._least))

    def _within(self, X: FloatArray, k: FloatArray) -> FloatArray:
        """Return the variance that the components share; `k` is k(X, points) - k(reference, points)."""
        known = k @ self.model.half_precision.T
        prior = 2.0 * (self.kernel.prior_variance - self.kernel.matrix(X, self.reference[None])[:, 0])
        return np.asarray(prior - np.einsum("pm,pm->p", known, known))

    @property
    def _least(self) -> float:
        return 1e-12 * self.kernel.prior_variance

    def score(self, M: FloatArray, s: FloatArray) -> FloatArray:
        """Return the value for component means (p, S) and deviations (p,)."""
        raise NotImplementedError

    def partials(self, means: FloatArray, s: float) -> Partials:
        """Return the value at one point and its derivatives in each component mean (S,) and in the deviation."""
        raise NotImplementedError


class ExpectedImprovement(Duelling):
    """E[max(f(x) - f(reference), 0)]; with the reference's mean added it is the pair's expected best (EUBO)."""

    def __init__(self, model: SkewGP, reference: FloatArray, screening_draws: int = ACQUIRING.screening_draws) -> None:
        super().__init__(model, reference)
        self.screening_draws = screening_draws

    def score(self, M: FloatArray, s: FloatArray) -> FloatArray:
        """Return the value for component means (p, S) and deviations (p,)."""
        z = M / s[:, None]
        return (s[:, None] * np.exp(-0.5 * z * z) / _ROOT + M * ndtr(z)).mean(axis=1)

    def screen(self, X: FloatArray) -> FloatArray:
        """Return the value over fewer draws: a normal posterior ranks rows otherwise."""
        k = self.kernel.matrix(X, self.model.data.points) - self.at_reference
        every = -(-self.model.weights.shape[1] // self.screening_draws)
        deviation = np.sqrt(np.maximum(self._within(X, k), self._least))
        return self.score(k @ self.model.weights[:, ::every], deviation)

    def partials(self, means: FloatArray, s: float) -> Partials:
        """Return the value at one point and its derivatives."""
        z = means / s
        density = np.exp(-0.5 * z * z) / _ROOT
        below = ndtr(z)
        return float((s * density + means * below).mean()), below / len(z), float(density.mean())


class InformationGain(Duelling):
    """EIIG: k log P(x wins the duel) + the information that the judge's answer carries about f.

    The paper prints a minus before the information; maximised so it does not optimise (docs/decisions.md).
    """

    def __init__(self, model: SkewGP, reference: FloatArray, k: float = ACQUIRING.information_weight) -> None:
        super().__init__(model, reference)
        self.k = k

    def score(self, M: FloatArray, s: FloatArray) -> FloatArray:
        """Return the value for component means (p, S) and deviations (p,)."""
        win = np.clip(ndtr(M / np.sqrt(1.0 + s * s)[:, None]).mean(axis=1), 1e-300, 1.0)
        lose = np.clip(1.0 - win, 1e-300, 1.0)
        entropy = -win * np.log(win) - lose * np.log(lose)
        return self.k * np.log(win) + entropy - sum(part.mean(axis=1) for part, _ in _bumps(M, s[:, None]))

    def partials(self, means: FloatArray, s: float) -> Partials:
        """Return the value at one point and its derivatives."""
        count = len(means)
        scale = np.sqrt(1.0 + s * s)
        t = means / scale
        win = float(np.clip(ndtr(t).mean(), 1e-300, 1.0))
        lose = max(1.0 - win, 1e-300)
        density = np.exp(-0.5 * t * t) / _ROOT
        outer = self.k / win + np.log(lose) - np.log(win)
        value = self.k * np.log(win) - win * np.log(win) - lose * np.log(lose)
        by_mean = outer * density / scale / count
        by_deviation = outer * float((-density * means * s / scale**3).mean())
        for bump, width in _bumps(means, np.array(s)):
            total = width**2 + s * s
            value -= float(bump.mean())
            by_mean += bump * means / total / count
            by_deviation -= float((bump * s * (means**2 / total - 1.0) / total).mean())
        return float(value), by_mean, by_deviation


def _bumps(M: FloatArray, s: FloatArray) -> list[tuple[FloatArray, float]]:
    """Return E[bump(D)] of each of the three bumps for D ~ N(M, s^2), with the bump's width."""
    found = []
    for height, width in zip(_BUMP_HEIGHTS, _BUMP_WIDTHS, strict=True):
        total = width**2 + s * s
        found.append((height * width / np.sqrt(total) * np.exp(-0.5 * M * M / total), width))
    return found


class UpperCredibleBound(Duelling):
    """The upper end of the minimum-width credible interval of f(x) - f(reference)."""

    def __init__(self, model: SkewGP, reference: FloatArray, mass: float = ACQUIRING.credible_mass) -> None:
        super().__init__(model, reference)
        self.mass = mass

    def score(self, M: FloatArray, s: FloatArray) -> FloatArray:
        """Return the value for component means (p, S) and deviations (p,)."""
        return Mixture(M, s * s).interval(self.mass)[1]

    def screen(self, X: FloatArray) -> FloatArray:
        """Return a cheap stand-in that ranks rows alike: the bound if the difference were normal."""
        mean, deviation = self._moments(X)
        return mean + float(ndtri(0.5 + 0.5 * self.mass)) * deviation

    def partials(self, means: FloatArray, s: float) -> Partials:
        """Return the value at one point and its derivatives, by the implicit function theorem.

        The ends solve F(upper) - F(lower) = mass and p(upper) = p(lower).
        """
        low, high = (float(end[0]) for end in Mixture(means[None], np.array([s * s])).interval(self.mass))
        ends = [_end(means, s, low), _end(means, s, high)]
        (p_low, dp_low, F_mean_low, F_s_low, p_mean_low, p_s_low) = ends[0]
        (p_high, dp_high, F_mean_high, F_s_high, p_mean_high, p_s_high) = ends[1]
        # unknowns (d high, d low): [p_high, -p_low; dp_high, -dp_low] = -(change of F, change of p)
        determinant = -p_high * dp_low + p_low * dp_high
        if abs(determinant) < 1e-300:
            return high, np.zeros_like(means), 0.0

        def solve(change_F: FloatArray, change_p: FloatArray) -> FloatArray:
            return (dp_low * change_F - p_low * change_p) / determinant

        by_mean = solve(F_mean_high - F_mean_low, p_mean_high - p_mean_low)
        by_deviation = solve(np.array(F_s_high - F_s_low), np.array(p_s_high - p_s_low))
        return high, by_mean, float(by_deviation)


def _end(means: FloatArray, s: float, at: float) -> tuple[float, float, FloatArray, float, FloatArray, float]:
    """Return density, its slope, and the derivatives of cdf and density in the means and the deviation at one value."""
    count = len(means)
    z = (at - means) / s
    phi = np.exp(-0.5 * z * z) / _ROOT
    return (
        float(phi.mean() / s),
        float((-z * phi).mean() / s**2),
        -phi / s / count,
        float((-z * phi).mean() / s),
        z * phi / s**2 / count,
        float(((z * z - 1.0) * phi).mean() / s**2),
    )
