#!/usr/bin/env python3
"""Writes src/kernel/hermite_tables.inc: Hermite coefficients of the smooth activations, each rounded once to double.

    python scripts/hermite_tables.py > src/kernel/hermite_tables.inc        (needs mpmath; 15 seconds)

mu_r = E[phi(g) He_r(g)]/sqrt(r!) by the trapezoidal rule on the real line at 70 digits: for phi analytic in a strip of
half-width a it converges like exp(-2 pi a/step). Halving the step checks it, and so do Parseval's identity against a
Gauss-Legendre quadrature of E[phi^2], E[phi'^2] and E[phi''^2], Stein's identity mu_1(phi) = E[phi'], and erf's closed
form. The script exits with 1 if a check fails.
"""

import math
import sys

from mpmath import cos, erf, erfc, exp, linspace, log1p, mp, mpf, pi, quad, sin, sqrt, tanh

mp.dps = 70
TERMS = 260  # computed; the table keeps as many as TAIL asks for
REACH = 26  # nodes in [-REACH, REACH]: exp(-REACH^2/4) = 4e-74 bounds what is left out
STEP = mpf(1) / 16
TAIL = mpf("1e-17")


def sigmoid(z):
    return 1 / (1 + exp(-z))


def density(z):
    return exp(-z * z / 2) / sqrt(2 * pi)


def dsigmoid(z):
    return sigmoid(z) * sigmoid(-z)


def normal_cdf(z):
    return erfc(-z / sqrt(2)) / 2


PHI = {  # name: phi, phi', phi''
    "softplus": (lambda z: log1p(exp(z)), sigmoid, dsigmoid),
    "tanh": (tanh, lambda z: 1 - tanh(z) ** 2, lambda z: -2 * tanh(z) * (1 - tanh(z) ** 2)),
    "sigmoid": (sigmoid, dsigmoid, lambda z: dsigmoid(z) * (1 - 2 * sigmoid(z))),
    "erf": (erf, lambda z: 2 / sqrt(pi) * exp(-z * z), lambda z: -4 * z / sqrt(pi) * exp(-z * z)),
    "gelu": (lambda z: z * normal_cdf(z), lambda z: normal_cdf(z) + z * density(z), lambda z: density(z) * (2 - z * z)),
    "silu": (
        lambda z: z * sigmoid(z),
        lambda z: sigmoid(z) + z * dsigmoid(z),
        lambda z: dsigmoid(z) * (2 + z * (1 - 2 * sigmoid(z))),
    ),
    "sin": (sin, cos, lambda z: -sin(z)),
}


def add_nodes(sums, phi, nodes, roots):
    """sums[r] += sum over z and -z of phi(z) He_r(z)/sqrt(r!) density(z)."""
    for z in nodes:
        weight = density(z)
        right, left = phi(z), phi(-z) if z else mpf(0)
        parts = ((right + left) * weight, (right - left) * weight)
        before, he = mpf(0), mpf(1)
        for r in range(TERMS):
            sums[r] += parts[r % 2] * he
            before, he = he, (z * he - roots[r] * before) / roots[r + 1]


def coefficients(phi):
    """mu_0 .. mu_{TERMS-1} at STEP/2, and their largest change from STEP to STEP/2."""
    roots = [sqrt(mpf(r)) for r in range(TERMS + 1)]
    count = int(REACH / STEP)
    sums = [mpf(0)] * TERMS
    add_nodes(sums, phi, [k * STEP for k in range(count + 1)], roots)
    coarse = [STEP * s for s in sums]
    add_nodes(sums, phi, [(k + mpf(1) / 2) * STEP for k in range(count)], roots)
    fine = [STEP / 2 * s for s in sums]
    return fine, max(abs(a - b) for a, b in zip(fine, coarse))


def second_moment(f):
    return quad(lambda z: f(z) ** 2 * density(z), linspace(-REACH, REACH, 53), method="gauss-legendre")


def rounded_up(x):
    y = float(x)
    return y if mpf(y) >= x else math.nextafter(y, math.inf)


def check(name, what, deviation, limit):
    print(f"{name:9}{what:44}{float(deviation):9.1e}  (limit {float(limit):.0e})", file=sys.stderr)
    if not deviation <= limit:
        sys.exit(f"{name}: {what} fails")


def table(name):
    phi, dphi, d2phi = PHI[name]
    mu, change = coefficients(phi)
    check(name, "halving the step changes mu by", change, mpf("1e-45"))
    moments = [second_moment(f) for f in (phi, dphi, d2phi)]
    tails = [[m] for m in moments]  # tails[k][n]: what the terms below mu_n leave of E[(k-th derivative)^2]
    for r, m in enumerate(mu):
        for k in range(3):
            tails[k].append(tails[k][-1] - math.perm(r, k) * m * m)
    for k in range(3):
        check(name, f"Parseval, {TERMS} terms, derivative {k}: |rest|", abs(tails[k][-1]), 100**k * mpf("1e-20"))
        check(name, f"Parseval, derivative {k}: negative rest", max(mpf(0), -tails[k][-1]), mpf("1e-45"))
    mean = quad(lambda z: dphi(z) * density(z), linspace(-REACH, REACH, 53), method="gauss-legendre")
    check(name, "Stein: |mu_1 - E[phi']|", abs(mu[1] - mean), mpf("1e-45"))
    if name == "erf":  # E[erf(a) erf(b)] = (2/pi) asin(2 rho/3), term by term
        for k in range(0, 60):
            exact = 2 / pi * mpf(math.comb(2 * k, k)) / 4**k / (2 * k + 1) * (mpf(2) / 3) ** (2 * k + 1)
            check(name, f"closed form of mu_{2 * k + 1}^2", abs(mu[2 * k + 1] ** 2 - exact), mpf("1e-45"))
    if name == "sin":  # E[sin(a) sin(b)] = sinh(rho)/e
        for k in range(0, 60):
            exact = 1 / exp(1) / mpf(math.factorial(2 * k + 1))
            check(name, f"closed form of mu_{2 * k + 1}^2", abs(mu[2 * k + 1] ** 2 - exact), mpf("1e-45"))
    length = next(n for n in range(TERMS) if tails[0][n] < TAIL and tails[1][n] < TAIL)
    zero = mpf("1e-40")  # each phi is even or odd but for a constant or linear term: every second one is 0
    values = [repr(float(m)) if abs(m) > zero else "0" for m in mu[:length]]
    bounds = [rounded_up(bound) for bound in (tails[0][length], tails[1][length], moments[2])]
    print(f'{{"{name}", {", ".join(map(repr, bounds))}, {{')
    line = "   "
    for value in values:
        if len(line) + len(value) > 108:
            print(line)
            line = "   "
        line += f" {value},"
    print(line + "}},")
    for k, what in ((1, "phi'"), (0, "phi")):
        short = next(n for n in range(TERMS) if tails[k][n] < mpf("1e-16"))
        print(f"{name:9}terms of {what} for a tail below 1e-16: {short - k}", file=sys.stderr)


print("// Written by scripts/hermite_tables.py: 70-digit values rounded once to double.")
print("// {name, tail of phi, tail of phi', E[phi''^2] (these three rounded up), {mu_0(phi), mu_1(phi), ..}}")
for activation in PHI:
    table(activation)
