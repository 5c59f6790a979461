"""What arithmetic may do to the outputs of a network, whoever computes them and in whatever order: processors,
libraries and their versions differ by no more."""

import numpy as np

import zeroloss
from bounds import U, gamma


def _phi(layer):
    """phi and sup |phi'|."""
    if layer.activation == "identity":
        return (lambda z: z), 1.0
    if layer.activation == "leaky_relu":
        return (lambda z: np.where(z >= 0, z, layer.leak * z)), max(1.0, abs(layer.leak))
    activation = zeroloss.kernel.activation(layer.activation)
    return activation.phi, activation.B


def _affine(W, b, h, error):
    """W h + b, and how far it is off: a sum of k products by at most (k + 2) u times the sum of their sizes."""
    b = b if b.size else np.zeros(len(W))
    size = np.abs(W).T
    return h @ W.T + b, error @ size + (W.shape[1] + 2) * U * (np.abs(h) @ size + np.abs(b))


def rounding(network, X):
    """A first-order bound of the errors of outputs computed in float64, n x K, times two: for either side of a
    comparison. phi is off by 16 u of what it is made of, and by sup |phi'| times what its argument is off by."""
    h, size = X, np.abs(X)
    if network.shift.size:
        h, size = h - network.shift, size + np.abs(network.shift)
    if network.factor.size:
        h, size = h * network.factor, size * np.abs(network.factor)
    if network.constant:
        h, size = (np.hstack([a, np.full((len(X), 1), network.constant)]) for a in (h, size))
    error = 4 * U * size
    if network.unit:
        length = np.linalg.norm(h, axis=1, keepdims=True)
        h, error = h / length, (error + (h.shape[1] + 4) * U * size) / length * (1 + np.sqrt(h.shape[1]))
    for layer in network.layers:
        phi, B = _phi(layer)
        z, moved = _affine(layer.W, layer.b, h, error)
        a = phi(z)
        moved = B * moved + 16 * U * (np.abs(a) + B * np.abs(z))
        if layer.residual:
            a, moved = _affine(layer.U, layer.bU, a, moved) if layer.U.size else (a, moved)
            if layer.bU.size and not layer.U.size:
                a, moved = a + layer.bU, moved + 2 * U * np.abs(layer.bU)
        a, moved = layer.scale * a, abs(layer.scale) * moved
        if layer.residual:
            a, moved = h + a, error + moved + 4 * U * np.abs(h)
        h, error = a, moved + 4 * U * np.abs(a)
    return 2 * _affine(network.V, network.c, h, error)[1]


def assert_close(found, expected, network, X):
    off = np.abs(np.asarray(found) - np.asarray(expected))
    assert (off <= rounding(network, X)).all(), (off.max(), rounding(network, X).min())


def two_layers(network, X):
    """The same of a network of one hidden layer of relu, n x K, times two: rows less their mean are divided by their
    lengths (d roundings and 4), W takes d products and the outputs m, of |v_j| ||w_j|| at most."""
    Z = X - network.mean if network.mean.size else X
    size = np.linalg.norm(np.abs(X) + np.abs(X - Z), axis=1) / np.linalg.norm(Z, axis=1)
    weights = [np.abs(one.v) @ np.linalg.norm(one.W, axis=1) for one in network.outputs]
    return 2 * gamma(2 * network.d + network.width + 8) * np.outer(size, weights)
