"""Numbers for the tests of zeroloss-check, by other ways than its own: quadrature, Jacobi's rotations, fractions."""

import math

SMOOTH = {
    "tanh": (math.tanh, lambda z: 1 / math.cosh(z) ** 2, lambda z: -2 * math.tanh(z) / math.cosh(z) ** 2),
    "sigmoid": (lambda z: 1 / (1 + math.exp(-z)), lambda z: 1 / (2 + 2 * math.cosh(z)), None),
    "softplus": (lambda z: math.log1p(math.exp(z)), lambda z: 1 / (1 + math.exp(-z)), None),
    "silu": (lambda z: z / (1 + math.exp(-z)), lambda z: (1 + z / (1 + math.exp(z))) / (1 + math.exp(-z)), None),
    "gelu": (
        lambda z: z * math.erfc(-z / math.sqrt(2)) / 2,
        lambda z: math.erfc(-z / math.sqrt(2)) / 2 + z * math.exp(-z * z / 2) / math.sqrt(2 * math.pi),
        None,
    ),
    "erf": (math.erf, lambda z: 2 / math.sqrt(math.pi) * math.exp(-z * z), None),
    "sin": (math.sin, math.cos, None),
    "quadratic": (lambda z: z * z / 2, lambda z: z, None),
    "identity": (lambda z: z, lambda z: 1.0, None),
}

STEP = 0.25
NODES = [STEP * k for k in range(-36, 37)]
WEIGHTS = [STEP * math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in NODES]


def expected(f, rho):
    """E[f(u) f(v)] for standard normal u, v of correlation rho: the trapezoidal rule, for smooth f."""
    beside = math.sqrt(max(0.0, 1 - rho * rho))
    total = 0.0
    for x, a in zip(NODES, WEIGHTS):
        total += a * f(x) * sum(b * f(rho * x + beside * y) for y, b in zip(NODES, WEIGHTS))
    return total


def leak_hidden(a, rho):
    theta = math.acos(max(-1.0, min(1.0, rho)))
    return a + (1 - a) ** 2 * (math.pi - theta) / (2 * math.pi)


def leak_output(a, rho):
    theta = math.acos(max(-1.0, min(1.0, rho)))
    relu = (math.sin(theta) + (math.pi - theta) * math.cos(theta)) / (2 * math.pi)
    return a * rho + (1 - a) ** 2 * relu


def duals(activation):
    """h and h~ as functions of rho."""
    leaks = {"relu": 0.0, "leaky_relu": 0.01}
    if isinstance(activation, dict) or activation in leaks:
        a = float.fromhex(activation["leak"]) if isinstance(activation, dict) else leaks[activation]
        return (lambda rho: leak_hidden(a, rho)), (lambda rho: leak_output(a, rho))
    value, slope, _ = SMOOTH[activation]
    return (lambda rho: expected(slope, rho)), (lambda rho: expected(value, rho))


def kernel(spec):
    """The kernel of a lambda_min claim as a function of rho."""
    if spec["of"] == "power":
        return lambda rho: rho ** spec["exponent"]
    hidden, output = duals(spec["activation"])
    if spec["of"] == "hidden":
        return lambda rho: rho * hidden(rho)
    if spec["of"] == "output":
        return output
    count, residual, trained = spec["layers"], spec.get("residual", False), spec.get("trained", "all")
    one = output(1.0)
    a2 = float.fromhex(spec["branch"]) ** 2 if residual else 0.0
    keep, move = (1 / (1 + a2), a2 / (1 + a2)) if residual else (0.0, 1.0)

    def deep(rho):
        r, p = rho, rho if residual else 0.0
        for _ in range(count):
            h, q = output(r) / one, hidden(r) / one
            p = keep * p + move * (q * (p + r) + (h if residual else 0))
            r = keep * r + move * h
        return {"all": r + p, "hidden": p, "output": r}[trained]

    return deep


def eigenvalues(a):
    """Of a symmetric matrix, by Jacobi's rotations."""
    a = [row[:] for row in a]
    n = len(a)
    for _ in range(60):
        off = sum(a[i][j] ** 2 for i in range(n) for j in range(i))
        if off < 1e-40:
            break
        for p in range(n):
            for q in range(p + 1, n):
                if a[p][q] == 0:
                    continue
                t = (a[q][q] - a[p][p]) / (2 * a[p][q])
                t = math.copysign(1, t) / (abs(t) + math.sqrt(1 + t * t))
                c = 1 / math.sqrt(1 + t * t)
                s = t * c
                for k in range(n):
                    x, y = a[k][p], a[k][q]
                    a[k][p], a[k][q] = c * x - s * y, s * x + c * y
                for k in range(n):
                    x, y = a[p][k], a[q][k]
                    a[p][k], a[q][k] = c * x - s * y, s * x + c * y
    return sorted(a[i][i] for i in range(n))


def unit(row):
    norm = math.sqrt(sum(x * x for x in row))
    return [x / norm for x in row]


def dot(x, y):
    return sum(a * b for a, b in zip(x, y))


def kernel_matrix(rows, spec):
    k = kernel(spec)
    return [[k(1.0 if i == j else dot(x, y)) for j, y in enumerate(rows)] for i, x in enumerate(rows)]


def solve(a, b):
    """Of linear equations, by elimination with pivots."""
    n = len(a)
    m = [[*row[:], b[i]] for i, row in enumerate(a)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(m[i][k]))
        m[k], m[pivot] = m[pivot], m[k]
        for i in range(k + 1, n):
            f = m[i][k] / m[k][k]
            for j in range(k, n + 1):
                m[i][j] -= f * m[k][j]
    x = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (m[k][n] - sum(m[k][j] * x[j] for j in range(k + 1, n))) / m[k][k]
    return x
