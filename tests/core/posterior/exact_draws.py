"""Independent exact draws from a Gaussian restricted to a box: what the samplers are compared with."""

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.posterior import tilting

# greedy orders to try are this over m^3, the cost of each, which counts beside that of the draws
_WORK_DRAWS = 1.6e7


class AcceptanceError(RuntimeError):
    """Accept-reject would need too many proposals; trying again does not help, another sampler does."""


def sample_box_tilting(
    gamma: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    size: int,
    rng: np.random.Generator,
    *,
    max_proposals: int = 2_000_000,
) -> FloatArray:
    """Draw u ~ N(0, gamma) restricted to the box: independent and exact, by accept-reject from the tilted proposal."""
    m = lower.size
    if m == 0 or size == 0:
        return np.empty((size, m))
    tilt = tilting.find_tilt(gamma, lower, upper, starts=min(int(_WORK_DRAWS / m**3), 32))
    accepted: list[FloatArray] = []
    found, tried, batch = 0, 0, max(256, min(size, 4096))
    while found < size:
        z, log_weight = tilting._propose(tilt, rng.random((m, batch)))
        keep = np.log(rng.random(batch)) <= log_weight - tilt.log_bound
        accepted.append(z[:, keep])
        found, tried = found + int(keep.sum()), tried + batch
        rate = max(found, 1) / tried
        if found < size and (size - found) / rate > max_proposals - tried:
            raise AcceptanceError(f"{found} of {tried} proposals accepted at m = {m}: {size} draws are out of reach")
        batch = int(min(max(1.1 * (size - found) / rate, 256), 2**22 // m + 1))
    u = np.empty((size, m))
    u[:, tilt.order] = (tilt.L @ np.concatenate(accepted, axis=1)[:, :size]).T
    return np.clip(u, lower, upper)
