"""fit's optimizer kernel: its outputs beside those of the exact predictor, whose equations are solved in BITS."""

from itertools import pairwise

from flint import arb, arb_mat, ctx

from exact import Points, dot, precision, stored
from network import LEAK
from verdict import Verdict

BITS = 400


def _relu(rho, sine):
    """E[1(u > 0) 1(v > 0)] of normal u, v of correlation rho."""
    return (arb.pi() - arb.atan2(sine, rho)) / (2 * arb.pi())


#: E[phi'(u) phi'(v)] by rho and (1 - rho^2)^(1/2).
CLOSED_FORM = {
    "relu": _relu,
    "leaky_relu": lambda rho, sine: LEAK + (1 - arb(LEAK)) ** 2 * _relu(rho, sine),
    "erf": lambda rho, _: 4 / arb.pi() / (9 - 4 * rho * rho).sqrt(),
}


def judge(case, result):
    network, solution = result.network, result.solution
    if network is None:
        return [Verdict("fit: unsolved", result.status not in ("solved", "certified"), result.conclusion)]
    points = Points(case.X, stored(network.mean, network.mean_low) if len(network.mean) else None)
    if points.zero:
        return [Verdict("fit: zero point", False, f"points {points.zero} are exactly zero, and were not refused")]
    verdicts = [Verdict("fit: conflict", not result.certificate.holds, "a predictor with a ridge has no certificate")]
    if solution is None or not solution.verified:
        return verdicts
    if network.activation not in CLOSED_FORM:
        return [*verdicts, Verdict("fit: predictor", None, f"the kernel of {network.activation} has no closed form")]
    with precision(BITS):
        return [*verdicts, *beside_the_exact(case, network, solution.error, points)]


def elsewhere(points):
    """Some more points, in rational numbers, none of them 0."""
    rows = [points.rows[i] for i in points.distinct[:8]]
    found = [[-x for x in rows[0]]] + [[a + 3 * b for a, b in zip(x, y)] for x, y in pairwise(rows)]
    return [x for x in found if any(t != 0 for t in x)]


def beside_the_exact(case, network, error, points):
    """At the points, the opposite of one, and sums of neighbours. Equal points are one, whose targets are averaged and
    whose ridge is divided by their number."""
    n = len(points.distinct)
    others = elsewhere(points)
    dual = CLOSED_FORM[network.activation]

    def kernel(i, j):
        rho, sine = points.cosine(i, j)
        return rho * dual(rho, sine)

    def row(x):
        out = []
        for i in points.distinct:
            product, both = dot(points.rows[i], x), dot(points.rows[i], points.rows[i]) * dot(x, x)
            rho = arb(product * product / both).sqrt() * (1 if product >= 0 else -1)
            out.append(rho * dual(rho, arb(1 - product * product / both).sqrt()))
        return out

    at_others = [row(x) for x in others]
    K = arb_mat([[kernel(i, j) for j in range(n)] for i in range(n)])
    ridge = arb(float(network.ridge)) * dual(arb(1), arb(0))
    equations = K + arb_mat([[ridge / points.count[i] if i == j else arb(0) for j in range(n)] for i in range(n)])
    for c, y in enumerate(case.columns(range(points.n))):
        offset, given = arb(float(network.offset[c])), network.coefficients[:, c]
        mean = [sum((arb(y[i]) - offset for i in group), arb(0)) / len(group) for group in points.groups]
        kept = [sum((arb(float(given[i])) for i in group), arb(0)) for group in points.groups]
        try:
            exact = equations.solve(arb_mat([[t] for t in mean]))
        except ZeroDivisionError:
            yield Verdict("fit: predictor", None, f"{ctx.prec} bits do not show that the equations have a solution")
            return
        wrong = exact - arb_mat([[t] for t in kept])
        off = [abs(t) for t in (K * wrong).entries()]
        off += [abs(sum((k * t for k, t in zip(ks, wrong.entries())), arb(0))) for ks in at_others]
        holds = False if any(t > error for t in off) else True if all(t <= error for t in off) else None
        yield Verdict("fit: predictor", holds, f"output {c}: within {error!r}; {max(t.upper() for t in off).str(8)}")
