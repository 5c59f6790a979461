"""Solutions of (K + ridge I) c = Y, and what each target is off without its point."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .points import Array


def _inverse(values: Array, ridge: float) -> Array:
    """1/(values + ridge), 0 where that is rounding: then the least-norm solution is meant."""
    shifted = values + ridge
    least = len(values) * np.finfo(float).eps * max(shifted[-1], 0.0)
    return np.where(shifted > least, 1 / np.where(shifted > least, shifted, 1.0), 0.0)


def leave_one_out(values: Array, Q: Array, ridge: float, Y: Array) -> tuple[Array, Array]:
    """The coefficients c = A^+ Y of A = Q diag(values) Q^T + ridge I, and what each point's target is off from the
    prediction that c of the other points gives.

    With e_i in the range of A that is c_i/(A^+)_ii. Where A is singular and e_i is not, the other points reach no
    exact answer in the direction of N_i, i's row of the null space N, and the residual is N_i N^T Y/||N_i||^2.
    """
    inverse = _inverse(values, ridge)
    coefficients = Q @ (inverse[:, None] * (Q.T @ Y))
    rows = range(0, len(Q), 1024)  # squares of all of Q would be another n^2 doubles
    diagonal = np.concatenate([np.square(Q[i : i + 1024]) @ inverse for i in rows])
    residuals = coefficients / np.maximum(diagonal, np.finfo(float).tiny)[:, None]
    N = Q[:, inverse == 0]
    if N.shape[1] > 0:
        # An entry that should be 0 is off by n eps lambda_max/gap: below 1e-5 wherever the null space is separated by
        # n 2e-11 lambda_max. Entries that matter are of order 1 (repeated points) to 1/sqrt(n).
        free = np.square(N).sum(axis=1)
        outside = free > 1e-10
        residuals[outside] = (N[outside] @ (N.T @ Y)) / free[outside, None]
    return coefficients, residuals


def cholesky(K: Array, ridge: float, Y: Array) -> Array:
    """(K + ridge I)^-1 Y; of a numerically singular matrix the least-norm solution. Overwrites K."""
    n = len(K)
    K.flat[:: n + 1] += ridge
    diagonal = K.diagonal().copy()
    # Transposed: LAPACK's order of columns, in place, and only the lower triangle is touched.
    factor, info = scipy.linalg.lapack.dpotrf(K.T, lower=1, overwrite_a=1, clean=0)
    if info == 0 and np.min(factor.diagonal()) ** 2 > n * np.finfo(float).eps * np.max(diagonal):
        solution: Array = scipy.linalg.lapack.dpotrs(factor, Y, lower=1)[0]
        return solution
    upper = np.triu(K.T, 1)  # what the factorisation left alone
    full = upper + upper.T
    full.flat[:: n + 1] = diagonal
    values, Q = scipy.linalg.eigh(full, overwrite_a=True, check_finite=False, driver="evd")
    least_norm: Array = Q @ (_inverse(values, 0.0)[:, None] * (Q.T @ Y))
    return least_norm
