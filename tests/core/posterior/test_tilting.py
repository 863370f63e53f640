"""Minimax tilting: closed forms, scipy, plain Monte Carlo, and draws against rejection and Gibbs sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri
from scipy.stats import kstest, multivariate_normal, truncnorm

from tests.core.reference import random_box, random_covariance
from tests.core.tilted import AcceptanceError, sample_box_tilting
from tuner.core.posterior import tilting
from tuner.core.posterior.orthant import log_box_conditioning, log_interval
from tuner.core.posterior.tilting import find_tilt, log_box_tilting

INF = np.inf


def duels(
    rng: np.random.Generator, m: int, variance: float, lengthscale: float, flips: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """W (m, n) and K (n, n) of duels between n points of the unit square; a share `flips` is answered wrongly."""
    n = max(m // 2, 3)
    X = rng.random((n, 2))
    K = variance * np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2.0 * lengthscale**2))
    f = rng.multivariate_normal(np.zeros(n), K, method="eigh")
    W = np.zeros((m, n))
    for row in W:
        pair = rng.choice(n, 2, replace=False)
        sign = 1.0 if f[pair[0]] - f[pair[1]] + rng.standard_normal() > 0.0 else -1.0
        sign = -sign if rng.random() < flips else sign
        row[pair] = sign, -sign
    return W, K


def test_no_variable_has_probability_one_and_empty_draws() -> None:
    nothing = np.empty((0, 0)), np.empty(0), np.empty(0)
    assert log_box_tilting(*nothing) == (0.0, 0.0)
    assert sample_box_tilting(*nothing, 5, np.random.default_rng(0)).shape == (5, 0)


def test_one_variable_is_exact_far_out_in_its_tail() -> None:
    gamma, lower, upper = np.array([[4.0]]), np.array([60.0]), np.array([INF])
    value, error = log_box_tilting(gamma, lower, upper)
    assert (value, error) == (pytest.approx(log_ndtr(-30.0), rel=1e-14), 0.0)
    draws = sample_box_tilting(gamma, lower, upper, 4000, np.random.default_rng(0))[:, 0]
    # Beyond 30 the law is exponential with rate 30 to one part in a thousand.
    assert kstest((draws / 2.0 - 30.0) * 30.0, "expon").pvalue > 1e-3


def test_one_variable_between_two_bounds_follows_the_truncated_normal_law() -> None:
    rng = np.random.default_rng(1)
    draws = sample_box_tilting(np.array([[4.0]]), np.array([1.0]), np.array([3.0]), 4000, rng)[:, 0]
    assert kstest(draws, truncnorm(0.5, 1.5, scale=2.0).cdf).pvalue > 1e-3


@pytest.mark.parametrize("rho", [-0.99, -0.4, 0.0, 0.8])
def test_two_variables_have_the_arcsine_probability(rho: float) -> None:
    gamma = np.array([[1.0, rho], [rho, 1.0]])
    value, error = log_box_tilting(gamma, np.zeros(2), np.full(2, INF))
    assert value == pytest.approx(math.log(0.25 + math.asin(rho) / (2.0 * math.pi)), abs=1e-5)
    assert error < 1e-5


def test_three_variables_have_the_arcsine_probability() -> None:
    gamma = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.5], [-0.2, 0.5, 1.0]])
    angles = math.asin(0.3) + math.asin(-0.2) + math.asin(0.5)
    value, _ = log_box_tilting(gamma, np.zeros(3), np.full(3, INF))
    assert value == pytest.approx(math.log(0.125 + angles / (4.0 * math.pi)), abs=1e-5)


@pytest.mark.parametrize("m", [5, 20, 50])
def test_equal_correlations_of_one_half_give_one_over_m_plus_one(m: int) -> None:
    value, error = log_box_tilting(0.5 * (np.eye(m) + 1.0), np.zeros(m), np.full(m, INF), points=2**11)
    assert value == pytest.approx(-math.log(m + 1), abs=0.005)
    assert abs(value + math.log(m + 1)) < 5.0 * error + 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_a_small_two_sided_box_agrees_with_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gamma, (lower, upper) = random_covariance(rng, 4), random_box(rng, 4)
    expected = multivariate_normal.cdf(
        upper, np.zeros(4), gamma, lower_limit=lower, maxpts=400_000, abseps=1e-7, releps=1e-6, rng=rng
    )
    value, _ = log_box_tilting(gamma, lower, upper, points=2**11)
    assert value == pytest.approx(math.log(expected), abs=1e-3)


def test_independent_variables_far_below_the_smallest_double_are_exact() -> None:
    rng = np.random.default_rng(2)
    lower, upper = np.full(25, 8.0), np.where(rng.random(25) < 0.5, 8.5, INF)
    variances = rng.uniform(0.5, 2.0, 25)
    expected = log_interval(lower / np.sqrt(variances), upper / np.sqrt(variances)).sum()
    value, error = log_box_tilting(np.diag(variances), lower, upper, points=2**6)
    assert expected < -745.0
    assert value == pytest.approx(expected, abs=1e-8)
    assert error < 1e-8


def test_a_correlated_pair_below_e_minus_300_agrees_with_exact_quadrature() -> None:
    gamma, lower, upper = np.array([[1.0, 0.5], [0.5, 1.0]]), np.full(2, 24.0), np.array([INF, 24.3])
    value, _ = log_box_tilting(gamma, lower, upper, points=2**10)
    assert value < -300.0
    assert value == pytest.approx(log_box_conditioning(gamma, lower, upper), abs=1e-4)


def test_the_evidence_of_duels_agrees_with_plain_monte_carlo_over_the_latent_function() -> None:
    rng = np.random.default_rng(3)
    W, K = duels(rng, 24, 1.0, 0.4)
    f = rng.multivariate_normal(np.zeros(len(K)), K, size=100_000, method="eigh")
    log_likelihood = log_ndtr(f @ W.T).sum(axis=1)
    expected = logsumexp(log_likelihood) - math.log(len(f))
    monte_carlo_error = np.std(np.exp(log_likelihood - expected)) / math.sqrt(len(f))
    value, error = log_box_tilting(W @ K @ W.T + np.eye(24), np.zeros(24), np.full(24, INF), points=2**11)
    assert monte_carlo_error < 0.02
    assert value == pytest.approx(expected, abs=4.0 * monte_carlo_error + 4.0 * error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "variance", "lengthscale", "flips"), [(50, 1e4, 0.2, 0.1), (50, 1e-2, 1.0, 0.1), (100, 1e4, 1.0, 0.0)]
)
def test_the_evidence_of_duels_repeats_within_two_hundredths_of_a_nat(
    m: int, variance: float, lengthscale: float, flips: float
) -> None:
    W, K = duels(np.random.default_rng(4), m, variance, lengthscale, flips)
    problem = W @ K @ W.T + np.eye(m), np.zeros(m), np.full(m, INF)
    first, second = (log_box_tilting(*problem, points=2**12, seed=seed) for seed in (0, 1))
    assert first[0] == pytest.approx(second[0], abs=0.02)
    assert max(first[1], second[1]) < 0.01


def test_the_same_seed_gives_the_same_value() -> None:
    problem = random_covariance(np.random.default_rng(5), 6), np.zeros(6), np.full(6, INF)
    values = [log_box_tilting(*problem, points=2**5, seed=seed) for seed in (7, 7, 8)]
    assert values[0] == values[1] != values[2]


def test_replicates_are_added_until_the_error_is_tolerable() -> None:
    W, K = duels(np.random.default_rng(6), 30, 100.0, 0.2, 0.1)
    problem = W @ K @ W.T + np.eye(30), np.zeros(30), np.full(30, INF)
    _, rough = log_box_tilting(*problem, points=2**6, replicates=4, tolerance=1.0)
    _, fine = log_box_tilting(*problem, points=2**6, replicates=4, tolerance=0.0)
    assert fine < rough


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7))
def test_the_order_of_the_variables_does_not_matter(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    gamma, (lower, upper) = random_covariance(rng, m), random_box(rng, m)
    p = rng.permutation(m)
    value, _ = log_box_tilting(gamma, lower, upper, points=2**9, replicates=2)
    permuted, _ = log_box_tilting(gamma[np.ix_(p, p)], lower[p], upper[p], points=2**9, replicates=2)
    assert permuted == pytest.approx(value, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.floats(-2.0, 4.0), st.booleans())
def test_no_weight_exceeds_the_bound_at_the_saddle(seed: int, m: int, log10_variance: float, two_sided: bool) -> None:
    rng = np.random.default_rng(seed)
    W, K = duels(rng, m, 10.0**log10_variance, 0.3, 0.2)
    upper = np.where(rng.random(m) < 0.5 * two_sided, 1.0, INF)
    tilt = find_tilt(W @ K @ W.T + np.eye(m), np.zeros(m), upper, starts=2)
    assert tilt.converged
    _, log_weight = tilting._propose(tilt, rng.random((m, 500)))
    assert log_weight.max() <= tilt.log_bound + 1e-6


def test_without_a_saddle_point_values_and_draws_are_still_right(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    gamma, (lower, upper) = random_covariance(rng, 5), random_box(rng, 5)
    expected, _ = log_box_tilting(gamma, lower, upper)
    draws = sample_box_tilting(gamma, lower, upper, 20_000, rng)
    monkeypatch.setattr(tilting, "_NEWTON_STEPS", 0)
    assert not find_tilt(gamma, lower, upper, starts=1).converged
    value, error = log_box_tilting(gamma, lower, upper)
    assert value == pytest.approx(expected, abs=5.0 * error + 1e-3)
    fallback = sample_box_tilting(gamma, lower, upper, 20_000, rng)
    assert_same_law(fallback, draws)


def assert_same_law(first: np.ndarray, second: np.ndarray) -> None:
    """Means and second moments of two sets of independent draws agree within five standard errors."""
    for power in (first, second), (products(first), products(second)):
        difference = power[0].mean(axis=0) - power[1].mean(axis=0)
        error = np.sqrt(sum(x.var(axis=0) / len(x) for x in power))
        assert np.abs(difference / error).max() < 5.0


def products(x: np.ndarray) -> np.ndarray:
    rows, columns = np.triu_indices(x.shape[1])
    return x[:, rows] * x[:, columns]


def test_draws_agree_with_brute_force_rejection() -> None:
    rng = np.random.default_rng(10)
    gamma, (lower, upper) = random_covariance(rng, 4), random_box(rng, 4)
    free = rng.multivariate_normal(np.zeros(4), gamma, size=400_000)
    rejected = free[np.all((free >= lower) & (free <= upper), axis=1)]
    assert len(rejected) > 10_000
    draws = sample_box_tilting(gamma, lower, upper, 20_000, rng)
    assert np.all((draws >= lower) & (draws <= upper))
    assert_same_law(draws, rejected)


def gibbs(gamma: np.ndarray, chains: int, sweeps: int, rng: np.random.Generator) -> np.ndarray:
    """The last states of independent Gibbs chains in the positive orthant."""
    precision = np.linalg.inv(gamma)
    u = np.abs(rng.standard_normal((len(gamma), chains)))
    for _ in range(sweeps):
        for i, row in enumerate(precision):
            sd = 1.0 / math.sqrt(row[i])
            mean = u[i] - (row @ u) / row[i]
            u[i] = mean - sd * ndtri(np.maximum(rng.random(chains) * ndtr(mean / sd), 1e-300))
    return u.T


@pytest.mark.slow
@pytest.mark.thorough
def test_draws_of_thirty_variables_agree_with_gibbs_sampling() -> None:
    rng = np.random.default_rng(11)
    W, K = duels(rng, 30, 5.0, 0.3, 0.1)
    gamma = W @ K @ W.T + np.eye(30)
    draws = sample_box_tilting(gamma, np.zeros(30), np.full(30, INF), 6000, rng)
    assert draws.min() >= 0.0
    assert_same_law(draws, gibbs(gamma, 3000, 150, rng))


def test_hopeless_acceptance_is_an_error_that_says_so() -> None:
    W, K = duels(np.random.default_rng(12), 40, 1e4, 0.1, 0.2)
    problem = W @ K @ W.T + np.eye(40), np.zeros(40), np.full(40, INF)
    with pytest.raises(AcceptanceError, match="out of reach"):
        sample_box_tilting(*problem, 100_000, np.random.default_rng(0), max_proposals=20_000)


def test_zero_draws_and_the_same_rng_state_are_respected() -> None:
    problem = np.eye(2) + 0.5, np.zeros(2), np.full(2, INF)
    assert sample_box_tilting(*problem, 0, np.random.default_rng(0)).shape == (0, 2)
    first, second = (sample_box_tilting(*problem, 50, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_what_does_not_fit_is_refused() -> None:
    problem = np.eye(2), np.zeros(2), np.ones(2)
    with pytest.raises(ValueError, match="power of 2"):
        log_box_tilting(*problem, points=100)
    with pytest.raises(ValueError, match="replicates"):
        log_box_tilting(*problem, replicates=1)
    with pytest.raises(ValueError, match="lower < upper"):
        sample_box_tilting(np.eye(2), np.ones(2), np.zeros(2), 3, np.random.default_rng(0))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        log_box_tilting(np.ones((2, 2)), *problem[1:])
