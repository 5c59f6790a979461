"""zeroloss-check PROGRAM: existence and descent of layers, on kinks, factorisations and theorems, against other ways.

J is found by differences here, and how fast it changes is measured at random weights, which no bound may be below."""

import math
import os
import random
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from independent import SMOOTH, dot, eigenvalues, expected, unit
from lies import FALSE, HOLDS, UNREADABLE, Case, drawn


def relu(z):
    return max(z, 0.0)


class Net:
    """Layers as README.md has them, their numbers one list."""

    def __init__(self, inputs, layers, outputs, seed, trained_last):
        self.shapes, self.layers, self.trained_last = [], layers, trained_last
        width = inputs
        for _name, size, residual, _s in layers:
            self.shapes += [(size, width), (size, 1)] + ([(width, size), (width, 1)] if residual else [])
            width = width if residual else size
        self.shapes += [(outputs, width), (outputs, 1)]
        source = random.Random(seed)
        self.numbers = [source.gauss(0, 1) / math.sqrt(b) for a, b in self.shapes for _ in range(a * b)]

    def parts(self, numbers):
        at, found = 0, []
        for a, b in self.shapes:
            found.append([numbers[at + i * b : at + (i + 1) * b] for i in range(a)])
            at += a * b
        return found

    def moving(self):
        count = sum(a * b for a, b in self.shapes)
        return count if self.trained_last else count - sum(a * b for a, b in self.shapes[-2:])

    def run(self, x, numbers):
        parts, h = iter(self.parts(numbers)), x

        def affine(h):
            w, b = next(parts), next(parts)
            return [dot(row, h) + c[0] for row, c in zip(w, b)]

        for name, _, residual, s in self.layers:
            f = relu if name == "relu" else SMOOTH[name][0]
            a = [f(z) for z in affine(h)]
            h = [p + s * q for p, q in zip(h, affine(a))] if residual else [s * q for q in a]
        return affine(h)

    def jacobian(self, rows, numbers, step=1e-4):
        """Rows by point and output, by central differences of two steps (Richardson)."""
        columns = []
        for k in range(self.moving()):
            found = []
            for size in (step, 2 * step):
                ends = []
                for sign in (1, -1):
                    moved = numbers[:]
                    moved[k] += sign * size
                    ends.append([v for x in rows for v in self.run(x, moved)])
                found.append([(p - q) / (2 * size) for p, q in zip(*ends)])
            columns.append([(4 * p - q) / 3 for p, q in zip(*found)])
        return [list(row) for row in zip(*columns)]

    def describe(self, run):
        nodes, count = [], 0

        def affine(trained):
            nonlocal count
            w, b = parts[count], [c[0] for c in parts[count + 1]]
            run.array(f"w{count}", w)
            run.array(f"b{count}", b)
            nodes.append(
                {
                    "op": "affine",
                    "weight": f"w{count}",
                    "bias": f"b{count}",
                    **({"trained": ["weight", "bias"]} if trained else {}),
                }
            )
            count += 2

        parts = self.parts(self.numbers)
        for name, _, residual, s in self.layers:
            begin = len(nodes) - 1
            affine(True)
            nodes.append({"op": "activation", "activation": name})
            if residual:
                affine(True)
            nodes.append({"op": "scale", "by": s.hex()})
            if residual:
                nodes.append({"op": "add", "node": begin})
        affine(self.trained_last)
        run.network("net", nodes)


NETS = [
    Net(3, [("tanh", 5, False, 1.0), ("gelu", 4, False, 0.5)], 2, 1, True),
    Net(3, [("identity", 4, False, 1.5), ("tanh", 5, True, 0.5), ("softplus", 4, True, -0.25)], 1, 2, True),
    Net(3, [("relu", 6, False, 1.0), ("relu", 5, False, 1.0)], 2, 3, False),
]


class Deep(Case):
    def test_layers(self):
        for number, net in enumerate(NETS):
            with self.subTest(net=number):
                x = drawn(30 + number, 4, 3)
                rows = [unit(row) for row in x]
                y = [net.run(row, net.numbers) for row in rows]
                y[0][0] += 1e-9
                self.run_.array("x", x)
                self.run_.array("y", y)
                self.run_.points("p", "x")
                net.describe(self.run_)
                j = net.jacobian(rows, net.numbers)
                spectrum = eigenvalues([[dot(a, b) for b in j] for a in j])
                least, most, e = spectrum[0], spectrum[-1], 1.0001e-9
                keys = {"network": "net", "points": "p", "targets": "y"}
                radius = e / math.sqrt(least) * 1.01
                self.says(HOLDS, "existence", radius=radius, lambda_min=least * (1 - 1e-6), misfit=e, **keys)
                self.says(FALSE, "existence", radius=radius, lambda_min=least * (1 + 1e-6), **keys)
                self.never_passed("existence", radius=radius, misfit=0.999e-9, **keys)
                self.never_passed("existence", radius=e / math.sqrt(most) * 0.9, **keys)
                a = math.sqrt(least) / 2 * (1 - 1e-6)
                b = math.sqrt(most) * (1 + 1e-6) + a / 3
                step, reach = 0.48 / b**2 * (1 - 1e-9), 5 * e / (3 * a)
                self.says(HOLDS, "descent", step=step, rate=a * a, radius=reach, **keys)
                self.never_passed("descent", step=2.01 / most, rate=a * a, radius=reach, **keys)
                self.never_passed("descent", step=step, rate=least * 1.01, radius=reach, **keys)
                self.never_passed("descent", step=step, rate=a * a, radius=e / math.sqrt(most) / 2, **keys)

    def test_how_fast_j_changes(self):
        source = random.Random(5)
        for number, net in enumerate(NETS[:2]):
            x = drawn(30 + number, 4, 3)
            rows = [unit(row) for row in x]
            self.run_.array("x", x)
            self.run_.array("y", [net.run(row, net.numbers) for row in rows])
            self.run_.points("p", "x")
            net.describe(self.run_)
            # With targets that are met any radius is enough; the text has the bound for a ball of that size or less.
            text = self.says(HOLDS, "existence", network="net", points="p", targets="y", radius=1e-4)
            bound = float(re.search(r"J changes by at most (\S+) a unit", text).group(1))
            fastest = 0.0
            for _ in range(3):
                turn = [source.gauss(0, 1) for _ in range(net.moving())]
                length = math.sqrt(dot(turn, turn))
                moved = net.numbers[:]
                for k, t in enumerate(turn):
                    moved[k] += 1e-2 * t / length
                before, after = net.jacobian(rows, net.numbers), net.jacobian(rows, moved)
                change = [[q - p for p, q in zip(a, b)] for a, b in zip(before, after)]
                fastest = max(fastest, 100 * math.sqrt(eigenvalues([[dot(a, b) for b in change] for a in change])[-1]))
            self.assertGreater(bound * 1.05, fastest)

    def test_a_kink(self):
        x = drawn(40, 5, 4)
        rows = [unit(row) for row in x]
        w, v = drawn(41, 8, 4), [(-1.0) ** j for j in range(8)]
        z = dot(rows[0], w[0])
        w[0] = [p - z * q for p, q in zip(w[0], rows[0])]  # z of point 0 and unit 0 is some 1e-17
        on = [[relu(dot(row, u)) if (i, j) != (0, 0) else 0.0 for j, u in enumerate(w)] for i, row in enumerate(rows)]
        for name, values in (("x", x), ("w", w), ("v", [v]), ("y", [dot(line, v) for line in on])):
            self.run_.array(name, values)
        self.run_.array("kink", [[0, 0]], "int64")
        self.run_.array("other", [[1, 3]], "int64")
        self.run_.points("p", "x")
        self.run_.network(
            "net",
            [
                {"op": "affine", "weight": "w", "trained": ["weight"]},
                {"op": "activation", "activation": "relu"},
                {"op": "affine", "weight": "v"},
            ],
        )
        keys = {"network": "net", "points": "p", "targets": "y"}
        self.says(HOLDS, "existence", radius=1e-13, kinks="kink", **keys)
        self.never_passed("existence", radius=1e-13, kinks="other", **keys)
        self.never_passed("existence", radius=1e-19, kinks="kink", **keys)
        far = [row[:] for row in w]
        far[2][1] += 1e-6
        self.run_.array("far", far)
        self.run_.network(
            "start",
            [
                {"op": "affine", "weight": "far", "trained": ["weight"]},
                {"op": "activation", "activation": "relu"},
                {"op": "affine", "weight": "v"},
            ],
        )
        keys["network"] = "start"
        self.says(HOLDS, "existence", radius=1.001e-6, kinks="kink", witness="net", **keys)
        self.never_passed("existence", radius=0.999e-6, kinks="kink", witness="net", **keys)


class Maps(Case):
    def test_factorisation(self):
        layers = [[[v / 8 for v in row] for row in drawn(seed, 3, 3)] for seed in (50, 51, 52)]
        product = [[float(i == j) for j in range(3)] for i in range(3)]
        for layer in layers:
            product = [[product[i][j] + dot(layer[i], [row[j] for row in product]) for j in range(3)] for i in range(3)]
        for name, values in zip(("a", "b", "c", "r"), [*layers, product]):
            self.run_.array(name, values)
        norms = [
            math.sqrt(eigenvalues([[dot(p, q) for q in zip(*layer)] for p in zip(*layer)])[-1]) for layer in layers
        ]
        most = max(norms)
        keys = {"map": "r", "layers": ["a", "b", "c"]}
        self.says(HOLDS, "factorisation", max_norm=most * (1 + 1e-9), correction=1e-14, error=1e-15, **keys)
        self.never_passed("factorisation", max_norm=most * (1 - 1e-9), **keys)
        self.never_passed("factorisation", max_norm=most * (1 + 1e-9), correction=1e-19, **keys)
        self.never_passed("factorisation", max_norm=most * (1 + 1e-9), error=1e-19, **keys)
        self.never_passed(
            "factorisation", map="r", layers=["b", "a", "c"], max_norm=most * (1 + 1e-9), correction=1e-14
        )

    def test_theorems(self):
        x = drawn(53, 9, 4)
        rows = [unit(row) for row in x]
        y = [v[0] for v in drawn(54, 9, 1)]
        self.run_.array("x", x)
        self.run_.array("y", y)
        self.run_.points("p", "x")
        n, p, lam = 9, 0.02, 1e-5
        norm = math.sqrt(eigenvalues([[dot(a, b) for b in rows] for a in rows])[-1])
        length = math.sqrt(dot(y, y))
        rho = math.sqrt((length + math.sqrt(n * math.log(12 / p) / math.pi)) ** 2 + 0.341 * n) + norm * math.sqrt(
            2 * math.log(6 / p)
        )
        d0 = norm * math.sqrt(2 * math.log(3 / p) / n)
        chernoff = 6.52 * math.log(n / p) * norm**2 / lam
        a = 7.45 * 0.25 * (math.sqrt(2) + norm * math.sqrt(2 * math.log(2 / p) / n)) * math.sqrt(n) * norm / lam
        smooth = max(((a + math.sqrt(a * a + 4)) / 2) ** 2, 6.52 * math.log(2 * n / p) * norm**2 / lam + 1)

        def stochastic(m):
            nu = max(3, 4 * (3 * norm / math.sqrt(lam)) ** (1 / (m * 4)) / (0.9 * p))
            d0 = norm * math.sqrt(2 * math.log(20 / p) / n)
            a = 32 * nu * 0.25 * (math.sqrt(2) + d0) * math.sqrt(n) * norm / lam
            width = max(((a + math.sqrt(a * a + 4)) / 2) ** 2, 6.52 * math.log(20 * n / p) * norm**2 / lam + 1)
            x = lam**2 * (m - 1) / (144 * m * n * nu * norm**2)
            return width, lam * n / (9 * nu * length**2 * norm**2), x / (1 + math.sqrt(1 - x))

        steps = stochastic(1e30)[0]
        for _ in range(50):
            steps = stochastic(steps)[0]
        start = math.sqrt(n * expected(math.tanh, 1.0))  # tanh has a slope of 1 at most
        output = min(
            6.52 * math.log(n / p) * (start + t * norm) ** 2 / (lam - tail)
            for t in (k / 64 for k in range(1, 2561))
            for tail in [((start + t * norm) ** 2 + 2 * norm**2 * (1 + start / (norm * t))) * math.exp(-t * t / 2)]
            if tail < lam
        )
        theta = min(math.acos(abs(dot(a, b))) for i, a in enumerate(rows) for b in rows[:i]) * (1 - 1e-12)
        rank = 4 * math.pi / theta * (n + math.sqrt(2 * n * math.log(1 / p)) + math.log(1 / p))
        table = [
            ("dzps_3_1", "relu", 488 * norm**6 * rho**2 / lam**4, None, lam / 2),
            ("dzps_4_1", "relu", 2510 * norm**6 * rho**2 / lam**4, 1 / (3 * norm**2), lam / (14 * norm**2)),
            (
                "os_6_3",
                "relu",
                2510 * (1.16 + d0) ** 2 * n * norm**6 / lam**4 + 2,
                n / (3 * length**2 * norm**2),
                lam / (14 * norm**2),
            ),
            ("os_6_2", "softplus", smooth, n / (2 * length**2 * norm**2), lam / (28 * norm**2)),
            ("os_2_6", "softplus", steps, stochastic(steps)[1], stochastic(steps)[2]),
            ("os_3_2", "tanh", output, None, None),
            ("zl_a", "relu", rank, None, None),
            ("zl_b", "relu", chernoff, None, None),
            ("zl_c", "tanh", 2 * chernoff, None, None),
        ]
        for name, activation, width, step, rate in table:
            with self.subTest(theorem=name):
                keys = {
                    "id": name,
                    "points": "p",
                    "activation": activation,
                    "failure_probability": 2 * p,
                    "networks": 2,
                    "targets": "y",
                    "lambda": theta if name == "zl_a" else lam,
                }
                numbers = {key: value for key, value in (("step", step), ("rate", rate)) if value is not None}
                # The rate is that of the step.
                good = {key: value * (1 - (3e-9 if key == "rate" else 1e-9)) for key, value in numbers.items()}
                self.says(HOLDS, "theorem", width=width * (1 + 1e-9), **good, **keys)
                self.says(FALSE, "theorem", width=width * (1 - 1e-9), **good, **keys)
                for key, value in numbers.items():
                    self.says(FALSE, "theorem", width=width * (1 + 1e-9), **{**good, key: value * (1 + 1e-9)}, **keys)
                if name == "os_2_6":  # whose rate is that of a root
                    square, half = rate * (2 - rate) / 2, {**keys, "width": width * (1 + 1e-9), "step": step / 2}
                    self.says(HOLDS, "theorem", rate=square / (1 + math.sqrt(1 - square)) * (1 - 1e-9), **half)
                    self.says(FALSE, "theorem", rate=square / (1 + math.sqrt(1 - square)) * (1 + 1e-9), **half)
                if step is not None:
                    self.says(FALSE, "theorem", width=width * 2, **{**good, "step": step * 1e-9}, **keys)
                    self.says(UNREADABLE, "theorem", width=width * 2, rate=rate, **keys)
                self.run_.array("three", [[v, v, v] for v in y])
                self.says(UNREADABLE, "theorem", width=width * 2, **{**keys, "targets": "three"})
        # One point has an angle of pi/2 to none.
        self.run_.array("one", x[:1])
        self.run_.points("alone", "one")
        keys = {"id": "zl_a", "points": "alone", "activation": "relu", "failure_probability": 2.0**-20, "width": 1e3}
        self.says(HOLDS, "theorem", **keys, **{"lambda": 1.5707})
        self.says(FALSE, "theorem", **keys, **{"lambda": 1.5708})
        # No points have such a lambda, and what it would prove is not passed.
        for name in ("dzps_4_1", "zl_b", "zl_a"):
            self.says(FALSE, "theorem", id=name, points="p", activation="relu", failure_probability=p, targets="y",
                      width=1e30, **{"lambda": 1e6})  # fmt: skip
        self.says(
            FALSE,
            "theorem",
            id="dzps_4_1",
            points="p",
            activation="tanh",
            failure_probability=p,
            targets="y",
            width=1e30,
            **{"lambda": lam},
        )

    def test_theorems_of_equal_points(self):
        x = drawn(53, 9, 4)
        self.run_.array("x", [*x, [2 * v for v in x[3]]])
        self.run_.array("y", [*[1.0] * 9, 1.0])
        self.run_.array("other", [*[1.0] * 9, 2.0])
        self.run_.points("p", "x")
        keys = {"points": "p", "activation": "relu", "failure_probability": 0.01, "width": 1e40, "lambda": 1e-5}
        self.says(HOLDS, "theorem", id="dzps_4_1", targets="y", **keys)
        self.says(FALSE, "theorem", id="dzps_4_1", targets="other", **keys)
        self.says(HOLDS, "theorem", id="zl_b", **keys)

    def test_biased(self):
        x = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 2.0, 4.0], [1.0, 3.0, 9.0], [2.0, 0.0, 0.0]]
        self.run_.array("groups", [0, 0, 1, 1, 2, 0], "int64")
        self.run_.array("apart", [0, 0, 1, 1, 2, 1], "int64")
        self.run_.points("p", "x")
        keys = {"points": "p", "activation": "relu"}
        self.run_.array("x", x)
        self.says(HOLDS, "biased", groups="groups", width=12, **keys)
        self.says(HOLDS, "biased", groups="groups", width=12, points="p", activation={"leak": (-0.5).hex()})
        self.says(FALSE, "biased", groups="groups", width=11, **keys)
        self.says(FALSE, "biased", groups="groups", width=12, points="p", activation="tanh")
        self.says(FALSE, "biased", groups="groups", width=12, points="p", activation="identity")
        self.says(UNREADABLE, "biased", groups="apart", width=12, **keys)
        x[4] = [3.0, -5.0, 0.0]  # in the span of the first two
        self.run_.array("x", x)
        said = self.says(FALSE, "biased", groups="groups", width=12, **keys)
        self.assertIn("point 4 is in the span of group 0", said)
        x[4], x[3] = [1.0, 3.0, 9.0], [0.0, 0.0, -7.0]
        self.run_.array("x", x)
        said = self.says(FALSE, "biased", groups="groups", width=12, **keys)
        self.assertIn("group 1 is not linearly independent", said)


if __name__ == "__main__":
    unittest.main(verbosity=1)
