"""certify: what is said beside its claims: the centre, ||X||, the outcome, and the sentence about lambda_min."""

import re

from flint import arb

import judge_claims
import spectrum
from exact import Points, exact_mean, precision, rational, stored
from verdict import Verdict, text_number


def judge(case, result):
    centre, verdicts = None, []
    if case.options.get("center"):
        centre = stored(*result.center)
        verdicts.append(near_mean(case.X, centre))
    points = Points(case.X, centre)
    return [*verdicts, *(zero_points(points) if points.zero else on_points(case, result, points))]


def near_mean(X, centre):
    """The pair is within 2^-100 of the mean, measured by the largest number of its column."""
    far = [j for j, (c, x, column) in enumerate(zip(centre, exact_mean(X), zip(*X)))
           if abs(c - x) * 2**100 > max(abs(rational(t)) for t in column)
           and abs(c - x) > rational(5e-324)]  # fmt: skip
    return Verdict("certify: centre", not far, f"columns {far}")


def conflict(case, points):
    return case.y is not None and any(len({case.y[i] for i in group}) > 1 for group in points.groups)


def zero_points(points):
    return [Verdict("certify: zero point", False, f"points {points.zero} are exactly zero, and were not refused")]


def on_points(case, result, points):
    yield from outcome(case, result, points)
    if result.lambda_min_verified is not None:
        printed = re.search(r"lambda_min >= (\S+) \(verified", result.conclusion)
        if printed and text_number(printed[1]) > result.lambda_min_verified:
            yield Verdict("certify: text", False, f"{printed[0]} of {result.lambda_min_verified!r}")
    yield Verdict("certify: norm_X", spectrum.norm_at_most(points.sample_gram, squared(result.norm_X)),
                  f"||X|| <= {result.norm_X!r}")  # fmt: skip


def squared(x):
    with precision(256):
        return arb(x) ** 2


def outcome(case, result, points):
    if result.outcome == "impossible" or "No network can fit" in result.conclusion:
        yield Verdict("certify: impossible", conflict(case, points), result.reason)
    elif conflict(case, points):
        yield Verdict("certify: conflict passed over", result.outcome != "verified", result.conclusion)
    if result.outcome == "zero":
        yield Verdict("certify: zero", vanishes(case, points), result.reason)


def vanishes(case, points):
    """Whether lambda_min is exactly 0: the known reasons, else the checker's proof that it is above refutes it."""
    phi = case.options["activation"]
    m = len(points.distinct)
    pairs = [a for a, _ in points.antipodal]
    if pairs and phi in ("tanh", "sigmoid", "erf", "quadratic", "sin"):
        return True
    if phi in ("relu", "leaky_relu", "softplus", "gelu", "silu") and points.rank(pairs) < len(pairs):
        return True
    if phi == "quadratic" and m > points.d * (points.d + 1) // 2:
        return True
    kernel = {"of": "hidden", "activation": phi}
    return False if judge_claims.lambda_min(case, kernel, 1e-300, points.distinct) else None
