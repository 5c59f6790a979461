"""Dual activations E[f(a) f(b)], (a, b) standard normal with correlation rho, as balls that contain the exact value."""

import json
from functools import cache
from pathlib import Path

from flint import arb, arb_poly, ctx, fmpq, fmpz

from exact import symmetric

TABLES = json.loads((Path(__file__).parent / "data" / "hermite.json").read_text())
SERIES = {"softplus": ("softplus", 0), "tanh": ("tanh", 0), "silu": ("silu", 0), "sigmoid": ("softplus", 1)}
ACTIVATIONS = ["relu", "softplus", "tanh", "sigmoid", "erf", "gelu", "silu", "quadratic", "leaky_relu", "sin"]
LEAK = 0.01  # the slope of leaky_relu below 0: this double, exactly


@cache
def _squares(name):
    table = TABLES[name]
    unit = arb(2) ** -table["bits"]
    return [arb(fmpz(int(text, 16))) * unit + arb(0, unit) for text in table["squares"]]


@cache
def _series(name, order, bits):
    """The series of the order-th derivative: mu_r(f')^2 = (r + 1) mu_(r+1)(f)^2. And the sum of what is cut off."""
    coefficients = _squares(name)
    for _ in range(order):
        coefficients = [(r + 1) * c for r, c in enumerate(coefficients[1:])]
    return arb_poly(coefficients), arb(TABLES[name]["tails"][order])


def _of_series(name, order, rho):
    polynomial, tail = _series(name, order, ctx.prec)
    return polynomial(rho) + arb(0, tail)


def of_derivative(phi, rho, sine):
    """h(rho), f = phi'. `sine` = sqrt(1 - rho^2), which keeps what rho has lost near 1."""
    pi = arb.pi()
    if phi == "relu":
        return (pi - arb.atan2(sine, rho)) / (2 * pi)
    if phi == "leaky_relu":  # phi' = LEAK + (1 - LEAK) [z >= 0], and P(z >= 0) = 1/2
        return LEAK + (1 - arb(LEAK)) ** 2 * of_derivative("relu", rho, sine)
    if phi == "sin":  # E cos u cos v, u +- v normal of variance 2 +- 2 rho
        return rho.cosh() / arb(1).exp()
    if phi == "erf":
        return 4 / pi / (9 - 4 * rho * rho).sqrt()
    if phi == "quadratic":
        return rho
    if phi == "gelu":
        rest = 4 - rho * rho
        return arb(fmpq(1, 4)) + (rho / 2).asin() / (2 * pi) + rho / (2 * pi * rest.sqrt()) * (1 + 1 / rest)
    name, order = SERIES[phi]
    return _of_series(name, order + 1, rho)


def of_values(phi, rho, sine):
    """h~(rho), f = phi."""
    pi = arb.pi()
    if phi == "relu":
        return (sine + (pi - arb.atan2(sine, rho)) * rho) / (2 * pi)
    if phi == "leaky_relu":  # phi = LEAK z + (1 - LEAK) relu(z), and E u relu(v) = rho/2
        return LEAK * rho + (1 - arb(LEAK)) ** 2 * of_values("relu", rho, sine)
    if phi == "sin":
        return rho.sinh() / arb(1).exp()
    if phi == "erf":
        return 2 / pi * (2 * rho / 3).asin()
    if phi == "quadratic":
        return (1 + 2 * rho * rho) / 4
    if phi == "gelu":  # h integrated from 0, where it is (E gelu)^2 = 1/(4 pi)
        root = (4 - rho * rho).sqrt()
        integral = rho / 4 + (rho * (rho / 2).asin() + root - 2) / (2 * pi) + (2 - root) / (2 * pi)
        return 1 / (4 * pi) + integral + (1 / root - arb(fmpq(1, 2))) / (2 * pi)
    name, order = SERIES[phi]
    return _of_series(name, order, rho)


def kernel(points, phi, features=False):
    """Sigma (or Sigma~) of the distinct points."""
    if features:
        return symmetric(len(points.distinct), lambda i, j: of_values(phi, *points.cosine(i, j)))

    def entry(i, j):
        rho, sine = points.cosine(i, j)
        return rho * of_derivative(phi, rho, sine)

    return symmetric(len(points.distinct), entry)


def power(points, r):
    return symmetric(len(points.distinct), lambda i, j: points.cosine(i, j)[0] ** r)


def mu(phi, r):
    """mu_r(phi')^2, for r = 0 to 3."""
    pi = arb.pi()
    if phi == "relu":  # phi' = [z >= 0]
        return [arb(fmpq(1, 4)), 1 / (2 * pi), arb(0), 1 / (12 * pi)][r]
    if phi == "leaky_relu":
        return (1 - arb(LEAK)) ** 2 * mu("relu", r) if r else (1 + arb(LEAK)) ** 2 / 4
    if phi == "sin":  # of cosh(rho)/e
        return [arb(1), arb(0), arb(fmpq(1, 2)), arb(0)][r] / arb(1).exp()
    if phi == "erf":  # of 4/(pi sqrt(9 - 4 rho^2)) = (4/(3 pi)) (1 + (2/9) rho^2 + ..)
        return [4 / (3 * pi), arb(0), 8 / (27 * pi), arb(0)][r]
    if phi == "quadratic":
        return arb(1 if r == 1 else 0)
    if phi == "gelu":  # of of_derivative
        return [arb(fmpq(1, 4)), fmpq(9, 16) / pi, arb(0), _gelu_3()][r]
    name, order = SERIES[phi]
    return _series(name, order + 1, ctx.prec)[0][r]


def _gelu_3():
    """asin(r/2) = r/2 + r^3/48, (4 - r^2)^(-1/2) = 1/2 + r^2/16, (4 - r^2)^(-3/2) = 1/8 + 3 r^2/64."""
    return (arb(fmpq(1, 48)) + fmpq(1, 16) + fmpq(3, 64)) / (2 * arb.pi())
