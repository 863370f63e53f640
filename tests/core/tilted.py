"""Independent exact draws of a normal vector in a box: what the samplers of tuner.core are checked against."""

import numpy as np

from tuner.core.posterior.tilting import _propose, find_tilt

WORK_DRAWS = 1.6e7  # greedy orders to try are this over m^3: their cost counts beside that of the draws


class AcceptanceError(RuntimeError):
    """Accept-reject would need too many proposals."""


def sample_box_tilting(gamma, lower, upper, size, rng, *, max_proposals=2_000_000):
    """Draw u ~ N(0, gamma) restricted to the box, (size, m), by accept-reject from the tilted proposal."""
    m = lower.size
    if m == 0 or size == 0:
        return np.empty((size, m))
    tilt = find_tilt(gamma, lower, upper, starts=min(int(WORK_DRAWS / m**3), 32))
    accepted = []
    found, tried, batch = 0, 0, max(256, min(size, 4096))
    while found < size:
        z, log_weight = _propose(tilt, rng.random((m, batch)))
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
