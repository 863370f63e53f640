"""Independent references for the posterior: importance sampling from the prior, by nothing but its definition."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm


@dataclass(frozen=True)
class Reference:
    mean: np.ndarray
    variance: np.ndarray
    skewness: np.ndarray
    valid: np.ndarray
    win: np.ndarray
    log_evidence: float
    effective: float


def rbf(A, B, lengthscales, variance):
    difference = (A[:, None, :] - B[None, :, :]) / np.asarray(lengthscales)
    return variance * np.exp(-0.5 * (difference**2).sum(axis=-1))


def importance(
    points,
    queries,
    *,
    labels=(),
    duels=(),
    ties=(),
    duel_grades=None,
    jnd=0.5,
    clear=1.0,
    lengthscales,
    variance,
    count=600_000,
    seed=0,
):
    """Weight prior draws of f by the likelihood of what was said; `win` is against the first query."""
    rng = np.random.default_rng(seed)
    everything = np.concatenate([points, queries])
    covariance = rbf(everything, everything, lengthscales, variance) + 1e-9 * variance * np.eye(len(everything))
    f = rng.standard_normal((count, len(everything))) @ np.linalg.cholesky(covariance).T
    log_weight = np.zeros(count)
    threshold = jnd if len(ties) else 0.0
    for point, valid in labels:
        log_weight += norm.logcdf(f[:, point] if valid else -f[:, point])
    for (winner, loser), grade in zip(duels, duel_grades or [None] * len(duels), strict=True):
        gap = f[:, winner] - f[:, loser] - threshold
        if grade is None:
            log_weight += norm.logcdf(gap)
        elif grade:
            log_weight += norm.logcdf(gap - clear)
        else:
            log_weight += np.log(norm.cdf(gap) - norm.cdf(gap - clear) + 1e-300)
    for first, second in ties:
        gap = f[:, first] - f[:, second]
        log_weight += np.log(norm.cdf(jnd - gap) - norm.cdf(-jnd - gap) + 1e-300)
    weight = np.exp(log_weight - log_weight.max())
    log_evidence = float(np.log(weight.mean()) + log_weight.max())
    weight /= weight.sum()
    g = f[:, len(points) :]
    mean = weight @ g
    variance_ = weight @ (g - mean) ** 2
    return Reference(
        mean,
        variance_,
        (weight @ (g - mean) ** 3) / variance_**1.5,
        weight @ norm.cdf(g),
        weight @ (g > g[:, :1]) + 0.5 * (weight @ (g == g[:, :1])),
        log_evidence,
        float(1.0 / (weight**2).sum()),
    )


def champion_duels(rng, count, dimension, flips=0.0):
    """Points and duels of a smooth function, each new point against the best so far."""
    points = rng.random((count + 1, dimension))
    value = np.sin(6 * points[:, 0]) + 2 * points.sum(axis=1) - 3 * (points**2).sum(axis=1)
    best, duels = 0, []
    for new in range(1, count + 1):
        wins = (value[new] > value[best]) != (rng.random() < flips)
        duels.append((new, best) if wins else (best, new))
        best = new if wins else best
    return points, duels


def random_covariance(rng: np.random.Generator, m: int) -> np.ndarray:
    root = rng.standard_normal((m, m + 2))
    return root @ root.T / m + 0.3 * np.eye(m)


def random_box(rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = rng.normal(-1.0, 0.7, m), rng.normal(1.3, 0.7, m)
    lower, upper = np.minimum(lower, upper - 0.1), np.maximum(lower + 0.1, upper)
    return np.where(rng.random(m) < 0.3, -np.inf, lower), np.where(rng.random(m) < 0.4, np.inf, upper)
