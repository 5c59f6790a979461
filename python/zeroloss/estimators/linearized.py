"""What a trained network would say of each point without it, by the network that is linear in its weights."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .. import kernel
from .._core import Network
from .points import Array
from .ridge import leave_one_out

CHUNK = 2**22  # numbers of a piece of phi': 32 MB


def tangent_kernel(Z: Array, W: Array, v: Array, phi: kernel.Activation) -> Array:
    """J J^T of the outputs at unit rows Z, n x d, in the hidden weights W, m x d: (Z Z^T) o (D D^T), n x n, with
    D = phi'(Z W^T) diag(v)."""
    n, units = len(Z), max(1, CHUNK // len(Z))
    S = np.zeros((n, n))
    for j in range(0, len(W), units):
        D = phi.dphi(Z @ W[j : j + units].T) * v[j : j + units]
        S += D @ D.T
    return S * (Z @ Z.T)


def moved(Z: Array, W: Array, start: Array, v: Array, phi: kernel.Activation) -> Array:
    """J (W - start): how far training has moved the outputs at Z, n numbers, to first order at W."""
    units = max(1, CHUNK // len(Z))
    change = np.zeros(len(Z))
    for j in range(0, len(W), units):
        k = slice(j, j + units)
        change += (phi.dphi(Z @ W[k].T) * (Z @ (W[k] - start[k]).T)) @ v[k]
    return change


def residuals_without(K: Array, y: Array) -> Array:
    """y_i minus what the shortest interpolation of the other points gives at i: (K^-1 y)_i/(K^-1)_ii."""
    try:
        factor = np.linalg.cholesky(K)
        inverse = scipy.linalg.lapack.dpotri(factor, lower=1)[0]
        residuals: Array = scipy.linalg.cho_solve((factor, True), y) / np.diag(inverse)
        if np.isfinite(residuals).all() and np.linalg.norm(K @ (residuals * np.diag(inverse)) - y) < 1e-6:
            return residuals
    except np.linalg.LinAlgError:
        pass
    values, Q = np.linalg.eigh(K)
    return leave_one_out(values, Q, 0.0, y[:, None])[1][:, 0]


def left_out(network: Network, start: Network | None, Z: Array, Y: Array) -> Array:
    """Outputs at each unit row of Z, n x d, of the network trained without it on targets Y, n x c, to first order at
    the trained weights: n x c.

    `start` has the weights that training began with; None: only the output layer was trained, and this is exact.
    n^2 doubles and n^2 (m + n) multiply-adds for each output, m its width.
    """
    phi = kernel.activation(network.activation)
    predicted = np.empty_like(Y)
    for k, trained in enumerate(network.outputs):
        if start is None:
            features = phi.phi(Z @ trained.W.T)
            K, away = features @ features.T, Y[:, k]
        else:
            K = tangent_kernel(Z, trained.W, trained.v, phi)
            missed = Y[:, k] - network(Z)[:, k]
            away = missed + moved(Z, trained.W, start.outputs[k].W, trained.v, phi)
        predicted[:, k] = Y[:, k] - residuals_without(K, away)
    return predicted
