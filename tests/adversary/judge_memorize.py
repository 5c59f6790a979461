"""memorize: the network run through every point in its own arithmetic, which is what is said, and its margin."""

import numpy as np
from flint import fmpq

from exact import nearest, rational
from verdict import Verdict


def judge(case, result):
    n = len(case.X)
    if result.status != "memorized":
        return []
    verdicts = [Verdict("memorize: every point", result.correct == n, f"memorized, {result.correct} of {n} are right")]
    network = result.network
    wrong = errors(case, network(np.array(case.X)).tolist())
    verdicts.append(Verdict("memorize: in its own arithmetic", not wrong, f"wrong at points {wrong}"))
    verdicts.append(margin(result, network))
    return verdicts


def errors(case, outputs):
    names = case.classes()
    if names is None:
        largest = max(abs(y) for y in case.y)
        tolerance = case.options.get("tolerance", 1e-3 if case.options["precision"] == "float32" else 1e-6)
        # The usual tolerances; the millionth more is what doubles may say of it.
        slack = rational(tolerance) * rational(largest or 1) * fmpq(1000001, 1000000)
        off = [abs(as_rational(out[0]) - rational(y)) for out, y in zip(outputs, case.y)]
        return [i for i, error in enumerate(off) if error > slack]
    wrong = []
    for i, out in enumerate(outputs):
        label = names.index(case.y[i])
        if not (out[label] > 0 and all(out[label] > v for j, v in enumerate(out) if j != label)):
            wrong.append(i)
    return wrong


def as_rational(x):
    return x if isinstance(x, fmpq) else rational(x)


def margin(result, network):
    """min_margin against (||u||^2 - t)/||u||^2 of every neuron that is there."""
    least = None
    for U, s in ((network.U, network.s), (network.U_out, network.s_out)):
        for row, bias in zip(np.atleast_2d(U), s):
            square = sum((rational(x) ** 2 for x in row), fmpq(0))
            if square > 0:
                value = (square + rational(bias)) / square
                least = value if least is None or value < least else least
    if least is None:
        return Verdict("memorize: margin", None, "no neuron")
    return Verdict("memorize: margin", rational(result.min_margin) <= least,
                   f"min_margin {result.min_margin!r}, exact {nearest(least)!r}")  # fmt: skip
