"""Whether other valid ground may be left: what the posterior of validity says about settings apart from the champion's.

Glossary:
    U    (p, D) settings all over the space        links    (p, k) the nearest of them to each
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.strategy import Ground
from tuner.core.space.space import BoolArray, Space


def other_ground(
    space: Space,
    champion: FloatArray,
    valid: FloatArray,
    probability: Callable[[FloatArray], FloatArray],
    numbers: Ground,
    rng: np.random.Generator,
) -> float:
    """Return how much of the valid ground one expects where nobody has been, apart from the champion's region.

    Each setting counts with P(valid), and with how little the nearest of the `valid` trials tells of it. None counts
    that is connected with the champion by ground that is likely valid: that region needs no search for another one.

    Returns:
        The share of it in all ground that is expected to be valid, 0 to 1.
    """
    U = np.vstack([champion, space.sample(numbers.points, rng, valid)])
    chance = probability(U)
    gap = KDTree(valid).query(U)[0] / numbers.known
    apart = ~connected(U, chance, probability, numbers)
    return float((chance * -np.expm1(-(gap**2)) * apart).sum() / max(float(chance.sum()), 1e-300))


def connected(
    U: FloatArray, chance: FloatArray, probability: Callable[[FloatArray], FloatArray], numbers: Ground
) -> BoolArray:
    """Say which rows are connected with the first by likely valid ground; the first always is."""
    open_ground = chance >= numbers.passable
    open_ground[0] = True
    links = np.asarray(KDTree(U).query(U, min(numbers.neighbours + 1, len(U)))[1])[:, 1:]
    one, other = np.repeat(np.arange(len(U)), links.shape[1]), links.ravel()
    both = open_ground[one] & open_ground[other]
    one, other = one[both], other[both]
    through = probability(0.5 * (U[one] + U[other])) >= numbers.passable if len(one) else np.zeros(0, dtype=bool)
    one, other = one[through], other[through]
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(len(U), len(U)))
    group = connected_components(graph, directed=False)[1]
    return np.asarray(group == group[0])
