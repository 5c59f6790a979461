"""Networks in files that look like chains of layers: constants that nodes share, casts, integers, transpositions that
are none, names of classes, and what is behind the outputs."""

import numpy as np

from onnx_file import Graph, Node


class Draw:
    def __init__(self, r):
        self.r, self.how = r, []
        self.kind = str(r.choice(["float32", "float64"]))
        self.constants, self.nodes = {}, []
        self.square = int(r.integers(2, 5))  # units of every layer, and features: any bias fits anywhere
        self.points = self.kind

    def says(self, share, what):
        if self.r.random() < share:
            self.how.append(what)
            return True
        return False

    def numbers(self, *shape):
        return np.asarray(self.r.normal(size=shape).round(2), "float32").astype(float).ravel().tolist()

    def node(self, op, *inputs, **attributes):
        self.nodes.append(Node(op, list(inputs), f"v{len(self.nodes)}", attributes))
        return self.nodes[-1].output

    def constant(self, name, *shape):
        """Numbers of the network's type, maybe behind a Cast from another one."""
        kind, values = self.kind, self.numbers(*shape)
        if self.says(0.06, "integers behind a Cast"):
            kind, values = "int64", self.r.integers(-2, 4, size=shape).ravel().tolist()
        elif self.kind == "float32" and self.says(0.06, "doubles behind a Cast"):
            kind = "float64"
        self.constants[name] = (kind, list(shape), values)
        return name if kind == self.kind else self.node("Cast", name, to=1 if self.kind == "float32" else 11)

    def bias(self, name):
        biases = [key for key in self.constants if key[0] in "bs"]
        if biases and self.says(0.3, "a shared bias"):
            return biases[0]
        self.constants[name] = (self.kind, [self.square], self.numbers(self.square))
        return name

    def start(self):
        """The points, as the first layer sees them."""
        if self.says(0.08, "integer points"):
            self.points = str(self.r.choice(["int32", "int64"]))
            h = "x"
            if self.says(0.5, "integer arithmetic"):
                op, by = ("Div", 2) if self.points == "int64" else ("Mul", 1 << 30)
                self.constants["times"] = (self.points, [1], [by])
                h = self.node(op, h, "times")
            return self.node("Cast", h, to=1 if self.kind == "float32" else 11)
        if self.kind == "float32" and self.says(0.1, "double points cast"):
            self.points = "float64"
            return self.node("Cast", "x", to=1)
        if self.says(0.3, "a shift"):
            return self.node("Sub", "x", self.bias("s"))
        return "x"

    def layer(self, number, h):
        W = self.constant(f"W{number}", self.square, self.square)
        if self.says(0.2, "a Transpose"):
            order = [0, 1] if self.says(0.5, "that is none") else [1, 0]
            W = self.node("Transpose", W, perm=order)
        z = self.node("MatMul", h, W)
        if self.r.random() < 0.7:
            z = self.node("Add", z, self.bias(f"b{number}"))
        return self.node(str(self.r.choice(["Relu", "Tanh"])), z)

    def names(self, count, text):
        if text:
            return [f"c{k}" for k in self.r.permutation(count)]
        return (self.r.permutation(count) + int(self.r.choice([0, 0, 1, 5]))).tolist()

    def label(self, scores, count):
        """A label behind the outputs, and its type."""
        if count == 1:
            self.constants["zero"] = (self.kind, [1], [0.0])
            label = self.node("Cast", self.node("Greater", scores, "zero"), to=7)
        elif self.says(0.15, "ZipMap") and self.kind == "float32":
            names = self.names(count, True)
            return self.node("ZipMap", scores, classlabels_strings=names), "scores by name"
        else:
            label = self.node("ArgMax", scores, axis=1, keepdims=0)
        style, classes, text = self.r.integers(4), max(count, 2), self.r.random() < 0.5
        if style == 0:
            self.constants["names"] = ("text" if text else "int64", [classes], self.names(classes, text))
            return self.node("Gather", "names", label), "text" if text else "int64"
        if style == 1:
            keys = self.r.permutation(classes).tolist()
            to = {"values_strings" if text else "values_int64s": self.names(classes, text)}
            return self.node("LabelEncoder", label, keys_int64s=keys, **to), "text" if text else "int64"
        if style == 2 and self.says(0.3, "a label as bool"):
            return self.node("Cast", self.node("Cast", label, to=9), to=7), "int64"
        return label, "int64"


def draw_graph(r):
    """The graph, whether it is of classes, and how it was drawn."""
    d = Draw(r)
    h = d.start()
    for k in range(int(r.integers(1, 3))):
        h = d.layer(k + 1, h)
    classes = bool(r.random() < 0.6)
    count = int(r.choice([1, 2, 3])) if classes else 1
    y = d.node("MatMul", h, d.constant("V", d.square, count))
    if classes:
        y, kind = d.label(y, count)
    else:
        kind = d.kind
        if d.says(0.15, "a sigmoid at the end"):
            y = d.node("Sigmoid", y)
        elif d.kind == "float64" and d.says(0.15, "a Cast at the end"):
            y, kind = d.node("Cast", y, to=1), "float32"
    return Graph(d.points, d.square, d.constants, d.nodes, {y: kind}), classes, ", ".join(d.how) or "plain"
