"""Points as the proofs are about them: x - c in exact rational arithmetic, divided by their exact lengths."""

from functools import cached_property

from flint import arb, arb_mat, ctx, fmpq, fmpq_mat


def rational(x):
    numerator, denominator = float(x).as_integer_ratio()
    return fmpq(numerator, denominator)


def exact_mean(X):
    rows = [[rational(x) for x in row] for row in X]
    return [sum(column, fmpq(0)) / len(rows) for column in zip(*rows)]


def pair(x):
    """A rational as the pair of doubles that a network keeps: high = x rounded, low = what is left, rounded."""
    high = nearest(x)
    return high, nearest(x - rational(high))


def stored(high, low):
    """The centre that two arrays stand for."""
    return [rational(a) + rational(b) for a, b in zip(high, low)]


def nearest(x):
    return int(x.p) / int(x.q) if x != 0 else 0.0  # division of integers rounds correctly


class Points:
    """n exact points, those that coincide, and their directions."""

    def __init__(self, X, centre=None):
        d = len(X[0])
        centre = centre or [fmpq(0)] * d
        self.n, self.d = len(X), d
        self.rows = [[rational(x) - c for x, c in zip(row, centre)] for row in X]
        self.zero = [i for i, row in enumerate(self.rows) if all(x == 0 for x in row)]
        if self.zero:
            return
        groups = {}
        for i, row in enumerate(self.rows):
            groups.setdefault(direction(row), []).append(i)
        self.groups = list(groups.values())  # of exactly parallel rows, in order of their first
        self.distinct = [group[0] for group in self.groups]
        self.count = [len(group) for group in self.groups]
        place = {key: k for k, key in enumerate(groups)}
        self.antipodal = []  # pairs of groups
        for k, key in enumerate(groups):
            other = place.get(tuple((-p, q) for p, q in key))
            if other is not None and k < other:
                self.antipodal.append((k, other))

    @cached_property
    def squares(self):
        return [dot(self.rows[i], self.rows[i]) for i in self.distinct]

    @cached_property
    def products(self):
        rows = [self.rows[i] for i in self.distinct]
        return [[dot(a, b) for b in rows[: k + 1]] for k, a in enumerate(rows)]

    def cosine(self, i, j):
        """<x_i, x_j> of distinct unit points and the sine of their angle, each to full relative accuracy."""
        if i == j:
            return arb(1), arb(0)
        product = self.products[max(i, j)][min(i, j)]
        both = self.squares[i] * self.squares[j]
        rho = arb(product * product / both).sqrt()
        return (rho if product >= 0 else -rho), arb(1 - product * product / both).sqrt()

    def unit(self, i):
        """Distinct point i, of length 1."""
        length = arb(self.squares[i]).sqrt()
        return [arb(x) / length for x in self.rows[self.distinct[i]]]

    def units(self):
        return arb_mat([self.unit(i) for i in range(len(self.distinct))])

    def sample_gram(self):
        """X X^T of all samples, up to eigenvalues 0: a point that occurs k times has the factor sqrt(k)."""
        root = [arb(k).sqrt() for k in self.count]
        return symmetric(len(self.distinct), lambda i, j: self.cosine(i, j)[0] * root[i] * root[j])

    def rank(self, members):
        return fmpq_mat([self.rows[self.distinct[k]] for k in members]).rank() if members else 0


def dot(a, b):
    return sum((x * y for x, y in zip(a, b)), fmpq(0))


def direction(row):
    """Equal for exactly parallel rows and for no others."""
    largest = max(abs(x) for x in row)
    return tuple((int((x / largest).p), int((x / largest).q)) for x in row)


def symmetric(n, entry):
    K = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            K[i][j] = K[j][i] = entry(i, j)
    return K


class precision:
    """with precision(400): .."""

    def __init__(self, bits):
        self.bits = bits

    def __enter__(self):
        self.before, ctx.prec = ctx.prec, self.bits

    def __exit__(self, *_):
        ctx.prec = self.before
