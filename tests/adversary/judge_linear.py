"""linear: norms of the layers and the product, in balls, against the result's fields by name."""

import re

from flint import arb, arb_mat, fmpq_mat

import spectrum
from exact import precision, rational
from network import frobenius, matrix
from verdict import Verdict, text_number


def judge(case, result):
    verdicts = list(problem(case, result))
    depth = result.depths[-1]
    with precision(400):
        R = matrix(result.problem.R)
        for f in depth.factorizations:
            if f.missing or not f.network.A:
                continue
            layers = [matrix(A) for A in f.network.A]
            grams = [(lambda A=A: (A.transpose() * A).tolist()) for A in layers]
            small = all_of(spectrum.norm_at_most(g, arb(f.max_norm) ** 2) for g in grams)
            largest = max((spectrum.highest_below(g()).sqrt() for g in grams), key=float)
            verdicts.append(Verdict("linear: max_norm", small, f"{f.name}: {f.max_norm!r}, exact >= {largest.str(20)}"))
            error = frobenius(product(layers) - R)
            verdicts.append(Verdict("linear: reconstruction_error", settled(error, f.reconstruction_error),
                                    f"{f.name}: {f.reconstruction_error!r}, exact {error.str(20)}"))  # fmt: skip
            verdicts.append(exact_product(f, layers, R))
            if f is depth.smallest():
                verdicts += words(result, f, grams)
    return [*verdicts, *singular_values(case, result.map)]


def exact_product(f, layers, R):
    """R is exactly a product of layers of norm <= max_norm, all but one of which are stored; that one is `correction`
    off."""
    one = identity(R.nrows())
    before = [one]
    for A in layers:
        before.append(before[-1] + A * before[-1])
    after = one
    answers = []
    for j in reversed(range(len(layers))):
        try:
            layer = after.inv() * R * before[j].inv() - one
        except ZeroDivisionError:
            continue
        after = after + after * layers[j]
        change = layer - layers[j]
        found = [spectrum.norm_at_most(lambda A=A: (A.transpose() * A).tolist(), arb(bound) ** 2)
                 for A, bound in ((change, f.correction), (layer, f.max_norm))]  # fmt: skip
        answers.append(all_of(found))
        if answers[-1]:
            break
    holds = True if True in answers else None if None in answers or not answers else False
    return Verdict("linear: exact product", holds,
                   f"{f.name}: one layer off by {f.correction!r}, all <= {f.max_norm!r}")


def singular_values(case, summary):
    """Of R as it was given: its least singular value, gamma and the sign of its determinant."""
    if not summary.s_least > 0:
        return
    with precision(600):
        R = matrix(case.X)
        gram = (R.transpose() * R).tolist()
        yield Verdict("linear: s_least", spectrum.at_least(lambda: gram, arb(summary.s_least) ** 2),
                      f"{summary.s_least!r}")
        low, high = (arb(-2 * summary.gamma)).exp(), (arb(2 * summary.gamma)).exp()
        within = [spectrum.at_least(lambda: gram, low), spectrum.norm_at_most(lambda: gram, high)]
        yield Verdict("linear: gamma", all_of(within), f"{summary.gamma!r}")
    sign = fmpq_mat([[rational(x) for x in row] for row in case.X]).det()
    yield Verdict("linear: det", (sign < 0) == summary.reverses, f"reverses: {summary.reverses}")


def words(result, f, grams):
    said = re.search(r"\|\|A_i\|\| <= ([0-9.e+-]*\d)", result.conclusion)
    if said:
        small = all_of(spectrum.norm_at_most(g, arb(text_number(said[1])) ** 2) for g in grams)
        yield Verdict("linear: words", small, f"{said[0]}, {f.name}")


def problem(case, result):
    """R itself, with the other sign, or with -1 appended."""
    R, solved = case.X, result.problem.R.tolist()
    expected = {
        "none": R,
        "flipped": [[-x for x in row] for row in R],
        "augmented": [*([*row, 0.0] for row in R), [0.0] * len(R) + [-1.0]],
    }[result.treatment]
    yield Verdict("linear: problem", solved == expected, f"{result.treatment}: {solved}")


def product(layers):
    d = layers[0].nrows()
    h = identity(d)
    for A in layers:
        h = h + A * h
    return h


def identity(d):
    return arb_mat([[1 if i == j else 0 for j in range(d)] for i in range(d)])


def settled(value, bound):
    return True if value <= bound else False if value > bound else None


def all_of(answers):
    answers = list(answers)
    return False if False in answers else None if None in answers else True
