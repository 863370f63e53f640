import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import champion_duels, rbf
from tuner.core import truncated
from tuner.core.ep import expectation_propagation
from tuner.core.sliced import sample_around
from tuner.core.tilting import sample_box_tilting
from tuner.core.truncated import TooManyBouncesError, inside, sample_box, trajectories

INF = np.inf


def covariance(rows, variance=20.0, seed=0):
    points, duels = champion_duels(np.random.default_rng(seed), rows, 2)
    W = np.zeros((rows, rows + 1))
    for i, (winner, loser) in enumerate(duels):
        W[i, winner], W[i, loser] = 1.0, -1.0
    return W @ rbf(points, points, [0.3, 0.3], variance) @ W.T + np.eye(rows)


def mixed_box(rows):
    lower, upper = np.zeros(rows), np.full(rows, INF)
    lower[1::5] = 0.4
    lower[::3], upper[::3] = -0.8, 0.8
    lower[2::7], upper[2::7] = -INF, 0.5
    return lower, upper


def assert_same_distribution(draws, independent, effective):
    error = 4.5 * independent.std(axis=0) * np.sqrt(1 / effective + 1 / len(independent))
    assert np.abs(draws.mean(axis=0) - independent.mean(axis=0)) == pytest.approx(
        np.zeros(draws.shape[1]), abs=error.max()
    )
    assert (np.abs(draws.mean(axis=0) - independent.mean(axis=0)) < error).all()
    ratio = np.cov(draws.T) / np.maximum(np.outer(independent.std(axis=0), independent.std(axis=0)), 1e-300)
    exact = np.corrcoef(independent.T)
    assert np.abs(ratio - exact).max() < 8.0 / np.sqrt(effective) + 8.0 / np.sqrt(len(independent))


@pytest.mark.parametrize("rows", [1, 2, 5, 30])
@pytest.mark.parametrize("box", ["orthant", "mixed"])
def test_the_compiled_trajectories_are_the_numpy_ones(rows, box):
    bounce = pytest.importorskip("tuner.core._bounce")
    gamma = covariance(rows)
    lower, upper = (np.zeros(rows), np.full(rows, INF)) if box == "orthant" else mixed_box(rows)
    plain = (lower == 0) & np.isinf(upper)
    order = np.argsort(~plain, kind="stable")
    gamma, lower, upper = np.ascontiguousarray(gamma[np.ix_(order, order)]), lower[order], upper[order]
    zeros = int(plain.sum())
    rng, root = np.random.default_rng(3), np.linalg.cholesky(gamma)
    position = inside(gamma, lower, upper)
    for _ in range(100):
        velocity = root @ rng.standard_normal(rows)
        state, row = position.copy(), velocity[None].copy()
        bounce.run(state, row, gamma, lower, upper, zeros, np.cos(np.pi / 2), np.sin(np.pi / 2), 20_000)
        assert row[0] == pytest.approx(
            trajectories(position[None], velocity[None], gamma, lower, upper, zeros, 20_000)[0], abs=1e-6
        )
        position = np.clip(row[0], lower, upper)


@pytest.mark.parametrize("box", ["orthant", "mixed"])
@pytest.mark.parametrize("compiled", [True, False])
def test_exact_hmc_has_the_distribution_of_independent_draws(box, compiled, monkeypatch):
    rows = 12
    if compiled and not truncated.compiled():
        pytest.skip("the compiled sampler is not built")
    if not compiled:
        monkeypatch.setattr(truncated, "_bounce", None)
    gamma = covariance(rows, 5.0)
    lower, upper = (np.zeros(rows), np.full(rows, INF)) if box == "orthant" else mixed_box(rows)
    draws = sample_box(gamma, lower, upper, 20_000, np.random.default_rng(1))
    independent = sample_box_tilting(gamma, lower, upper, 20_000, np.random.default_rng(2))
    assert_same_distribution(draws, independent, effective=8_000)


@pytest.mark.slow
@pytest.mark.parametrize("box", ["orthant", "mixed"])
def test_lin_ess_has_the_distribution_of_independent_draws(box):
    rows = 5
    gamma = covariance(rows, 2.0)
    lower, upper = (np.zeros(rows), np.full(rows, INF)) if box == "orthant" else mixed_box(rows)
    draws = sample_box(gamma, lower, upper, 10_000, np.random.default_rng(1), method="lin-ess", thin=4)
    independent = sample_box_tilting(gamma, lower, upper, 20_000, np.random.default_rng(2))
    assert_same_distribution(draws, independent, effective=1_000)


@given(
    st.integers(1, 8),
    st.floats(1e-2, 1e6),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_every_draw_lies_inside_the_box_or_none_is_returned(rows, variance, seed, two_sided):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((rows, 2)) * np.sqrt(variance)
    gamma = root @ root.T + np.eye(rows)
    lower = np.where(rng.random(rows) < 0.5, 0.0, rng.normal(size=rows))
    upper = lower + np.where(rng.random(rows) < 0.5, INF, rng.random(rows) + 1e-3) if two_sided else np.full(rows, INF)
    try:
        draws = sample_box(gamma, lower, upper, 50, rng)
    except TooManyBouncesError:
        assert (np.sqrt(np.diag(gamma)) / (upper - lower)).max() > 1_000
        return
    assert np.isfinite(draws).all()
    assert (draws >= lower).all()
    assert (draws <= upper).all()


def test_a_trajectory_that_bounces_too_often_is_refused_and_stays():
    gamma = covariance(20)
    start = inside(gamma, np.zeros(20), np.full(20, INF))
    velocity = np.random.default_rng(0).standard_normal((50, 20)) @ np.linalg.cholesky(gamma).T
    ends = trajectories(np.repeat(start[None], 50, axis=0), velocity, gamma, np.zeros(20), np.full(20, INF), 20, 1)
    moved = (ends != start).any(axis=1)
    assert (ends[~moved] == start).all()
    assert not moved.all()


def test_no_rows_give_empty_draws():
    assert sample_box(np.empty((0, 0)), np.empty(0), np.empty(0), 7, np.random.default_rng(0)).shape == (7, 0)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_chain_that_cannot_leave_its_start_is_never_returned(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(truncated, "_bounce", None)
    gamma = covariance(20)
    with pytest.raises(TooManyBouncesError, match="more than 1 times between 20 walls"):
        sample_box(gamma, np.zeros(20), np.full(20, INF), 10, np.random.default_rng(0), patience=1)


@pytest.mark.parametrize("box", ["orthant", "ties"])
def test_slices_around_ep_have_the_distribution_of_independent_draws(box):
    rows = 12
    gamma = covariance(rows, 20.0)
    lower, upper = np.zeros(rows), np.full(rows, INF)
    if box == "ties":
        lower[1::5] = 0.4
        lower[::3], upper[::3] = -0.8, 0.8
    C = gamma - np.eye(rows)
    draws = sample_around(C, lower, upper, expectation_propagation(C, lower, upper), 20_000, np.random.default_rng(1))
    independent = sample_box_tilting(gamma, lower, upper, 20_000, np.random.default_rng(2))
    assert ((draws >= lower) & (draws <= upper)).all()
    assert_same_distribution(draws, independent, effective=8_000)
