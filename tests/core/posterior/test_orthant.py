"""Bivariate conditioning and the block bound, against closed forms, scipy and the tilting reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import multivariate_normal, norm

from tests.core.reference import random_box, random_covariance
from tuner.core.posterior import tilting
from tuner.core.posterior.orthant import (
    block_bound,
    greedy_cholesky,
    interval_mean,
    log_box_conditioning,
    log_interval,
    pair_moments,
    random_blocks,
)

INF = np.inf


def duel_covariance(rng: np.random.Generator, m: int, variance: float, lengthscale: float) -> np.ndarray:
    """W K W' + I for m duels between m // 2 points of the unit square, answered by a draw of the prior with noise."""
    n = max(m // 2, 3)
    X = rng.random((n, 2))
    K = variance * np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2.0 * lengthscale**2))
    f = rng.multivariate_normal(np.zeros(n), K, method="eigh")
    W = np.zeros((m, n))
    for row in W:
        pair = rng.choice(n, 2, replace=False)
        sign = 1.0 if f[pair[0]] - f[pair[1]] + rng.standard_normal() > 0.0 else -1.0
        row[pair] = sign, -sign
    return W @ K @ W.T + np.eye(m)


@pytest.mark.parametrize(
    ("a", "b"), [(-INF, INF), (3.0, INF), (-INF, -30.0), (-0.5, 2.0), (5.0, 5.5), (-40.0, -39.9), (20.0, 20.00004)]
)
def test_an_interval_agrees_with_direct_integration_of_the_density(a: float, b: float) -> None:
    peak = min(max(0.0, a), b)
    end = min(b, peak + 12.0), max(a, peak - 12.0)

    def relative(x: float) -> float:
        return math.exp(0.5 * (peak - x) * (peak + x))

    mass = quad(relative, end[1], end[0], epsabs=0.0, epsrel=1e-12, limit=200, points=[peak])[0]
    first = quad(lambda x: (x - peak) * relative(x), end[1], end[0], epsabs=1e-13, limit=200, points=[peak])[0]
    log_probability = log_interval(np.array([a]), np.array([b]))
    assert log_probability[0] == pytest.approx(norm.logpdf(peak) + math.log(mass), rel=1e-11, abs=1e-11)
    mean = interval_mean(np.array([a]), np.array([b]), log_probability)
    assert mean[0] == pytest.approx(peak + first / mass, abs=1e-8)


@given(st.floats(-35, 35), st.floats(1e-7, 5), st.floats(0.05, 0.95))
def test_two_neighbouring_intervals_add_up_to_their_union(a: float, width: float, share: float) -> None:
    ends = np.array([a, a + share * width, a + width])
    parts = log_interval(ends[:2], ends[1:])
    whole = log_interval(ends[:1], ends[2:])[0]
    # Cutting at a rounded place costs eps |a| / width of a part.
    assert np.logaddexp(*parts) == pytest.approx(whole, abs=1e-9 + 1e-14 * (1.0 + a * a) / (width * 0.05))


@pytest.mark.parametrize("rho", [-0.9999, -0.7, 0.0, 0.3, 0.99, 0.999999])
def test_a_pair_has_the_arcsine_probability_and_the_known_means(rho: float) -> None:
    s = math.sqrt((1.0 - rho) * (1.0 + rho))
    pair = pair_moments((0.0, 0.0), (INF, INF), rho, s)
    probability = 0.25 + math.asin(rho) / (2.0 * math.pi)
    mean = (1.0 + rho) / (2.0 * math.sqrt(2.0 * math.pi) * probability)
    assert pair.log_probability == pytest.approx(math.log(probability), rel=1e-9)
    assert pair.mean_first == pytest.approx(mean, rel=1e-7)
    assert pair.mean_second == pytest.approx(mean * (1.0 - rho) / s, rel=1e-7)


@pytest.mark.parametrize("rho", [-0.95, -0.2, 0.5, 0.999])
def test_a_pair_in_a_two_sided_box_agrees_with_scipy(rho: float) -> None:
    lower, upper = np.array([-0.7, -INF]), np.array([1.1, 0.4])
    gamma = np.array([[1.0, rho], [rho, 1.0]])
    expected = multivariate_normal.cdf(upper, np.zeros(2), gamma, lower_limit=lower, abseps=1e-12, releps=1e-12)
    assert math.exp(log_box_conditioning(gamma, lower, upper)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("rho", [-0.6, 0.5, 0.9])
def test_a_pair_of_probability_below_e_minus_300_is_exact(rho: float) -> None:
    corner, s = 24.0, math.sqrt(1.0 - rho * rho)
    # x = corner + y / 100 turns the integral over the first variable into one of order one.
    top = norm.logpdf(corner) + log_ndtr((rho * corner - corner) / s)

    def relative(y: float) -> float:
        x = corner + y / 100.0
        return math.exp(norm.logpdf(x) + log_ndtr((rho * x - corner) / s) - top)

    expected = top + math.log(quad(relative, 0.0, 1000.0, epsabs=0.0, limit=500)[0] / 100.0)
    gamma, lower = np.array([[1.0, rho], [rho, 1.0]]), np.full(2, corner)
    assert expected < -300.0
    assert log_box_conditioning(gamma, lower, np.full(2, INF)) == pytest.approx(expected, abs=1e-8)


def test_independent_variables_give_the_product_of_their_probabilities() -> None:
    rng = np.random.default_rng(0)
    lower, upper = random_box(rng, 9)
    variances = rng.uniform(0.1, 9.0, 9)
    expected = log_interval(lower / np.sqrt(variances), upper / np.sqrt(variances)).sum()
    assert log_box_conditioning(np.diag(variances), lower, upper) == pytest.approx(expected, abs=1e-11)


def test_no_variable_has_probability_one_and_one_variable_is_exact() -> None:
    assert log_box_conditioning(np.empty((0, 0)), np.empty(0), np.empty(0)) == 0.0
    value = log_box_conditioning(np.array([[4.0]]), np.array([60.0]), np.array([INF]))
    assert value == pytest.approx(log_ndtr(-30.0), rel=1e-14)


def test_three_variables_come_close_to_the_arcsine_formula() -> None:
    gamma = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.5], [-0.2, 0.5, 1.0]])
    angles = math.asin(0.3) + math.asin(-0.2) + math.asin(0.5)
    expected = math.log(0.125 + angles / (4.0 * math.pi))
    assert log_box_conditioning(gamma, np.zeros(3), np.full(3, INF)) == pytest.approx(expected, abs=0.05)


def test_each_pair_is_conditioned_on_the_means_of_the_pairs_before_it() -> None:
    # The method again, from textbook conditional means and covariances instead of Cholesky columns.
    rng = np.random.default_rng(8)
    gamma, (lower, upper) = random_covariance(rng, 6), random_box(rng, 6)
    order = greedy_cholesky(gamma, lower, upper, pairs=True).order
    known, means, total = order[:0], np.empty(0), 0.0
    for pair in (order[:2], order[2:4], order[4:]):
        to_known = np.linalg.solve(gamma[np.ix_(known, known)], gamma[np.ix_(known, pair)])
        center = to_known.T @ means
        root = np.linalg.cholesky(gamma[np.ix_(pair, pair)] - gamma[np.ix_(pair, known)] @ to_known)
        a, b = lower[pair] - center, upper[pair] - center
        moments = pair_moments((a[0] / root[0, 0], a[1]), (b[0] / root[0, 0], b[1]), root[1, 0], root[1, 1])
        total += moments.log_probability
        known = np.append(known, pair)
        means = np.append(means, center + root @ np.array([moments.mean_first, moments.mean_second]))
    assert log_box_conditioning(gamma, lower, upper) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(("m", "tolerance"), [(2, 1e-10), (3, 0.1), (10, 0.5), (50, 2.0)])
def test_equal_correlations_of_one_half_drift_from_one_over_m_plus_one_as_m_grows(m: int, tolerance: float) -> None:
    gamma = 0.5 * (np.eye(m) + 1.0)
    value = log_box_conditioning(gamma, np.zeros(m), np.full(m, INF))
    assert value == pytest.approx(-math.log(m + 1), abs=tolerance)


@pytest.mark.parametrize("seed", range(6))
def test_a_small_two_sided_box_is_within_a_tenth_of_a_nat_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gamma, (lower, upper) = random_covariance(rng, 4), random_box(rng, 4)
    expected = multivariate_normal.cdf(upper, np.zeros(4), gamma, lower_limit=lower, rng=rng)
    assert log_box_conditioning(gamma, lower, upper) == pytest.approx(math.log(expected), abs=0.1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 9), st.booleans())
def test_the_order_of_the_variables_does_not_matter(seed: int, m: int, orthant: bool) -> None:
    rng = np.random.default_rng(seed)
    gamma, (lower, upper) = random_covariance(rng, m), random_box(rng, m)
    if orthant:
        lower, upper = np.zeros(m), np.full(m, INF)
    p = rng.permutation(m)
    value = log_box_conditioning(gamma, lower, upper)
    assert log_box_conditioning(gamma[np.ix_(p, p)], lower[p], upper[p]) == pytest.approx(value, abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.booleans())
def test_the_factor_reproduces_the_covariance_in_its_order(seed: int, m: int, pairs: bool) -> None:
    rng = np.random.default_rng(seed)
    gamma, (lower, upper) = random_covariance(rng, m), random_box(rng, m)
    order, L, _ = greedy_cholesky(gamma, lower, upper, pairs=pairs)
    np.testing.assert_array_equal(L, np.tril(L))
    np.testing.assert_allclose(L @ L.T, gamma[np.ix_(order, order)], atol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("m", "variance", "typical"), [(50, 0.1, 0.25), (50, 1.0, 0.8), (100, 0.1, 0.4), (100, 1.0, 2.0)]
)
def test_the_typical_error_on_duels_is_the_documented_one(
    m: int, variance: float, typical: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tilting, "_WORK_VALUE", 0.0)  # one order is enough for a reference to 0.05 nat
    errors = []
    for seed in range(5):
        gamma = duel_covariance(np.random.default_rng(seed), m, variance, 0.3)
        box = np.zeros(m), np.full(m, INF)
        reference, _ = tilting.log_box_tilting(gamma, *box, points=2**8, replicates=4, tolerance=1.0)
        errors.append(abs(log_box_conditioning(gamma, *box) - reference))
    assert np.median(errors) < typical, errors


def test_five_hundred_duels_far_below_the_smallest_double_stay_finite() -> None:
    gamma = duel_covariance(np.random.default_rng(1), 500, 1.0, 0.3)
    value = log_box_conditioning(gamma, np.full(500, 2.0), np.full(500, INF))
    assert -1e5 < value < -745.0


def test_blocks_are_a_random_partition_of_the_wanted_size() -> None:
    blocks = random_blocks(32, 10, np.random.default_rng(3))
    assert [block.size for block in blocks] == [10, 10, 10, 2]
    assert sorted(np.concatenate(blocks)) == list(range(32))
    assert random_blocks(0, 10, np.random.default_rng(3)) == []
    with pytest.raises(ValueError, match="at least one"):
        random_blocks(3, 0, np.random.default_rng(3))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 2))
def test_the_block_bound_is_below_the_probability(seed: int, m: int, size: int) -> None:
    # Blocks of one and two variables are computed exactly, so this is the corollary itself.
    rng = np.random.default_rng(seed)
    gamma, (lower, upper) = random_covariance(rng, m), random_box(rng, m)
    bound = block_bound(gamma, lower, upper, random_blocks(m, size, rng))
    reference, error = tilting.log_box_tilting(gamma, lower, upper, points=2**9, replicates=4)
    assert bound <= math.exp(reference + 6.0 * error) + 1e-6


def test_one_block_is_the_whole_probability_and_none_is_certainty() -> None:
    rng = np.random.default_rng(5)
    gamma, (lower, upper) = random_covariance(rng, 6), random_box(rng, 6)
    whole = math.exp(log_box_conditioning(gamma, lower, upper))
    assert block_bound(gamma, lower, upper, [np.arange(6)]) == pytest.approx(whole, rel=1e-12)
    assert block_bound(np.empty((0, 0)), np.empty(0), np.empty(0), []) == 1.0


def test_the_block_bound_of_many_duels_is_negative() -> None:
    gamma = duel_covariance(np.random.default_rng(2), 60, 50.0, 0.3)
    blocks = random_blocks(60, 30, np.random.default_rng(0))
    assert -1.0 < block_bound(gamma, np.zeros(60), np.full(60, INF), blocks) < 0.0


def test_what_does_not_fit_is_refused() -> None:
    box = np.zeros(2), np.ones(2)
    with pytest.raises(ValueError, match="exactly once"):
        block_bound(np.eye(2), *box, [np.array([0])])
    with pytest.raises(ValueError, match="shapes"):
        log_box_conditioning(np.eye(3), *box)
    with pytest.raises(ValueError, match="lower < upper"):
        log_box_conditioning(np.eye(2), box[1], box[0])
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        log_box_conditioning(np.array([[1.0, 2.0], [2.0, 1.0]]), *box)
