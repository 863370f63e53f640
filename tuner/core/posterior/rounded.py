"""Draws of the truncated vector where the data hold some directions far closer together than the prior does.

Close to convergence, and where answers contradict each other, a few directions of the rows are known a thousand times
better than under the prior. A trajectory under the prior's Gaussian then bounces to and fro along them, thousands of
times. EP knows these directions and how wide they are. Trajectories under a Gaussian that is narrow along them, as
EP's is, bounce tens of times; what this Gaussian has too much of kicks the velocity between parts of a trajectory, and
Metropolis' rule keeps the distribution exact, whatever EP says: it sets the pace, never the place.

Glossary:
    P    (m, k) C = P P' + less than LEAST        z    (k,) ~ N(0, I), the rows without their noise are P z
    q    (k,) widths squared along Q              Q    (k, k) directions of z; narrow ones have q < 1
    y    (r,) z along the narrow directions over sqrt(q): the extra entries of the trajectories
"""

import numpy as np

from tuner.core.linalg import FloatArray, cholesky, inverse_factored, low_rank, solve_factored
from tuner.core.posterior.bouncing import BOUNCE_LIMIT, Motion
from tuner.core.posterior.ep import Sites, box_moments

LEAST = 1e-3
WIDER = 20.0
NARROW = 0.1
PARTS = 2


def sample_rounded(
    C: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    sites: Sites,
    draws: int,
    rng: np.random.Generator,
    *,
    work: float = np.inf,
    patience: int = BOUNCE_LIMIT,
) -> FloatArray:
    """Draw u ~ N(0, C + I) restricted to the box; `work` and `patience` as in Motion.chain.

    `sites` are EP's of this or a similar problem; rows beyond theirs have none.
    """
    motion, start = rounded(C, lower, upper, sites)
    return motion.chain(start, draws, rng, work=work, patience=patience)


def rounded(C: FloatArray, lower: FloatArray, upper: FloatArray, sites: Sites) -> tuple[Motion, FloatArray]:
    """Return the motion whose Gaussian is narrow where the sites are, and where to start: at their mean."""
    m = len(C)
    tau, nu = np.zeros(m), np.zeros(m)
    known = min(m, len(sites.tau))
    tau[:known], nu[:known] = sites.tau[:known], sites.nu[:known]
    P = low_rank(C, LEAST)
    precision = cholesky(np.eye(P.shape[1]) + P.T @ (tau[:, None] * P))
    z = solve_factored(precision, P.T @ nu)
    widths, Q = np.linalg.eigh(inverse_factored(precision) + np.outer(z, z))
    q = WIDER * np.maximum(widths, np.finfo(np.float64).eps)
    Q, q = Q[:, q < NARROW], q[q < NARROW]
    r = len(q)
    A = P @ Q
    B = A * np.sqrt(q)
    rest = C + np.eye(m) - A @ A.T
    gamma, root = np.eye(m + r), np.eye(m + r)
    gamma[:m, :m] = rest + B @ B.T
    gamma[:m, m:], gamma[m:, :m] = B, B.T
    root[:m, :m], root[:m, m:] = cholesky(rest), B
    mean = P @ z
    u = mean + box_moments(mean, np.ones(m), lower, upper)[1]
    start = np.concatenate([np.clip(u, lower, upper), (Q.T @ z) / np.sqrt(q)])
    return Motion(gamma, root, lower, upper, 1.0 - q, PARTS if r else 1), start
