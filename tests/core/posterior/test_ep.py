import numpy as np
import pytest
from scipy.stats import norm

from tests.core.reference import champion_duels, rbf
from tuner.core import Observations, SkewGP
from tuner.core.posterior.ep import NotConvergedError, Sites, box_moments, expectation_propagation
from tuner.core.posterior.tilting import log_box_tilting

INF = np.inf


def rows_of(count, variance, seed=0, flips=0.0):
    points, duels = champion_duels(np.random.default_rng(seed), count, 2, flips)
    return SkewGP(Observations(points, duels=duels), [0.25, 0.35], variance)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(0.0, INF), (0.7, INF), (-0.5, 0.5), (-1e-3, 1e-3), (2.0, 9.0), (-30.0, -29.0), (-8.0, 8.0), (12.0, INF)],
)
@pytest.mark.parametrize("mean", [-3.0, 0.0, 0.4, 5.0])
def test_box_moments_agree_with_quadrature(lower, upper, mean):
    sd = 1.3
    log_z, slope, curvature, at_lower, at_upper = (
        part[0] for part in box_moments(np.array([mean]), np.array([sd**2]), np.array([lower]), np.array([upper]))
    )
    peak = min(max(mean, lower), upper)
    shift = norm.logpdf(peak, mean, sd)
    end = min(upper, peak + 14 * sd)
    begin = max(lower, peak - 14 * sd)

    nodes, weights = np.polynomial.legendre.leggauss(12)
    edges = np.linspace(begin, end, 2001)
    u = (edges[:-1, None] + edges[1:, None] + (edges[1:, None] - edges[:-1, None]) * nodes) / 2
    scaled = np.exp(norm.logpdf(u, mean, sd) - shift) * weights * (edges[1] - edges[0]) / 2

    def integral(power):
        return ((u - mean) ** power * scaled).sum()

    z = integral(0)
    first, second = integral(1) / z, integral(2) / z
    assert log_z == pytest.approx(np.log(z) + shift, abs=1e-9)
    assert slope == pytest.approx(first / sd**2, rel=1e-7, abs=1e-9)
    assert curvature == pytest.approx((1 - (second - first**2) / sd**2) / sd**2, rel=1e-6, abs=1e-8)
    assert at_lower == pytest.approx(-np.exp(norm.logpdf(lower, mean, sd) - log_z), rel=1e-7)
    expected = np.exp(norm.logpdf(upper, mean, sd) - log_z) if np.isfinite(upper) else 0.0
    assert at_upper == pytest.approx(expected, rel=1e-7)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rows", "variance", "flips"),
    [
        (10, 1.0, 0.0),
        (50, 10.0, 0.0),
        (40, 30.0, 0.1),
        (30, 1e3, 0.0),
        pytest.param(100, 50.0, 0.0, marks=pytest.mark.slow),
        pytest.param(100, 1e4, 0.0, marks=pytest.mark.slow),
        pytest.param(100, 1e4, 0.05, marks=pytest.mark.slow),
    ],
)
def test_the_corrected_evidence_is_near_the_reference_and_nearer_than_plain_ep(rows, variance, flips):
    model = rows_of(rows, variance, flips=flips)
    reference = model.log_evidence("tilting")
    assert model.log_evidence() == pytest.approx(reference, abs=0.2)
    assert abs(model.log_evidence() - reference) < 0.5 * abs(model.log_evidence("ep") - reference)


def test_the_gradient_along_any_change_of_the_covariance_agrees_with_finite_differences():
    C, D = rows_of(20, 5.0).covariance, rows_of(20, 5.0, seed=1).covariance
    lower, upper = np.zeros(20), np.full(20, INF)
    lower[:5], upper[:5] = -0.4, 0.4

    def value(step):
        return expectation_propagation(C + step * (D - C), lower, upper, tolerance=1e-10).log_evidence

    exact = 0.5 * (expectation_propagation(C, lower, upper, tolerance=1e-10).weights() * (D - C)).sum()
    assert exact == pytest.approx((value(1e-4) - value(-1e-4)) / 2e-4, rel=1e-6)


def test_the_slopes_in_the_bounds_agree_with_finite_differences():
    C = rows_of(12, 5.0).covariance
    lower, upper = np.zeros(12), np.full(12, INF)
    lower[:4], upper[:4] = -0.4, 0.4
    found = expectation_propagation(C, lower, upper, tolerance=1e-10)
    for row, h in ((1, 1e-5), (7, 1e-5)):
        step = h * (np.arange(12) == row)
        up = expectation_propagation(C, lower + step, upper, tolerance=1e-10).log_evidence
        down = expectation_propagation(C, lower - step, upper, tolerance=1e-10).log_evidence
        assert found.lower_slope[row] == pytest.approx((up - down) / (2 * h), rel=1e-5)


def test_a_warm_start_reaches_the_same_evidence_sooner():
    model = rows_of(80, 100.0)
    cold = model.evidence
    start = Sites(cold.sites.tau[:-1], cold.sites.nu[:-1])
    warm = expectation_propagation(model.covariance, model.lower, model.upper, start=start)
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-6)
    assert warm.iterations < cold.iterations


@pytest.mark.parametrize("variance", [1e-2, 1.0, 1e3, 1e6])
def test_random_and_contradictory_answers_converge(variance):
    rng = np.random.default_rng(3)
    points = rng.random((12, 2))
    W = np.zeros((80, 12))
    for row in W:
        first, second = rng.choice(12, 2, replace=False)
        row[first], row[second] = 1.0, -1.0
    C = W @ rbf(points, points, [0.3, 0.3], variance) @ W.T
    lower, upper = np.zeros(80), np.full(80, INF)
    lower[::4], upper[::4] = -0.3, 0.3
    assert np.isfinite(expectation_propagation(C, lower, upper).log_evidence)


def test_what_has_not_converged_is_never_returned(monkeypatch):
    monkeypatch.setattr("tuner.core.posterior.ep.ITERATIONS", 2)
    monkeypatch.setattr("tuner.core.posterior.ep.DAMPED_ITERATIONS", 2)
    model = rows_of(30, 100.0)
    with pytest.raises(NotConvergedError, match="30 rows"):
        expectation_propagation(model.covariance, model.lower, model.upper)


def test_the_damped_iteration_reaches_the_same_fixed_point(monkeypatch):
    model = rows_of(30, 100.0)
    quick = model.evidence.log_evidence
    monkeypatch.setattr("tuner.core.posterior.ep.ITERATIONS", 1)
    slow = expectation_propagation(model.covariance, model.lower, model.upper)
    assert slow.log_evidence == pytest.approx(quick, abs=1e-5)


@pytest.mark.parametrize("variance", [pytest.param(30.0, marks=pytest.mark.slow), 1e8])
@pytest.mark.parametrize("flips", [pytest.param(0.0, marks=pytest.mark.slow), 0.1])
def test_leaving_out_what_is_small_beside_the_noise_changes_neither_evidence_nor_gradient(variance, flips):
    model = rows_of(300, variance, flips=flips)
    box = model.covariance, model.lower, model.upper
    exact, quick = expectation_propagation(*box), expectation_propagation(*box, least=1e-4)
    assert quick.half is not None
    assert len(quick.half) < 150
    assert quick.log_evidence == pytest.approx(exact.log_evidence, abs=1e-3)
    assert quick.row_mean == pytest.approx(exact.row_mean, rel=1e-2, abs=1e-2)
    # along a change of the variance, as a fit asks
    gradients = [0.5 * (found.weights() * model.covariance).sum() for found in (exact, quick)]
    assert gradients[1] == pytest.approx(gradients[0], rel=1e-3, abs=1e-3)


def test_rows_of_full_rank_are_not_approximated():
    points = np.random.default_rng(0).random((120, 6))
    model = SkewGP(Observations(points, duels=[(i, i + 1) for i in range(119)]), 0.3, 100.0)
    box = model.covariance, model.lower, model.upper
    assert expectation_propagation(*box, least=1e-3).half is None


def test_rescaled_sites_of_a_larger_variance_lead_to_the_same_evidence_in_fewer_steps():
    points, duels = champion_duels(np.random.default_rng(0), 60, 2)
    data = Observations(points, duels=duels)
    at = {variance: SkewGP(data, 0.3, variance) for variance in (1e6, 30.0)}
    cold = at[30.0].evidence
    start = at[1e6].evidence.sites.rescaled(1e6 / 30.0)
    warm = expectation_propagation(at[30.0].covariance, at[30.0].lower, at[30.0].upper, start=start)
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-6)
    assert warm.iterations < cold.iterations


@pytest.mark.parametrize(("variance", "off"), [(3.0, 0.03), (30.0, 0.1)])
def test_the_chance_of_a_row_given_all_others_is_what_really_leaving_it_out_gives(variance, off):
    model = rows_of(9, variance, seed=4, flips=0.2)
    found = np.exp(model.evidence.left_out)
    gamma = model.covariance + np.eye(model.data.m)
    with_it = log_box_tilting(gamma, model.lower, model.upper, seed=0)[0]
    for row in range(model.data.m):
        rest = np.delete(np.arange(model.data.m), row)
        without = log_box_tilting(gamma[np.ix_(rest, rest)], model.lower[rest], model.upper[rest], seed=0)[0]
        assert found[row] == pytest.approx(np.exp(with_it - without), abs=off)
