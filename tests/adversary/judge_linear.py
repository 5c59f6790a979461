"""linear: norms of the layers and the product, in balls, against the result's fields by name."""

import re

import spectrum
from exact import precision
from flint import arb, arb_mat
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
            if f is depth.smallest():
                verdicts += words(result, f, grams)
    return verdicts


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
    one = arb_mat([[1 if i == j else 0 for j in range(d)] for i in range(d)])
    h = one
    for A in layers:
        h = h + A * h
    return h


def settled(value, bound):
    return True if value <= bound else False if value > bound else None


def all_of(answers):
    answers = list(answers)
    return False if False in answers else None if None in answers else True
