import numpy as np
import pytest

from tuner.core.optimizer.dueling import UpperCredibleBound
from tuner.core.optimizer.proposer import Knowledge
from tuner.core.posterior.kernels import Kernel
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.rows import Hyper
from tuner.lab.bench.protocol import box_space
from tuner.lab.paper.rivals import GaussianPosterior, paper_optimizer, posterior
from tuner.lab.paper.sampled_bound import SAMPLES, SampledBound
from tuner.lab.paper.tasks import ACQUISITIONS
from tuner.problems import get_problem

MODELS = pytest.mark.parametrize("name", ["gpl", "skewgp"])
HYPER = Hyper(Kernel(np.array([0.3, 0.4]), 20.0), np.ones(1), 0.5)


def some_duels(count=8):
    points = np.random.default_rng(3).random((count + 1, 2))
    order = np.argsort(points.sum(axis=1))
    return Observations(points, duels=[(int(order[i + 1]), int(order[i])) for i in range(count)])


@pytest.fixture(scope="module")
def data():
    return some_duels()


@pytest.mark.slow
def test_functions_drawn_from_laplace_have_its_mean_and_covariance(data):
    model = GaussianPosterior.from_hyper(data, HYPER)
    at = np.array([[0.2, 0.3], [0.7, 0.6], [0.9, 0.1]])
    drawn = np.array([model.function_draw(seed=seed)(at) for seed in range(1500)])
    assert drawn.mean(axis=0) == pytest.approx(model.mean(at), abs=0.35)
    assert drawn.var(axis=0) == pytest.approx(model.variance(at), rel=0.15)
    between = model.difference(at[:1], at[1])
    assert (drawn[:, 0] - drawn[:, 1]).var() == pytest.approx(float(between.variance[0]), rel=0.15)


@MODELS
def test_the_sampled_bound_is_near_the_exact_one(data, name):
    model = posterior(name, data, HYPER)
    at, reference = np.random.default_rng(5).random((20, 2)), data.points[3]
    sampled, exact = SampledBound(model, reference).values(at), UpperCredibleBound(model, reference).values(at)
    spread = np.sqrt(model.difference(at, reference).variance)
    # the ends of a shortest interval of 2000 samples wander by some tenths of a standard deviation
    assert np.abs(sampled - exact).max() < 0.6 * spread.max()
    assert np.corrcoef(sampled, exact)[0, 1] > 0.98


@MODELS
def test_the_gradient_of_the_sampled_bound_is_that_of_its_values(data, name):
    bound = SampledBound(posterior(name, data, HYPER), data.points[2])
    h = 1e-7
    for x in np.random.default_rng(6).random((5, 2)):
        value, slope = bound.gradient(x)
        assert value == pytest.approx(float(bound.values(x[None])[0]), abs=1e-9)
        steps = [float(bound.values((x + h * e)[None])[0] - bound.values((x - h * e)[None])[0]) for e in np.eye(2)]
        assert slope == pytest.approx(np.array(steps) / (2 * h), rel=1e-3, abs=1e-3)


def test_the_sampled_bound_holds_its_mass_and_is_shortest():
    bound = SampledBound(posterior("gpl", some_duels(), HYPER), np.array([0.5, 0.5]))
    skewed = np.random.default_rng(1).exponential(1.0, (1, SAMPLES))
    upper = float(bound.score(skewed, np.array([1e-12]))[0])
    # of an exponential distribution the shortest interval begins at zero
    assert upper == pytest.approx(-np.log(0.05), abs=0.3)


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@MODELS
def test_every_method_proposes_the_same_setting_again_from_the_same_seed(name, acquisition):
    def proposed(seed):
        optimizer = paper_optimizer(box_space(get_problem("six_hump")), name, acquisition, seed=seed)
        first, second = (optimizer.add({"p0": x, "p1": 0.1}) for x in (-1.0, 1.5))
        for trial in (first, second):
            optimizer.tell_outcome(trial, valid=True)
        optimizer.tell_judgment(second, first)
        return optimizer.ask()

    assert proposed(1) == proposed(1)
    assert acquisition != "thompson" or proposed(1).setting != proposed(2).setting
    assert proposed(1).opponent == 2
    assert proposed(1).kind == acquisition


def test_hyper_parameters_are_fitted_at_every_trial_at_first_and_then_at_every_fifth():
    optimizer = paper_optimizer(box_space(get_problem("forrester")), "gpl", "eiig-0.1")
    fits = []
    for i, x in enumerate(np.linspace(0.0, 1.0, 30)):
        trial = optimizer.add({"p0": float(x)})
        optimizer.tell_outcome(trial, valid=True)
        if i:
            optimizer.tell_judgment(trial, trial - 1)
            known: Knowledge = optimizer.learned()
            optimizer._fits = known.fits
            fits.append(known.fits.preference)
    new = [i + 2 for i in range(1, len(fits)) if fits[i] is not fits[i - 1]]
    assert new == [*range(3, 21), 25, 30]


def test_fixed_hyper_parameters_are_kept():
    hyper = Hyper(Kernel(np.array([0.1]), 50.0), np.ones(1), 0.5)
    optimizer = paper_optimizer(box_space(get_problem("forrester")), "skewgp", "ucb", hyper=hyper)
    for x in (0.1, 0.4, 0.8):
        optimizer.tell_outcome(optimizer.add({"p0": x}), valid=True)
    optimizer.tell_judgment(2, 1)
    optimizer.tell_judgment(3, 2)
    optimizer.ask()
    assert optimizer.learned().model.hyper is not None
    assert optimizer.learned().model.hyper.kernel.variance == 50.0
    assert optimizer.learned().model.hyper.kernel.lengthscales.tolist() == [0.1]


def test_a_mixed_model_learns_from_outcomes_and_the_other_does_not():
    def informed(mixed):
        optimizer = paper_optimizer(box_space(get_problem("forrester")), "skewgp", "ucb", mixed=mixed)
        for x, valid in ((0.1, False), (0.4, True), (0.8, True)):
            optimizer.tell_outcome(optimizer.add({"p0": x}), valid=valid)
        optimizer.tell_judgment(3, 2)
        return optimizer.learned().data.m

    assert informed(mixed=True) == 4
    assert informed(mixed=False) == 1
