"""From points to rows: the covariance of the observations, and back from rows to weights of points.

Glossary:
    W      (m, n) the rows' matrix over the points, +1 at `plus` and -1 at `minus`, divided by the judge's noise
    C      W K W', (m, m)        gamma   C + I
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tuner.core.linalg import FloatArray
from tuner.core.posterior.kernels import Kernel
from tuner.core.posterior.observations import Observations


@dataclass(frozen=True, eq=False)
class Hyper:
    """Hyper-parameters: the kernel's, each judge's noise scale, and the just-noticeable difference of ties."""

    kernel: Kernel
    noise: FloatArray
    jnd: float


def row_covariance(data: Observations, K: FloatArray, noise: FloatArray) -> FloatArray:
    """Return C = W K W' without forming W; K is (n, n)."""
    n = data.n
    padded = np.zeros((n + 1, n + 1))
    padded[:n, :n] = K
    left = padded[data.plus] - padded[data.minus]
    C = left[:, data.plus] - left[:, data.minus]
    if data.judges > 1 or noise[0] != 1.0:
        scale = noise[data.judge]
        C /= scale[:, None] * scale[None, :]
    return C


def row_matrix(data: Observations, noise: FloatArray) -> csr_array:
    """Return W as a sparse matrix."""
    weight = 1.0 / noise[data.judge]
    columns = np.stack([data.plus, data.minus], axis=1)
    real = columns < data.n
    ends = np.concatenate([[0], np.cumsum(real.sum(axis=1))])
    return csr_array((np.stack([weight, -weight], axis=1)[real], columns[real], ends), shape=(data.m, data.n))


def point_weights(data: Observations, noise: FloatArray, Q: FloatArray) -> FloatArray:
    """Return W' Q W, (n, n), for Q (m, m)."""
    W = row_matrix(data, noise)
    half = W.T @ Q
    return np.asarray((W.T @ half.T).T)
