"""linear: what is said beside its claims: the map that was factorised, its singular values, and the sentence."""

import re

from flint import arb, fmpq_mat

import spectrum
from exact import precision, rational
from network import matrix
from verdict import Verdict, text_number


def judge(case, result):
    smallest = result.depths[-1].smallest()
    return [*problem(case, result), *(words(result, smallest) if smallest else []), *singular_values(case, result.map)]


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


def words(result, f):
    said = re.search(r"\|\|A_i\|\| <= ([0-9.e+-]*\d)", result.conclusion)
    if said:
        yield Verdict("linear: words", text_number(said[1]) >= f.max_norm, f"{said[0]}, {f.name}: {f.max_norm!r}")


def problem(case, result):
    """R itself, with the other sign, or with -1 appended."""
    R, solved = case.X, result.problem.R.tolist()
    expected = {
        "none": R,
        "flipped": [[-x for x in row] for row in R],
        "augmented": [*([*row, 0.0] for row in R), [0.0] * len(R) + [-1.0]],
    }[result.treatment]
    yield Verdict("linear: problem", solved == expected, f"{result.treatment}: {solved}")


def all_of(answers):
    answers = list(answers)
    return False if False in answers else None if None in answers else True
