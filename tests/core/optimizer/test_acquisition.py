import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import entr, ndtr
from scipy.stats import norm

from tests.core.reference import champion_duels
from tuner.core import Observations, SkewGP
from tuner.core.optimizer.acquisition import (
    Apart,
    Logarithm,
    LogImprovement,
    LogValidity,
    MeanValue,
    Near,
    Scaled,
    Sum,
    Threshold,
    log_improvement,
    screened,
)
from tuner.core.optimizer.dueling import ExpectedImprovement, InformationGain, UpperCredibleBound, _bumps
from tuner.core.optimizer.surface import believed_surface, drawn_surface, ep_surface, mean_surface
from tuner.core.posterior.ep import expectation_propagation
from tuner.core.posterior.rows import row_covariance


@pytest.fixture(scope="module", params=[10.0, 1e6], ids=["noisy", "careful"])
def model(request):
    points, duels = champion_duels(np.random.default_rng(4), 12, 2)
    return SkewGP(Observations(points, duels=duels), [0.4, 0.6], request.param, draws=1500)


@pytest.fixture(scope="module")
def validity():
    rng = np.random.default_rng(5)
    points = rng.random((15, 2))
    labels = Observations(points, labels=[(i, bool(p[0] + 0.5 * p[1] < 0.8)) for i, p in enumerate(points)])
    hyper = SkewGP(labels, [0.3, 0.5], 20.0).hyper
    C = row_covariance(labels, hyper.kernel.matrix(points, points), hyper.noise)
    return ep_surface(labels, hyper, expectation_propagation(C, *labels.intervals()))


def wanted(name, model, validity):
    rng = np.random.default_rng(0)
    reference = model.data.points[3]
    surface = drawn_surface(model, rng)
    best = float(surface.mean(reference[None])[0])
    apart = Apart(np.array([[0.2, 0.3], [0.9, 0.1]]), np.array([0.1, 0.2]))
    improvement = LogImprovement(surface, best)
    return {
        "improvement": lambda: improvement,
        "believed": lambda: LogImprovement(believed_surface(model, rng), best),
        "mean": lambda: MeanValue(mean_surface(model), 2.5),
        "validity": lambda: LogValidity(validity, 1.7),
        "threshold": lambda: Threshold(validity, 0.9),
        "apart": lambda: apart,
        "near": lambda: Near(reference, np.array([0.1, np.inf])),
        "sum": lambda: Sum((improvement, Threshold(validity, 0.9), apart)),
        "ei": lambda: ExpectedImprovement(model, reference),
        "eiig": lambda: InformationGain(model, reference),
        "eiig-0.7": lambda: InformationGain(model, reference, 0.7),
        "ucb": lambda: UpperCredibleBound(model, reference),
        "drawn": lambda: model.function_draw(seed=3),
        "log ei": lambda: Logarithm(ExpectedImprovement(model, reference)),
        "scaled ucb": lambda: Scaled(UpperCredibleBound(model, reference), 3.5),
    }[name]()


NAMES = [
    "improvement",
    "believed",
    "mean",
    "validity",
    "threshold",
    "apart",
    "near",
    "sum",
    "ei",
    "eiig",
    "eiig-0.7",
    "ucb",
    "drawn",
    "log ei",
    "scaled ucb",
]


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_gradients_agree_with_finite_differences(name, model, validity):
    acquisition = wanted(name, model, validity)
    X = np.random.default_rng(1).random((12, 2))
    step = 1e-5
    for x in X:
        value, slope = acquisition.gradient(x)
        assert value == pytest.approx(float(acquisition.values(x[None])[0]), rel=1e-7, abs=1e-9)
        moved = np.array([x + sign * step * e for e in np.eye(2) for sign in (1, -1)])
        found = acquisition.values(moved)
        numeric = (found[::2] - found[1::2]) / (2 * step)
        assert slope == pytest.approx(numeric, rel=2e-4, abs=2e-4 * (1 + np.abs(numeric).max()))


@pytest.fixture(scope="module")
def drawn():
    points, duels = champion_duels(np.random.default_rng(4), 12, 2)
    model = SkewGP(Observations(points, duels=duels), [0.4, 0.6], 10.0, draws=20_000)
    X = np.vstack([points[3], np.random.default_rng(2).random((6, 2))])
    f = model.sample(X, 200_000, seed=7)
    return model, X[0], X[1:], f[:, 1:] - f[:, :1]


def test_expected_improvement_is_that_of_joint_draws(drawn):
    model, reference, X, gain = drawn
    assert ExpectedImprovement(model, reference).values(X) == pytest.approx(
        np.maximum(gain, 0).mean(axis=0), rel=0.03, abs=0.01
    )


def test_the_credible_bound_is_that_of_joint_draws(drawn):
    model, reference, X, gain = drawn
    found = UpperCredibleBound(model, reference, 0.9).values(X)
    ordered = np.sort(gain, axis=0)
    count = int(0.9 * len(gain))
    for column, upper in enumerate(found):
        values = ordered[:, column]
        widths = values[count:] - values[: len(values) - count]
        lower = values[np.searchsorted(values, upper) - count]
        assert upper - lower == pytest.approx(widths.min(), rel=0.02)


def test_information_gain_is_that_of_joint_draws(drawn):
    model, reference, X, gain = drawn
    win = ndtr(gain)
    mean = win.mean(axis=0)
    within = (entr(win) + entr(1 - win)).mean(axis=0)
    information = entr(mean) + entr(1 - mean) - within
    found = InformationGain(model, reference, k=0.3).values(X)
    assert found == pytest.approx(0.3 * np.log(mean) + information, abs=0.01)


def test_the_bumps_are_the_binary_entropy_of_a_probit():
    z = np.linspace(-9, 9, 2001)
    bumps = sum(value for value, _ in _bumps(z, np.zeros(1)))
    assert np.abs(bumps - entr(ndtr(z)) - entr(ndtr(-z))).max() < 1e-6


def test_log_improvement_is_stable_from_one_end_to_the_other():
    z = np.concatenate([-np.logspace(6, -6, 400), [0.0], np.logspace(-6, 6, 400)])
    value = log_improvement(z)
    assert np.isfinite(value).all()
    assert (np.diff(value) > 0).all()
    assert value[-1] == pytest.approx(np.log(1e6))
    near = np.linspace(-8, 8, 50)
    exact = [np.log(quad(lambda t, z=z: ndtr(t), -40, z, epsabs=0, epsrel=1e-12)[0]) for z in near]
    assert log_improvement(near) == pytest.approx(np.array(exact), rel=1e-9)
    # phi(z) / z^2 (1 - 3 / z^2 + ...) far below
    for far in (-50.0, -999.0, -1001.0, -1e5):
        tail = norm.logpdf(far) - 2 * np.log(-far) + np.log1p(-3 / far**2 + 15 / far**4)
        assert log_improvement(np.array(far)) == pytest.approx(tail, rel=1e-10)


def test_a_logarithm_ends_where_numbers_end(model):
    nothing = Scaled(ExpectedImprovement(model, model.data.points[3]), 1e308)
    x = np.array([0.1, 0.9])
    assert np.isfinite(Logarithm(nothing).values(x[None])).all()
    assert Logarithm(nothing).gradient(x)[1] == pytest.approx(0.0)


def test_validity_is_the_probability_of_a_probit_under_the_surface(validity):
    X = np.random.default_rng(3).random((5, 2))
    mean, deviation = validity.moments(X)
    f = mean + deviation * np.random.default_rng(0).standard_normal((400_000, 5))
    assert np.exp(LogValidity(validity, 1.0).values(X)) == pytest.approx(ndtr(f).mean(axis=0), abs=3e-3)


def test_the_threshold_costs_nothing_where_parts_are_likely(validity):
    X = np.random.default_rng(3).random((50, 2))
    p = np.exp(LogValidity(validity, 1.0).values(X))
    penalty = Threshold(validity, 0.7, 20.0).values(X)
    assert (penalty[p >= 0.7] == 0).all()
    assert penalty[p < 0.7] == pytest.approx(20 * np.log(p[p < 0.7] / 0.7))


def test_pending_settings_repel():
    apart = Apart(np.array([[0.5, 0.5]]), np.array([0.1, 0.1]))
    at, near, far = apart.values(np.array([[0.5, 0.5], [0.52, 0.5], [0.95, 0.5]]))
    assert at < near < far <= 0.0
    assert far == pytest.approx(0.0, abs=1e-3)
    assert np.isfinite(apart.gradient(np.array([0.5, 0.5]))[1]).all()


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ei", "eiig", "ucb"])
def test_the_cheap_stand_in_keeps_the_best_candidates(name, model, validity):
    acquisition = wanted(name, model, validity)
    X = np.random.default_rng(6).random((200, 2))
    values = acquisition.values(X)
    kept = np.argsort(-screened(Sum((acquisition,)), X))[:20]
    assert values[kept].max() >= np.sort(values)[-2]


@pytest.mark.parametrize("make", [ExpectedImprovement, InformationGain, UpperCredibleBound])
def test_duelling_acquisitions_work_before_any_judgment(make):
    model = SkewGP(Observations([[0.5, 0.5]]), [0.3, 0.3], 10.0, draws=50)
    acquisition = make(model, np.array([0.5, 0.5]))
    X = np.random.default_rng(0).random((5, 2))
    assert np.isfinite(acquisition.values(X)).all()
    assert np.isfinite(acquisition.gradient(X[0])[1]).all()
    assert np.isfinite(acquisition.screen(X)).all()
