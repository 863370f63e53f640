"""Small linear-algebra helpers: the array type, Cholesky factors and triangular solves."""

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


class NotPositiveDefiniteError(ValueError):
    """A matrix that must be positive definite is not, to machine precision."""


def cholesky(matrix: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor, in Fortran order (what LAPACK wants for the solves)."""
    if matrix.shape[0] == 0:
        return np.empty((0, 0), order="F")
    factor, info = lapack.dpotrf(matrix, lower=1, clean=1)
    if info != 0:
        raise NotPositiveDefiniteError(f"the leading minor {info} of a {matrix.shape} matrix is not positive")
    return np.asarray(factor)


def solve_lower(factor: FloatArray, right: FloatArray, *, transposed: bool = False) -> FloatArray:
    """Solve L x = right, or L' x = right if `transposed`."""
    if factor.shape[0] == 0:
        return np.zeros_like(right)
    solution, info = lapack.dtrtrs(factor, right, lower=1, trans=1 if transposed else 0)
    if info != 0:
        raise NotPositiveDefiniteError("a triangular factor is singular")
    return np.asarray(solution)


def solve_factored(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve L L' x = right."""
    return solve_lower(factor, solve_lower(factor, right), transposed=True)


def inverse_factored(factor: FloatArray) -> FloatArray:
    """Return (L L')^-1 as a full symmetric matrix."""
    if factor.shape[0] == 0:
        return np.empty((0, 0))
    inverse, info = lapack.dpotri(factor, lower=1)
    if info != 0:
        raise NotPositiveDefiniteError("a triangular factor is singular")
    full = np.tril(inverse)
    return full + np.tril(full, -1).T


def cholesky_jittered(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a matrix that is positive semi-definite up to rounding.

    Adds the least of a few diagonal jitters, relative to the largest diagonal entry, that makes it factorise.
    """
    scale = float(np.max(np.diag(matrix), initial=0.0))
    for jitter in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        try:
            return cholesky(matrix + (jitter * scale + 1e-300) * np.eye(matrix.shape[0]))
        except NotPositiveDefiniteError:
            continue
    raise NotPositiveDefiniteError("a covariance matrix is not positive semi-definite")


def low_rank(matrix: FloatArray, least: float) -> FloatArray:
    """Return P, (m, k), with matrix = P P' but for less than `least` on the diagonal: a Cholesky factor with pivots."""
    factor, pivots, rank, _ = lapack.dpstrf(matrix, tol=least, lower=1)
    P = np.zeros((len(matrix), rank))
    P[pivots - 1] = np.tril(factor)[:, :rank]
    return P
