"""Writes guarantee_oracle.csv: widths, steps and rates of the theorems for random inputs, with 60 digits.

Each theorem is its list of conditions, as a predicate of the width m, and the sufficient width is the smallest integer
that satisfies it, found by bisection. Before anything is written, every number in the statements is derived again from
the proofs (docs/theory.md, section 4), and the tail of Theorem 3.2 is compared with numerical quadrature at 50 digits.
Balanced scaling is evaluated for odd m, where ||v||^2 = ||y||^2 (m - 1)/(m n). Needs mpmath.
Run: python make_guarantee_oracle.py > guarantee_oracle.csv
"""
import math
import random

from mpmath import asin, ceil, erfc, exp, inf, log, mp, mpf, nstr, pi, quad, sqrt

mp.dps = 60


def kept(constant, exact, slack=0.006):
    """A constant on the safe side of what the proof gives, by less than `slack`."""
    assert exact <= constant <= exact * (1 + slack), (constant, exact)
    return constant


def chernoff(delta):
    return delta + (1 - delta) * log(1 - delta)


HALF = kept(mpf("6.52"), 1 / chernoff(mpf(1) / 2))

# Lemma 2: shares of the kernel, delta = 1/32, and of the flips, s = 1/16.
DELTA, S, SHARE = mpf(1) / 32, mpf(1) / 16, mpf("0.28")


def contraction(share):  # of ||r||^2/2, in eta s_0^2, at eta b^2 = 1/3
    return (1 - share) ** 2 * (1 - share / (1 - share) - mpf(1) / 6)


def descent_constant(share):
    return (2 * (1 + S) / sqrt(2 * pi) / (share**2 * (1 - DELTA) ** 2 * contraction(share))) ** 2


assert min((descent_constant(mpf(k) / 200), k) for k in range(20, 90))[1] == round(200 * SHARE)
flow_share = (sqrt(1 - DELTA) - sqrt(mpf(1) / 2)) ** 2
DESCENT = kept(mpf(2510), descent_constant(SHARE))
FLOW = kept(mpf(488), (4 * (1 + S) / sqrt(2 * pi) / flow_share) ** 2)
assert (1 + S) / ((1 + S) * log(1 + S) - S) / (SHARE**2 * (1 - DELTA)) < 7320
assert (1 + S) / ((1 + S) * log(1 + S) - S) / flow_share < 7230 and 1 / chernoff(DELTA) < 2030
assert contraction(SHARE) * (1 - DELTA) / 3 > mpf(1) / 14 and 1 / contraction(SHARE) / (1 - DELTA) < 4.5

# The smooth path: L ||r_0|| <= alpha^2/kappa.
KAPPA = mpf("0.931")
slope = (mpf(3) / 2 - 1 / (16 * KAPPA)) / 2
kept(KAPPA, 1 / (slope * mpf(3) / 2))
SMOOTH = kept(mpf("7.45"), 8 * KAPPA)
assert slope / 16 * 4 / 5 > mpf(1) / 28 and 8 / (slope * 3 / 2) ** 2 < 7
SPREAD = kept(mpf("0.341"), mpf(1) / 2 - 1 / (2 * pi))
START = kept(mpf("1.16"), sqrt(mpf(3) / 2 - 1 / (2 * pi)))


def tail(x, start, beta):
    T = start + x * beta
    return (T * T + 2 * beta**2) * exp(-x * x / 2) + 2 * sqrt(2 * pi) * start * beta * erfc(x / sqrt(mpf(2))) / 2


def check_tail():
    with mp.workdps(50):
        for x, start, beta in [(mpf(1) / 8, mpf(3), mpf(2)), (mpf(5), mpf(20), mpf(1) / 3), (mpf(12), mpf(1), mpf(40))]:
            T = start + x * beta
            density = lambda s, start=start, beta=beta: 2 * s * exp(-((s - start) ** 2) / (2 * beta**2))
            beyond = quad(density, [T, T + beta, T + 9 * beta, inf])
            exact = T * T * exp(-x * x / 2) + beyond
            assert abs(tail(x, start, beta) / exact - 1) < mpf(10) ** -40, (x, start, beta)


check_tail()


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
    n, lam, p, X = c["n"], c["lambda"], c["p"] / 3, c["norm_X"]
    mean = sqrt((c["norm_y"] + sqrt(2 * log(4 / p)) * sqrt(n / (2 * pi))) ** 2 + n * SPREAD)
    rho = mean + X * sqrt(2 * log(2 / p))
    width = smallest_width(lambda m: m * lam**4 >= (FLOW if flow else DESCENT) * X**6 * rho**2)
    assert width >= max(7320, 2030) * log(n / p) * X**2 / lam or (width >= 7230 * log(n / p) * X**2 / lam and flow)
    if flow:
        return width, None, lam / 2, 2 * log(1 / c["accuracy"]) / lam
    q = lam / (14 * X**2)
    return width, 1 / (3 * X**2), q, steps_to(c["accuracy"], 1 - q)


def balanced(c, m):
    """||v||_inf and ||v|| for odd m."""
    v = c["norm_y"] / sqrt(m * c["n"])
    return v, v * sqrt(m - 1)


def smooth_sufficient(c, lam, factor, p, m):
    n, X, B, M, y = c["n"], c["norm_X"], c["B"], c["M"], c["norm_y"]
    D0 = sqrt(-log(p) * 2 * X**2 / n)
    v_inf, v = balanced(c, m)
    alpha = v * sqrt(lam) / (2 * sqrt(mpf(2)))
    r0 = y * (sqrt(1 + B**2) + D0 * B)
    return alpha**2 >= factor / 8 * M * v_inf * X * r0 and (v / v_inf) ** 2 >= HALF * log(n / p) * (B * X) ** 2 / lam


def smooth(c, lam):
    n, X, B, y = c["n"], c["norm_X"], c["B"], c["norm_y"]
    width = smallest_width(lambda m: smooth_sufficient(c, lam, SMOOTH, c["p"] / 2, m))
    q = lam / (28 * B**2 * X**2)
    return width, n / (2 * B**2 * y**2 * X**2), q, steps_to(c["accuracy"], 1 - q)


def relu(c, lam):
    n, X, y = c["n"], c["norm_X"], c["norm_y"]
    r0 = START + sqrt(2 * log(3 / c["p"]) / n) * X
    width = smallest_width(lambda m: (m - 2) * lam**4 >= DESCENT * r0**2 * n * X**6)
    assert width - 1 >= 7320 * log(3 * n / c["p"]) * X**2 / lam
    q = lam / (14 * X**2)
    return width, n / (3 * y**2 * X**2), q, steps_to(c["accuracy"], 1 - q)


def sgd(c, lam):
    n, X, B, y = c["n"], c["norm_X"], c["B"], c["norm_y"]

    def nu(m):
        return max(mpf(3), 4 / (mpf(9) / 10 * c["p"]) * (3 * B * X / sqrt(lam)) ** (1 / (m * c["d"])))

    width = smallest_width(lambda m: smooth_sufficient(c, lam, 32 * nu(m), c["p"] / 20, m))
    m = mpf(width)
    eta = lam / (9 * nu(m) * B**4) * n / (y**2 * X**2)
    alpha2 = balanced(c, m)[1] ** 2 * lam / 8
    factor = sqrt(1 - eta * alpha2 / (2 * n))
    return width, eta, 1 - factor, steps_to(c["accuracy"], factor)


def output_layer(c):
    """With Mills' bound of the tail, at the best x among steps of 1/64 (doubles find it); with the exact tail, an
    x an eighth apart gains 2 % at most."""
    start, beta, lam = sqrt(c["n"] * c["phi_squares"]), c["B"] * c["norm_X"], c["features"]

    def mills(x):
        return ((start + x * beta) ** 2 + 2 * beta**2 + 2 * beta * start / x) * exp(-x * x / 2)

    def ratio(x, beyond):
        return (start + x * beta) ** 2 / (lam - beyond) if beyond < lam else inf

    near = [fp_ratio(k / 64, float(start), float(beta), float(lam)) for k in range(1, 40 * 64 + 1)]
    k = near.index(min(near)) + 1
    least = min(ratio(mpf(j) / 64, mills(mpf(j) / 64)) for j in range(k - 1, k + 2) if j > 0)
    for j in range(1, 121):
        x = mpf(j) / 8
        assert mills(x) > tail(x, start, beta) and ratio(x, tail(x, start, beta)) * mpf("1.02") > least
    return ceil(HALF * log(c["n"] / c["p"]) * least), None, None, None


def fp_ratio(x, start, beta, lam):
    beyond = ((start + x * beta) ** 2 + 2 * beta**2 + 2 * beta * start / x) * math.exp(-x * x / 2)
    return (start + x * beta) ** 2 / (lam - beyond) if beyond < lam else math.inf


def angle(c):
    return 2 * asin(min(c["delta"], sqrt(mpf(2))) / 2)


def rank(c):
    q, n, p = angle(c) / (4 * pi), c["n"], c["p"]
    x = 1 + sqrt(2 * log(1 / p) / n) + log(1 / p) / n
    assert exp(-n * (x - 1 - log(x))) <= p
    return smallest_width(lambda m: m * q >= n * x), None, None, None


def start(c, pairs):
    needed = HALF * log(c["n"] / c["p"]) * (c["B"] * c["norm_X"]) ** 2 / c["lambda"]
    return ceil(needed) * (2 if pairs else 1), None, None, None


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
            "features": B * B * 10 ** rng.uniform(-17, -0.5),
            "phi_squares": 0.5 if is_relu else B * B * 10 ** rng.uniform(-1, 1),
        }


columns = None
for case in cases():
    if columns is None:
        columns = list(case)
        print(",".join([*columns, "theorem", "width", "step", "rate", "steps"]))
    c = {key: value if key == "activation" else mpf(value) for key, value in case.items()}
    product = c["mu"] ** 2 * c["product"]
    if case["activation"] == "relu":
        rows = {
            "dzps_3_1": du(c, True),
            "dzps_4_1": du(c, False),
            "os_6_3": relu(c, c["lambda"]),
            "os_2_3": relu(c, product),
            "os_2_5": relu(c, angle(c) / (8 * pi * c["n"])),
            "zl_a": rank(c),
        }
    else:
        rows = {"os_6_2": smooth(c, c["lambda"]), "os_2_1": smooth(c, product), "os_2_6": sgd(c, c["lambda"])}
    rows |= {"os_3_2": output_layer(c), "zl_b": start(c, False), "zl_c": start(c, True)}
    for theorem, numbers in rows.items():
        inputs = [value if key == "activation" else repr(value) for key, value in case.items()]
        print(",".join(inputs + [theorem] + ["" if x is None else nstr(mpf(x), 20) for x in numbers]))
