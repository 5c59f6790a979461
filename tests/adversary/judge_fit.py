"""fit: what is said beside its claims, and descent for real: steps are taken, and Newton's method looks for the exact
network."""

import re

from flint import arb, arb_mat

import judge_predictor
import spectrum
from exact import Points, precision, stored
from judge_certify import conflict
from network import Output, frobenius, matrix
from verdict import Verdict, text_number

BITS = 256
SLACK = arb(1) + arb(2) ** -100  # simulated steps are rounded to BITS
WORK = 1.5e5  # n m activations of a simulation


def judge(case, result):
    if case.options["optimizer"] == "kernel":
        return judge_predictor.judge(case, result)
    network = result.network
    points = Points(case.X, stored(network.mean, network.mean_low) if len(network.mean) else None)
    if points.zero:
        return [Verdict("fit: zero point", False, f"points {points.zero} are exactly zero, and were not refused")]
    verdicts = list(words(case, result, points))
    columns = case.columns(points.distinct)
    for c, (output, layer, y) in enumerate(zip(result.outputs, network.outputs, columns)):
        polished = result.polished.outputs[c] if result.polished is not None else None
        with precision(BITS):
            found = certificate(case, points, output.certificate, layer, y, polished)
            verdicts += [Verdict(f"fit: {v.kind}", v.holds, f"output {c}: {v.detail}") for v in found]
    return verdicts


def words(case, result, points):
    clash = conflict(case, points)
    if "impossible" in result.conclusion:
        yield Verdict("fit: impossible", clash, result.conclusion.split("\n")[0])
    if clash:
        yield Verdict("fit: conflict", not result.certificate.holds,
                      f"equal points have different labels: {result.conclusion}")
    whole, parts = result.certificate, [o.certificate for o in result.outputs]
    if whole.holds:
        agree = (all(p.holds for p in parts) and whole.radius >= max(p.radius for p in parts)
                 and whole.lambda_min <= min(p.lambda_min for p in parts))  # fmt: skip
        if whole.kind == "descent":
            agree = agree and all(p.kind == "descent" and p.step >= whole.step and p.rate >= whole.rate for p in parts)
        yield Verdict("fit: certificates together", agree, repr(whole))
        printed = re.search(r"within (\S+) of these weights", result.conclusion)
        if printed:
            yield Verdict("fit: text", text_number(printed[1]) >= whole.radius, f"{printed[0]} of {whole.radius!r}")


def certificate(case, points, c, layer, y, polished):
    net = Output(case.options["activation"], points.units(), [arb(t) for t in y], points.count,
                 [arb(float(v)) for v in layer.v])
    W = matrix(layer.W)
    Z = net.preactivations(W)
    r = net.residual(Z)
    if not all(x.is_finite() for x in r):
        return
    clash = conflict(case, points)
    features = case.options["optimizer"] == "output_layer"
    if not clash and 0 < c.misfit < float("inf"):
        exact = net.misfit(r)
        yield Verdict("misfit", settled(exact <= c.misfit, exact > c.misfit),
                      f"||r|| <= {c.misfit!r}, exact {exact.str(10)}")
    if c.lambda_min > 0 and not features:
        K = lambda: net.tangent(net.slopes(net.preactivations(W)))
        yield Verdict("lambda_min", spectrum.at_least(K, c.lambda_min, bits=(BITS, 600)),
                      f">= {c.lambda_min!r}, exact <= {spectrum.lowest_above(K()).str(10)}")  # fmt: skip
    if c.norm_J > 0 and not features:
        K = lambda: net.tangent(net.slopes(net.preactivations(W)))
        yield Verdict("norm_J", spectrum.norm_at_most(K, arb(c.norm_J) ** 2), f"||J|| <= {c.norm_J!r}")
    if not c.holds:
        return
    if clash:
        yield Verdict(c.kind, False, "equal points have different labels")
    elif c.kind == "descent":
        yield from descend(net, W, c)
        yield newton(net, W, c)
    if polished is not None:
        yield rounding_level(net, polished)


def settled(yes, no):
    return True if yes else False if no else None


def descend(net, W, c):
    """Gradient descent on the loss over all samples, in BITS: the misfit falls as promised, within the radius."""
    steps = int(max(6, min(40, WORK / (net.n * net.m) / 20)))
    for part in (1, 3):
        eta = arb(c.step) / part
        bound = 1 - eta * c.rate
        V, start, limit, worst = W, None, None, ""
        for k in range(steps + 1):
            Z = net.preactivations(V)
            r = [x.mid() for x in net.residual(Z)]
            size = net.misfit(r)
            start = size if start is None else start
            limit = start if limit is None else limit * bound
            if size > limit * SLACK and size > arb(2) ** -200:
                worst = f"||r|| = {size.str(8)} after {k} steps, promised {limit.str(8)}"
                break
            if frobenius(V - W) > arb(c.radius) * SLACK:
                worst = f"{frobenius(V - W).str(8)} from W after {k} steps"
                break
            weighted = [n * x for n, x in zip(net.count, r)]
            V = (V - eta * net.back(net.slopes(Z), weighted)).mid()
        yield Verdict("descent", not worst, f"step {c.step!r}/{part}, rate {c.rate!r}, radius {c.radius!r}: {worst}")


def newton(net, W, c):
    """The least-norm steps lead to an exact network within the radius."""
    V = W
    for _ in range(12):
        Z = net.preactivations(V)
        r = [x.mid() for x in net.residual(Z)]
        if net.misfit(r) < arb(2) ** -180 * (1 + net.misfit(net.y)):
            break
        S = net.slopes(Z)
        P = arb_mat(S) * arb_mat(S).transpose()
        K = arb_mat([[P[i, j] * net.G[i, j] for j in range(net.n)] for i in range(net.n)]).mid()
        try:
            step = K.solve(arb_mat([[x] for x in r]), algorithm="approx")
        except ZeroDivisionError:
            return Verdict("exact network", None, "J J^T is singular")
        V = (V - net.back(S, step.entries())).mid()
    else:
        return Verdict("exact network", None, f"Newton's method does not arrive: ||r|| = {net.misfit(r).str(5)}")
    distance = frobenius(V - W)
    near = distance <= arb(c.radius) * SLACK
    return Verdict("exact network", True if near else None, f"within {c.radius!r}; Newton's is at {distance.str(8)}")


def rounding_level(net, polished):
    """Weights rounded to doubles leave sum_j |v_j| ||w_j|| times a few roundings in each output."""
    W = matrix(polished.W)
    net = Output("relu", net.X, net.y, net.count, [arb(float(v)) for v in polished.v])
    size = sum((abs(v) * sum((W[j, k] ** 2 for k in range(W.ncols())), arb(0)).sqrt() for j, v in enumerate(net.v)),
               arb(0))
    level = net.misfit([size + abs(y) for y in net.y]) * (64 * (W.ncols() + net.m)) * arb(2) ** -53
    misfit = net.misfit(net.residual(net.preactivations(W)))
    return Verdict("polished", settled(misfit <= level, misfit > level),
                   f"misfit {misfit.str(5)}, rounding level {level.str(3)}")
