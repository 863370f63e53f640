import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import champion_duels, rbf
from tests.core.tilted import sample_box_tilting
from tuner.core.posterior import bouncing
from tuner.core.posterior.bouncing import BOUNCE_LIMIT, Motion, TooManyBouncesError, trajectories
from tuner.core.posterior.ep import Sites, expectation_propagation
from tuner.core.posterior.rounded import rounded, sample_rounded
from tuner.core.posterior.truncated import inside, sample_box
from tuner.lab.bench.effective import worst_share

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


def plain_motion(gamma, lower, upper):
    return Motion(gamma, np.linalg.cholesky(gamma), lower, upper, np.empty(0))


def converged(rows, dimension):
    """Duels of ever nearer neighbours of an optimum under a huge variance: C, lower, upper."""
    rng = np.random.default_rng(dimension)
    points = 0.4 + rng.standard_normal((rows + 1, dimension)) * 0.3 * 10.0 ** -np.linspace(0, 3, rows + 1)[:, None]
    cost = ((points - 0.4) ** 2).sum(axis=1)
    W = np.zeros((rows, rows + 1))
    champion = 0
    for new in range(1, rows + 1):
        winner, loser = (new, champion) if cost[new] < cost[champion] else (champion, new)
        W[new - 1, winner], W[new - 1, loser] = 1.0, -1.0
        champion = winner
    return W @ rbf(points, points, [0.3] * dimension, 1e8) @ W.T, np.zeros(rows), np.full(rows, INF)


def contradictory(rows):
    """Few settings, each pair judged now this way, now that, now a tie."""
    points = np.random.default_rng(5).random((4, 2))
    W = np.zeros((rows, 4))
    for i in range(rows):
        a, b = (i % 4, (i // 4 + 1 + i) % 4) if i % 4 != (i // 4 + 1 + i) % 4 else (i % 4, (i + 1) % 4)
        W[i, a], W[i, b] = 1.0, -1.0
    lower, upper = np.zeros(rows), np.full(rows, INF)
    lower[::6], upper[::6] = -0.7, 0.7
    return W @ rbf(points, points, [0.4, 0.4], 1e6) @ W.T, lower, upper


CROWDED = {
    "converged, 1-D": lambda: converged(14, 1),
    "converged, 2-D": lambda: converged(18, 2),
    "contradictory": lambda: contradictory(18),
}
WRONG_SITES = ("scaled", "noise", "few")
NUMPY_TAKES_SECONDS = [
    ("converged, 1-D", False),
    pytest.param("converged, 2-D", False, marks=pytest.mark.slow),
    pytest.param("contradictory", False, marks=pytest.mark.slow),
]
# a start of each kind with wrong sites of each kind; all pairs of them in the long part
CROWDED_BY_WRONG_SITES = [
    pytest.param(name, wrong, marks=() if name == "converged, 1-D" else pytest.mark.slow)
    for name in CROWDED
    for wrong in WRONG_SITES
]


@pytest.mark.thorough
@pytest.mark.parametrize(("rows", "count"), [(1, 100), (2, 100), (5, 100), (30, 25)])
@pytest.mark.parametrize("box", ["orthant", "mixed"])
@pytest.mark.parametrize("kind", ["plain", "rounded"])
def test_the_compiled_trajectories_are_the_numpy_ones(rows, count, box, kind):
    bounce = pytest.importorskip("tuner.core.posterior._bounce")
    gamma = covariance(rows, 20.0 if kind == "plain" else 1e4)
    lower, upper = (np.zeros(rows), np.full(rows, INF)) if box == "orthant" else mixed_box(rows)
    plain = (lower == 0) & np.isinf(upper)
    order = np.argsort(~plain, kind="stable")
    gamma, lower, upper = np.ascontiguousarray(gamma[np.ix_(order, order)]), lower[order], upper[order]
    zeros = int(plain.sum())
    if kind == "plain":
        motion, position = plain_motion(gamma, lower, upper), inside(gamma, lower, upper)
    else:
        sites = Sites(np.full(rows, 0.3), np.full(rows, 0.3))
        motion, position = rounded(gamma - np.eye(rows), np.maximum(lower, -5.0), upper, sites)
        assert len(motion.force)
    rng = np.random.default_rng(3)
    angle = np.pi / 2 / motion.parts
    walls = motion.lower, motion.upper, zeros, motion.parts, np.cos(angle), np.sin(angle), BOUNCE_LIMIT
    for _ in range(count):
        velocity, height = motion.velocities(1, rng), motion.heights(1, rng)
        state, row = position.copy(), velocity.copy()
        _, refused, rejected = bounce.run(state, row, motion.gamma, *walls, motion.force, height)
        ends, stuck = trajectories(position[None], velocity, height, motion, zeros, BOUNCE_LIMIT)
        assert row[0] == pytest.approx(ends[0], abs=1e-6)
        assert refused == stuck[0] == 0
        assert rejected == (ends[0] == position).all()
        position = ends[0]


@pytest.mark.thorough
@pytest.mark.parametrize("box", ["orthant", "mixed"])
@pytest.mark.parametrize("compiled", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_exact_hmc_has_the_distribution_of_independent_draws(box, compiled, monkeypatch):
    rows = 12
    if compiled and not bouncing.compiled():
        pytest.skip("the compiled sampler is not built")
    if not compiled:
        monkeypatch.setattr(bouncing, "_bounce", None)
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
    motion = plain_motion(gamma, np.zeros(20), np.full(20, INF))
    start = np.repeat(inside(gamma, motion.lower, motion.upper)[None], 50, axis=0)
    ends, refused = trajectories(start, motion.velocities(50, np.random.default_rng(0)), np.zeros(50), motion, 20, 1)
    assert ((ends == start).all(axis=1) == refused).all()
    assert refused.any()
    assert not refused.all()


def test_no_rows_give_empty_draws():
    assert sample_box(np.empty((0, 0)), np.empty(0), np.empty(0), 7, np.random.default_rng(0)).shape == (7, 0)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_chain_that_cannot_leave_its_start_is_never_returned(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(bouncing, "_bounce", None)
    gamma = covariance(20)
    with pytest.raises(TooManyBouncesError, match="more than 1 times between 20 walls"):
        sample_box(gamma, np.zeros(20), np.full(20, INF), 10, np.random.default_rng(0), patience=1)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "compiled"), [*((name, True) for name in CROWDED), *NUMPY_TAKES_SECONDS])
def test_rounded_trajectories_have_the_distribution_of_independent_draws(name, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(bouncing, "_bounce", None)
    C, lower, upper = CROWDED[name]()
    sites = expectation_propagation(C, lower, upper).sites
    assert len(rounded(C, lower, upper, sites)[0].force) > 0
    draws = sample_rounded(C, lower, upper, sites, 20_000, np.random.default_rng(1))
    independent = sample_box_tilting(C + np.eye(len(C)), lower, upper, 20_000, np.random.default_rng(2))
    assert ((draws >= lower) & (draws <= upper)).all()
    assert_same_distribution(draws, independent, effective=8_000)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "wrong"), CROWDED_BY_WRONG_SITES)
def test_a_rounded_trajectory_leaves_the_distribution_alone_whatever_the_sites_say(name, wrong):
    C, lower, upper = CROWDED[name]()
    m = len(C)
    sites = expectation_propagation(C, lower, upper).sites
    rng = np.random.default_rng(7)
    if wrong == "scaled":
        sites = Sites(30.0 * sites.tau, -sites.nu)
    elif wrong == "noise":
        sites = Sites(10.0 ** rng.uniform(-3, 0, m), rng.standard_normal(m))
    else:
        sites = Sites(sites.tau[:-2], sites.nu[:-2])
    motion, _ = rounded(C, lower, upper, sites)
    assert len(motion.force) > 0
    plain = (lower == 0.0) & np.isinf(upper)
    assert plain.all() or name == "contradictory"
    zeros = m if plain.all() else 0
    # independent draws of the rows, and of the extra entries given them under the target
    u = sample_box_tilting(C + np.eye(m), lower, upper, 20_000, rng)
    prior = 1.0 / (1.0 - motion.force)
    B = motion.gamma[:m, m:]
    gain = np.linalg.solve(C + np.eye(m), B * prior).T
    left = np.diag(prior) - gain @ (B * prior)
    y = u @ gain.T + rng.multivariate_normal(np.zeros(len(prior)), 0.5 * (left + left.T), len(u), method="eigh")
    start = np.hstack([u, y])
    ends, refused = trajectories(
        start, motion.velocities(len(u), rng), motion.heights(len(u), rng), motion, zeros, BOUNCE_LIMIT
    )
    assert not refused.any()
    assert (ends != start).any(axis=1).mean() > 0.2
    again = sample_box_tilting(C + np.eye(m), lower, upper, 20_000, rng)
    assert_same_distribution(ends[:, :m], again, effective=20_000)


def test_the_energy_decides_whether_a_rounded_trajectory_counts():
    C, lower, upper = converged(14, 1)
    motion, start = rounded(C, lower, upper, expectation_propagation(C, lower, upper).sites)
    start = np.repeat(start[None], 200, axis=0)
    velocity = motion.velocities(200, np.random.default_rng(0))
    for height, moved in ((-1e9, 0), (1e9, 200)):
        ends, _ = trajectories(start, velocity, np.full(200, height), motion, 14, BOUNCE_LIMIT)
        assert (ends != start).any(axis=1).sum() == moved


def test_crowded_walls_are_met_tens_of_times_after_rounding_and_thousands_of_times_before():
    bounce = pytest.importorskip("tuner.core.posterior._bounce")
    C, lower, upper = converged(60, 1)
    C *= 1e3
    found = expectation_propagation(C, lower, upper)

    def bounces(motion, start):
        rng, angle = np.random.default_rng(0), np.pi / 2 / motion.parts
        rows, heights = motion.velocities(200, rng), motion.heights(200, rng)
        walls = motion.lower, np.minimum(upper, 1e150), 60, motion.parts, np.cos(angle), np.sin(angle), BOUNCE_LIMIT
        return bounce.run(start.copy(), rows, motion.gamma, *walls, motion.force, heights)[0] / 200

    gamma = C + np.eye(60)
    motion, start = rounded(C, lower, upper, found.sites)
    assert bounces(motion, start) < 100
    assert bounces(plain_motion(gamma, lower, upper), start[:60]) > 1_000


@pytest.mark.parametrize("name", CROWDED)
def test_rounded_draws_are_worth_more_than_half_as_many_independent_ones(name):
    pytest.importorskip("tuner.core.posterior._bounce")
    C, lower, upper = CROWDED[name]()
    sites = expectation_propagation(C, lower, upper).sites
    draws = sample_rounded(C, lower, upper, sites, 20_000, np.random.default_rng(1))
    assert worst_share(draws) > 0.5
