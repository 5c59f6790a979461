#!/usr/bin/env python3
"""Writes activation_oracle.csv, dual_oracle.csv, entries_oracle.csv, deep_oracle.csv, deep_series_oracle.csv and
tail_oracle.csv beside itself, or those that are named (needs mpmath; about five minutes).

Activations: textbook formulas at 400 digits. Dual activations: not by Hermite series but by integration,
E[f(a) f(b)] over the plane with a = alpha p + beta q, b = alpha p - beta q, by the trapezoidal rule (smooth f: exact to
1e-20), and for relu and leaky_relu by Gauss-Legendre over a of f(a) E[f(b) | a]. Every value is the nearest double. At
the many rho of entries_oracle.csv, 22 digits by closed forms or Hermite series (tail below 1e-18), which the integrals
check. deep_oracle.csv composes these at 50 digits, a = 0 for plain layers; deep_series_oracle.csv holds Taylor
coefficients of these compositions. tail_oracle.csv has 40 digits of the sums of
c_r x^r over r >= N, where rho h(rho) = sum of c_r rho^r.
"""

import math
import pathlib
import random
import sys

from mpmath import (
    acos,
    asin,
    binomial,
    cos,
    cosh,
    e,
    erf,
    erfc,
    exp,
    expjpi,
    log1p,
    mp,
    mpf,
    nstr,
    pi,
    polyval,
    quad,
    sin,
    sinh,
    sqrt,
    tanh,
)

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
    "leaky_relu": (lambda z: z if z > 0 else LEAKS["leaky_relu"] * z,
                   lambda z: mpf(1) if z >= 0 else LEAKS["leaky_relu"], None),
    "sin": (sin, cos, lambda z: -sin(z)),
}
LEAKS = {"relu": mpf(0), "leaky_relu": mpf(0.01)}  # phi(z) = z for z >= 0, leak z below
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
            values = [None if f is None else limit(name, k, mpf(z)) if far else f(mpf(z))
                      for k, f in enumerate(functions)]
            yield [name, z] + ["" if v is None else repr(nearest(v)) for v in values]


def limit(name, order, z):
    """phi^(order) for |z| >= 1e4, where exp(-|z|) is below every double."""
    if name in ("leaky_relu", "sin"):
        return ACTIVATIONS[name][order](z)
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


def leak_duals(rho, leak):
    """b given a is N(rho a, s^2): E[b_+ | a] = s (t Phi(t) + density(t)), E[1_{b > 0} | a] = Phi(t), t = rho a/s, and
    phi is leak z + (1 - leak) z_+."""
    s = sqrt(1 - rho * rho)
    if s == 0:
        return [(1 + leak * leak) / 2] * 2 if rho > 0 else [-leak, leak]
    scale = s / max(abs(rho), s)  # t changes over this length
    cuts = [mpf(0)] + [scale * 2**k for k in range(-2, 6)]
    cuts = [c for c in cuts if c < 14] + [mpf(k) * 2 for k in range(1, 8) if mpf(k) * 2 > min(scale * 32, 13)]

    def given(a):  # E[phi(b) | a], E[phi'(b) | a]
        t = rho * a / s
        return leak * rho * a + (1 - leak) * s * (t * normal_cdf(t) + density(t)), leak + (1 - leak) * normal_cdf(t)

    def parts(sign, slope):
        def integral(k, weight):
            return quad(lambda a: slope * weight(a) * density(a) * given(sign * a)[k], cuts, method="gauss-legendre")

        return [integral(0, lambda a: sign * a), integral(1, lambda a: 1)]

    halves = [parts(1, mpf(1))] + ([parts(-1, leak)] if leak else [])
    return [sum(half[k] for half in halves) for k in range(2)]


def dual_rows():
    for name, functions in ACTIVATIONS.items():
        mp.dps = 70 if name in LEAKS else 28
        for rho in RHO:
            h_tilde, h = leak_duals(mpf(rho), LEAKS[name]) if name in LEAKS else plane(functions[:2], mpf(rho))
            yield [name, rho, repr(nearest(h)), repr(nearest(h_tilde))]


def leak_closed(leak, r):
    """phi = leak z + (1 - leak) relu, and E[a relu(b)] = rho/2."""
    share = (1 - leak) ** 2
    return leak * r + share * (sqrt(1 - r * r) + acos(-r) * r) / (2 * pi), leak + share * acos(-r) / (2 * pi)


CLOSED = {  # h~ and h, given rho
    "relu": lambda r: leak_closed(mpf(0), r),
    "leaky_relu": lambda r: leak_closed(LEAKS["leaky_relu"], r),
    "sin": lambda r: (sinh(r) / e, cosh(r) / e),
    "erf": lambda r: (2 / pi * asin(2 * r / 3), 4 / pi / sqrt(9 - 4 * r * r)),
    "quadratic": lambda r: ((1 + 2 * r * r) / 4, r),
}


def many_rho():
    """All of [-1, 1], both ends, 0 and both sides of 1/2 and 3/4, where Highway's asin(rho) and asin(2 rho/3)
    change."""
    draw = random.Random(7)
    positive = [float(r) for r in RHO if r > 0] + [draw.random() for _ in range(60)]
    positive += [1 - draw.random() * 2.0**-k for k in range(3, 53, 4)] + [draw.random() * 2.0**-k
                                                                          for k in range(3, 60, 6)]
    positive += [c + draw.random() * s * 2.0**-k for c in (0.5, 0.75) for s in (1, -1) for k in (3, 9, 24, 50)] + [0.5,
                                                                                                                   0.75]
    positive += [0.511784284206535, 0.5071977973649405, 1 - 2.0**-53, 1 - 2.0**-52, 1e-300]
    return [-r for r in sorted(positive, reverse=True)] + [0.0] + sorted(positive)


def hermite_squares(functions):
    """mu_r(f)^2, r < 260, of each f: the trapezoidal rule as in scripts/hermite_tables.py."""
    terms, step = 260, mpf(1) / 32
    sums, roots = [[mpf(0)] * terms for _ in functions], [sqrt(mpf(r)) for r in range(terms + 1)]
    for k in range(-26 * 32, 26 * 32 + 1):
        z = k * step
        values = [f(z) * density(z) * step for f in functions]
        before, he = mpf(0), mpf(1)
        for r in range(terms):
            for total, value in zip(sums, values):
                total[r] += value * he
            before, he = he, (z * he - roots[r] * before) / roots[r + 1]
    return [[m * m for m in total] for total in sums]


def exact_duals(name, functions):
    """rho -> h~ and h."""
    if name in CLOSED:
        return CLOSED[name]
    squares = [list(reversed(s)) for s in hermite_squares(functions[:2])]
    return lambda r: [polyval(s, r) for s in squares]


def entries_rows():
    for name, functions in ACTIVATIONS.items():
        mp.dps = 50
        duals = exact_duals(name, functions)
        for rho in (1, -1, 0.75, -0.3):
            by_integral = leak_duals(mpf(rho), LEAKS[name]) if name in LEAKS else plane(functions[:2], mpf(rho))
            for a, b in zip(duals(mpf(rho)), by_integral):
                assert abs(a - b) < mpf(10) ** -18, (name, rho, a, b)
        for rho in many_rho():
            h_tilde, h = duals(mpf(rho))
            yield [name, repr(rho), nstr(h, 22), nstr(h_tilde, 22)]


def deep_rows():
    """rho_L and Theta_L as the definitions say: plain Theta_l = rho_l + Theta_(l-1) q; residual by P."""
    for name, functions in ACTIVATIONS.items():
        mp.dps = 50
        duals = exact_duals(name, functions)
        unit = duals(mpf(1))[0]
        for layers, a in ((1, 0), (2, 0), (3, 0), (10, 0), (30, 0), (1, 1), (10, 1), (4, 0.5)):
            for start in [r for r in many_rho() if abs(r) > 1e-10 or r == 0][::8] + RHO[::2]:
                rho = theta = P = mpf(start)
                for _ in range(layers):
                    h_tilde, h = duals(rho)
                    H, q = h_tilde / unit, h / unit
                    if a:
                        s = mpf(a) ** 2
                        P = (P * (1 + s * q) + s * rho * q + s * H) / (1 + s)
                        rho = (rho + s * H) / (1 + s)
                        theta = rho + P
                    else:
                        rho, theta = H, H + theta * q
                yield [name, layers, a, repr(start), nstr(rho, 22), nstr(theta, 22)]


def deep_series_rows():
    """Coefficients of Theta_L by Cauchy's integral over |rho| = 1/2, where 512 points leave 1e-120."""
    mp.dps = 60
    points = [expjpi(mpf(2) * j / 512) / 2 for j in range(512)]
    for name, functions in ACTIVATIONS.items():
        duals = exact_duals(name, functions)
        unit = duals(mpf(1))[0]
        for layers, a in ((1, 0), (2, 0), (3, 0), (8, 0), (1, 1), (5, mpf(1) / 2)):
            values = []
            for point in points:
                rho, P = point, point if a else mpf(0)
                keep, move = (1 / (1 + a * a), a * a / (1 + a * a)) if a else (0, 1)
                for _ in range(layers):
                    H, q = (value / unit for value in duals(rho))
                    P = keep * P + move * (q * (P + rho) + (H if a else 0))
                    rho = keep * rho + move * H
                values.append(rho + P)
            for r in (0, 1, 2, 3, 4, 5, 8, 13, 24, 57):
                c = sum(v * expjpi(mpf(-2) * j * r / 512) for j, v in enumerate(values)).real / 512 * mpf(2) ** r
                yield [name, layers, nstr(mpf(a), 5), r, nstr(c if c > mpf(10) ** -30 else mpf(0), 25)]


def tail_rows():
    for name, functions in ACTIVATIONS.items():
        mp.dps = 60
        if name in LEAKS:  # closed form minus the first terms of leak rho + share (rho/4 + rho asin(rho)/(2 pi))
            leak = LEAKS[name]
            share, all_of = (1 - leak) ** 2, lambda x, leak=leak: x * leak_closed(leak, x)[1]
            c = [mpf(0), (1 + leak) ** 2 / 4] + [
                mpf(0) if r % 2 else share / (2 * pi) * binomial(r - 2, (r - 2) // 2) / 2 ** (r - 2) / (r - 1)
                for r in range(2, 200)]
        else:  # E[phi'^2] minus the first terms at 1; elsewhere what is beyond 260 terms is below 1e-17 x^260
            (squares,) = hermite_squares(functions[1:2])
            step = mpf(1) / 32
            total = sum(functions[1](k * step) ** 2 * density(k * step) * step for k in range(-26 * 32, 26 * 32 + 1))
            c = [mpf(0), *squares]
            all_of = lambda x, c=c, total=total: total if x == 1 else polyval(list(reversed(c)), x)
        for N in (1, 2, 3, 4, 5, 8, 9, 16, 17, 24, 25, 56, 57, 112):
            for x in map(mpf, (0.125, 0.5, 0.875, 0.984375, 1)):
                t = all_of(x) - polyval(list(reversed(c[:N])), x)
                t = t if t > mpf(10) ** -45 else mpf(0)  # of numbers near 1 with 60 digits
                yield [name, N, nstr(x, 10), nstr(t, 40)]


def write(file, header, rows):
    lines = [header] + [",".join(map(str, row)) for row in rows]
    (HERE / file).write_text("\n".join(lines) + "\n")


FILES = {
    "activation_oracle.csv": ("activation,z,phi,dphi,d2phi", activation_rows),
    "dual_oracle.csv": ("activation,rho,h,h_tilde", dual_rows),
    "entries_oracle.csv": ("activation,rho,h,h_tilde", entries_rows),
    "deep_oracle.csv": ("activation,layers,scale,rho,features,tangent", deep_rows),
    "deep_series_oracle.csv": ("activation,layers,scale,r,c", deep_series_rows),
    "tail_oracle.csv": ("activation,N,x,t", tail_rows),
}

if __name__ == "__main__":
    for file in sys.argv[1:] or FILES:
        write(file, FILES[file][0], FILES[file][1]())
