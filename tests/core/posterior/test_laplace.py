import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from tests.core.reference import champion_duels, rbf
from tuner.core import Laplace, Observations
from tuner.core.posterior.laplace import find_mode


def test_the_mode_and_its_curvature_are_those_of_a_general_optimiser():
    points, duels = champion_duels(np.random.default_rng(0), 6, 2)
    K = rbf(points, points, [0.4, 0.4], 3.0)
    inverse = np.linalg.inv(K)

    def objective(f):
        return 0.5 * f @ inverse @ f - sum(norm.logcdf(f[a] - f[b]) for a, b in duels)

    found = minimize(objective, np.zeros(7), method="BFGS", options={"gtol": 1e-9})
    h, hessian = 1e-4, np.zeros((7, 7))
    for i in range(7):
        for j in range(7):
            a, b = h * np.eye(7)[i], h * np.eye(7)[j]
            f = found.x
            hessian[i, j] = (
                objective(f + a + b) - objective(f + a - b) - objective(f - a + b) + objective(f - a - b)
            ) / (4 * h * h)
    covariance = np.linalg.inv(hessian)
    model = Laplace(Observations(points, duels=duels), [0.4, 0.4], 3.0)
    assert model.mean(points) == pytest.approx(found.x, abs=1e-4)
    assert model.variance(points) == pytest.approx(np.diag(covariance), rel=1e-3)
    log_evidence = -found.fun - 0.5 * np.linalg.slogdet(K)[1] + 0.5 * np.linalg.slogdet(covariance)[1]
    assert model.log_evidence() == pytest.approx(log_evidence, abs=1e-3)


def test_the_gradient_of_the_evidence_agrees_with_finite_differences():
    points, duels = champion_duels(np.random.default_rng(0), 12, 2)
    one = Laplace(Observations(points, duels=duels), [0.4, 0.4], 5.0).covariance
    other = Laplace(Observations(points, duels=duels), [0.3, 0.6], 5.0).covariance
    lower, upper = np.zeros(12), np.full(12, np.inf)
    lower[:3], upper[:3] = -0.4, 0.4

    def value(step):
        return find_mode(one + step * (other - one), lower, upper).log_evidence

    exact = 0.5 * (find_mode(one, lower, upper).weights() * (other - one)).sum()
    assert exact == pytest.approx((value(1e-4) - value(-1e-4)) / 2e-4, rel=1e-5)
