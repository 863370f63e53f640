import numpy as np
import pytest

from tests.core.reference import champion_duels
from tuner.core import Laplace, Observations, Prior, SeparateSkewGP, SkewGP, fit, fit_hyper
from tuner.core.posterior import fitting, laplace
from tuner.core.posterior.ep import NotConvergedError
from tuner.core.posterior.fitting import _Objective, anneal_hyper


def some_data(rows=15, ties=True, judges=True, graded=False):
    rng = np.random.default_rng(1)
    points, duels = champion_duels(rng, rows, 2, flips=0.1)
    labels = [(i, bool(points[i, 0] < 0.8)) for i in range(rows + 1)]
    pairs = [(0, 3), (2, 5), (7, 9)] if ties else []
    judged, grades = [i % 2 for i in range(rows)] if judges else None, [(None, False, True)[i % 3] for i in range(rows)]
    return Observations(
        points, labels, duels, pairs, duel_judges=judged, duel_grades=grades if graded else None, clear=2.0
    )


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("evidence", ["ep", "laplace"])
@pytest.mark.parametrize("graded", [False, True])
def test_the_gradient_of_the_objective_agrees_with_finite_differences(kernel, evidence, graded, monkeypatch):
    monkeypatch.setattr(fitting, "FIT_TOLERANCE", 1e-10)
    monkeypatch.setattr(laplace, "TOLERANCE", 1e-13)
    objective = _Objective(some_data(graded=graded), Prior(), kernel, 0.7, evidence, None)
    theta = objective.centre + 0.3 * np.random.default_rng(0).standard_normal(len(objective.centre))
    for c in range(len(theta)):
        step = 1e-4 * np.eye(len(theta))[c]
        numeric = (objective(theta + step)[0] - objective(theta - step)[0]) / 2e-4
        assert objective(theta)[1][c] == pytest.approx(numeric, abs=1e-5)


def test_the_fit_is_a_maximum_and_warm_starts_find_the_same_one():
    points, duels = champion_duels(np.random.default_rng(3), 40, 2)
    data, before = Observations(points, duels=duels), Observations(points, duels=duels[:-1])
    cold = fit_hyper(data)
    warm = fit_hyper(data, warm=fit_hyper(before))
    assert warm.objective == pytest.approx(cold.objective, abs=1e-3)
    assert warm.evaluations < 15
    objective = _Objective(data, Prior(), "rbf", 0.0, "ep", None)
    centre = fitting.to_theta(cold.hyper, data)
    for c in range(3):
        for shift in (-0.3, 0.3):
            assert objective(centre + shift * np.eye(3)[c])[0] > cold.objective - 1e-6


def test_a_coordinate_that_does_not_matter_gets_a_long_lengthscale():
    rng = np.random.default_rng(0)
    points = rng.random((60, 2))
    value = np.sin(8 * points[:, 0])
    duels = [(i, j) if value[i] > value[j] else (j, i) for i, j in zip(range(59), range(1, 60), strict=True)]
    lengthscales = fit_hyper(Observations(points, duels=duels)).hyper.kernel.lengthscales
    assert lengthscales[1] > 2.5 * lengthscales[0]


def test_a_judge_who_contradicts_the_others_gets_more_noise():
    rng = np.random.default_rng(2)
    points = rng.random((25, 1))
    value = -((points[:, 0] - 0.5) ** 2)
    duels, judges = [], []
    for _ in range(80):
        first, second = rng.choice(25, 2, replace=False)
        judge = int(rng.random() < 0.5)
        right = value[first] > value[second]
        if judge == 1 and rng.random() < 0.4:
            right = not right
        duels.append((int(first), int(second)) if right else (int(second), int(first)))
        judges.append(judge)
    assert fit_hyper(Observations(points, duels=duels, duel_judges=judges)).hyper.noise[1] > 2.0


def test_many_rows_are_fitted_from_a_part_and_reach_the_same_optimum():
    points, duels = champion_duels(np.random.default_rng(3), 200, 1)
    data = Observations(points, duels=duels)
    quick = fit_hyper(data)
    assert fit_hyper(data, warm=quick, tolerance=1e-9).objective == pytest.approx(quick.objective, abs=1e-2)


@pytest.mark.thorough
@pytest.mark.parametrize("model", ["skewgp", "laplace"])
@pytest.mark.parametrize("validity", ["shared", "separate"])
@pytest.mark.parametrize("method", ["map", pytest.param("annealing", marks=pytest.mark.slow)])
def test_every_way_to_fit_returns_a_posterior_that_answers(model, validity, method):
    data = some_data(ties=False, judges=False)
    fitted = fit(data, model=model, validity=validity, method=method, draws=500)
    kind = SeparateSkewGP if validity == "separate" else Laplace if model == "laplace" else SkewGP
    assert isinstance(fitted, kind)
    assert np.isfinite(fitted.mean(data.points)).all()
    assert fitted.valid_probability([[0.05, 0.5]])[0] > fitted.valid_probability([[0.99, 0.5]])[0]


LONG = (pytest.param(one, marks=pytest.mark.slow) for one in ("conditioning", "blocks"))


@pytest.mark.thorough
@pytest.mark.parametrize("evidence", ["ep", *LONG])
def test_annealing_comes_near_the_gradient_s_optimum(evidence):
    points, duels = champion_duels(np.random.default_rng(3), 20, 1)
    data = Observations(points, duels=duels)
    best = fit_hyper(data)
    objective = _Objective(data, Prior(), "rbf", 0.0, "ep", None)
    found = anneal_hyper(data, evidence=evidence, iterations=40)
    assert objective(fitting.to_theta(found.hyper, data))[0] < best.objective + 1.0


def test_hyper_parameters_without_a_converged_evidence_are_never_returned(monkeypatch):
    def fails(*_args, **_kwargs):
        raise NotConvergedError("as asked")

    monkeypatch.setattr(fitting, "expectation_propagation", fails)
    with pytest.raises(NotConvergedError):
        fit_hyper(some_data())


def test_one_bad_evaluation_does_not_end_a_fit(monkeypatch):
    real, calls = fitting.expectation_propagation, []

    def sometimes(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise NotConvergedError("as asked")
        return real(*args, **kwargs)

    expected = fit_hyper(some_data()).objective
    monkeypatch.setattr(fitting, "expectation_propagation", sometimes)
    assert fit_hyper(some_data()).objective == pytest.approx(expected, abs=0.5)


@pytest.mark.parametrize("evidence", ["conditioning", "blocks"])
def test_an_evidence_without_a_gradient_is_not_silently_replaced(evidence):
    with pytest.raises(ValueError, match=f"{evidence}.*no gradient"):
        fit(some_data(), evidence=evidence)


@pytest.mark.parametrize("method", ["map", "annealing"])
def test_a_constant_mean_reaches_the_fitted_kernel(method):
    data = Observations([[0.1], [0.8]], labels=[(0, True), (1, True)])
    assert fit(data, method=method, mean_variance=3.0, draws=10).hyper.kernel.mean_variance == 3.0


@pytest.mark.parametrize("dimensions", [1, 2, 6])
def test_a_coarse_fit_ends_within_some_hundredths_of_a_nat_of_an_exact_one_and_sooner(dimensions):
    points, duels = champion_duels(np.random.default_rng(dimensions), 120, dimensions)
    data = Observations(points, duels=duels)
    warm = fit_hyper(data.part(np.arange(116)))
    exact, coarse = fit_hyper(data, warm=warm), fit_hyper(data, warm=warm, coarse=True)
    assert coarse.objective == pytest.approx(exact.objective, abs=0.03)
    assert coarse.evaluations <= exact.evaluations


def test_a_coarse_fit_stops_where_it_cannot_beat_another_and_goes_on_where_it_may():
    points, duels = champion_duels(np.random.default_rng(2), 120, 2)
    data = Observations(points, duels=duels)
    warm = fit_hyper(data.part(np.arange(100)))
    best = fit_hyper(data, warm=warm, coarse=True)
    assert fit_hyper(data, warm=warm, coarse=True, beat=best.objective + 1.0).objective == best.objective
    hopeless = fit_hyper(data, warm=warm, coarse=True, beat=-100.0)
    assert hopeless.evaluations == 1
    assert best.objective <= hopeless.objective < np.inf
