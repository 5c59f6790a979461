"""kernel.lambda_min: the proven bound of Sigma, Sigma~ and powers of the Gram matrix. Rows that coincide count each."""

import dual
import spectrum
from exact import Points, exact_mean, pair, stored
from verdict import Verdict


def judge(case, result):
    points = Points(case.X, stored(*zip(*map(pair, exact_mean(case.X)))) if case.options["center"] else None)
    if points.zero:
        return [Verdict("kernel: zero point", False, f"points {points.zero} are exactly zero, and were not refused")]
    if not result.verified.holds:
        return []
    bound = result.verified.lambda_min
    if len(points.distinct) < points.n:
        return [Verdict("kernel: lambda_min", False, f"printed {bound!r}; equal points make it 0")]
    what, which = case.options["kernel"]
    if what == "power":
        build = lambda: dual.power(points, which)
    else:
        build = lambda: dual.kernel(points, which, features=what == "sigma_features")
    return [Verdict("kernel: lambda_min", spectrum.at_least(build, bound),
                    f"printed {bound!r}, exact <= {spectrum.lowest_above(build()).str(10)}")]  # fmt: skip
