"""One output of a two-layer network in balls: activations, outputs, Jacobian products."""

from flint import arb, arb_mat

LEAK = 0.01  # the slope of leaky_relu below 0: this double, exactly


def _sigmoid(z):
    return 1 / (1 + (-z).exp())


def _cdf(z):
    return (-z / arb(2).sqrt()).erfc() / 2


def _density(z):
    return (-z * z / 2).exp() / (2 * arb.pi()).sqrt()


def _softplus(z):
    return z + (-z).exp().log1p() if z > 0 else z.exp().log1p()


def _silu_slope(z):
    s = _sigmoid(z)
    return s * (1 + z * (1 - s))


PHI = {
    "relu": lambda z: z.max(arb(0)),
    "softplus": _softplus,
    "tanh": arb.tanh,
    "sigmoid": _sigmoid,
    "erf": arb.erf,
    "gelu": lambda z: z * _cdf(z),
    "silu": lambda z: z * _sigmoid(z),
    "quadratic": lambda z: z * z / 2,
    "leaky_relu": lambda z: z.max(LEAK * z),
    "sin": arb.sin,
}
SLOPE = {
    "relu": lambda z: arb(0) if z < 0 else arb(1),
    "softplus": _sigmoid,
    "tanh": lambda z: 1 - z.tanh() ** 2,
    "sigmoid": lambda z: _sigmoid(z) * (1 - _sigmoid(z)),
    "erf": lambda z: 2 / arb.pi().sqrt() * (-z * z).exp(),
    "gelu": lambda z: _cdf(z) + z * _density(z),
    "silu": _silu_slope,
    "quadratic": lambda z: z,
    "leaky_relu": lambda z: arb(LEAK) if z < 0 else arb(1),
    "sin": arb.cos,
}


class Output:
    """f(x_i) = sum_j v_j phi(<w_j, x_i>) at the distinct unit points, whose rows are X; targets y, counts of
    samples."""

    def __init__(self, phi, X, y, count, v):
        self.phi, self.slope = PHI[phi], SLOPE[phi]
        self.X, self.y, self.count, self.v = X, y, count, v
        self.n, self.m = X.nrows(), len(v)
        self.G = X * X.transpose()

    def preactivations(self, W):
        return (self.X * W.transpose()).tolist()

    def residual(self, Z):
        return [sum((v * self.phi(z) for v, z in zip(self.v, row)), arb(0)) - y for row, y in zip(Z, self.y)]

    def misfit(self, r):
        """||r|| over all samples: equal points count as often as they occur."""
        return sum((c * x * x for c, x in zip(self.count, r)), arb(0)).sqrt()

    def slopes(self, Z):
        """v_j phi'(z_ij): row i of the Jacobian is their outer product with x_i."""
        return [[v * self.slope(z) for v, z in zip(self.v, row)] for row in Z]

    def tangent(self, S):
        """J J^T, weighted: entry ij times sqrt(count_i count_j), as all samples together see it."""
        S = arb_mat(S)
        P = S * S.transpose()
        weight = [arb(c).sqrt() for c in self.count]
        return [[P[i, j] * self.G[i, j] * weight[i] * weight[j] for j in range(self.n)] for i in range(self.n)]

    def back(self, S, c):
        """J^T c, m x d."""
        scaled = arb_mat([[ci * s for s in row] for ci, row in zip(c, S)])
        return scaled.transpose() * self.X


def frobenius(A):
    return sum((x * x for x in A.entries()), arb(0)).sqrt()


def matrix(A):
    return arb_mat([[arb(float(x)) for x in row] for row in A])
