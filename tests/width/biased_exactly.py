#!/usr/bin/env python3
"""biased_exactly.py ZEROLOSS: builds the networks of the row "exists with biases" (docs/theory.md, section 13) in
fractions, and sees that they fit: no residual at all is left.

The groups are those that `zeroloss width` finds; the points are random and hostile, the targets any, and the output
weights are given: two of each sign for a group, of sizes that differ by powers of ten. Nothing else is shared with the
library."""

import json
import random
import struct
import subprocess
import sys
import tempfile
import zipfile
from fractions import Fraction
from itertools import product
from math import gcd
from pathlib import Path

RELU, LEAKY = Fraction(0), Fraction(0.01)  # the slope is the double next to it
LEAKS = {"relu": [RELU], "leaky_relu": [LEAKY, Fraction(-1), Fraction(3)]}  # |z| and a concave one are leaks, too


def npy(values, columns=None):
    """Doubles as bytes of a .npy file."""
    shape = f"({len(values)},)" if columns is None else f"({len(values)}, {columns})"
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    flat = values if columns is None else [number for row in values for number in row]
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(flat)}d", *flat)


def width(program, X, y, activation):
    """What `zeroloss width` says of the points: (groups, the row)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", npy(X, len(X[0])))
            archive.writestr("y.npy", npy(y))
        command = [program, "width", str(path), "--activation", activation, "--draws", "0", "--restarts", "0",
                   "--no-published", "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    answer = json.loads(done.stdout)
    (row,) = [row for row in answer["rows"] if row["id"] == "biased"]
    return answer["groups"], row


def dot(a, b):
    return sum((p * q for p, q in zip(a, b)), Fraction(0))


def reduced(rows, width):
    """The reduced row echelon form, by exact elimination over the first `width` columns, and its pivots."""
    rows, pivots = [list(row) for row in rows], []
    for column in range(width):
        top = len(pivots)
        found = next((k for k in range(top, len(rows)) if rows[k][column] != 0), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        scale = rows[top][column]
        rows[top] = [number / scale for number in rows[top]]
        for k, row in enumerate(rows):
            if k != top and row[column] != 0:
                factor = row[column]
                rows[k] = [number - factor * above for number, above in zip(row, rows[top])]
        pivots.append(column)
    return rows, pivots


def orthogonal(S, others, draw):
    """A vector that is orthogonal to the rows of S, and to no other point."""
    d = len(S[0])
    echelon, pivots = reduced(S, d)
    for _ in range(100):
        u = [Fraction(draw.randint(-10**6, 10**6)) for _ in range(d)]
        for row, pivot in zip(echelon, pivots):
            u[pivot] = -sum((row[k] * u[k] for k in range(d) if k not in pivots), Fraction(0))
        if all(dot(u, x) != 0 for x in others):
            return u
    sys.exit("some point lies in the span of a group that it does not belong to")


def with_product(S, y):
    """A vector p with <p, x> = y on the rows of S."""
    d = len(S[0])
    echelon, pivots = reduced([[*x, target] for x, target in zip(S, y)], d)
    assert len(pivots) == len(S), "the points of a group depend on each other"
    p = [Fraction(0)] * d
    for row, pivot in zip(echelon, pivots):
        p[pivot] = row[d]
    return p


def units(X, y, group, v, a, draw):
    """Hidden weights and biases of four units with output weights v: they fit y on the group, and are 0 elsewhere."""
    positive, negative = [k for k in range(4) if v[k] > 0], [k for k in range(4) if v[k] < 0]
    assert len(positive) == len(negative) == 2, "two units of either sign are needed"
    if a > 1:
        positive, negative = negative, positive
    inside = [X[i] for i in group]
    u = orthogonal(inside, [x for i, x in enumerate(X) if i not in group], draw)
    p = with_product(inside, [y[i] for i in group])
    tau = min((abs(dot(u, x)) for i, x in enumerate(X) if i not in group), default=Fraction(1))
    eps = tau / 2
    delta = eps / (max(abs(dot(p, x)) for x in X) or 1)
    moved = [t + delta * s for t, s in zip(u, p)]
    made = [None] * 4
    for k, (w, b) in zip([*positive, *negative], [(moved, eps), (u, -eps), (moved, -eps), (u, eps)]):
        size = delta * abs(1 - a) * abs(v[k])
        made[k] = ([number / size for number in w], b / size)
    return made


def network(layer, v, a, x):
    def phi(z):
        return z if z >= 0 else a * z

    return sum((weight * phi(dot(w, x) + b) for (w, b), weight in zip(layer, v)), Fraction(0))


def direction(x):
    """The same for points with one direction or opposite ones."""
    exact = [Fraction(number) for number in x]
    common = 1
    for number in exact:
        common = common * number.denominator // gcd(common, number.denominator)
    whole = [int(number * common) for number in exact]
    divisor = gcd(*whole) * (1 if next(k for k in whole if k) > 0 else -1)
    return tuple(k // divisor for k in whole)


def apart(X):
    """Those with directions of their own."""
    return list({direction(x): x for x in X if any(x)}.values())


def points(draw):
    """(name, points): random ones, and those on which rounding would decide."""
    normal = draw.gauss
    yield "random", [[normal(0, 1) for _ in range(4)] for _ in range(11)]
    yield "of a plane", [[normal(0, 1) for _ in range(2)] for _ in range(6)]
    yield "one group", [[normal(0, 1) for _ in range(6)] for _ in range(5)]
    yield "one point", [[3.0, -4.0]]
    yield "small whole numbers", apart([[float(k) for k in x] for x in product(range(-1, 2), repeat=3)])
    base = [normal(0, 1) for _ in range(4)]
    yield "next to parallel", apart([[number * (1 + draw.randint(-3, 3) * 2.0**-52) for number in base]
                                     for _ in range(9)])
    yield "of any size", [[normal(0, 1) * 2.0 ** draw.randint(-120, 120) for _ in range(3)] for _ in range(8)]
    yield "dependent but for one bit", apart([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 2.0**-1000], [1.0, 1.0, 0.0],
                                              [1.0, -1.0, 2.0**-52], [1.0, -1.0, 0.0]])
    repeated = [[normal(0, 1) for _ in range(3)] for _ in range(4)]
    yield "some twice", [*repeated, repeated[1], repeated[2]]


def signs(name, count, draw):
    """Output weights, half of them negative: which, and how large, is another question."""
    sizes = [Fraction(draw.randint(1, 10**6), draw.randint(1, 10**6)) * Fraction(10) ** draw.randint(-30, 30)
             for _ in range(count)]
    v = [size * (1 if k % 2 else -1) for k, size in enumerate(sizes)]
    if name == "positive first":
        v.sort(key=lambda weight: weight < 0)
    if name == "drawn":
        draw.shuffle(v)
    return v


def fits(X, y, groups, v, a, draw):
    """Whether the network is y at every point, in fractions."""
    X, y = [[Fraction(number) for number in x] for x in X], [Fraction(target) for target in y]
    first = {}  # of equal points
    kept = [first.setdefault(tuple(x), i) for i, x in enumerate(X)]
    distinct = sorted(set(kept))
    position = {i: k for k, i in enumerate(distinct)}
    assert sorted(i for group in groups for i in group) == distinct, "the groups are not those of the distinct points"
    free = {sign: [k for k, weight in enumerate(v) if (weight > 0) == sign] for sign in (True, False)}
    layer = [None] * len(v)
    for group in groups:
        mine = [free[True].pop(), free[False].pop(), free[False].pop(), free[True].pop()]
        made = units([X[i] for i in distinct], [y[i] for i in distinct], [position[i] for i in group],
                     [v[k] for k in mine], a, draw)
        for k, unit in zip(mine, made):
            layer[k] = unit
    return all(network(layer, v, a, x) == target for x, target in zip(X, y))


def main(program):
    draw, checked = random.Random(13), 0
    for name, X in points(draw):
        targets = {"signs": [float((-1) ** k) for k in range(len(X))], "zero": [0.0] * len(X),
                   "any": [draw.gauss(0, 1) * 10.0 ** draw.randint(-12, 12) for _ in X]}  # fmt: skip
        for row in targets.values():
            for i, x in enumerate(X):  # equal points have equal targets
                row[i] = row[X.index(x)]
        for activation, leaks in LEAKS.items():
            groups, row = width(program, X, targets["any"], activation)
            needs = "two units of positive and two of negative output weight"
            if row["status"] != "proved" or row["width"] != 4 * len(groups) or needs not in row["says"]:
                sys.exit(f"{name}, {activation}: {row}")
            for a, (kind, y), order in product(leaks, targets.items(), ("in turn", "positive first", "drawn")):
                if not fits(X, y, groups, signs(order, 4 * len(groups), draw), a, draw):
                    sys.exit(f"{name}, targets {kind}, leak {a}, output weights {order}: a residual is left")
                checked += 1
    print(f"{checked} networks fit exactly")


if __name__ == "__main__":
    main(sys.argv[1])
