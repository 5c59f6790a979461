"""Proofs about networks of layers against arithmetic of many digits (python-flint's balls)."""

import numpy as np
import pytest
from flint import arb, arb_mat, ctx

import zeroloss
from bounds import gamma

SMOOTH = ("tanh", "sigmoid", "erf", "gelu", "silu", "softplus", "sin")
KINKED = ("relu", "leaky_relu", "identity")


@pytest.fixture(autouse=True)
def digits():
    before = ctx.dps
    yield
    ctx.dps = before


def sigmoid(z):
    return 1 / (1 + (-z).exp())


PHI = {
    "tanh": lambda z: z.tanh(),
    "sigmoid": sigmoid,
    "erf": lambda z: z.erf(),
    "gelu": lambda z: z * (1 + (z / arb(2).sqrt()).erf()) / 2,
    "silu": lambda z: z * sigmoid(z),
    "softplus": lambda z: (1 + z.exp()).log(),
    "sin": lambda z: z.sin(),
    "relu": lambda z: z if z > 0 else arb(0),
    "leaky_relu": lambda z: z if z > 0 else arb(0.125) * z,
    "identity": lambda z: z,
}
DPHI = {"tanh": lambda z: 1 - z.tanh() ** 2, "sin": lambda z: z.cos(), "sigmoid": lambda z: sigmoid(z) * sigmoid(-z)}


def column(numbers):
    return [arb(float(number)) for number in numbers]


def times(W, h):
    return [sum((arb(float(w)) * x for w, x in zip(row, h)), arb(0)) for row in W]


def exact(network, x):
    """Outputs of a network at one point."""
    h = column(x)
    if network.shift.size:
        h = [a - b for a, b in zip(h, column(network.shift))]
    if network.factor.size:
        h = [a * b for a, b in zip(h, column(network.factor))]
    if network.constant:
        h.append(arb(network.constant))
    if network.unit:
        length = sum((a * a for a in h), arb(0)).sqrt()
        h = [a / length for a in h]
    for layer in network.layers:
        z = times(layer.W, h)
        if layer.b.size:
            z = [a + b for a, b in zip(z, column(layer.b))]
        a = [PHI[layer.activation](value) for value in z]
        if layer.residual:
            a = times(layer.U, a) if layer.U.size else a
            if layer.bU.size:
                a = [p + q for p, q in zip(a, column(layer.bU))]
            h = [p + arb(layer.scale) * q for p, q in zip(h, a)]
        else:
            h = [arb(layer.scale) * q for q in a]
    f = times(network.V, h)
    return [p + q for p, q in zip(f, column(network.c))] if network.c.size else f


def drawn(seed, activations):
    """Plain and residual layers, with and without biases, an input map, weights of any size."""
    rng = np.random.default_rng(seed)
    d, size = int(rng.integers(1, 5)), 10.0 ** rng.integers(-2, 2)
    constant, layers = (0.7 if rng.random() < 0.4 else 0.0), []
    p = d + (constant != 0)
    maybe = lambda count: rng.normal(size=count) if rng.random() < 0.5 else None
    for _ in range(rng.integers(1, 5)):
        name = str(rng.choice(activations))
        if rng.random() < 0.5:
            m = int(rng.integers(1, 6))
            W, b = size * rng.normal(size=(m, p)), maybe(m)
            layers.append(zeroloss.Layer(W, b, name, 0.125, scale=rng.choice([1.0, 0.3])))
            p = m
            continue
        m = p if (plain := rng.random() < 0.5) else int(rng.integers(1, 6))
        U = None if plain else rng.normal(size=(p, m))
        layers.append(zeroloss.Layer(size * rng.normal(size=(m, p)), maybe(m), name, 0.125, residual=True, U=U,
                                     bU=maybe(p), scale=rng.choice([1.0, 0.3])))  # fmt: skip
    outputs = int(rng.integers(1, 4))
    network = zeroloss.DeepNetwork(
        layers, rng.normal(size=(outputs, p)), maybe(outputs), maybe(d), maybe(d), constant=constant,
        unit=bool(rng.random() < 0.5)
    )  # fmt: skip
    return network, rng.normal(size=(4, d)) * 10.0 ** rng.integers(-3, 4)


@pytest.mark.parametrize("activation", [*SMOOTH, *KINKED, "any"])
def test_errors_are_never_below_the_truth_of_60_digits(activation):
    ctx.dps = 80
    worst = 0.0
    for seed in range(60):
        network, X = drawn(seed, [activation] if activation != "any" else [*SMOOTH, *KINKED])
        f, error = network.verified_outputs(X)
        assert np.isfinite(f).all()
        for i, x in enumerate(X):
            for k, truth in enumerate(exact(network, x)):
                off = abs(arb(float(f[i, k])) - truth)
                assert off.rad() < 1e-60 * (1 + abs(float(truth.mid())))  # of 80 digits at least 60 are right
                assert off <= arb(float(error[i, k])), (seed, i, k)
                worst = max(worst, float(off.mid()) / float(error[i, k]) if error[i, k] else 0.0)
    assert worst > 0.02  # and they are no more than fifty times too large where it is closest


# ---- the exact network within the radius ----


def solution_distance(network, X, y):
    """||theta* - theta||: Newton in theta + J^T w, w of three numbers, to 200 digits. Weights of all layers move."""
    name = network.layers[0].activation
    phi, dphi = PHI[name], DPHI[name]
    W1, W2, V = (arb_mat([column(row) for row in A]) for A in (network.layers[0].W, network.layers[1].W, network.V))
    points = [arb_mat([[value] for value in column(x)]) for x in X]

    def forward(W1, W2, V):
        """F, and rows of J as matrices of each layer's shape."""
        F, rows = [], []
        for x, target in zip(points, y):
            z1 = W1 * x
            a1 = arb_mat([[phi(value)] for value in z1.entries()])
            z2 = W2 * a1
            a2 = arb_mat([[phi(value)] for value in z2.entries()])
            F.append((V * a2)[0, 0] - arb(float(target)))
            g2 = arb_mat([[v * dphi(z)] for v, z in zip(V.entries(), z2.entries())])
            below = W2.transpose() * g2
            g1 = arb_mat([[u * dphi(z)] for u, z in zip(below.entries(), z1.entries())])
            rows.append((g1 * x.transpose(), g2 * a1.transpose(), a2.transpose()))
        return F, rows

    def inner(one, other):
        return sum((a * b for A, B in zip(one, other) for a, b in zip(A.entries(), B.entries())), arb(0))

    _, start = forward(W1, W2, V)
    n, w = len(points), arb_mat(len(points), 1)
    for _ in range(60):
        moved = [A + sum((row[part] * w[i, 0] for i, row in enumerate(start)), arb_mat(A.nrows(), A.ncols()))
                 for part, A in enumerate((W1, W2, V))]  # fmt: skip
        F, rows = forward(*moved)
        if max(abs(float(value.mid())) for value in F) < 1e-180:  # of 200 digits
            break
        derivative = arb_mat(n, n, [inner(row, first) for row in rows for first in start])
        step = derivative.solve(arb_mat([[value] for value in F]))
        w = arb_mat([[arb((w[i, 0] - step[i, 0]).mid())] for i in range(n)])  # Newton mends what rounding does
    else:
        raise AssertionError("Newton's method did not converge")
    squares = sum((w[i, 0] * w[j, 0] * inner(start[i], start[j]) for i in range(n) for j in range(n)), arb(0))
    return float(squares.sqrt().mid())


def test_the_exact_network_lies_within_the_radius():
    """Three points, two hidden layers, 50 seeds: from near the edge of what is proved to next to nothing."""
    ctx.dps = 200
    ratios, largest = [], 0.0
    seed = 0
    while len(ratios) < 50:
        rng = np.random.default_rng(seed)
        name = list(DPHI)[seed % 3]
        layers = [zeroloss.Layer(rng.normal(size=(6, 2)) * 2, None, name), zeroloss.Layer(rng.normal(size=(6, 6)), None,
                                                                                          name)]  # fmt: skip
        network = zeroloss.DeepNetwork(layers, rng.normal(size=(1, 6)))
        X = rng.normal(size=(3, 2))
        y = network(X)[:, 0] + 10.0 ** rng.uniform(-9, -3) * rng.normal(size=3)  # next to what it says
        seed += 1
        certificate = zeroloss.prove(network, X, y, layers="all").networks[0].certificate
        if not certificate.exists:
            continue
        distance = solution_distance(network, X, y)
        assert distance <= certificate.radius
        ratios.append(certificate.radius / distance)
        largest = max(largest, certificate.h)
    assert seed < 200
    assert largest > 0.1  # some are near the edge
    assert min(ratios) < 3  # r is lambda_min's worst direction, and some misfits lie near it


# ---- how fast J changes ----


def jacobian(weights, shapes, X):
    """Of tanh networks without biases, n x (all weights), in NumPy."""
    parts, at = [], 0
    for shape in shapes:
        parts.append(weights[at : at + np.prod(shape)].reshape(shape))
        at += int(np.prod(shape))
    *hidden, V = parts
    h, seen = X, []
    for W in hidden:
        seen.append(h)
        h = np.tanh(h @ W.T)
        seen.append(1 - h**2)
    blocks, u = [h], np.repeat(V, len(X), axis=0)
    for k in range(len(hidden) - 1, -1, -1):
        g = u * seen[2 * k + 1]
        blocks.insert(0, np.einsum("nm,np->nmp", g, seen[2 * k]).reshape(len(X), -1))
        u = g @ hidden[k]
    return np.hstack(blocks)


def test_lambda_is_never_below_differences_along_a_thousand_directions():
    closest = 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        depth, width = int(rng.integers(1, 4)), int(rng.integers(3, 7))
        shapes = [(width, 3), *[(width, width)] * (depth - 1), (1, width)]
        parts = [rng.normal(size=shape) / np.sqrt(shape[1]) for shape in shapes]
        network = zeroloss.DeepNetwork([zeroloss.Layer(W, None, "tanh") for W in parts[:-1]], parts[-1])
        X = rng.normal(size=(3, 3))
        y = network(X)[:, 0] + 1e-6 * rng.normal(size=3)
        certificate = zeroloss.prove(network, X, y, layers="all").networks[0].certificate
        radius = 2 * certificate.misfit / np.sqrt(certificate.lambda_min)
        theta = np.concatenate([part.ravel() for part in parts])
        at_theta = jacobian(theta, shapes, X)
        gram = network.tangent_kernel(X)
        rounding = gamma(2 * depth * (width + 16)) * 10  # of J: sums and tanh there and back, and what they magnify
        size = np.linalg.norm(at_theta, 2)
        np.testing.assert_allclose(at_theta @ at_theta.T, gram, rtol=0, atol=2 * rounding * size**2)
        t = radius  # a difference is the mean of J' on the way, where lambda holds
        for _ in range(1000):
            direction = rng.normal(size=theta.size)
            direction /= np.linalg.norm(direction)
            there = jacobian(theta + t * direction, shapes, X)
            slope = np.linalg.norm(there - jacobian(theta - t * direction, shapes, X), 2) / (2 * t)
            assert slope <= certificate.lipschitz + rounding * size / t
            closest = max(closest, slope / certificate.lipschitz)
        assert certificate.exists and radius < 1e-2  # of 1e-6 over s_min
    assert closest > 0.02
