import numpy as np
import pytest

from tuner.core.posterior.kernels import Kernel

NAMES = ["rbf", "matern52"]


@pytest.fixture(params=NAMES)
def kernel(request):
    return Kernel(np.array([0.3, 0.7, 0.2, 1.1]), 4.0, 0.5, request.param)


def test_the_matrix_is_positive_definite_with_the_prior_variance_on_its_diagonal(kernel):
    X = np.random.default_rng(0).random((40, 4))
    K = kernel.matrix(X, X)
    assert np.diag(K) == pytest.approx(np.full(40, 4.5))
    assert np.linalg.eigvalsh(K).min() > 0


def test_the_gradient_in_x_agrees_with_finite_differences(kernel):
    rng = np.random.default_rng(1)
    x, Y, h = rng.random(4), rng.random((6, 4)), 1e-6
    value, gradient = kernel.gradient(x, Y)
    assert value == pytest.approx(kernel.matrix(x[None], Y)[0])
    for c in range(4):
        step = h * np.eye(4)[c]
        numeric = (kernel.matrix((x + step)[None], Y)[0] - kernel.matrix((x - step)[None], Y)[0]) / (2 * h)
        assert gradient[:, c] == pytest.approx(numeric, abs=1e-7)


def test_the_contraction_is_the_gradient_in_the_log_lengthscales(kernel):
    rng = np.random.default_rng(2)
    X, Q, h = rng.random((9, 4)), rng.standard_normal((9, 9)), 1e-6
    Q = Q + Q.T
    _, H = kernel.matrix_and_slope(X, X)
    for c in range(4):
        scale = np.exp(h * np.eye(4)[c])
        up = Kernel(kernel.lengthscales * scale, 4.0, 0.5, kernel.name).matrix(X, X)
        down = Kernel(kernel.lengthscales / scale, 4.0, 0.5, kernel.name).matrix(X, X)
        assert kernel.contract(X, Q, H)[c] == pytest.approx((Q * (up - down)).sum() / (2 * h), rel=1e-5)


@pytest.mark.parametrize("bad", [{"lengthscales": [0.0]}, {"variance": -1.0}, {"mean_variance": np.nan}, {"name": "x"}])
def test_impossible_hyper_parameters_are_refused(bad):
    good = {"lengthscales": [0.3], "variance": 1.0} | bad
    with pytest.raises(ValueError, match=next(iter(bad)) if "name" not in bad else "no kernel"):
        Kernel(np.array(good.pop("lengthscales")), **good)
