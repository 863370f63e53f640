import numpy as np
import pytest
from scipy.stats import norm

from tuner.core.posterior.mixture import Mixture


@pytest.fixture
def skewed():
    rng = np.random.default_rng(0)
    return Mixture(rng.gamma(1.5, 2.0, (3, 4000)), np.array([0.3, 1.0, 2.0]))


def test_quantiles_invert_the_cdf(skewed):
    for level in (0.01, 0.3, 0.5, 0.975):
        assert skewed.cdf(skewed.quantile(level)) == pytest.approx(np.full(3, level), abs=1e-9)


@pytest.mark.parametrize("spread", [1e-4, 1e-6, 1e-8, 1e-12])
def test_quantiles_of_narrow_components_are_those_of_their_means(spread):
    means = np.abs(np.random.default_rng(0).standard_normal((2, 2000)))
    narrow = Mixture(means, np.full(2, spread))
    for level in (0.001, 0.02, 0.5, 0.999):
        assert narrow.cdf(narrow.quantile(level)) == pytest.approx(np.full(2, level), abs=1e-3)
    lower, upper = narrow.interval(0.9)
    assert narrow.cdf(upper) - narrow.cdf(lower) == pytest.approx(np.full(2, 0.9), abs=2e-3)


def test_the_interval_holds_its_mass_and_is_narrower_than_the_equal_tailed_one(skewed):
    lower, upper = skewed.interval(0.95)
    assert skewed.cdf(upper) - skewed.cdf(lower) == pytest.approx(np.full(3, 0.95), abs=1e-9)
    equal = skewed.quantile(0.975) - skewed.quantile(0.025)
    assert (upper - lower < equal - 0.1).all()
    assert skewed.density(lower) == pytest.approx(skewed.density(upper), rel=0.2)


def test_moments_are_those_of_draws_from_the_mixture(skewed):
    rng = np.random.default_rng(1)
    drawn = skewed.means[0][rng.integers(4000, size=400_000)] + np.sqrt(0.3) * rng.standard_normal(400_000)
    assert skewed.mean[0] == pytest.approx(drawn.mean(), abs=0.02)
    assert skewed.variance[0] == pytest.approx(drawn.var(), rel=0.02)
    assert skewed.skewness[0] == pytest.approx(((drawn - drawn.mean()) ** 3).mean() / drawn.std() ** 3, abs=0.05)


def test_a_single_component_is_a_normal():
    single = Mixture(np.array([[1.0]]), np.array([4.0]))
    lower, upper = single.interval(0.95)
    assert (lower[0], upper[0]) == pytest.approx(norm.interval(0.95, 1.0, 2.0), abs=2e-2)
    assert single.probability_positive(extra=5.0)[0] == pytest.approx(norm.cdf(1 / 3))


def test_a_value_that_is_exactly_known_has_an_interval_of_no_width():
    known = Mixture(np.zeros((1, 10)), np.zeros(1))
    assert known.interval() == (np.zeros(1), np.zeros(1))
    assert known.quantile(0.3)[0] == 0.0
    assert known.skewness[0] == 0.0


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, np.nan])
def test_impossible_levels_are_refused(skewed, level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        skewed.quantile(level)
    with pytest.raises(ValueError, match="between 0 and 1"):
        skewed.interval(level)


def test_the_density_is_equal_at_both_ends_of_the_narrowest_interval(skewed):
    lower, upper = skewed.interval(0.95)
    assert skewed.density(lower) == pytest.approx(skewed.density(upper), rel=1e-9)
    single = Mixture(np.array([[1.0]]), np.array([4.0]))
    assert np.concatenate(single.interval(0.95)) == pytest.approx(np.array(norm.interval(0.95, 1.0, 2.0)), abs=1e-9)
