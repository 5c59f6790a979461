"""Hostile inputs: each case is drawn from its number alone."""

from dataclasses import dataclass, field

import numpy as np

from draw_conv import draw_conv
from draw_graph import draw_graph
from judge_predictor import CLOSED_FORM
from network import PHI
from run_conv import ConvRun
from run_graph import told

ACTIVATIONS = list(PHI)
KINDS = ["certify", "width", "fit", "kernel", "memorize", "linear", "prove", "graph", "conv"]
#: How often fit is asked for each.
OPTIMIZERS = {"gd": 0.22, "gauss_newton": 0.36, "output_layer": 0.12, "sgd": 0.08, "flow": 0.07, "momentum": 0.07,
              "kernel": 0.08}  # fmt: skip


@dataclass
class Case:
    kind: str
    number: int | str
    X: list
    y: list | None  # numbers, or words: names of classes
    options: dict = field(default_factory=dict)
    how: str = ""
    order: str = ""  # of the array: "" row by row, "columns" Fortran's, "file" so in an npz

    def classes(self):
        return sorted(set(self.y)) if self.y and isinstance(self.y[0], str) else None

    def german(self):
        """Whether the program that asks has taken the German locale, where 0.5 is 0,5."""
        return isinstance(self.number, int) and self.number % 3 == 1

    def columns(self, rows):
        """Targets of these samples, a column an output: numbers as given, -1 and +1 for classes."""
        names = self.classes()
        if names is None:
            return [[float(self.y[i]) for i in rows]]
        wanted = names[1:] if len(names) == 2 else names
        return [[1.0 if self.y[i] == name else -1.0 for i in rows] for name in wanted]

    def call(self):
        """Python that repeats it."""
        y = "" if self.y is None else f", {self.y!r}"
        options = dict(self.options)
        if self.kind in ("graph", "conv"):
            options.pop("features", None)
            return f"onnx_file.write(Path('drawn.onnx'), {options.pop('graph')!r}); " \
                   f"zeroloss.prove('drawn.onnx', {self.X!r}{y}, **{options!r})"
        if self.kind == "kernel":
            what, which = options.pop("kernel")
            y = f", zeroloss.kernel.{what}({which!r})"
        elif self.y is not None:
            options["task"] = "classification" if self.classes() else "regression"
        if self.kind == "prove":
            return f"prove {options.pop('network')!r} on {self.X!r}, {self.y!r}: {options!r}"
        function = {"kernel": "kernel.lambda_min", "linear": "linear.factorize"}.get(self.kind, self.kind)
        order = f"  # order: {self.order}" if self.order else ""
        return f"zeroloss.{function}({self.X!r}{y}{''.join(f', {k}={v!r}' for k, v in options.items())}){order}"


# ---- points ----

def gaussian(r, n, d):
    return r.normal(size=(n, d))


def integers(r, n, d):
    return r.integers(-3, 4, size=(n, d)).astype(float)


def decimals(r, n, d):
    return r.integers(-9, 10, size=(n, d)) / 10


def axes(r, n, d):
    """Unit vectors and sums of two: many right angles, antipodes and equal points."""
    X = np.zeros((n, d))
    for row in X:
        row[r.integers(d)] = r.choice([-1, 1])
        if r.random() < 0.5:
            row[r.integers(d)] += r.choice([-1, 1])
    return X


def identifiers(r, n, d):
    X = r.normal(size=(n, d))
    X[:, r.integers(d)] = 10**18 + r.integers(0, 10**6, size=n)
    return X


def time_stamps(r, n, d):
    return 1.7e18 + 256.0 * r.integers(-10, 11, size=(n, d))


def beyond_integers(r, n, d):
    return (2.0**53 + 2 * r.integers(-8, 9, size=(n, d))) * r.choice([1, 1, -1], size=(n, 1))


def subnormal(r, n, d):
    return r.integers(-20, 21, size=(n, d)) * 5e-324


BASES = [gaussian, gaussian, gaussian, integers, decimals, axes, identifiers, time_stamps, beyond_integers, subnormal]


# ---- what is done to them ----

def other(r, X):
    return r.integers(len(X)), X[r.integers(len(X))].copy()


def near(r, X):
    i, row = other(r, X)
    eps = float(r.choice([2.0**-53, 2.0**-52, 2.0**-51, 2.0**-50, 2.0**-40, 1e-12, 1e-8, 1e-4]))
    k = r.integers(len(row))
    row[k] = row[k] * (1 + eps) if r.random() < 0.5 and row[k] else row[k] + eps * np.abs(row).max()
    X[i] = row


def duplicate(r, X):
    i, row = other(r, X)
    X[i] = row


def crowd(r, X):
    row = X[0].copy()
    X[: max(1, int(0.8 * len(X)))] = row


def parallel(r, X):
    i, row = other(r, X)
    X[i] = row * float(r.choice([2, 3, 0.1, 0.3, 7, 1e-3, 1 / 3]))


def antipode(r, X):
    i, row = other(r, X)
    X[i] = -row * float(r.choice([1, 1, 2, 3, 0.1]))


def near_antipode(r, X):
    near(r, X)
    i, row = other(r, X)
    X[i] = -row


def dependent_antipodes(r, X):
    """Antipodal pairs, more than their space has dimensions."""
    d = X.shape[1]
    flat = max(1, d - 1)
    half = len(X) // 2
    X[:half, flat:] = 0
    X[half : 2 * half] = -X[:half]


def offset(r, X):
    X += float(r.choice([1e3, 1e9, 1.7e9, 1e12, 1e15, 1.7e18]))


def scale(r, X):
    X *= float(r.choice([1e-300, 1e-200, 1e-100, 1e100, 1e150, 1e250, 2.0**-1000]))


def mixed_columns(r, X):
    X *= 10.0 ** r.choice([-300, -150, -20, -8, 0, 0, 8, 20, 150, 300], size=X.shape[1])


def mixed_rows(r, X):
    X *= 10.0 ** r.choice([-200, -20, 0, 0, 20, 200], size=(len(X), 1))


def constant_column(r, X):
    X[:, r.integers(X.shape[1])] = float(r.choice([1, 0.1, 1e9, 1e18]))


def zero_column(r, X):
    X[:, r.integers(X.shape[1])] = 0


def dominated(r, X):
    X[r.integers(len(X)), r.integers(X.shape[1])] *= float(r.choice([1e8, 1e16, 1e100]))


def zero_row(r, X):
    X[r.integers(len(X))] = 0


CHANGES = [near, near, near, duplicate, crowd, parallel, parallel, antipode, near_antipode, dependent_antipodes, offset,
           scale,
           mixed_columns, mixed_rows, constant_column, zero_column, dominated, zero_row]  # fmt: skip


def draw_points(r, n, d, wild=1.0):
    base = BASES[r.integers(len(BASES))] if r.random() < wild else gaussian
    changes = [CHANGES[k]
               for k in r.integers(len(CHANGES), size=r.choice([0, 1, 1, 2, 3], p=[0.2, 0.3, 0.2, 0.2, 0.1]))]
    with np.errstate(all="ignore"):
        X = np.asarray(base(r, n, d), dtype=float)
        for change in changes:
            change(r, X)
        X = np.where(np.isfinite(X), X, 1.0)
    how = " + ".join([base.__name__, *(change.__name__ for change in changes)])
    return X.tolist(), how


def draw_targets(r, X, classes=True):
    """Numbers or classes; equal points mostly agree, and sometimes do not."""
    n = len(X)
    style = r.integers(9 if classes else 7)
    if style < 2:
        y = r.normal(size=n)
    elif style == 2:
        y = r.choice([-1.0, 1.0], size=n)
    elif style == 3:
        y = np.full(n, float(r.choice([1.0, 0.0, -2.5])))
    elif style == 4:
        y = r.normal(size=n) * float(r.choice([1e-100, 1e-30, 1e-8, 1e8, 1e30, 1e100]))
    elif style == 5:
        y = np.round(r.normal(size=n), 1)
    elif style == 6:
        y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) * (1 + 1e-9 * r.normal(size=n))
    else:
        count = int(min(n, r.choice([2, 2, 3, 4])))
        labels = r.integers(count, size=n)
        labels[:count] = np.arange(count)
        y = np.array([f"c{k}" for k in labels], dtype=object)
    if r.random() < 0.85:  # equal rows agree
        seen = {}
        y = [seen.setdefault(tuple(row), label) for row, label in zip(X, y)]
    return list(y) if isinstance(y[0], str) else [float(v) for v in y]


def size(r, most=12):
    n = int(r.integers(13, 31)) if most > 12 and r.random() < 0.05 else int(r.integers(1, min(most, 12) + 1))
    return n, int(r.integers(1, 9))


def activation(r):
    return ACTIVATIONS[r.integers(len(ACTIVATIONS))]


def certify(r, number):
    n, d = size(r, 30)
    X, how = draw_points(r, n, d)
    options = {"activation": activation(r),
               "center": bool(r.random() < (0.6 if "offset" in how else 0.35))}
    if r.random() < 0.35:
        options["all_bounds"] = True
    if r.random() < 0.3:
        options["failure_probability"] = float(r.choice([1e-6, 0.1, 0.5, 0.99]))
    if r.random() < 0.2:
        options["accuracy"] = float(r.choice([1e-12, 0.1, 0.9]))
    if r.random() < 0.2:
        options["width"] = float(r.choice([1, 1000, 1e30]))
    y = None if r.random() < 0.2 else draw_targets(r, X)
    if "all_bounds" not in options and r.random() < 0.3:
        options.update(method="tail", passes=int(r.integers(1, 4)))
    elif r.random() < 0.5:
        options["proof"] = "residual"
    return Case("certify", number, X, y, options, how)


def kernel(r, number):
    n, d = size(r, 30)
    X, how = draw_points(r, n, d)
    names = ["sigma", "sigma_features"]
    of_activation = r.random() < 0.8
    chosen = (names[r.integers(2)], activation(r)) if of_activation else ("power", int(r.integers(1, 6)))
    return Case("kernel", number, X, None, {"kernel": list(chosen), "center": bool(r.random() < 0.3)}, how)


def fit(r, number):
    n, d = size(r, 12)
    X, how = draw_points(r, n, d, wild=0.6)
    phi = "relu" if r.random() < 0.35 else activation(r)
    optimizer = str(r.choice(list(OPTIMIZERS), p=list(OPTIMIZERS.values())))
    if optimizer == "kernel":
        options = {"activation": str(r.choice([*CLOSED_FORM, "auto"])), "center": bool(r.random() < 0.3),
                   "ridge": str(r.choice(["auto", "0", "1e-9", "0.01", "3"])),
                   "solver": str(r.choice(["auto", "exact", "cg"]))}  # fmt: skip
        return Case("fit", number, X, draw_targets(r, X), {"optimizer": optimizer, **options}, how)
    width = int(r.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]))
    options = {"activation": phi, "optimizer": optimizer, "width": width, "seed": int(r.integers(1000)),
               "scaling": str(r.choice(["ntk", "balanced"])), "center": bool(r.random() < 0.3),
               "max_steps": int(r.choice([0, 5, 100, 1000, 3000]))}  # fmt: skip
    if optimizer in ("gauss_newton", "output_layer"):
        options["max_steps"] = int(r.choice([3, 60, 200]))
    plain = optimizer in ("gd", "sgd", "momentum")
    if plain and r.random() < 0.25:
        options["precision"] = "float32"
    if plain and r.random() < 0.2:
        options["step"] = float(r.choice([0.01, 0.1, 1.0, 30.0]))
    if optimizer == "sgd":
        options["batch"] = int(r.integers(1, n + 1))
    if optimizer == "momentum":
        options["momentum"] = float(r.choice([0, 0.5, 0.9, 0.99]))
    if optimizer in ("gd", "gauss_newton", "momentum") and r.random() < 0.5:
        options["space"] = str(r.choice(["weights", "gram"]))
    if r.random() < 0.4:
        options["stop"] = "certificate"
        options["certify_every"] = int(r.choice([1, 50])) if options["max_steps"] <= 100 else 50
    if phi == "relu" and optimizer != "output_layer" and r.random() < 0.3:
        options["polish"] = True
    return Case("fit", number, X, draw_targets(r, X), options, how)


def width(r, number):
    n, d = size(r, 12)
    X, how = draw_points(r, n, d, wild=0.5)
    options = {"activation": "relu" if r.random() < 0.5 else activation(r), "draws": int(r.integers(1, 4)),
               "seed": int(r.integers(1000)), "center": bool(r.random() < 0.3), "restarts": 0, "published": False,
               "max_width": 96, "max_seconds": 2.0}  # fmt: skip
    if r.random() < 0.2:
        options["accuracy"] = float(r.choice([1e-12, 0.1, 0.9]))
    return Case("width", number, X, draw_targets(r, X), options, how)


def memorize(r, number):
    n, d = size(r, 30)
    X, how = draw_points(r, n, d)
    options = {"precision": "float64" if r.random() < 0.75 else "float32", "seed": int(r.integers(1000))}
    if r.random() < 0.3:
        options["hidden"] = int(r.choice([1, 2, 3, 4, 8]))
    if r.random() < 0.2:
        options["margin"] = float(r.choice([1e-12, 1e-6, 0.01]))
    if r.random() < 0.1:
        options["construction"] = "paper"
    return Case("memorize", number, X, draw_targets(r, X), options, how)


def linear(r, number):
    d = int(r.integers(1, 7))
    style = r.integers(6)
    R = r.normal(size=(d, d))
    if style == 1:
        R = np.linalg.qr(R)[0]
    elif style == 2:
        R = np.diag(10.0 ** r.uniform(-9, 9, size=d)) * r.choice([-1, 1], size=d)
    elif style == 3:
        R = R @ np.diag(10.0 ** r.uniform(-6, 6, size=d)) @ np.linalg.qr(r.normal(size=(d, d)))[0]
    elif style == 4:
        R = -np.eye(d) + 2.0**-40 * r.integers(-2, 3, size=(d, d))
    elif style == 5:
        R = np.eye(d) + float(r.choice([0, 2.0**-52, 1e-9])) * r.normal(size=(d, d))
    if r.random() < 0.1:
        R = R * float(r.choice([1e-150, 1e-12, 1e12, 1e150]))
    options = {"layers": int(r.choice([1, 2, 3, 5, 8, 12, 30]))}
    if r.random() < 0.2:
        options["reflection"] = str(r.choice(["auto", "augment"]))
    return Case("linear", number, R.tolist(), None, options, f"style {style}")


def layer_names(r, count):
    """Names of the layers of a state_dict, in their order, and whether they number them one by one."""
    numbers = sorted(int(k) for k in r.choice(130, size=count, replace=False))
    words = ["stem", "input", "body", "hidden", "out"]
    ordinals = ["first", "second", "third", "fourth", "fifth"]
    styles = [([f"fc{k}" for k in numbers], True), ([f"net.{k:03d}.linear" for k in numbers], True),
              ([f"block2.fc{k}" for k in numbers], True), ([f"{k}" for k in numbers], True),
              ([str(word) for word in r.permutation(words)[:count]], False), (ordinals[:count], False),
              (["fc", *(f"fc{k}" for k in range(count - 1))], False),
              ([*(f"fc{k}" for k in numbers[1:]), "out"], False),
              (["fc1", *(f"fc{'0' * k}1" for k in range(1, count))], False),
              ([f"net.{k}.{k % 2}" for k in range(count)], False)]  # fmt: skip
    return styles[r.integers(len(styles))]


def prove(r, number):
    """A network that names no classes, and some of the samples: by number, by class, or one alone. It is given as it
    is, or as a state_dict, with or without the order of the layers."""
    n, d = size(r, 12)
    X, how = draw_points(r, n, d, wild=0.6)
    count = int(r.choice([2, 2, 3, 4]))
    n = max(n, count)
    X = (X * count)[:n]
    labels = r.permutation([*range(count), *r.integers(count, size=n - count)])
    names = [["c0", "c1", "c2", "c3"], ["1", "2", "3", "4"], ["0", "1", "2", "3"]][r.integers(3)][:count]
    outputs = 1 if count == 2 and r.random() < 0.5 else count + int(r.random() < 0.15)
    layers, p, size_of = [], d, float(np.abs(X).max()) if r.random() < 0.7 else 1.0
    for _ in range(int(r.integers(1, 4))):
        m = int(r.integers(1, 7))
        W = r.normal(size=(m, p)) / (size_of if size_of > 1e-290 else 1.0)
        b = r.normal(size=m) * float(r.random() < 0.7)
        layers.append((W.tolist(), b.tolist(), activation(r)))
        p, size_of = m, 1.0
    network = {"layers": layers, "V": r.normal(size=(outputs, p)).tolist(),
               "c": (r.normal(size=outputs) * float(r.random() < 0.7)).tolist()}  # fmt: skip
    options = {"network": network}
    if r.random() < 0.6:
        options["n"] = 1
    if r.random() < 0.6:
        options["classes"] = [str(name) for name in r.permutation(names)[: int(r.integers(1, count + 1))]]
    y = [names[k] for k in labels]
    if "n" in options:
        options["n"] = int(r.integers(1, sum(label in options.get("classes", names) for label in y) + 1))
    if r.random() < 0.5:
        more = [f"other {k}" for k in range(max(outputs, 2) - count)]
        options["class_names"] = [str(name) for name in r.permutation(names + more)]
    if r.random() < 0.6:
        network["names"], network["numbered"] = layer_names(r, len(layers) + 1)
        network["layout"] = bool(r.random() < 0.4)
    return Case("prove", number, X, y, options, how)


def graph(r, number):
    """A network in an ONNX file, whose labels or targets are mostly those of the file."""
    drawn, classes, how = draw_graph(r)
    n = int(r.integers(2, 9))
    if drawn.points.startswith("int"):
        X = r.integers(-9, 10, size=(n, drawn.d)).astype(float)
    else:
        X = r.normal(size=(n, drawn.d))
        if r.random() < 0.7:
            X = X.astype("float32").astype(float)
    X = X.tolist()
    said = [told(drawn, point) for point in X]
    X = [point for point, label in zip(X, said) if label is not None] or X[:1]
    y = [str(label) if classes else float(label) for label in said if label is not None] or ["0"]
    for i in range(len(y)):
        if r.random() < 0.2:
            y[i] = y[r.integers(len(y))]
    return Case("graph", number, X, y, {"graph": drawn, "polish": bool(r.random() < 0.4)}, how)


def conv(r, number):
    """A convolutional network in an ONNX file, whose labels are mostly those of its outputs."""
    names = ["c0", "c1", "c2"][: int(r.integers(2, 4))]
    drawn, features = draw_conv(r, len(names))
    n = int(r.integers(1, 7))
    X = r.normal(size=(n, drawn.d)) * float(r.choice([1, 1, 1e-3, 30]))
    if r.random() < 0.3:
        X[r.integers(n)] = X[0] * (1 + float(r.choice([0, 2.0**-30])))
    X = X.astype("float32").astype(float).tolist()
    y = [names[int(np.argmax([float(f) for f in ConvRun(drawn, point).output]))] for point in X]
    y = [names[r.integers(len(names))] if r.random() < 0.3 else label for label in y]
    return Case("conv", number, X, y, {"graph": drawn, "features": features, "class_names": names}, "conv")


DRAW = {"certify": certify, "width": width, "fit": fit, "kernel": kernel, "memorize": memorize, "linear": linear,
        "prove": prove, "graph": graph, "conv": conv}  # fmt: skip
SHARES = {"certify": 0.3, "width": 0.06, "fit": 0.4, "kernel": 0.09, "memorize": 0.1, "linear": 0.05}


def case(number, seed=0, only=None):
    r = np.random.default_rng([seed, number])
    kind = str(r.choice(list(SHARES), p=list(SHARES.values())))
    kind = {3: "conv", 5: "graph", 11: "prove"}.get(number % 12, kind)
    drawn = DRAW[only or kind](r, number)
    orders = ["", "columns", "columns" if drawn.kind in ("kernel", "linear", "prove", "graph", "conv") else "file"]
    drawn.order = str(r.choice(orders))
    return drawn
