#!/usr/bin/env python3
"""Squared Hermite coefficients mu_r(phi)^2 of softplus, tanh and silu, with proven errors: writes data/hermite.json.

mu_r = E[phi(g) he_r(g)], he_r = He_r/sqrt(r!), by the trapezoidal rule with step h on the whole line, which for an
integrand g analytic in |Im z| < a is off by at most 2 M/(e^(2 pi a/h) - 1), M the supremum over |y| <= a of the
integral of |g(x + iy)|. Here |pdf(x + iy)| = pdf(x) e^(y^2/2), |phi(x + iy)| <= 4 (1 + |x|) for |y| <= 1.3, and He_r(z)
= E (z + iG)^r, so with Z = X + iG and Minkowski's inequality M <= 4 e^(a^2/2) E[(1 + |Z|) |Z + ia|^r]/sqrt(r!), where
(E |Z|^r) = 2^(r/2) Gamma(r/2 + 1). Beyond |x| = 32 Cramer's inequality |he_r(x)| e^(-x^2/4) <= 1.0865 leaves less than
2^-340.

    python make_hermite.py > data/hermite.json"""

import json
import sys

from flint import acb, arb, ctx, fmpq, fmpz

TERMS = {"softplus": 320, "tanh": 900, "silu": 320}
BITS = 240  # of the fixed point in which the squares are stored
STRIP, STEP, NODES = fmpq(13, 10), fmpq(3, 128), 1366


def strip_bound(r):
    a = arb(STRIP)

    def moment(q):  # E |Z + ia|^q
        if q == 0:
            return arb(1)
        norm = (arb(2) ** (arb(q) / 2) * arb(fmpq(q, 2) + 1).gamma()) ** (1 / arb(q))
        return (norm + a) ** q

    size = 4 * (a * a / 2).exp() * ((1 + a) * moment(r) + moment(r + 1)) / arb(r).fac().sqrt()
    return 2 * size / ((2 * arb.pi() * a / arb(STEP)).exp() - 1)


def coefficients():
    """mu_r of tanh, log(2 cosh(z/2)) and z tanh(z/2)/2: one parity each, so half of the line serves."""
    most = max(TERMS.values())
    parts = {"softplus": lambda x: (2 * (x / 2).cosh()).log(), "tanh": arb.tanh,
             "silu": lambda x: x * (x / 2).tanh() / 2}
    sums = {name: [arb(0)] * (TERMS[name] + 1) for name in parts}
    roots = [arb(r).sqrt() for r in range(most + 2)]
    for k in range(NODES + 1):
        x = arb(STEP * k)
        weight = arb(STEP) * (-x * x / 2).exp() / (2 * arb.pi()).sqrt() * (1 if k == 0 else 2)
        values = {name: weight * phi(x) for name, phi in parts.items()}
        before, he = arb(0), arb(1)
        for r in range(most + 1):
            for name, value in values.items():
                if r <= TERMS[name] and (r % 2 == 1) == (name == "tanh"):
                    sums[name][r] += value * he
            before, he = he, (x * he - roots[r] * before) / roots[r + 1]
    edge = arb(2) ** -340
    for name, mu in sums.items():
        for r in range(len(mu)):
            if (r % 2 == 1) == (name == "tanh"):
                mu[r] += arb(0, (strip_bound(r) + edge).upper())
    sums["softplus"][1] = sums["silu"][1] = arb(fmpq(1, 2))  # both are z/2 plus their even parts
    return sums


def second_moment(f):
    """E f(g)^2, f bounded by 1 + |z|: what lies beyond 40 is below 2^-1100."""
    g = lambda z, analytic: f(z, analytic) ** 2 * (-z * z / 2).exp()
    return acb.integral(g, -40, 40).real / (2 * arb.pi()).sqrt() + arb(0, arb(2) ** -1100)


def energies():
    """E phi^2, E phi'^2 and E phi''^2; poles on the way to the real line are for acb.integral to find."""
    s = lambda z, _: 1 / (1 + (-z).exp())
    t = lambda z, _: z.tanh()
    softplus = lambda z, analytic: (2 * (z / 2).cosh()).log(analytic=analytic) + z / 2
    return {
        "softplus": (second_moment(softplus), second_moment(s), second_moment(lambda z, _: s(z, _) * s(-z, _))),
        "tanh": (second_moment(t), second_moment(lambda z, _: 1 - t(z, _) ** 2), None),
        "silu": (second_moment(lambda z, _: z * s(z, _)),
                 second_moment(lambda z, _: s(z, _) * (1 + z * s(-z, _))), None),
    }  # fmt: skip


def main():
    ctx.prec = 300
    moments = energies()
    ctx.prec = 2500  # the recurrence of he_r loses bits
    mu = coefficients()
    table = {}
    for name, values in mu.items():
        scaled = [x * x * arb(2) ** BITS for x in values]
        if not all(x.rad() < arb(0.25) for x in scaled):
            sys.exit(f"{name}: the coefficients are not accurate enough")
        rounded = [int((x.mid() + arb(0.5)).floor().unique_fmpz()) for x in scaled]
        squares = [arb(fmpz(k)) / arb(2) ** BITS + arb(0, arb(2) ** -BITS) for k in rounded]
        tails = []
        for order, moment in enumerate(moments[name]):
            if moment is None:
                continue
            falling = lambda r, order=order: arb(fmpq(1)) if order == 0 else arb(r) if order == 1 else arb(r * (r - 1))
            rest = moment - sum(falling(r) * square for r, square in enumerate(squares))
            tails.append(float(rest.upper() * arb(1.001)))
        table[name] = {"bits": BITS, "squares": [hex(k) for k in rounded], "tails": tails}
    json.dump(table, sys.stdout, indent=0)
    print()


if __name__ == "__main__":
    main()
