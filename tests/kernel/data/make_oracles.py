#!/usr/bin/env python3
"""Writes activation_oracle.csv and dual_oracle.csv beside itself (needs mpmath; about three minutes).

Activations: textbook formulas at 400 digits. Dual activations: not by Hermite series but by integration,
E[f(a) f(b)] over the plane with a = alpha p + beta q, b = alpha p - beta q, by the trapezoidal rule (smooth f: exact to
1e-20), and for relu by Gauss-Legendre over a of f(a) E[f(b) | a]. Every value is the nearest double.
"""

import math
import pathlib

from mpmath import erf, erfc, exp, log1p, mp, mpf, pi, quad, sqrt, tanh

HERE = pathlib.Path(__file__).parent


def sigmoid(z):
    return 1 / (1 + exp(-z)) if z > 0 else exp(z) / (1 + exp(z))


def density(z):
    return exp(-z * z / 2) / sqrt(2 * pi)


def normal_cdf(z):
    return erfc(-z / sqrt(2)) / 2


def dsigmoid(z):
    return sigmoid(z) * sigmoid(-z)


def sech2(z):
    return 4 * dsigmoid(2 * z)


ACTIVATIONS = {  # phi, phi', phi''
    "relu": (lambda z: max(z, mpf(0)), lambda z: mpf(z >= 0), None),
    "softplus": (lambda z: max(z, mpf(0)) + log1p(exp(-abs(z))), sigmoid, dsigmoid),
    "tanh": (tanh, sech2, lambda z: -2 * tanh(z) * sech2(z)),
    "sigmoid": (sigmoid, dsigmoid, lambda z: dsigmoid(z) * -tanh(z / 2)),
    "erf": (erf, lambda z: 2 / sqrt(pi) * exp(-z * z), lambda z: -4 * z / sqrt(pi) * exp(-z * z)),
    "gelu": (
        lambda z: z * normal_cdf(z),
        lambda z: normal_cdf(z) + z * density(z),
        lambda z: density(z) * (2 - z * z),
    ),
    "silu": (
        lambda z: z * sigmoid(z),
        lambda z: sigmoid(z) * (1 + z * sigmoid(-z)),
        lambda z: dsigmoid(z) * (2 - z * tanh(z / 2)),
    ),
    "quadratic": (lambda z: z * z / 2, lambda z: z, lambda z: mpf(1)),
}
POINTS = [5e-324, 1e-308, 1e-100, 1e-17, 1e-8, 1e-3, 0.1, 0.3, 0.5, 1.0, 1.25, 1.5, 2.0, 2.75, 4.5, 6.0, 8.5, 15.3]
POINTS += [26.1, 37.3, 40.0, 110.7, 700.1, 1e4, 1e100, 1e308, 1.7976931348623157e308]
POINTS = [-z for z in reversed(POINTS)] + [0.0] + POINTS

RHO = [1, 1 - 1e-15, 1 - 1e-9, 1 - 1e-6, 1 - 1e-3, 0.99, 0.9, 0.75, 0.6, 0.5, 0.3, 0.2, 0.1, 1e-2, 1e-5, 1e-12]
RHO = [-float(r) for r in RHO] + [0.0] + [float(r) for r in reversed(RHO)]


def nearest(x):
    if abs(x) < mpf(2) ** -1075:
        return 0.0
    if abs(x) >= mpf(2) ** 1024:
        return math.copysign(math.inf, x)
    return float(x)


def activation_rows():
    for name, functions in ACTIVATIONS.items():
        for z in POINTS:
            mp.dps = 400  # 1 + exp(-700) is not 1
            far = abs(z) >= 1e4  # the limits: mpmath would handle astronomic exponents
            values = [None if f is None else limit(name, k, mpf(z)) if far else f(mpf(z)) for k, f in enumerate(functions)]
            yield [name, z] + ["" if v is None else repr(nearest(v)) for v in values]


def limit(name, order, z):
    """phi^(order) for |z| >= 1e4, where exp(-|z|) is below every double."""
    up = mpf(z > 0)
    ramp = (z * up, up, mpf(0))
    if name in ("relu", "softplus", "gelu", "silu"):
        return ramp[order]
    if name == "quadratic":
        return (z * z / 2, z, mpf(1))[order]
    return (up if name == "sigmoid" else mpf(1 if z > 0 else -1), mpf(0), mpf(0))[order]


def plane(functions, rho):
    """E[f(a) f(b)] for both f: step 1/6 in the plane, analyticity in |Im| < pi/2 leaves exp(-2 pi (pi/2) 6) = 2e-26."""
    alpha, beta, step, reach = sqrt((1 + rho) / 2), sqrt((1 - rho) / 2), mpf(1) / 6, 10
    ticks = range(-6 * reach, 6 * reach + 1)
    sums = [mpf(0), mpf(0)]
    weights = {k: density(k * step) * step for k in ticks}
    if beta == 0 or alpha == 0:
        sign = 1 if beta == 0 else -1
        return [sum(weights[k] * f(k * step) * f(sign * k * step) for k in ticks) for f in functions]
    for j in ticks:
        if j < 0:
            continue  # the integrand is even in q
        for k in ticks:
            a, b = (alpha * k + beta * j) * step, (alpha * k - beta * j) * step
            weight = weights[k] * weights[j] * (2 if j else 1)
            for i, f in enumerate(functions):
                sums[i] += weight * f(a) * f(b)
    return sums


def relu_duals(rho):
    """b given a is N(rho a, s^2): E[b_+ | a] = s (t Phi(t) + density(t)), E[1_{b > 0} | a] = Phi(t), t = rho a/s."""
    s = sqrt(1 - rho * rho)
    if s == 0:
        return [mpf(1) / 2 if rho > 0 else mpf(0)] * 2
    scale = s / max(abs(rho), s)  # t changes over this length
    cuts = [mpf(0)] + [scale * 2**k for k in range(-2, 6)]
    cuts = [c for c in cuts if c < 14] + [mpf(k) * 2 for k in range(1, 8) if mpf(k) * 2 > min(scale * 32, 13)]
    value = quad(
        lambda a: a * density(a) * s * (rho * a / s * normal_cdf(rho * a / s) + density(rho * a / s)), cuts, method="gauss-legendre"
    )
    return [value, quad(lambda a: density(a) * normal_cdf(rho * a / s), cuts, method="gauss-legendre")]


def dual_rows():
    for name, functions in ACTIVATIONS.items():
        mp.dps = 70 if name == "relu" else 28
        for rho in RHO:
            h_tilde, h = relu_duals(mpf(rho)) if name == "relu" else plane(functions[:2], mpf(rho))
            yield [name, rho, repr(nearest(h)), repr(nearest(h_tilde))]


def write(file, header, rows):
    lines = [header] + [",".join(map(str, row)) for row in rows]
    (HERE / file).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write("activation_oracle.csv", "activation,z,phi,dphi,d2phi", activation_rows())
    write("dual_oracle.csv", "activation,rho,h,h_tilde", dual_rows())
