"""certify: lambda_min, separation, ||X||, outcome and the theorems' rows, each against exact numbers of the points."""

import re

from flint import arb

import dual
import guarantees
import spectrum
from exact import Points, exact_mean, precision, rational, stored
from verdict import Verdict, text_number


def judge(case, result):
    centre, verdicts = None, []
    if case.options.get("center"):
        centre = stored(*result.center)
        verdicts.append(near_mean(case.X, centre))
    points = Points(case.X, centre)
    return verdicts + (zero_points(points) if points.zero else on_points(case, result, points))


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
    phi = case.options["activation"]
    Sigma = lambda: dual.kernel(points, phi)
    verdicts = list(outcome(case, result, points, Sigma))
    if result.lambda_min_verified is not None:
        verdicts.append(lambda_min(Sigma, result.lambda_min_verified, "certify: lambda_min"))
        printed = re.search(r"lambda_min >= (\S+) \(verified", result.conclusion)
        if printed and text_number(printed[1]) > result.lambda_min_verified:
            verdicts.append(Verdict("certify: text", False, f"{printed[0]} of {result.lambda_min_verified!r}"))
    verdicts.append(separation(result, points))
    verdicts.append(Verdict("certify: norm_X", spectrum.norm_at_most(points.sample_gram, squared(result.norm_X)),
                            f"||X|| <= {result.norm_X!r}"))  # fmt: skip
    return verdicts + list(rows(case, result, points))


def squared(x):
    with precision(256):
        return arb(x) ** 2


def lambda_min(build, bound, kind):
    holds = spectrum.at_least(build, bound)
    with precision(300):
        exact = spectrum.lowest_above(build())
    return Verdict(kind, holds, f"printed {bound!r}, exact <= {exact.str(10)}")


def separation(result, points):
    with precision(400):
        delta = points.separation()
        if delta is None:
            return Verdict("certify: separation", result.separation == float("inf"),
                           f"{result.separation} of one point")
        holds = False if delta < result.separation else True if delta >= result.separation else None
        return Verdict("certify: separation", holds, f"printed {result.separation!r}, exact {delta.str(20)}")


def outcome(case, result, points, Sigma):
    if result.outcome == "impossible" or "No network can fit" in result.conclusion:
        yield Verdict("certify: impossible", conflict(case, points), result.reason)
    elif conflict(case, points):
        yield Verdict("certify: conflict passed over", result.outcome != "verified", result.conclusion)
    if result.outcome == "zero":
        yield Verdict("certify: zero", vanishes(case, points, Sigma), result.reason)


def vanishes(case, points, Sigma):
    """Whether lambda_min is exactly 0: the known reasons, else a definite kernel refutes it."""
    phi = case.options["activation"]
    m = len(points.distinct)
    pairs = [a for a, _ in points.antipodal]
    if pairs and phi in ("tanh", "sigmoid", "erf", "quadratic", "sin"):
        return True
    if phi in ("relu", "leaky_relu", "softplus", "gelu", "silu") and points.rank(pairs) < len(pairs):
        return True
    if phi == "quadratic" and m > points.d * (points.d + 1) // 2:
        return True
    return False if spectrum.at_least(Sigma, 0, strict=True) else None


def source(case, points, name):
    """lambda of a row, by the name of its bound: a kernel, a factor, or None for what is no eigenvalue."""
    phi = case.options["activation"]
    if name == "lambda_min":
        return lambda: dual.kernel(points, phi), arb(1)
    if name == "lambda_min(Sigma~)":
        return lambda: dual.kernel(points, phi, features=True), arb(1)
    if name.startswith("mu_1^2 lambda_min(G o G)"):
        return lambda: dual.power(points, 2), dual.mu(phi, 1)
    if name == "mu_2(phi)^2 lambda_min(G o G)":  # 2 mu_2(phi)^2 = mu_1(phi')^2
        return lambda: dual.power(points, 2), dual.mu(phi, 1) / 2
    power = re.fullmatch(r"mu_(\d)\^2 lambda_min\(G\^(\d)\)", name)
    if power:
        return lambda: dual.power(points, int(power[2])), dual.mu(phi, int(power[1]))
    return None


def rows(case, result, points):
    labelled = case.y is not None
    with precision(300):
        columns = case.columns(range(points.n)) if labelled else []
        x = guarantees.Numbers(
            phi=case.options["activation"], n=points.n, d=points.d,
            norm_X=spectrum.highest_below(points.sample_gram()).sqrt(),
            norm_y=max_norm(columns), networks=max(1, len(columns)),
            p=arb(case.options.get("failure_probability", 0.01)), accuracy=arb(case.options.get("accuracy", 0.001)),
        )  # fmt: skip
        for row in result.guarantees:
            if not row.verified:
                continue
            if row.width is None and row.step is None and row.rate is None:
                continue
            if row.holds and conflict(case, points):
                yield Verdict("certify: row", False, f"{row.theorem} holds, but equal points have different labels")
                continue
            lam = row_lambda(case, row, points)
            if lam is None:
                yield Verdict("certify: row", None, f"{row.theorem}: no formula for {row.lambda_from}")
                continue
            if not lam > 0:  # the ball of lambda reaches down to 0: nothing may be promised
                yield Verdict("certify: row", None if lam.contains(0) else False,
                              f"{row.theorem}: lambda <= {lam.str(5)}")
                continue
            wanted = guarantees.FORMULAS[row.id](x, lam, row.width or 1)
            wrong = guarantees.undercut(row, wanted, labelled)
            yield Verdict("certify: row", not wrong, f"{row.theorem}, {row.lambda_from}: {'; '.join(wrong)}")


def row_lambda(case, row, points):
    if row.lambda_from.startswith("theta"):
        delta, root2 = points.separation(), arb(2).sqrt()
        theta = 2 * ((root2 if delta is None else delta.min(root2)) / 2).asin()
        return theta if row.lambda_from == "theta" else theta / (8 * arb.pi() * len(points.distinct))
    found = source(case, points, row.lambda_from)
    if found is None:
        return None
    build, factor = found
    return factor * spectrum.lowest_above(build())


def max_norm(columns):
    best = arb(0)
    for column in columns:
        best = best.max(sum((arb(y) ** 2 for y in column), arb(0)).sqrt())
    return best
