"""memorize: the network run through every point, in its own arithmetic, which is what is claimed, and in rational
arithmetic.

Where a margin is kept the second agrees too, but for the rounding of A_0 x far from the origin: it is left open."""

import numpy as np
from flint import fmpq, fmpq_mat

from exact import nearest, rational
from verdict import Verdict


def rationals(A):
    return fmpq_mat([[rational(x) for x in row] for row in np.atleast_2d(A)])


def relu(x):
    return x if x > 0 else fmpq(0)


class Exact:
    """The network, its numbers as the doubles they are."""

    def __init__(self, network):
        k = network.A_0.shape[0]
        self.A = rationals(network.A_0)
        self.b = [rational(x) for x in network.b_0] or [fmpq(0)] * k
        self.U = [rationals(network.U[j : j + k]) for j in range(0, len(network.U), k)]
        self.V = [rationals(network.V[j : j + k]) for j in range(0, len(network.V), k)]
        self.s = [[rational(x) for x in network.s[j : j + k]] for j in range(0, len(network.s), k)]
        self.out = rationals(network.U_out), [rational(x) for x in network.s_out], rationals(network.V_out)

    def __call__(self, x):
        h = layer(self.A, [rational(t) for t in x], self.b)
        for U, V, s in zip(self.U, self.V, self.s):
            awake = [relu(t) for t in layer(U, h, s)]
            if any(awake):
                h = [a + b for a, b in zip(h, times(V, awake))]
        U, s, V = self.out
        return times(V, [relu(t) for t in layer(U, h, s)])


def times(A, x):
    return (A * fmpq_mat([[t] for t in x])).entries()


def layer(A, x, b):
    return [t + s for t, s in zip(times(A, x), b)]


def judge(case, result):
    n = len(case.X)
    if result.status != "memorized":
        return []
    verdicts = [Verdict("memorize: every point", result.correct == n, f"memorized, {result.correct} of {n} are right")]
    network = result.network
    wrong = errors(case, network(np.array(case.X)).tolist())
    verdicts.append(Verdict("memorize: in its own arithmetic", not wrong, f"wrong at points {wrong}"))
    if case.options["precision"] == "float64" and result.margin > 0:
        exact = Exact(network)
        wrong = errors(case, [exact(x) for x in case.X])
        verdicts.append(Verdict("memorize: in exact arithmetic", None if wrong else True, f"wrong at points {wrong}"))
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
