#!/usr/bin/env python3
"""Writes src/kernel/activations/tables.inc: minimax polynomials and rational functions for exp, log1p, erf, erfcx and
the normal tail, by Remez' exchange at 70 digits, each coefficient rounded once by the compiler that reads it.

    python scripts/erf_coefficients.py > src/kernel/activations/tables.inc        (needs mpmath; with gmpy2 40 seconds)
"""

import textwrap
from itertools import pairwise

from mpmath import cos, erf, erfc, exp, log, lu_solve, matrix, mp, mpf, nstr, pi, sqrt

mp.dps = 70


def value(coefficients, x):
    result = mpf(0)
    for c in reversed(coefficients):
        result = result * x + c
    return result


def levelled(f, weight, points, m, n):
    """p, q, E with (p/q)/f - 1 = +-E/weight, signs alternating, at m + n + 2 points. The products of E and q's
    coefficients are linearised by iteration."""
    size, error = m + n + 2, mpf(0)
    a, b = matrix(size, size), matrix(size, 1)
    for _ in range(20):
        for i, x in enumerate(points):
            sign = (-1) ** i / mpf(weight(x))
            b[i] = f(x)
            for k in range(m + 1):
                a[i, k] = x**k
            for k in range(1, n + 1):
                a[i, m + k] = -b[i] * x**k * (1 + sign * error)
            a[i, size - 1] = -b[i] * sign
        z = lu_solve(a, b)
        last, error = error, z[size - 1]
        if abs(error - last) <= abs(error) * mpf("1e-3"):
            break
    return list(z[: m + 1]), [mpf(1), *z[m + 1 : size - 1]], error


def extremes(error, us, grid=12):
    """The largest error of each run of equal sign on [-1, 1], seen on a grid that refines the points us."""
    edges = [mpf(-1), *us, mpf(1)]
    runs = []
    for a, b in pairwise(edges):
        for u in (a + (b - a) * j / grid for j in range(grid + 1)):
            e = error(u)
            if runs and (runs[-1][0] > 0) == (e > 0):
                runs[-1] = max(runs[-1], (e, u), key=lambda run: abs(run[0]))
            else:
                runs.append((e, u))
    return runs


def remez(f, m, n, mapping, weight=lambda x: 1):
    """Numerator (degree m), denominator (degree n) and the largest weighted relative error on mapping([-1, 1]).
    Where a step of the exchange overshoots, half of it is tried."""
    size = m + n + 2
    us = [-cos(pi * i / (size - 1)) for i in range(size)]
    best, step = None, mpf(1)
    for _ in range(40):
        p, q, level = levelled(f, weight, [mapping(u) for u in us], m, n)
        off = lambda x, p=p, q=q: (value(p, x) / value(q, x) / f(x) - 1) * weight(x)
        runs = extremes(lambda u, off=off: off(mapping(u)), us)
        worst = max(abs(e) for e, _ in runs)
        if len(runs) < size or (best and worst > best[2]):
            step /= 2
        else:
            while len(runs) > size:
                runs.pop(0 if abs(runs[0][0]) < abs(runs[-1][0]) else -1)
            best, step = (p, q, worst, us, [u for _, u in runs]), min(mpf(1), 2 * step)
            if worst < abs(level) * mpf("1.02"):
                break
        us = [a + (b - a) * step for a, b in zip(best[3], best[4])]
    return best[:3]


def interval(a, b):
    return lambda u: (mpf(a) + mpf(b)) / 2 + (mpf(b) - mpf(a)) / 2 * u


def from_zero(b):
    """[-1, 1] -> [0, b] with points dense at 0."""
    top = mpf(b) / (b + 1)
    return lambda u: 1 / (1 - top * (1 + u) / 2) - 1


def mills(t):
    return erfc(t / sqrt(mpf(2))) / 2 * exp(t * t / 2)


def erfcx(x):
    return erfc(x) * exp(x * x)


def exp_rest(r):
    return (exp(r) - 1 - r) / r**2 if abs(r) > mpf("1e-20") else mpf(1) / 2


def atanh_rest(w):
    s = sqrt(w)
    return (log((1 + s) / (1 - s)) / s - 2) / w if w > mpf("1e-20") else mpf(2) / 3


def erf_rest(y):
    return erf(sqrt(y)) / sqrt(y) - 1 if y > 0 else 2 / sqrt(pi) - 1


def show(kind, name, coefficients):
    numbers = [nstr(c, 10 if kind == "float" else 19, min_fixed=0, max_fixed=0) for c in coefficients]
    text = ", ".join(number + ("f" if kind == "float" else "") for number in numbers)
    lines = textwrap.wrap(text, 100)
    print(f"  static constexpr {kind} {name}[] = {{\n      " + "\n      ".join(lines) + "};")


def polynomial(kind, name, f, degree, mapping, weight):
    """Its weight makes the error that of the function which the polynomial serves."""
    p, _, error = remez(f, degree, 0, mapping, weight)
    print(f"  // {nstr(error, 2)}")
    show(kind, name, p)


def rational(kind, name, f, degree, end):
    p, q, error = remez(f, degree - 1, degree, from_zero(end))
    assert min(p + q) > 0  # sums of positive terms only: no cancellation
    print(f"  // on [0, {end}]: {nstr(error, 2)}")
    show(kind, name + "P", p)
    show(kind, name + "Q", q)


def table(kind, exp_degree, log_degree, erf_degree, erfcx_degree, erfcx_end, mills_degree, mills_end):
    print(f"template <>\nstruct Tables<{kind}> {{")
    polynomial(kind, "kExp", exp_rest, exp_degree, interval("-.35", ".35"), lambda r: max(r * r / exp(r), mpf("1e-3")))
    polynomial(kind, "kLog", atanh_rest, log_degree, interval(0, mpf(1) / 9), lambda w: (w + mpf("1e-3")) / 3)
    polynomial(kind, "kErf", erf_rest, erf_degree, interval(0, ".26"), lambda y: abs(erf_rest(y)))
    rational(kind, "kErfcx", erfcx, erfcx_degree, erfcx_end)
    rational(kind, "kMills", mills, mills_degree, mills_end)
    print("};")


if __name__ == "__main__":
    print("""// Written by scripts/erf_coefficients.py; each number is the largest relative error of its function.
// kExp: (e^r - 1 - r)/r^2, |r| <= .35, error of e^r. kLog: (2 atanh(s)/s - 2)/s^2 of s^2, s <= 1/3, error of
// log((1 + s)/(1 - s)). kErf: erf(x)/x - 1 of x^2, x <= .5, error of erf. kErfcx P/Q: erfc(x) exp(x^2).
// kMills P/Q: Phi(-t) exp(t^2/2). Ascending powers.
template <class T>
struct Tables;
""")
    table("float", 4, 3, 4, 5, 4, 5, 15)
    print()
    table("double", 9, 8, 8, 9, 6, 11, 39)
