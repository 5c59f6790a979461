"""Kernel ridge regression for several ridges, and what each target is off without its point."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .. import _core, kernel
from .points import Array


class RidgePath:
    """C = (K + ridge W^-1)^-1 Y for ridges that are asked for one after the other, K the kernel of unit rows X.

    What is numerically singular is solved by its eigensystem, and the least-norm solution is meant.
    """

    def __init__(self, X: Array, sigma: kernel.Kernel, weights: Array | None, *, several: bool) -> None:
        self._X, self._sigma, self._weights = X, sigma, weights
        self._path = _core.RidgePath(X, sigma, weights) if several else None
        self._eigen: tuple[Array, Array] | None = None

    def solve(self, ridge: float, Y: Array) -> tuple[Array, Array]:
        """The coefficients, n x c, and what the solution of the other points is off from each target."""
        Y = np.ascontiguousarray(Y)
        found = (
            self._path.solve(ridge, Y)
            if self._path
            else _core.solve_ridge(self._X, self._sigma, ridge, Y, self._weights)
        )
        return found or self._least_norm(ridge, Y)

    def _least_norm(self, ridge: float, Y: Array) -> tuple[Array, Array]:
        root = np.ones(len(Y)) if self._weights is None else np.sqrt(self._weights)
        if self._eigen is None:
            K = kernel.gram(self._X, self._sigma, normalize=False).K
            K *= root[:, None] * root
            self._eigen = scipy.linalg.eigh(K.T, overwrite_a=True, check_finite=False, driver="evd")
        values, Q = self._eigen
        coefficients, residuals = leave_one_out(values, Q, ridge, Y * root[:, None])
        return coefficients * root[:, None], residuals / root[:, None]


def _inverse(values: Array, ridge: float) -> Array:
    """1/(values + ridge), 0 where that is rounding."""
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


def positive_weights(weights: Any, n: int) -> tuple[Array | None, Any]:
    """Weights of the points that have one, None where all are 1; and which points these are."""
    if weights is None:
        return None, slice(None)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n,):
        raise ValueError(f"sample_weight has shape {given.shape}; expected {(n,)}")
    if not (given >= 0).all() or not np.isfinite(given).all() or not (given > 0).any():
        raise ValueError("every weight of sample_weight must be finite and >= 0, and not all zero")
    kept = given > 0
    some: Array = given[kept]
    return (None if (some == 1).all() else some), kept
