"""Fast approximate probability that a zero-mean normal vector lies in a box, and the paper's block lower bound.

The method is the bivariate conditioning of Trinh and Genz (2015). With Gamma = L L' and u = L z, the box is a chain of
intervals, each depending on the z before it. Variables are taken in pairs; each pair's probability is computed exactly
given the truncated means of the pairs before it, and the logarithms add up. The order is greedy: next comes the
variable whose interval is least probable. Exact for m <= 2, and for any m when Gamma is diagonal; otherwise
an approximation that is neither an upper nor a lower bound. Everything is in logarithms, so e^-300 is a usual number.

Glossary:
    m             number of variables.
    gamma         (m, m) covariance Gamma of u, symmetric positive definite.
    lower, upper  (m,) the box, lower < upper; entries may be -inf, +inf.
    order         (m,) order[k] is the variable taken at step k.
    L             (m, m) lower Cholesky factor of gamma[order][:, order].
    z             (m,) whitened variables, u[order] = L z; below, their means within the box.
    a, b          ends of an interval for a standard normal variable; (n,) or scalars.
    blocks        disjoint index arrays that cover range(m), as in the paper's Corollary 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, log_ndtr

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Below this width (times the distance from 0) a Taylor step is more accurate than a difference of two cdfs.
_NARROW = 1e-3
# Nats below the maximum at which the integrand of a pair is cut: e^-42 is beyond double precision.
_DEPTH = 42.0
_GRID = 33
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_EVEN_PANELS = np.linspace(0.0, 1.0, 5)
_STEP_PANELS = np.array([-8.0, -3.0, 0.0, 3.0, 8.0])


class Factor(NamedTuple):
    """A Cholesky factor with its greedy order, and the log probability found on the way."""

    order: IntArray
    L: FloatArray
    log_probability: float


class PairMoments(NamedTuple):
    """Log probability of a truncated pair and the means of its two whitened variables."""

    log_probability: float
    mean_first: float
    mean_second: float


def log_interval(a: FloatArray, b: FloatArray) -> FloatArray:
    """Log of P(a < Z < b) for a standard normal Z, accurate in both tails, for narrow and for infinite intervals."""
    if np.all(b == np.inf):
        return np.asarray(log_ndtr(-a))
    if np.all(a == -np.inf):
        return np.asarray(log_ndtr(b))
    near = np.where(a > 0.0, -a, b)  # mirrored into the lower tail, where log_ndtr keeps all its digits
    far = np.where(a > 0.0, -b, a)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_near = log_ndtr(near)
        one_tail = log_near + np.log1p(-np.exp(log_ndtr(far) - log_near))
        straddling = np.log(0.5 * (erf(b / math.sqrt(2.0)) - erf(a / math.sqrt(2.0))))
        middle, width = 0.5 * (a + b), b - a
        narrow = np.log(width) - 0.5 * middle**2 - _LOG_SQRT_2PI + np.log1p(width**2 * (middle**2 - 1.0) / 24.0)
        is_narrow = width * np.maximum(1.0, np.abs(middle)) < _NARROW
    return np.where(is_narrow, narrow, np.where((a <= 0.0) & (b >= 0.0), straddling, one_tail))


def interval_mean(a: FloatArray, b: FloatArray, log_probability: FloatArray) -> FloatArray:
    """Mean of a standard normal variable restricted to (a, b), given `log_interval(a, b)`; always within (a, b)."""
    offset = -_LOG_SQRT_2PI - log_probability
    mean = np.exp(offset - 0.5 * a * a) - np.exp(offset - 0.5 * b * b)
    with np.errstate(invalid="ignore"):
        middle, width = 0.5 * (a + b), b - a
        is_narrow = width * np.maximum(1.0, np.abs(middle)) < _NARROW
        mean = np.where(is_narrow, middle * (1.0 - width**2 / 12.0), mean)
    inside: FloatArray = np.clip(mean, a, b)
    return inside


def pair_moments(a: tuple[float, float], b: tuple[float, float], r: float, s: float) -> PairMoments:
    """Integrate a truncated pair: a[0] < Z1 < b[0] and a[1] < r Z1 + s Z2 < b[1].

    Z2 is integrated in closed form; what remains, over Z1, is log-concave (its second derivative is below -1), so its
    support is found by zooming on a grid and integrated by Gauss-Legendre panels that also split at the steps which
    the second interval makes when s > 0 is small. Nothing cancels, unlike in a difference of four bivariate cdfs.
    """
    scale = math.hypot(r, s)
    a2, b2, r, s = a[1] / scale, b[1] / scale, r / scale, s / scale

    def second(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Interval of Z2 given Z1 = x, and its log probability."""
        below, above = (a2 - r * x) / s, (b2 - r * x) / s
        return below, above, log_interval(below, above)

    low, high = _support(a[0], b[0], _marginal_mean(a2, b2) * r, lambda x: second(x)[2] - 0.5 * x * x)
    x, weight = _panel_nodes(low, high, a2, b2, r, s)
    below, above, log_second = second(x)
    log_density = log_second - 0.5 * x * x - _LOG_SQRT_2PI
    top = log_density.max()
    mass = weight * np.exp(log_density - top)
    total = mass.sum()
    return PairMoments(
        float(top + math.log(total)),
        float(mass @ x / total),
        float(mass @ interval_mean(below, above, log_second) / total),
    )


def _marginal_mean(a: float, b: float) -> float:
    """Mean of a standard normal variable in (a, b)."""
    ends = np.array([a]), np.array([b])
    return float(interval_mean(*ends, log_interval(*ends))[0])


def _support(a: float, b: float, center: float, log_density: Callable[[FloatArray], FloatArray]) -> tuple[float, float]:
    """Interval within (a, b) outside which the log-concave density is e^-42 of its maximum.

    Without (a, b) the mode is within sqrt(3) of `center` and the density falls at least as fast as a standard normal
    one, so 11 on either side is enough to start with.
    """
    low, high = max(a, min(center, b) - 11.0), min(b, max(center, a) + 11.0)
    for _ in range(12):
        x = np.linspace(low, high, _GRID)
        value = log_density(x)
        kept = np.flatnonzero(value >= value.max() - _DEPTH)
        low, high = float(x[max(kept[0] - 1, 0)]), float(x[min(kept[-1] + 1, _GRID - 1)])
        if kept.size > _GRID // 3:
            break
    return low, high


def _panel_nodes(low: float, high: float, a: float, b: float, r: float, s: float) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on panels of (low, high), finer where r x crosses a or b within a few s."""
    slope = math.copysign(max(abs(r), 1e-12), r)
    steps = [end / slope + _STEP_PANELS * (s / abs(slope)) for end in (a, b) if math.isfinite(end)]
    edges = np.sort(np.clip(np.concatenate([low + (high - low) * _EVEN_PANELS, *steps]), low, high))
    edges = edges[np.diff(edges, prepend=-np.inf) > 0.0][:, None]
    half, centers = 0.5 * np.diff(edges, axis=0), 0.5 * (edges[1:] + edges[:-1])
    return (centers + half * _NODES).ravel(), (half * _WEIGHTS).ravel()


def rank_starts(gamma: FloatArray, lower: FloatArray, upper: FloatArray) -> IntArray:
    """Rank variables as first of a greedy order: least probable first, ties by the most negative correlation.

    In an orthant all are equally probable, and without this rule the result would depend on how rows are numbered.
    """
    _check_box(gamma, lower, upper)
    sd = _standard_deviations(np.diag(gamma))
    least = (gamma / np.outer(sd, sd)).min(axis=1, initial=1.0)
    ranked: IntArray = np.lexsort((least, log_interval(lower / sd, upper / sd)))
    return ranked


def greedy_cholesky(
    gamma: FloatArray, lower: FloatArray, upper: FloatArray, *, pairs: bool, first: int | None = None
) -> Factor:
    """Factor gamma in the greedy order: at each step the variable whose interval is least probable comes next.

    It begins with variable `first`, by default the best of `rank_starts`. With `pairs` it conditions on the means of
    truncated pairs (Trinh and Genz) instead of single variables (Gibson, Glasbey and Elston). Returns the order, the
    factor in that order, and the conditioning approximation of the box's log probability.
    """
    ranked = rank_starts(gamma, lower, upper)
    m = lower.size
    L = np.zeros((m, m))  # rows by variable until the end, so that nothing is ever swapped
    order, rest, terms = np.empty(m, dtype=np.intp), np.arange(m), np.zeros(m)
    variance, shift = np.diag(gamma).copy(), np.zeros(m)
    opening = _Choice(0, -np.inf, np.inf, 0.0, 0.0)  # the first variable of the pair, and the means of u before it
    shift_opening = shift
    for k in range(m):
        sd = _standard_deviations(variance[rest])
        forced = None if k else int(ranked[0]) if first is None else first
        choice = _least_probable((lower[rest] - shift[rest]) / sd, (upper[rest] - shift[rest]) / sd, forced)
        i, pivot = rest[choice.position], float(sd[choice.position])
        rest = np.delete(rest, choice.position)
        order[k], L[i, k], terms[k] = i, pivot, choice.log_probability
        L[rest, k] = ((gamma[:, i] - L[:, :k] @ L[i, :k]) / pivot)[rest]
        variance[rest] -= L[rest, k] ** 2
        if pairs and k % 2 == 1:
            below, above = float(lower[i] - shift_opening[i]), float(upper[i] - shift_opening[i])
            pair = pair_moments((opening.a, below), (opening.b, above), float(L[i, k - 1]), pivot)
            terms[k - 1 : k + 1] = 0.0, pair.log_probability
            shift = shift_opening + L[:, k - 1] * pair.mean_first + L[:, k] * pair.mean_second
        else:
            opening, shift_opening = choice, shift
            shift = shift + L[:, k] * choice.mean
    return Factor(order, L[order], float(terms.sum()))


class _Choice(NamedTuple):
    """The variable taken next: its place among the rest, standardised interval, log probability and mean."""

    position: int
    a: float
    b: float
    log_probability: float
    mean: float


def _least_probable(a: FloatArray, b: FloatArray, forced: int | None) -> _Choice:
    """Pick the least probable of the intervals (a, b), or the forced one."""
    log_probability = log_interval(a, b)
    j = int(np.argmin(log_probability)) if forced is None else forced
    only = slice(j, j + 1)
    mean = float(interval_mean(a[only], b[only], log_probability[only])[0])
    return _Choice(j, float(a[j]), float(b[j]), float(log_probability[j]), mean)


def _standard_deviations(variance: FloatArray) -> FloatArray:
    """Square roots of conditional variances, all of which must be positive."""
    if not np.all(variance > 0.0):
        raise np.linalg.LinAlgError("gamma is not positive definite")
    return np.sqrt(variance)


def _check_box(gamma: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """Refuse shapes that do not fit and empty intervals."""
    m = lower.size
    if lower.shape != (m,) or upper.shape != (m,) or gamma.shape != (m, m):
        raise ValueError(f"shapes do not fit: gamma {gamma.shape}, lower {lower.shape}, upper {upper.shape}")
    if not np.all(lower < upper):
        raise ValueError("every interval needs lower < upper")


def log_box_conditioning(gamma: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    """Approximate log P(lower <= u <= upper), u ~ N(0, gamma), by bivariate conditioning in O(m^3).

    The better the weaker the correlations: with the covariance W K W' + I of duels the error grows from 0.2 nat at
    kernel variance 0.1 to 1 at 1, and contradictory duels at a variance of 100 or more may cost it hundreds of nats.
    """
    return greedy_cholesky(gamma, lower, upper, pairs=True).log_probability


def random_blocks(m: int, size: int, rng: np.random.Generator) -> list[IntArray]:
    """Partition range(m) at random into blocks of `size` indices (the paper uses 30), the last one possibly smaller."""
    if size < 1:
        raise ValueError(f"a block needs at least one variable, got size {size}")
    shuffled = rng.permutation(m)
    return [shuffled[start : start + size] for start in range(0, m, size)]


def block_bound(gamma: FloatArray, lower: FloatArray, upper: FloatArray, blocks: Sequence[IntArray]) -> float:
    """Bound P(lower <= u <= upper) from below by the paper's Corollary 3: sum of P(block) - (number of blocks - 1).

    It is a plain number, not a logarithm, because it may be negative: with b blocks of small probability it is close
    to -(b - 1) and says nothing. It is as exact a bound as the conditioning that computes each block.
    """
    members = np.concatenate([np.empty(0, dtype=np.intp), *blocks])
    if not np.array_equal(np.sort(members), np.arange(lower.size)):
        raise ValueError("blocks must contain each variable exactly once")
    logs = [log_box_conditioning(gamma[np.ix_(block, block)], lower[block], upper[block]) for block in blocks]
    return float(np.exp(logs).sum()) - (len(blocks) - 1)
