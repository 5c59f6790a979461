"""Writes guarantee_oracle.csv: widths, steps and rates of the theorems for random inputs, with 60 digits.

Straight from the proofs: each theorem is the list of inequalities that its proof uses, as a predicate of the width, and
the sufficient width is the smallest integer that satisfies it, found by bisection (no closed form of the width appears
here). Balanced scaling is evaluated for odd m, where ||v||^2 = ||y||^2 (m - 1)/(m n). Needs mpmath.
Run: python make_guarantee_oracle.py > guarantee_oracle.csv
"""
import random

from mpmath import ceil, exp, log, mp, mpf, nstr, pi, sqrt

mp.dps = 60


def smallest_width(sufficient):
    high = 2
    while not sufficient(mpf(high)):
        high *= 2
    low = high // 2 if high > 2 else 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sufficient(mpf(middle)) else (middle, high)
    return high


def steps_to(accuracy, factor):
    """Smallest k with factor^k <= accuracy."""
    return ceil(log(accuracy) / log(factor))


def du(c, flow):
    n, lam, p = c["n"], c["lambda"], c["p"] / 3
    misfit = sqrt((c["norm_y"] ** 2 + n / 2) / p)  # Markov on E ||y - u(0)||^2

    def sufficient(m):
        deviation = lam / (4 * n)  # of every entry of H(0)
        concentrated = n * (n + 1) / 2 * 2 * exp(-2 * m * deviation**2) <= p
        if flow:
            R = lam / 4 * p * sqrt(2 * pi) / (4 * n**2)  # 4 n^2 R/(sqrt(2 pi) p) = lambda/4
            return concentrated and 2 * sqrt(n) * misfit / (sqrt(m) * lam) < R
        C = 2 / (sqrt(2 * pi) * p)
        R = lam / (16 * C * n**2)
        return concentrated and 4 * sqrt(n) * misfit / (sqrt(m) * lam) < R

    width = smallest_width(sufficient)
    if flow:
        return width, None, lam / 2, 2 * log(1 / c["accuracy"]) / lam, c["p"]
    eta = lam / (4 * n**2)
    factor = sqrt(1 - eta * lam / 2)
    return width, eta, 1 - factor, steps_to(c["accuracy"], factor), c["p"]


def balanced(c, m):
    """||v||_inf and ||v|| for odd m."""
    v = c["norm_y"] / sqrt(m * c["n"])
    return v, v * sqrt(m - 1)


def smooth_sufficient(c, lam, nu, m):
    n, X, B, M, y = c["n"], c["norm_X"], c["B"], c["M"], c["norm_y"]
    D0 = sqrt(-log(c["p"]) * 2 * X**2 / n)
    v_inf, v = balanced(c, m)
    alpha = v * sqrt(lam) / (2 * sqrt(mpf(2)))
    L = M * v_inf * X
    r0 = y * (1 + (1 + D0) * B)
    return alpha**2 >= 4 * nu * L * r0 and v / v_inf >= sqrt(20 * log(n)) * X / sqrt(lam) * B


def smooth(c, lam):
    n, X, B, y = c["n"], c["norm_X"], c["B"], c["norm_y"]
    width = smallest_width(lambda m: smooth_sufficient(c, lam, 1, m))
    q = lam / (32 * B**2 * X**2)
    return width, n / (2 * B**2 * y**2 * X**2), q, steps_to(c["accuracy"], 1 - q), 1 / n + c["p"]


def relu(c, lam):
    n, X, y = c["n"], c["norm_X"], c["norm_y"]
    D0 = sqrt(-log(c["p"]) * X**2 / n)

    def sufficient(m):
        m0 = sqrt(m / 200) * sqrt(lam) / X
        return 12 * (1 + D0) * sqrt(2 * n) / sqrt(lam) <= m0**3 / (2 * m)

    q = lam / (24 * X**2)
    return (smallest_width(sufficient), n / (3 * y**2 * X**2), q, steps_to(c["accuracy"], 1 - q), 2 / n + c["p"])


def sgd(c, lam):
    n, X, B, y = c["n"], c["norm_X"], c["B"], c["norm_y"]

    def nu(m):
        return max(mpf(3), 4 / c["p"] * (3 * B * X / sqrt(lam)) ** (1 / (m * c["d"])))

    width = smallest_width(lambda m: smooth_sufficient(c, lam, nu(m), m))
    m = mpf(width)
    eta = lam / (9 * nu(m) * B**4) * n / (y**2 * X**2)
    alpha2 = balanced(c, m)[1] ** 2 * lam / 8
    factor = sqrt(1 - eta * alpha2 / (2 * n))
    return width, eta, 1 - factor, steps_to(c["accuracy"], factor), 1 / n + 2 * c["p"]


def cases():
    rng = random.Random(20190204)
    for k in range(36):
        is_relu = k % 3 == 0
        n = float(round(10 ** rng.uniform(0.5, 5)))
        B = 1.0 if is_relu else 10 ** rng.uniform(-1, 1)
        M = float("inf") if is_relu else 10 ** rng.uniform(-2, 1) * (1e-9 if k % 9 == 1 else 1)
        largest = 0.5 if is_relu else B * B
        yield {
            "activation": "relu" if is_relu else "smooth",
            "B": B,
            "M": M,
            "n": n,
            "d": float(round(10 ** rng.uniform(0, 3))),
            "norm_X": n ** rng.uniform(0.05, 0.5),
            "norm_y": 10 ** rng.uniform(-2, 3),
            "lambda": largest * 10 ** rng.uniform(-8, 0),
            "product": 10 ** rng.uniform(-8, 0),
            "mu": B * 10 ** rng.uniform(-2, -0.1) if not is_relu else 0.3989422804014326,
            "delta": 10 ** rng.uniform(-8, 0.15),
            "p": 10 ** rng.uniform(-8, -0.1),
            "accuracy": 10 ** rng.uniform(-9, -0.1),
        }


columns = None
for case in cases():
    if columns is None:
        columns = list(case)
        print(",".join([*columns, "theorem", "width", "step", "rate", "steps", "failure_probability"]))
    c = {key: value if key == "activation" else mpf(value) for key, value in case.items()}
    product = c["mu"] ** 2 * c["product"]
    if case["activation"] == "relu":
        rows = {
            "3.1": du(c, True),
            "4.1": du(c, False),
            "6.3": relu(c, c["lambda"]),
            "2.3": relu(c, product),
            "2.5": relu(c, c["delta"] / (100 * c["n"] ** 2)),
        }
    else:
        rows = {"6.2": smooth(c, c["lambda"]), "2.1": smooth(c, product), "2.6": sgd(c, product)}
    for theorem, numbers in rows.items():
        inputs = [value if key == "activation" else repr(value) for key, value in case.items()]
        print(",".join(inputs + [theorem] + ["" if x is None else nstr(mpf(x), 20) for x in numbers]))
