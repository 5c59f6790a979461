"""kernel.lambda_min: the proven bound of Sigma, Sigma~ and powers of the Gram matrix. Rows that coincide count each."""

import judge_claims
from exact import Points, exact_mean, pair, stored
from verdict import Verdict


def judge(case, result):
    points = Points(case.X, stored(*zip(*map(pair, exact_mean(case.X)))) if case.options["center"] else None)
    if points.zero:
        return [Verdict("kernel: zero point", False, f"points {points.zero} are exactly zero, and were not refused")]
    if not result.verified.holds:
        return []
    bound = result.verified.lambda_min
    what, which = case.options["kernel"]
    kernel = {"of": "power", "exponent": which} if what == "power" else \
             {"of": "output" if what == "sigma_features" else "hidden", "activation": which}  # fmt: skip
    return [Verdict("kernel: lambda_min", judge_claims.lambda_min(case, kernel, bound), f"printed {bound!r}")]
