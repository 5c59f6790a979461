"""zeroloss-check PROGRAM: what is true holds, what was moved beyond it is never passed, changed bits are found.

The numbers that claims are compared with are found by other ways (independent.py)."""

import math
import os
import random
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from claims import Run, check
from independent import SMOOTH, dot, eigenvalues, kernel_matrix, solve, unit

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "zeroloss-check"
HOLDS, FALSE, UNREADABLE, OPEN = 0, 1, 2, 4


def drawn(seed, rows, columns):
    source = random.Random(seed)
    return [[source.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]


class Case(unittest.TestCase):
    def setUp(self):
        self.made = tempfile.TemporaryDirectory()
        self.addCleanup(self.made.cleanup)
        self.run_ = Run(os.path.join(self.made.name, "run"))

    def says(self, status, kind, **keys):
        found, text = check(PROGRAM, self.run_.claim(kind, **keys))
        self.assertEqual(found, status, f"{kind} {keys}: {text}")
        return text

    def never_passed(self, kind, **keys):
        found, text = check(PROGRAM, self.run_.claim(kind, **keys))
        self.assertIn(found, (FALSE, OPEN), f"{kind} {keys}: {text}")


class Kernels(Case):
    def test_every_kernel(self):
        x = drawn(1, 5, 4)
        self.run_.array("x", x)
        self.run_.points("p", "x")
        rows = [unit(row) for row in x]
        for activation in [*SMOOTH, "relu", "leaky_relu", {"leak": (0.3).hex()}, {"leak": (-0.5).hex()}]:
            specs = [{"of": "hidden", "activation": activation}, {"of": "output", "activation": activation}]
            if activation in ("relu", "tanh", "gelu", "sin"):
                specs += [
                    {"of": "layers", "activation": activation, "layers": layers, **more}
                    for layers in (1, 3)
                    for more in (
                        {},
                        {"residual": True, "branch": (1.0).hex()},
                        {"trained": "hidden"},
                        {"residual": True, "branch": (0.75).hex(), "trained": "hidden"},
                        {"trained": "output"},
                    )
                ]
            for spec in specs:
                if activation in ("identity", "quadratic"):
                    continue
                with self.subTest(spec=spec):
                    least = eigenvalues(kernel_matrix(rows, spec))[0]
                    self.says(HOLDS, "lambda_min", points="p", kernel=spec, at_least=least * (1 - 1e-9) - 3e-14)
                    self.says(FALSE, "lambda_min", points="p", kernel=spec, at_least=least * (1 + 1e-9) + 3e-14)

    def test_powers(self):
        x = drawn(2, 5, 4)
        self.run_.array("x", x)
        self.run_.points("p", "x")
        spec = {"of": "power", "exponent": 2}
        least = eigenvalues(kernel_matrix([unit(row) for row in x], spec))[0]
        self.says(HOLDS, "lambda_min", points="p", kernel=spec, at_least=least * (1 - 1e-9))
        self.says(FALSE, "lambda_min", points="p", kernel=spec, at_least=least * (1 + 1e-9))

    def test_tail_of_the_series(self):
        x = [[float(i == j) for j in range(6)] for i in range(6)]
        x = [[a + 0.1 * b for a, b in zip(row, noise)] for row, noise in zip(x, drawn(23, 6, 6))]
        self.run_.array("x", x)
        self.run_.points("p", "x")
        rows = [unit(row) for row in x]
        for activation, first, power in (
            ("relu", 0.25, 1),
            ("relu", 0.25, 2),
            ("leaky_relu", 0.255025, 2),
            ("sin", 0, 1),
        ):
            spec = {"of": "hidden", "activation": activation}
            full = kernel_matrix(rows, spec)
            tail = [
                [v - (first * dot(a, b) if power == 2 else 0) for v, b in zip(line, rows)]
                for line, a in zip(full, rows)
            ]
            for i, line in enumerate(tail):
                line[i] = full[i][i] - (first if power == 2 else 0)
            bound = min(2 * line[i] - sum(abs(v) for v in line) for i, line in enumerate(tail))
            keys = {"points": "p", "kernel": spec, "tail": power}
            self.assertIn("by the tail", self.says(HOLDS, "lambda_min", at_least=bound * (1 - 1e-5), **keys))
            self.assertNotIn("by the tail", self.says(HOLDS, "lambda_min", at_least=bound * (1 + 1e-9), **keys))
            self.says(FALSE, "lambda_min", at_least=eigenvalues(full)[0] * (1 + 1e-9), **keys)

    def test_close_pair_needs_many_bits(self):
        x = drawn(3, 6, 4)
        x.append([v * (1 + 1e-9 * i) for i, v in enumerate(x[0])])
        self.run_.array("x", x)
        self.run_.points("p", "x")
        u, v = unit(x[0]), unit(x[-1])
        angle = math.sqrt(sum((a - b) ** 2 for a, b in zip(u, v)))
        relu = {"of": "hidden", "activation": "relu"}
        # A pair at the angle t makes lambda_min some t/(2 pi) (1 - ..)/2 at most.
        self.says(HOLDS, "lambda_min", points="p", kernel=relu, at_least=angle / (8 * math.pi * 7))
        self.says(FALSE, "lambda_min", points="p", kernel=relu, at_least=angle)

    def test_equal_points_have_none(self):
        x = drawn(4, 5, 3)
        x.append([2 * v for v in x[1]])
        self.run_.array("x", x)
        self.run_.points("p", "x")
        self.never_passed("lambda_min", points="p", kernel={"of": "hidden", "activation": "relu"}, at_least=1e-300)

    def test_steps_of_points(self):
        x = drawn(5, 6, 3)
        self.run_.array("x", x)
        self.run_.array("s", [2.0, 0.5, 1.0])
        self.run_.array("c", [[0.25, -0.5, 0.125, 0.0], [1e-20, 0.0, 0.0, 0.0]])
        self.run_.array("rows", [5, 0, 3], "int64")
        self.run_.points(
            "p", "x", [{"scale": "s"}, {"append": (0.5).hex()}, {"subtract": "c"}, "normalize"], rows="rows"
        )
        rows = [unit([2 * a - 0.25, 0.5 * b + 0.5, c - 0.125, 0.5]) for a, b, c in (x[5], x[0], x[3])]
        spec = {"of": "hidden", "activation": "relu"}
        least = eigenvalues(kernel_matrix(rows, spec))[0]
        self.says(HOLDS, "lambda_min", points="p", kernel=spec, at_least=least * (1 - 1e-9))
        self.says(FALSE, "lambda_min", points="p", kernel=spec, at_least=least * (1 + 1e-9))

    def test_separation(self):
        x = drawn(6, 30, 3)
        self.run_.array("x", x)
        self.run_.points("p", "x")
        rows = [unit(row) for row in x]
        delta = min(math.dist(a, [s * v for v in b]) for i, a in enumerate(rows) for b in rows[:i] for s in (-1, 1))
        self.says(HOLDS, "separation", points="p", at_least=delta * (1 - 1e-12))
        self.says(FALSE, "separation", points="p", at_least=delta * (1 + 1e-12))
        self.says(
            HOLDS, "separation", points="p", at_least=delta * (1 - 1e-12), angle=2 * math.asin(delta / 2) * (1 - 1e-12)
        )
        self.says(
            FALSE, "separation", points="p", at_least=delta * (1 - 1e-12), angle=2 * math.asin(delta / 2) * (1 + 1e-12)
        )


class Equal(Case):
    def test_points(self):
        x = drawn(7, 6, 3)
        x += [
            [4 * v for v in x[2]],
            [-0.5 * v for v in x[4]],
            [v * (1 + 2**-52) if i else v for i, v in enumerate(x[0])],
        ]
        self.run_.array("x", x)
        self.run_.array("equal", [[2, 6]], "int64")
        self.run_.array("close", [[0, 8]], "int64")
        self.run_.array("opposite", [[7, 4]], "int64")
        self.run_.array("same", [[3, 3]], "int64")
        self.run_.array("y", [0, 1, 0, 1, 0, 1, 1, 0, 0], "int64")
        self.run_.points("p", "x")
        self.says(HOLDS, "equal_points", points="p", pairs="equal", distinct=8)
        self.says(FALSE, "equal_points", points="p", distinct=9)
        self.says(FALSE, "equal_points", points="p", distinct=7)
        self.says(HOLDS, "antipodal", points="p", pairs="opposite")
        self.says(FALSE, "antipodal", points="p", none=True)
        self.says(HOLDS, "conflict", points="p", targets="y", pairs="equal")
        self.says(FALSE, "conflict", points="p", targets="y", none=True)
        for lie in ("close", "opposite", "same"):
            self.says(FALSE, "equal_points", points="p", pairs=lie)
        for lie in ("close", "equal", "same"):
            self.says(FALSE, "antipodal", points="p", pairs=lie)
        self.says(FALSE, "conflict", points="p", targets="y", pairs="close")
        self.run_.points("raw", "x", [])
        self.says(FALSE, "equal_points", points="raw", pairs="equal")
        self.says(HOLDS, "equal_points", points="raw", distinct=9)

    def test_too_few(self):
        x = [[a, b, a + b, 0.0, a] for a, b in drawn(8, 12, 2)]
        x = [[round(v * 64) / 64 for v in row] for row in x]
        x = [[row[0], row[1], row[0] + row[1], 0.0, row[0]] for row in x]
        self.run_.array("x", x)
        self.run_.points("p", "x")
        common = {"points": "p", "activation": "relu"}
        self.says(HOLDS, "too_few", width=5, rank_at_most=2, **common)
        self.says(FALSE, "too_few", width=6, rank_at_most=2, **common)
        self.says(FALSE, "too_few", width=1, rank_at_most=1, **common)
        self.says(HOLDS, "too_few", width=3, rank_at_most=3, **common)
        self.says(HOLDS, "too_few", width=3, rank_at_most=3, biases=True, **common)
        self.never_passed("too_few", width=5, rank_at_most=2, biases=True, **common)
        self.says(HOLDS, "too_few", width=1000, rank_at_most=4, points="p", activation="quadratic")


TANH = (math.tanh, lambda z: 1 / math.cosh(z) ** 2)
RELU = (lambda z: max(z, 0.0), lambda z: 1.0 if z >= 0 else 0.0)


def two_layers(rows, y, width, phi, seed):
    """Weights near an exact network, by damped Gauss-Newton steps, with J J^T and the misfit."""
    f, df = phi
    n, d = len(rows), len(rows[0])
    v = [(1 if j % 2 else -1) / math.sqrt(width) for j in range(width)]
    g = [[dot(a, b) for b in rows] for a in rows]

    def residual(w):
        z = [[dot(x, u) for u in w] for x in rows]
        return z, [sum(f(z[i][j]) * v[j] for j in range(width)) - y[i] for i in range(n)]

    w, mu = drawn(seed, width, d), 1.0
    for _ in range(200):
        z, r = residual(w)
        s = [[df(z[i][j]) * v[j] for j in range(width)] for i in range(n)]
        k = [[dot(s[i], s[p]) * g[i][p] for p in range(n)] for i in range(n)]
        misfit = math.sqrt(dot(r, r))
        if misfit < 1e-11:
            break
        c = solve([[k[i][p] + (mu if i == p else 0) for p in range(n)] for i in range(n)], r)
        moved = [[w[j][t] - sum(c[i] * s[i][j] * rows[i][t] for i in range(n)) for t in range(d)] for j in range(width)]
        _, after = residual(moved)
        if dot(after, after) < misfit**2:
            w, mu = moved, mu / 8
        else:
            mu *= 4
    return w, v, k, misfit


class Networks(Case):
    def prepare(self, name, phi, n=14, d=5, width=16):
        x, y = drawn(9, n, d), [v[0] for v in drawn(10, n, 1)]
        w, v, k, misfit = two_layers([unit(row) for row in x], y, width, phi, 11)
        for array, values in (("x", x), ("W", w), ("v", [v]), ("y", y)):
            self.run_.array(array, values)
        self.run_.points("p", "x")
        self.run_.network(
            "net",
            [
                {"op": "affine", "weight": "W", "trained": ["weight"]},
                {"op": "activation", "activation": name},
                {"op": "affine", "weight": "v"},
            ],
        )
        spectrum = eigenvalues(k)
        return misfit + 1e-14, spectrum[0], spectrum[-1]

    def test_two_layers(self):
        common = {"network": "net", "points": "p", "targets": "y"}
        for name, phi in (("tanh", TANH), ("relu", RELU)):
            with self.subTest(activation=name):
                e, least, most = self.prepare(name, phi)
                self.says(HOLDS, "misfit", at_most=e * (1 + 1e-2), **common)
                self.never_passed("misfit", at_most=e / 100, **common)
                radius = 1.01 * e / math.sqrt(least) * 1.1
                self.says(HOLDS, "existence", radius=radius, lambda_min=least * (1 - 1e-8), misfit=e * 1.02, **common)
                self.never_passed("existence", radius=radius, lambda_min=least * (1 + 1e-8), **common)
                self.never_passed("existence", radius=radius, misfit=e / 100, **common)
                self.never_passed("existence", radius=e / math.sqrt(most) / 1.01 / 100, **common)
                a = math.sqrt(least) / 2
                b = math.sqrt(most) + a / 3
                step, rate, reach = 0.48 / b**2 * 0.999, a * a * 0.999, 5 * e * 1.01 / (3 * a) * 1.01
                self.says(HOLDS, "descent", step=step, rate=rate, radius=reach, **common)
                self.says(HOLDS, "descent", step=step / 3, rate=rate / 2, radius=reach * 2, **common)
                # Beyond what any theorem could say: a step that is not stable, a rate above lambda_min, a way too short
                self.never_passed("descent", step=2.01 / most, rate=rate, radius=reach, **common)
                self.never_passed("descent", step=step, rate=least * 1.01, radius=reach, **common)
                self.never_passed("descent", step=step, rate=rate, radius=e / math.sqrt(most) / 300, **common)

    def test_equal_points_count_twice(self):
        e, least, _ = self.prepare("tanh", TANH)
        x = drawn(9, 14, 5)
        y = [v[0] for v in drawn(10, 14, 1)]
        self.run_.array("x2", [*x, [2 * v for v in x[3]]])
        self.run_.array("y2", [*y, y[3]])
        self.run_.array("y3", [*y, y[3] + 1])
        self.run_.points("p2", "x2")
        radius = 1.2 * 1.5 * e / math.sqrt(least)
        self.says(HOLDS, "existence", network="net", points="p2", targets="y2", radius=radius)
        self.says(FALSE, "existence", network="net", points="p2", targets="y3", radius=1.0)

    def test_pairs(self):
        # Every unit twice with opposite output weights: outputs are 0, and large weights make descent stay in one cell.
        x = drawn(12, 8, 4)
        half = drawn(13, 10, 4)
        self.run_.array("x", x)
        self.run_.points("p", "x")
        rows = [unit(row) for row in x]
        z = [[dot(r, w) for w in half] for r in rows]
        s = [[(1.0 if v > 0 else 0.0) / math.sqrt(20) for v in line] for line in z]
        k = [[2 * dot(s[i], s[j]) * dot(rows[i], rows[j]) for j in range(8)] for i in range(8)]
        spectrum = eigenvalues(k)
        length = 3.0
        alpha = 1.01 * length / math.sqrt(spectrum[0]) / min(abs(v) for line in z for v in line)
        step, rate = 0.999 / (alpha**2 * spectrum[-1]), alpha**2 * spectrum[0] * 0.9999
        for scale, status in ((alpha, HOLDS), (alpha / 50, None)):
            v = [scale / math.sqrt(20)] * 10 + [-scale / math.sqrt(20)] * 10
            self.run_.array("W", half + half)
            self.run_.array("v", [v])
            self.run_.network(
                "net",
                [
                    {"op": "affine", "weight": "W", "trained": ["weight"]},
                    {"op": "activation", "activation": "relu"},
                    {"op": "affine", "weight": "v"},
                ],
            )
            keys = {"network": "net", "points": "p", "distance": length, "step": step, "rate": rate}
            if status is None:
                self.never_passed("descent", **keys)
            else:
                self.says(status, "descent", **keys)
                self.never_passed("descent", **{**keys, "rate": rate * 1.001})
                self.never_passed("descent", **{**keys, "step": step * 1.01})
                self.never_passed("descent", **{**keys, "distance": length * 500})

    def test_changed_bits(self):
        e, _least, _ = self.prepare("tanh", TANH)
        self.says(HOLDS, "misfit", network="net", points="p", targets="y", at_most=1.1 * e)
        for name in ("x", "W", "v", "y"):
            path = os.path.join(self.run_.folder, name + ".npy")
            with open(path, "rb") as file:
                whole = bytearray(file.read())
            whole[-5] ^= 1
            with open(path, "wb") as file:
                file.write(whole)
            found, text = check(PROGRAM, self.run_)
            self.assertEqual(found, FALSE)
            self.assertIn(name + ".npy has changed", text)
            whole[-5] ^= 1
            with open(path, "wb") as file:
                file.write(whole)
        self.assertEqual(check(PROGRAM, self.run_)[0], HOLDS)


class Labels(Case):
    def test_margins(self):
        x, w, b, v = drawn(14, 20, 4), drawn(15, 7, 4), drawn(16, 1, 7)[0], drawn(17, 3, 7)
        for name, values in (
            ("x", x),
            ("w", w),
            ("b", b),
            ("v", v),
            ("u", drawn(18, 7, 7)),
            ("shift", [0.5, 0.25, 1.0, -2.0]),
        ):
            self.run_.array(name, values)
        u = drawn(18, 7, 7)
        self.run_.points("p", "x", [])
        self.run_.network(
            "net",
            [
                {"op": "subtract", "by": "shift"},
                {"op": "affine", "weight": "w", "bias": "b"},
                {"op": "activation", "activation": "gelu"},
                {"op": "affine", "weight": "u"},
                {"op": "activation", "activation": "relu"},
                {"op": "scale", "by": (0.5).hex()},
                {"op": "add", "node": 2},
                {"op": "affine", "weight": "v"},
            ],
        )
        gelu = SMOOTH["gelu"][0]
        labels, margins = [], []
        for row in x:
            h = [gelu(dot([p - q for p, q in zip(row, [0.5, 0.25, 1.0, -2.0])], line) + c) for line, c in zip(w, b)]
            h = [a + max(0.0, dot(h, line)) / 2 for a, line in zip(h, u)]
            f = [dot(h, line) for line in v]
            labels.append(f.index(max(f)))
            margins.append(max(f) - sorted(f)[1])
        self.run_.array("labels", labels, "int64")
        keys = {"network": "net", "points": "p", "labels": "labels"}
        self.says(HOLDS, "labels", right="all", margin=min(margins) * (1 - 1e-9), **keys)
        self.says(FALSE, "labels", right="all", margin=min(margins) * (1 + 1e-9), **keys)
        self.says(FALSE, "labels", wrong="all", **keys)
        wrong = labels[:]
        wrong[4] = (wrong[4] + 1) % 3
        self.run_.array("labels", wrong, "int64")
        self.run_.array("four", [4], "int64")
        self.run_.array("rest", [i for i in range(20) if i != 4], "int64")
        self.says(FALSE, "labels", right="all", **keys)
        self.says(HOLDS, "labels", right="rest", wrong="four", **keys)

    def test_memorised_is_all_of_them_once(self):
        self.run_.array("x", [[1.0, 0.0], [0.0, 1.0]])
        self.run_.array("w", [[1.0, 0.0], [0.0, 1.0]])
        self.run_.array("labels", [0, 1], "int64")
        self.run_.array("swapped", [1, 0], "int64")
        self.run_.array("twice", [0, 0], "int64")
        self.run_.points("p", "x")
        self.run_.network("net", [{"op": "affine", "weight": "w"}])
        self.says(HOLDS, "memorised", network="net", points="p", labels="labels")
        self.says(FALSE, "memorised", network="net", points="p", labels="swapped")
        self.says(UNREADABLE, "memorised", network="net", points="p", labels="swapped", wrong="all")
        self.says(UNREADABLE, "memorised", network="net", points="p", labels="labels", right="twice")
        self.says(UNREADABLE, "labels", network="net", points="p", labels="labels", right="twice")

    def test_residual_blocks(self):
        x, u, v, b = drawn(61, 5, 3), drawn(62, 6, 3), drawn(63, 6, 3), drawn(64, 1, 6)[0]
        for name, values in (("x", x), ("u", u), ("v", v), ("b", b)):
            self.run_.array(name, values)
        self.run_.points("p", "x", [])
        self.run_.network("net", [{"op": "blocks", "weight": "u", "bias": "b", "back": "v", "activation": "tanh"}])
        labels, margins = [], []
        for h in x:
            for at in (0, 3):
                z = [math.tanh(dot(h, line) + c) for line, c in zip(u[at : at + 3], b[at : at + 3])]
                h = [a + dot(z, line) for a, line in zip(h, v[at : at + 3])]
            labels.append(h.index(max(h)))
            margins.append(max(h) - sorted(h)[1])
        self.run_.array("labels", labels, "int64")
        keys = {"network": "net", "points": "p", "labels": "labels", "right": "all"}
        self.says(HOLDS, "labels", margin=min(margins) * (1 - 1e-9), **keys)
        self.says(FALSE, "labels", margin=min(margins) * (1 + 1e-9), **keys)
        self.run_.array("b", b[:3])
        self.says(UNREADABLE, "labels", **keys)

    def test_weights_that_stand_twice_do_not_move_alone(self):
        self.run_.array("x", [[1.0, 2.0]])
        self.run_.array("w", [[1.0, 0.0], [0.0, 1.0]])
        self.run_.array("b", [0.5, 0.25])
        self.run_.array("v", [[1.0, 1.0]])
        self.run_.array("y", [7.0])
        self.run_.points("p", "x", [])
        moving = {"op": "affine", "weight": "w", "bias": "b", "trained": ["bias"]}
        self.run_.network("net", [{"op": "subtract", "by": "b"}, moving, {"op": "affine", "weight": "v"}])
        self.says(UNREADABLE, "existence", network="net", points="p", targets="y", radius=3.0)
        self.run_.network("net", [{"op": "affine", "weight": "w"}, {"op": "affine", "weight": "w"}])
        self.says(UNREADABLE, "last_layer", network="net", points="p", lambda_min=1e-3)

    def test_radii_and_steps_below_zero(self):
        self.run_.array("x", [[1.0, 0.0], [0.0, 1.0]])
        self.run_.array("w", [[1.0, 0.5]])
        self.run_.array("y", [3.0, 4.0])
        self.run_.points("p", "x", [])
        self.run_.network("net", [{"op": "affine", "weight": "w"}])
        keys = {"network": "net", "points": "p", "targets": "y", "lambda_min": 0.5}
        self.says(HOLDS, "last_layer", radius=5.0, step=0.9, **keys)
        self.never_passed("last_layer", radius=1.0, **keys)
        self.says(UNREADABLE, "last_layer", radius=-5.0, **keys)
        self.says(UNREADABLE, "last_layer", radius=5.0, step=-1.0, **keys)
        self.run_.array("x", [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
        self.run_.points("p", "x")
        self.says(UNREADABLE, "too_few", points="p", activation="relu", width=1, rank_at_most=1)

    def test_a_tie_is_neither(self):
        self.run_.array("x", [[1.0, 1.0]])
        self.run_.array("w", [[1.0, 2.0], [2.0, 1.0]])
        self.run_.array("labels", [0], "int64")
        self.run_.points("p", "x", [])
        self.run_.network("net", [{"op": "affine", "weight": "w"}])
        keys = {"network": "net", "points": "p", "labels": "labels"}
        self.never_passed("labels", right="all", **keys)
        self.never_passed("labels", wrong="all", **keys)

    def test_one_output(self):
        self.run_.array("x", [[1.0], [-1.0]])
        self.run_.array("w", [[3.0]])
        self.run_.array("labels", [1, 0], "int64")
        self.run_.points("p", "x", [])
        self.run_.network("net", [{"op": "affine", "weight": "w"}])
        keys = {"network": "net", "points": "p", "labels": "labels", "right": "all"}
        self.says(HOLDS, "labels", margin=3.0, **keys)
        self.never_passed("labels", margin=math.nextafter(3.0, 4.0), **keys)


class LastLayer(Case):
    def test_last_layer(self):
        x, w, v = drawn(19, 6, 3), drawn(20, 9, 3), drawn(21, 2, 9)
        y = drawn(22, 6, 2)
        for name, values in (("x", x), ("w", w), ("v", v), ("y", y)):
            self.run_.array(name, values)
        self.run_.points("p", "x", [])
        self.run_.network(
            "net",
            [
                {"op": "affine", "weight": "w"},
                {"op": "activation", "activation": "tanh"},
                {"op": "affine", "weight": "v"},
            ],
        )
        z = [[math.tanh(dot(row, line)) for line in w] for row in x]
        spectrum = eigenvalues([[dot(a, b) for b in z] for a in z])
        misfit = math.sqrt(sum((dot(a, line) - t) ** 2 for a, target in zip(z, y) for line, t in zip(v, target)))
        keys = {"network": "net", "points": "p"}
        least, far = spectrum[0], misfit / math.sqrt(spectrum[0])
        self.says(
            HOLDS,
            "last_layer",
            lambda_min=least * (1 - 1e-9),
            targets="y",
            radius=far * (1 + 1e-8),
            step=1 / spectrum[-1] * (1 - 1e-9),
            **keys,
        )
        self.says(FALSE, "last_layer", lambda_min=least * (1 + 1e-9), **keys)
        self.never_passed("last_layer", lambda_min=least / 2, targets="y", radius=far * (1 - 1e-8), **keys)
        self.never_passed("last_layer", lambda_min=least / 2, step=1 / spectrum[-1] * (1 + 1e-8), **keys)


if __name__ == "__main__":
    unittest.main(verbosity=1)
