"""What a graph of onnx_file computes, node by node, in balls: of one point, what its output is."""

from flint import arb, arb_mat, fmpq

from exact import rational

MANY = 1 << 64


def wrapped(value, kind):
    """As an integer of this type keeps it."""
    bits = {"int32": 32, "int64": 64}[kind]
    value = (value + (1 << (bits - 1))) % (1 << bits)
    return value - (1 << (bits - 1))


def exactly(value):
    return arb(rational(value)) if isinstance(value, float) else arb(value)


class Unknown(Exception):
    """A label that the balls do not decide."""


class Run:
    def __init__(self, graph, point):
        self.kinds, self.values = {"x": graph.points}, {}
        integers = graph.points.startswith("int")
        self.values["x"] = ([1, *(graph.sizes or [len(point)])], [int(v) if integers else exactly(v) for v in point])
        for name, (kind, shape, values) in graph.constants.items():
            self.kinds[name] = kind
            self.values[name] = (shape, [exactly(v) if kind.startswith("float") else v for v in values])
        for node in graph.nodes:
            inputs = [self.values[name] for name in node.inputs]
            kind = self.kinds[node.inputs[0]]
            shape, values = getattr(self, node.op)(kind, *inputs, **node.attributes)
            self.values[node.output] = (shape, values)
            self.kinds.setdefault(node.output, kind)
        (self.output,) = (self.values[name][1] for name in graph.outputs)

    # ---- operators: type of the first input, inputs as shapes and values, attributes ----

    def broadcast(self, a, b):
        (shape, left), (other, right) = a, b
        count = max(len(left), len(right))
        assert len(left) in (1, count) and len(right) in (1, count)
        return (shape if len(left) == count else other), zip(left * (count // len(left)), right * (count // len(right)))

    def Add(self, kind, a, b):
        shape, pairs = self.broadcast(a, b)
        return shape, [x + y for x, y in pairs]

    def Sub(self, kind, a, b):
        shape, pairs = self.broadcast(a, b)
        return shape, [x - y for x, y in pairs]

    def Mul(self, kind, a, b):
        shape, pairs = self.broadcast(a, b)
        return shape, [wrapped(x * y, kind) if kind.startswith("int") else x * y for x, y in pairs]

    def Div(self, kind, a, b):
        shape, pairs = self.broadcast(a, b)
        if kind.startswith("int"):  # towards 0
            return shape, [abs(x) // abs(y) * (1 if x * y >= 0 else -1) for x, y in pairs]
        return shape, [x / y for x, y in pairs]

    def MatMul(self, kind, a, b):
        (left, A), (right, B) = a, b
        product = arb_mat(left[0], left[1], A) * arb_mat(right[0], right[1], B)
        return [left[0], right[1]], product.entries()

    def Transpose(self, kind, a, perm):
        shape, values = a
        if perm == [0, 1]:
            return a
        return shape[::-1], [values[i * shape[1] + k] for k in range(shape[1]) for i in range(shape[0])]

    def Relu(self, kind, a):
        return a[0], [v.max(arb(0)) for v in a[1]]

    def Tanh(self, kind, a):
        return a[0], [v.tanh() for v in a[1]]

    def Sigmoid(self, kind, a):
        return a[0], [1 / (1 + (-v).exp()) for v in a[1]]

    def Cast(self, kind, a, to):
        shape, values = a
        if to == 9:
            return shape, [int(v != 0) for v in values]
        if to in (1, 11):
            return shape, [v if isinstance(v, arb) else arb(v) for v in values]  # exact, as all arithmetic is
        return a

    def ArgMax(self, kind, a, axis, keepdims):
        for k, v in enumerate(a[1]):
            if all(v > other for j, other in enumerate(a[1]) if j != k):
                return [1], [k]
        raise Unknown

    def Greater(self, kind, a, b):
        (v,), (t,) = a[1], b[1]
        if v > t or v < t:
            return a[0], [int(v > t)]
        raise Unknown

    def Gather(self, kind, a, b):
        return b[0], [a[1][k] for k in b[1]]

    def LabelEncoder(self, kind, a, keys_int64s, values_int64s=None, values_strings=None):
        return a[0], [(values_int64s or values_strings)[keys_int64s.index(k)] for k in a[1]]

    def ZipMap(self, kind, a, classlabels_strings):
        (k,) = self.ArgMax(kind, a, 1, 0)[1]
        return [1], [classlabels_strings[k]]


def told(graph, point):
    """The label as text, or a ball; None where balls do not decide."""
    try:
        (value,) = Run(graph, point).output
    except Unknown:
        return None
    return value if isinstance(value, arb) else str(value)


def distance(ball, target):
    return abs(ball - arb(fmpq(rational(target))))
