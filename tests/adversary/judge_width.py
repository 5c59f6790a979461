"""width: the rank and the groups in exact arithmetic, and of the networks that are said to be enough their signs on
the way to the labels given and to the worst ones, and descent with the step and the number of steps printed."""

import math

import numpy as np
from flint import arb, arb_mat

import spectrum
from exact import Points, exact_mean, pair, precision, stored
from judge_certify import conflict
from judge_fit import BITS, descend
from network import Output, frobenius, matrix
from verdict import Verdict

PIECEWISE = ("relu", "leaky_relu")


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
    verdicts.append(too_few(case, result, points))
    if "biased" in rows and rows["biased"].status == "proved":
        verdicts.append(groups(rows["biased"], result, points))
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


def too_few(case, result, points):
    exact = points.rank(range(len(points.distinct)))
    n, row = len(points.distinct), result.rows[0]
    square = case.options["activation"] == "quadratic"
    never = square and result.rank * (result.rank + 1) // 2 < n
    agrees = row.width is None if never else row.width == math.ceil(n / result.rank)
    return Verdict("width: too few", exact <= result.rank and agrees and row.status == "proved",
                   f"rank {exact} <= {result.rank}, {n} points, at least {row.width}")


def groups(row, result, points):
    """Each group is independent, no other point is in its span, and every distinct point is in one."""
    place = {i: k for k, i in enumerate(points.distinct)}
    taken = [[place[i] for i in group] for group in result.groups]
    holds = sorted(k for group in taken for k in group) == list(range(len(points.distinct)))
    for group in taken:
        holds = holds and points.rank(group) == len(group) and all(
            points.rank([*group, k]) == len(group) + 1 for k in range(len(points.distinct)) if k not in group)
    return Verdict("width: biased", holds and row.width == 4 * len(taken), f"{len(taken)} groups")


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
        if phi in PIECEWISE:
            yield from signs(net, W, row, longest if row.id == "any_labels" else None)


def signs(net, W, row, length):
    """No sign at the end of descent is another than at its start: for the labels of `net`, and where `length` is given
    for labels as long that push the entries with the least room most."""
    Z = net.preactivations(W)
    S = net.slopes(Z)
    K = arb_mat(net.tangent(S))
    root = [arb(k).sqrt() for k in net.count]
    yield Verdict(f"width: {row.id}: rank", spectrum.at_least(lambda: net.tangent(S), 0.0, bits=(BITS, 600)),
                  f"{net.m} units")
    try:
        inverse = K.inv()
    except ZeroDivisionError:
        yield Verdict(f"width: {row.id}: signs", None, "the kernel cannot be inverted in these balls")
        return

    def push(i, j):
        """By what the labels times their roots are multiplied to be the move of z_ij."""
        return arb_mat([[S[k][j] * net.G[i, k] * root[k] for k in range(net.n)]]) * inverse

    entries = [(i, j) for i in range(net.n) for j in range(net.m) if net.v[j] != 0]
    y = arb_mat([[t * c] for t, c in zip(net.y, root)])
    moves = {e: push(*e) for e in entries}
    worst = max(((abs((moves[i, j] * y)[0, 0]) / abs(Z[i][j]), (i, j)) for i, j in entries), key=used)
    yield Verdict(f"width: {row.id}: signs", settled(worst[0]), f"{worst[1]} uses {worst[0].str(5)} of its room")
    if length is not None:
        most = max(((length * frobenius(moves[i, j]) / abs(Z[i][j]), (i, j)) for i, j in entries), key=used)
        yield Verdict(f"width: {row.id}: worst labels", settled(most[0]),
                      f"{most[1]} uses {most[0].str(5)} of its room")


def used(entry):
    return float(entry[0])


def settled(part):
    return True if part < 1 else False if part > 1 else None
