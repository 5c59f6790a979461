"""What rounding may do to a result, as tests/support/bounds.hpp has it: numbers are those of Higham, Accuracy and
Stability of Numerical Algorithms, 2nd edition."""

import numpy as np

U = 2.0**-53


def gamma(k):
    """Relative error of k roundings (lemma 3.1): of a sum of k products, relative to the sum of their sizes."""
    return k * U / (1 - k * U)


def backward_error(n):
    """Of a factorisation, spectrum or singular values of an n x n matrix, relative to its norm: what LAPACK's own
    tests accept."""
    return 60 * n * U


def solution_error(n, condition):
    """Of X, in norm and relative to it, A X = B, A n x n of this condition (theorem 7.2). ValueError where nothing is
    known."""
    off = condition * backward_error(n)
    if not off < 1:
        raise ValueError("the condition is beyond what double precision solves")
    return off / (1 - off)


def prediction_error(k, A, C, off=0.0):
    """Of k^T C, rows of k or one, by any two ways to solve A C = Y and whose matrices differ by `off` in norm: A C is
    off Y by the backward error, which k^T A^-1 takes there."""
    weights = np.linalg.norm(np.linalg.solve(A, np.atleast_2d(k).T), axis=0)
    missed = 2 * backward_error(len(A)) * np.linalg.norm(A, 2) + off
    return (missed * weights + 2 * gamma(len(A)) * np.linalg.norm(k, axis=-1) + off).max() * np.linalg.norm(C)


def residual_error(A, C):
    """Of the leave-one-out residuals C_i/(A^-1)_ii by any two ways to solve A C = Y: the same with e_i for k, and once
    more for the inverse's diagonal."""
    inverse = np.linalg.pinv(A, rcond=2 * len(A) * U, hermitian=True)
    weights = (np.linalg.norm(inverse, axis=0) / np.diag(inverse)).max()
    missed = 2 * backward_error(len(A)) * np.linalg.norm(A, 2)
    return missed * (weights * np.linalg.norm(C) + weights**2 * np.abs(C).max())


def row_error(d):
    """Of the length of a unit row (theory 3)."""
    return 1.25 * U + d * 2.0**-64


def entry_error(kernel, rho, off):
    """What inner products that are off by `off` move entries by, whose power series has no negative coefficient."""
    high = np.minimum(np.abs(rho) + off, 1)
    return kernel(high) - kernel(high - off) + 4 * kernel.error + 16 * U  # 16 u of the angle of close points
