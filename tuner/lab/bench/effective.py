"""How many independent draws a chain is worth.

Glossary:
    draws    (N, m) a chain, one row a draw        rho    (N, m) autocorrelations of each coordinate by lag
    pairs    (N/2, m) rho[2k] + rho[2k + 1], positive and falling for a reversible chain (Geyer 1992)
"""

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from tuner.core.linalg import FloatArray


def effective_sizes(draws: FloatArray) -> FloatArray:
    """Return the effective sample size of each coordinate by Geyer's initial monotone sequence, (m,)."""
    count = len(draws)
    centred = draws - draws.mean(axis=0)
    size = next_fast_len(2 * count, real=True)
    spectrum = rfft(centred, size, axis=0)
    covariance = irfft((spectrum * spectrum.conj()).real, size, axis=0)[: count - count % 2]
    rho = covariance / np.where(covariance[0] > 0.0, covariance[0], 1.0)
    pairs = rho[0::2] + rho[1::2]
    # from the first pair that is not positive on, everything is noise
    kept = np.logical_and.accumulate(pairs > 0.0, axis=0)
    monotone = np.minimum.accumulate(pairs, axis=0)
    time = 2.0 * np.where(kept, monotone, 0.0).sum(axis=0) - 1.0
    return np.asarray(count / np.maximum(time, 1.0 / count))


def worst_share(draws: FloatArray) -> float:
    """Return the worst coordinate's effective sample size over the number of draws."""
    return float(effective_sizes(draws).min()) / len(draws)
