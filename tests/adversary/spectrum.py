"""Eigenvalues of symmetric matrices of balls: signs by interval LDL^T, bounds by Rayleigh quotients."""

from flint import arb, arb_mat

from exact import precision


def definite(K, shift=0):
    """Whether K - shift I is positive semidefinite: True and False are proved, None is neither."""
    n = len(K)
    A = [[K[i][j] - shift if i == j else K[i][j] for j in range(i + 1)] for i in range(n)]
    for k in range(n):
        pivot = A[k][k]
        if pivot.is_zero() and all(A[i][k].is_zero() for i in range(k + 1, n)):
            continue
        if not pivot > 0:
            return False if pivot < 0 else None
        for i in range(k + 1, n):
            factor = A[i][k] / pivot
            for j in range(k + 1, i + 1):
                A[i][j] -= factor * A[j][k]
    return True


def rayleigh(K, x):
    """x^T K x/x^T x: at most lambda_max and at least lambda_min, whatever x is."""
    square = (x.transpose() * x)[0, 0]
    return ((x.transpose() * K * x)[0, 0]) / square


def _start(n):
    return arb_mat([[arb((7 * i * i + 3 * i) % 11 - 4.6)] for i in range(n)])


def lowest_above(K):
    """A ball whose upper end is proved to be at least lambda_min, and close to it: inverse iteration, then
    Rayleigh's."""
    matrix, middle = arb_mat(K), arb_mat(K).mid()
    n = len(K)
    x = _start(n)
    best = rayleigh(matrix, x)
    scale = sum((abs(K[i][i]).mid() for i in range(n)), arb(0))
    shift = (-scale * arb(2) ** -180).mid()
    for step in range(14):
        shifted = middle - arb_mat([[shift if i == j else 0 for j in range(n)] for i in range(n)])
        try:
            x = shifted.mid().solve(x, algorithm="approx").mid()
            size = max(abs(v) for v in x.entries())
            x = arb_mat([[(v / size).mid()] for v in x.entries()])
            value = rayleigh(matrix, x)
        except (ZeroDivisionError, ValueError):
            break
        if not value.is_finite():
            break
        if value.upper() < best.upper():
            best = value
        if step > 9:
            shift = best.mid()
    return best


def highest_below(K, steps=40):
    """A ball whose lower end is proved to be at most lambda_max, and close to it: power iteration."""
    n = len(K)
    matrix = arb_mat(K)
    middle = matrix.mid()
    x = _start(n)
    with precision(64):
        for _ in range(steps):
            x = (middle * x).mid()
            size = max(abs(v).mid() for v in x.entries())
            if not size > 0:
                return arb(0)
            x = arb_mat([[(v / size).mid()] for v in x.entries()])
    return rayleigh(matrix, x)


def at_least(build, bound, bits=(256, 600, 1600)):
    """Whether lambda_min(build()) >= bound: True, False (both proved) or None. Precision grows while it
    is open."""
    for prec in bits:
        with precision(prec):
            K = build()
            answer = definite(K, arb(bound))
            if answer is not None:
                return answer
            above = lowest_above(K)
            if above < bound:
                return False
    return None


def norm_at_most(build, bound, bits=(256, 600)):
    """Whether lambda_max(build()) <= bound."""
    for prec in bits:
        with precision(prec):
            K = build()
            n = len(K)
            minus = [[-K[i][j] for j in range(n)] for i in range(n)]
            answer = definite(minus, -arb(bound))
            if answer is not None:
                return answer
            if highest_below(K) > bound:
                return False
    return None
