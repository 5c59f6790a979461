"""width: what is said beside its claims, and descent for real, with the step and the number of steps printed."""

import numpy as np
from flint import arb

from exact import Points, exact_mean, pair, precision, stored
from judge_certify import conflict
from judge_fit import BITS, descend
from network import Output, matrix
from verdict import Verdict


class Promise:
    """What descent is said to do from a start, as a certificate says it."""

    def __init__(self, step, rate, radius):
        self.step, self.rate, self.radius = step, rate, radius


def judge(case, result):
    import zeroloss

    centre = stored(*pairs_of(case.X)) if case.options.get("center") else None
    points = Points(case.X, centre)
    if points.zero:
        return [Verdict("width: zero point", False, f"points {points.zero} are exactly zero, and were not refused")]
    rows = {row.id: row for row in result.rows}
    verdicts = []
    if conflict(case, points):
        verdicts.append(Verdict("width: conflict", not rows, result.conclusion))
        return verdicts
    for name in ("these_labels", "any_labels"):
        row = rows[name]
        verdicts.append(Verdict(f"width: {name}: status", (row.status == "proved") == (row.width is not None)))
        if row.width is None:
            continue
        task = "classification" if case.classes() else "regression"
        start = zeroloss.fit(np.array(case.X), case.y, task=task, activation=case.options["activation"],
                             center=case.options.get("center", False), start="pairs", width=int(row.width),
                             output_scale=row.output_scale, seed=row.seed, max_steps=0).network  # fmt: skip
        with precision(BITS):
            verdicts += enough(case, result, points, row, start)
    return verdicts


def pairs_of(X):
    """The mean as a network keeps it."""
    return zip(*(pair(x) for x in exact_mean(X)))


def enough(case, result, points, row, start):
    phi = case.options["activation"]
    V, W = start.outputs[0].v, matrix(start.outputs[0].W)
    accuracy = case.options.get("accuracy", 1e-6)
    # 1 - accuracy^(1/steps) is about 1/steps, off by 2^-53: of up to 10^6 steps a relative 1e-10.
    rate = (1 - accuracy ** (1 / row.steps)) / row.step * (1 - 1e-9)
    columns = case.columns(points.distinct)
    lengths = [sum((k * arb(t) ** 2 for k, t in zip(points.count, y)), arb(0)).sqrt() for y in columns]
    longest = max(lengths, key=float)
    yield Verdict(f"width: {row.id}: length", longest <= result.norm_y, f"||y|| <= {result.norm_y!r}")
    for y in columns:
        net = Output(phi, points.units(), [arb(t) for t in y], points.count, [arb(float(v)) for v in V])
        q = len(V) // 2
        cancel = all(V[j] == -V[q + j] and W[j, k] == W[q + j, k] for j in range(q) for k in range(W.ncols()))
        yield Verdict(f"width: {row.id}: start", cancel and len(V) == 2 * q, "pairs that cancel: f(W_0) = 0")
        for v in descend(net, W, Promise(row.step, rate, float("inf"))):
            yield Verdict(f"width: {row.id}: {v.kind}", v.holds, v.detail)
