from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tests.core.reference import champion_duels, importance
from tests.core.tilted import sample_box_tilting
from tuner.core import Laplace, Observations, SeparateSkewGP, SkewGP, fit
from tuner.core.optimizer.surface import mean_surface
from tuner.core.posterior import bouncing
from tuner.core.posterior.ep import Sites

CASES = {
    "duels": {"duels": [(0, 1), (0, 2), (3, 0), (3, 4), (1, 4)]},
    "labels": {"labels": [(0, True), (1, False), (2, True), (3, True)]},
    "mixed": {"labels": [(0, True), (1, False), (2, True)], "duels": [(0, 2), (2, 3)]},
    "ties": {"duels": [(0, 1), (2, 3)], "ties": [(0, 2), (1, 4)]},
    "grades": {"duels": [(0, 1), (0, 2), (3, 0), (3, 4)], "duel_grades": [True, False, None, False], "clear": 1.5},
    "grades and ties": {"duels": [(0, 1), (2, 3), (2, 3)], "ties": [(0, 2)], "duel_grades": [True, False, True]},
    "contradiction": {"duels": [(0, 1), (1, 0), (0, 1), (1, 2), (2, 0)]},
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("case", "variance"),
    [
        ("contradiction", 9.0),
        *(
            pytest.param(case, 9.0, marks=pytest.mark.slow)
            for case in ("duels", "labels", "ties", "grades", "mixed", "grades and ties")
        ),
        *(pytest.param(case, 1.0, marks=pytest.mark.slow) for case in CASES),
    ],
)
def test_the_posterior_agrees_with_importance_sampling_from_the_prior(case, variance):
    rng = np.random.default_rng(5)
    points, queries = rng.random((5, 2)), rng.random((8, 2))
    expected = importance(points, queries, lengthscales=[0.4, 0.6], variance=variance, **CASES[case])
    assert expected.effective > 3_000
    model = SkewGP(Observations(points, **CASES[case]), lengthscales=[0.4, 0.6], variance=variance, seed=1)
    noise = 4.0 * np.sqrt(1 / expected.effective + 1 / 15_000)
    assert (np.abs(model.mean(queries) - expected.mean) / np.sqrt(expected.variance) < 0.02 + noise).all()
    assert (np.abs(model.variance(queries) / expected.variance - 1.0) < 0.03 + 1.5 * noise).all()
    assert np.abs(model.skewness(queries) - expected.skewness).max() < 0.05 + 3 * noise
    assert np.abs(model.valid_probability(queries) - expected.valid).max() < 0.01
    assert np.abs(model.win_probability(queries, queries[0]) - expected.win).max() < 0.01 + noise / 2
    assert model.log_evidence("tilting") == pytest.approx(expected.log_evidence, abs=0.02)
    assert model.log_evidence() == pytest.approx(expected.log_evidence, abs=0.3)


@pytest.mark.thorough
def test_joint_samples_and_function_draws_have_the_marginals_of_the_posterior():
    points, duels = champion_duels(np.random.default_rng(1), 8, 2)
    model = SkewGP(Observations(points, duels=duels), [0.3, 0.4], 25.0)
    queries = np.random.default_rng(2).random((5, 2))
    mean, deviation = model.mean(queries), np.sqrt(model.variance(queries))
    samples = model.sample(queries, 20_000)
    functions = np.array([model.function_draw(seed=seed)(queries) for seed in range(500)])
    for drawn in (samples, functions):
        assert (np.abs(drawn.mean(axis=0) - mean) / deviation < 4.5 * np.sqrt(1 / len(drawn) + 1 / 15_000)).all()
        assert (np.abs(drawn.var(axis=0) / deviation**2 - 1) < 7.0 * np.sqrt(1 / len(drawn) + 1 / 15_000)).all()
    first, second = samples[:, 0] - samples[:, 1], model.difference(queries[:1], queries[1])
    assert first.var() == pytest.approx(second.variance[0], rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_function_draws_have_the_covariances_of_prior_and_posterior(kernel):
    points = np.array([[0.2], [0.5]])
    silent = SkewGP(Observations(points), 0.3, 3.0, kernel=kernel, mean_variance=1.0)
    drawn = np.array([silent.function_draw(seed=seed)(points) for seed in range(4000)])
    assert np.cov(drawn.T) == pytest.approx(silent.hyper.kernel.matrix(points, points), abs=0.25)
    expected = silent.difference(points[:1], points[1])
    assert (drawn[:, 0] - drawn[:, 1]).var() == pytest.approx(expected.variance[0], rel=0.08)
    model = SkewGP(Observations(points, duels=[(0, 1)] * 4 + [(1, 0)] * 3), 0.3, 3.0, kernel=kernel)
    drawn = np.array([model.function_draw(seed=seed)(points) for seed in range(4000)])
    expected = model.difference(points[:1], points[1])
    assert (drawn[:, 0] - drawn[:, 1]).var() == pytest.approx(expected.variance[0], rel=0.1)


@pytest.mark.parametrize(("kernel", "mean_variance"), [("rbf", 2.0), ("matern52", 1.0)])
def test_judges_ties_labels_and_a_constant_mean_together_agree_with_importance_sampling(kernel, mean_variance):
    rng = np.random.default_rng(7)
    points, noise, jnd = rng.random((4, 2)), np.array([1.0, 2.5, 0.6]), 0.8
    labels, duels, ties = [(0, True), (1, False)], [(0, 1), (2, 3)], [(1, 3), (2, 0)]
    data = Observations(
        points, labels, duels, ties, label_judges=[0, 1], duel_judges=[1, 2], tie_judges=[2, 0], jnd=jnd
    )
    model = SkewGP(data, [0.4, 0.6], 4.0, kernel=kernel, mean_variance=mean_variance, noise=noise)
    scaled = points / [0.4, 0.6]
    r = np.sqrt(((scaled[:, None] - scaled[None]) ** 2).sum(axis=-1))
    matern = (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)
    K = 4.0 * (np.exp(-0.5 * r**2) if kernel == "rbf" else matern) + mean_variance
    f = rng.standard_normal((400_000, 4)) @ np.linalg.cholesky(K).T
    weight = norm.cdf(f[:, 0]) * norm.cdf(-f[:, 1] / 2.5)
    weight *= norm.cdf((f[:, 0] - f[:, 1]) / 2.5 - jnd) * norm.cdf((f[:, 2] - f[:, 3]) / 0.6 - jnd)
    for gap in ((f[:, 1] - f[:, 3]) / 0.6, f[:, 2] - f[:, 0]):
        weight *= norm.cdf(jnd - gap) - norm.cdf(-jnd - gap)
    assert model.log_evidence() == pytest.approx(np.log(weight.mean()), abs=0.05)
    weight /= weight.sum()
    mean = weight @ f
    deviation = np.sqrt(weight @ (f - mean) ** 2)
    assert (np.abs(model.mean(points) - mean) / deviation < 0.05).all()
    assert model.variance(points) == pytest.approx(deviation**2, rel=0.06)
    assert model.valid_probability(points) == pytest.approx(weight @ norm.cdf(f), abs=0.015)


def test_the_paper_s_section_4_example_is_reproduced():
    duels = [(1.25, -1.8), (-1.23, 1.25), (0.18, -1.23), (0.18, -2.52), (-2.52, 2.18), (-1.8, -0.5), (-1.8, 0.67)]
    places = sorted({x for duel in duels for x in duel})
    data = Observations(np.array(places)[:, None], duels=[(places.index(a), places.index(b)) for a, b in duels])
    exact, laplace = SkewGP(data, 0.35, 50.0), Laplace(data, 0.35, 50.0)
    grid = np.linspace(-2.6, 2.6, 131)[:, None]
    skewness = exact.difference(grid, [[0.18]]).skewness
    assert -1.25 < skewness[np.argmax(np.abs(skewness))] < -0.85
    assert exact.mean([[0.19]])[0] > 1.5 * laplace.mean([[0.19]])[0] > 0
    assert exact.variance([[0.19]])[0] > laplace.variance([[0.19]])[0]
    assert exact.skewness([[-0.51]])[0] < -0.2
    assert laplace.skewness([[-0.51]])[0] == 0.0


@pytest.mark.parametrize("hyper", ["fixed", "fitted"])
def test_the_paper_s_one_dimensional_mixed_example_learns_the_non_valid_zone(hyper):
    places = [0.18, 1.25, 2.18, 0.67, -2.52, -1.8, -1.23, -0.5]
    data = Observations(
        np.array(places)[:, None],
        labels=[(i, x > -0.2) for i, x in enumerate(places)],
        duels=[(0, 1), (2, 3), (0, 2), (1, 3), (0, 3)],
    )
    model = SkewGP(data, 0.35, 50.0) if hyper == "fixed" else fit(data)
    grid = np.linspace(-2.6, 2.6, 105)[:, None]
    mean = model.mean(grid)
    # the data have their nearest points at -0.5 and 0.18: the sign must change between them, and only there
    assert (mean[grid[:, 0] < -0.4] < 0).all()
    assert (mean[grid[:, 0] > -0.1] > 0).all()


@pytest.mark.thorough
@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.1, 5.0, 500.0]))
def test_more_evidence_for_v_over_u_never_lowers_its_probability(seed, count, variance):
    points, duels = champion_duels(np.random.default_rng(seed), count, 2, flips=0.3)
    before = SkewGP(Observations(points, duels=duels), 0.3, variance)
    for winner, loser in (duels[0], duels[-1][::-1]):
        after = SkewGP(Observations(points, duels=[*duels, (winner, loser)]), 0.3, variance)
        gain = after.win_probability(points[[winner]], points[loser]) - before.win_probability(
            points[[winner]], points[loser]
        )
        assert gain[0] > -0.02  # Monte-Carlo error of two times 20,000 draws


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_relabelling_points_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    points, duels = champion_duels(rng, 10, 3)
    order = rng.permutation(11)
    place = np.argsort(order)
    renamed = Observations(points[order], duels=[(int(place[a]), int(place[b])) for a, b in duels])
    queries = rng.random((4, 3))
    one, other = SkewGP(Observations(points, duels=duels), 0.4, 10.0), SkewGP(renamed, 0.4, 10.0)
    assert one.mean(queries) == pytest.approx(other.mean(queries), abs=1e-6)
    assert one.variance(queries) == pytest.approx(other.variance(queries), rel=1e-6)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_a_point_nobody_spoke_of_leaves_the_others_unchanged(seed):
    rng = np.random.default_rng(seed)
    points, duels = champion_duels(rng, 10, 2)
    queries = rng.random((4, 2))
    one = SkewGP(Observations(points, duels=duels), 0.4, 10.0)
    other = SkewGP(Observations(np.vstack([points, rng.random((2, 2))]), duels=duels), 0.4, 10.0)
    assert one.mean(queries) == pytest.approx(other.mean(queries), abs=1e-8)
    assert one.log_evidence() == pytest.approx(other.log_evidence(), abs=1e-10)


@pytest.mark.parametrize("variance", [1e-2, 1.0, 100.0, 1e6])
def test_a_duel_and_its_mirror_leave_the_probability_at_one_half(variance):
    data = Observations([[0.2, 0.3], [0.6, 0.9]], duels=[(0, 1), (1, 0)] * 5)
    assert SkewGP(data, 0.3, variance).win_probability([[0.2, 0.3]], [0.6, 0.9])[0] == pytest.approx(0.5, abs=0.015)


def test_a_point_wins_against_itself_half_the_time():
    data = Observations([[0.2], [0.6]], duels=[(0, 1)])
    assert SkewGP(data, 0.3, 5.0).win_probability([[0.4]], [[0.4]])[0] == 0.5


def test_a_careless_judge_counts_less():
    points = [[0.2], [0.6]]
    sure = SkewGP(Observations(points, duels=[(0, 1)]), 0.3, 5.0, noise=[1.0])
    careless = SkewGP(Observations(points, duels=[(0, 1)]), 0.3, 5.0, noise=[6.0])
    assert sure.win_probability([[0.2]], [[0.6]])[0] > careless.win_probability([[0.2]], [[0.6]])[0] + 0.1 > 0.6


def test_a_noise_scale_is_a_rescaled_kernel():
    points, duels = champion_duels(np.random.default_rng(0), 10, 2)
    data = Observations(points, duels=duels)
    assert SkewGP(data, 0.3, 9.0, noise=3.0).log_evidence() == pytest.approx(SkewGP(data, 0.3, 1.0).log_evidence())


def test_separate_latents_answer_with_the_right_one():
    rng = np.random.default_rng(4)
    points, duels = champion_duels(rng, 10, 2)
    data = Observations(points, labels=[(i, bool(points[i, 0] < 0.6)) for i in range(11)], duels=duels)
    f, g = SkewGP(data.judgments(), 0.3, 10.0), SkewGP(data.labels(), 0.5, 5.0)
    both = SeparateSkewGP(data, f, g)
    queries = rng.random((5, 2))
    assert both.mean(queries) == pytest.approx(f.mean(queries))
    assert both.valid_probability(queries) == pytest.approx(g.valid_probability(queries))
    assert both.log_evidence() == pytest.approx(f.log_evidence() + g.log_evidence())


DEGENERATE = {
    "nothing": {"points": np.empty((0, 2))},
    "only points": {"points": [[0.1, 0.2], [0.3, 0.4]]},
    "one duel": {"points": [[0.1, 0.2], [0.3, 0.4]], "duels": [(0, 1)]},
    "all valid": {"points": np.random.default_rng(0).random((9, 2)), "labels": [(i, True) for i in range(9)]},
    "all non-valid": {"points": np.random.default_rng(0).random((9, 2)), "labels": [(i, False) for i in range(9)]},
    "a cycle": {"points": np.random.default_rng(0).random((3, 2)), "duels": [(0, 1), (1, 2), (2, 0)]},
    "fifty-fifty": {"points": np.random.default_rng(0).random((2, 2)), "duels": [(0, 1), (1, 0)] * 25},
    "near duplicates": {
        "points": [[0.5, 0.5], [0.5, 0.5 + 1e-13], [0.5, 0.5 + 1e-9], [0.1, 0.9]],
        "duels": [(0, 1), (1, 2), (2, 3)],
        "ties": [(0, 2)],
    },
    "a repeat judged": {"points": [[0.5, 0.5], [0.5, 0.5], [0.2, 0.2]], "duels": [(0, 1), (1, 2)]},
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("variance", [1e-2, 1.0, 1e6])
@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_degenerate_data_give_finite_answers(case, variance, kernel):
    data = Observations(**DEGENERATE[case])
    queries = np.random.default_rng(1).random((4, 2))
    exact, laplace = SkewGP(data, 0.3, variance, kernel=kernel), Laplace(data, 0.3, variance, kernel=kernel)
    for model in (exact, laplace):
        lower, upper = model.interval(queries)
        assert (lower <= upper).all()
        numbers = [model.mean(queries), model.variance(queries), model.skewness(queries), model.quantile(queries, 0.3)]
        assert np.isfinite(np.concatenate([*numbers, lower, upper, [model.log_evidence()]])).all()
        for probability in (model.win_probability(queries, queries[0]), model.valid_probability(queries)):
            assert ((probability >= 0) & (probability <= 1)).all()
    assert np.isfinite(exact.sample(queries, 3)).all()
    assert np.isfinite(exact.function_draw()(queries)).all()


@pytest.mark.slow
@pytest.mark.parametrize("variance", [pytest.param(1.0, marks=pytest.mark.slow), 1e6])
def test_a_thousand_rows_work(variance):
    points, duels = champion_duels(np.random.default_rng(0), 1000, 2)
    model = SkewGP(Observations(points, duels=duels), 0.3, variance)
    assert np.isfinite(model.mean(points[:5])).all()
    assert np.isfinite(model.log_evidence())


@pytest.mark.parametrize(
    ("query", "message"), [([[0.1]], "2 coordinates"), ([[0.1, np.nan]], "row 0"), ([[[0.1, 0.2]]], "2 coordinates")]
)
def test_a_bad_query_is_refused(query, message):
    with pytest.raises(ValueError, match=message):
        SkewGP(Observations([[0.1, 0.2], [0.3, 0.4]], duels=[(0, 1)]), 0.3, 1.0).mean(query)


def test_the_same_seed_gives_the_same_numbers_to_the_last_bit():
    points, duels = champion_duels(np.random.default_rng(0), 20, 2)
    data = Observations(points, duels=duels)
    one, other = (SkewGP(data, 0.3, 10.0, seed=4).mean(points) for _ in range(2))
    assert (one == other).all()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"jnd": 0.0}, "jnd"),
        ({"jnd": np.nan}, "jnd"),
        ({"sampler": "gibbs"}, "no sampler"),
        ({"draws": 0}, "at least 1"),
        ({"thin": 0}, "at least 1"),
        ({"noise": [1.0, 0.0]}, "noise"),
    ],
)
def test_impossible_options_are_refused(option, message):
    data = Observations([[0.1], [0.5], [0.7]], duels=[(0, 1)], ties=[(1, 2)])
    with pytest.raises(ValueError, match=message):
        SkewGP(data, 0.3, 1.0, **option)


def test_an_unknown_evidence_is_refused():
    with pytest.raises(ValueError, match="no evidence 'qmc'"):
        SkewGP(Observations([[0.1], [0.5]], duels=[(0, 1)]), 0.3, 1.0).log_evidence("qmc")


@pytest.mark.thorough
def test_many_queries_are_answered_a_block_at_a_time():
    points, duels = champion_duels(np.random.default_rng(0), 5, 2)
    model = SkewGP(Observations(points, duels=duels), 0.3, 10.0, draws=500)
    queries = np.random.default_rng(1).random((210, 2))
    assert model.mean(queries) == pytest.approx(model.at(queries).mean)
    assert model.interval(queries)[1] == pytest.approx(model.at(queries).interval()[1])
    expected = model.difference(queries, points[0]).probability_positive()
    assert model.win_probability(queries, points[0]) == pytest.approx(expected)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("variance", "compiled"), [(1e4, True), (1e6, True), (1e4, False), pytest.param(1e6, False, marks=pytest.mark.slow)]
)
def test_contradictions_under_a_huge_variance_do_not_hold_the_chain_at_its_start(variance, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(bouncing, "_bounce", None)
    points = [[0.2, 0.3], [0.6, 0.9], [0.9, 0.1]]
    data = Observations(points, duels=[*[(0, 1), (1, 0)] * 25, (0, 2)])
    model = SkewGP(data, 0.3, variance, draws=4_000)
    gap = model.difference(points[:1], points[1])
    # fifty answers of unit noise, half each way, hold the gap like a normal of variance (pi / 2) / 50
    assert gap.mean[0] == pytest.approx(0.0, abs=0.02)
    assert gap.variance[0] == pytest.approx(np.pi / 100, rel=0.1)
    assert model.win_probability(points[:1], points[1])[0] == pytest.approx(0.5, abs=0.03)
    # the third point is free to fall: a half-normal of the prior's scale
    free = model.difference(points[:1], points[2])
    assert free.mean[0] ** 2 / free.variance[0] == pytest.approx(2 / (np.pi - 2), rel=0.15)
    if not compiled:
        return  # the burn-ins of a hundred single draws take numpy half a minute
    singles = np.array([model.draw(1, np.random.default_rng(seed))[0] for seed in range(100)])
    expected, spread = model.truncated.mean(axis=0), model.truncated.std(axis=0)
    assert (np.abs(singles.mean(axis=0) - expected) < 0.5 * spread).all()


def test_few_points_and_many_have_the_same_mixtures():
    points, duels = champion_duels(np.random.default_rng(0), 30, 2)
    model = SkewGP(Observations(points, duels=duels), 0.3, 1e6, draws=200)
    queries = np.random.default_rng(1).random((60, 2))
    few = np.concatenate([model.at(queries[i : i + 10]).means for i in range(0, 60, 10)])
    assert few == pytest.approx(model.at(queries).means, rel=1e-6, abs=1e-6 * np.abs(few).max())
    assert mean_surface(model).mean(queries) == pytest.approx(model.mean(queries), rel=1e-6, abs=1e-4)


@pytest.mark.parametrize("known", ["exact sites", "sites of other lengthscales", "sites of fewer rows", "none"])
def test_near_convergence_draws_are_the_same_whoever_rounds_them(known):
    rng = np.random.default_rng(3)
    points = 0.4 + rng.standard_normal((13, 1)) * 0.3 * 10.0 ** -np.linspace(0, 3, 13)[:, None]
    order = np.argsort(np.abs(points[:, 0] - 0.4))[::-1]
    duels = [(int(b), int(a)) for a, b in pairwise(order)]
    data = Observations(points, duels=duels)
    sites = SkewGP(data, 0.6 if known == "sites of other lengthscales" else 0.3, 1e8).evidence.sites
    if known == "sites of fewer rows":
        sites = Sites(sites.tau[:-3], sites.nu[:-3])
    model = SkewGP(data, 0.3, 1e8, draws=20_000, sites=None if known == "none" else sites)
    gamma = model.covariance + np.eye(data.m)
    expected = sample_box_tilting(gamma, model.lower, model.upper, 20_000, np.random.default_rng(2))
    error = 4.5 * expected.std(axis=0) * np.sqrt(1 / 8_000 + 1 / 20_000)
    assert (np.abs(model.truncated.mean(axis=0) - expected.mean(axis=0)) < error).all()
    assert model.truncated.std(axis=0) == pytest.approx(expected.std(axis=0), rel=0.06)


def test_thinned_rounded_draws_are_as_many_as_asked_for():
    points = [[0.2], [0.21]]
    data = Observations(points, duels=[(0, 1), (1, 0)] * 10)
    assert SkewGP(data, 0.3, 1e11, draws=50, thin=3).truncated.shape == (50, 20)
