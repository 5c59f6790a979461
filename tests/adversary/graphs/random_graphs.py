"""random_graphs.py OUT [--count N] [--seed S]: small ONNX graphs of random operators, types, shapes and versions.

Each computes K outputs per sample from vectors, signals or images, and is one that onnx.checker accepts and ONNX
Runtime runs to finite outputs. Constants are shared, computed from others, cast, or written as nodes; batches move to
other axes and back; operators have the form of their version (attributes before, inputs after); two outputs may be all
but equal at a sample. Written as common.py says; the same seed writes the same graphs."""

import argparse
import collections
import json
import math
from pathlib import Path

import common
import numpy as np
import onnx
from evaluate import Run, Unknown, is_float
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 12
BATCH = 5  # of the samples that a graph is tried on as it grows: no size of another axis
TIED = 0.35  # of graphs: two outputs are all but equal at a sample
LARGEST = 1e3  # what a tensor may reach: later squares stay finite
OLDEST, NEWEST = 7, min(onnx.defs.onnx_opset_version(), 28)
#: What ONNX Runtime has for float32 alone.
SINGLE = {"LeakyRelu", "Elu", "Selu", "HardSigmoid", "HardSwish", "Erf", "Gelu", "Softplus", "Mish", "Conv",
          "AveragePool", "GlobalAveragePool", "PRelu"}  # fmt: skip


class Unfit(Exception):
    """A step that this tensor, type or version has no place for."""


class Draw:
    def __init__(self, r):
        self.r = r
        self.opset = int(r.integers(OLDEST, NEWEST + 1))
        self.dtype = np.float32 if r.random() < 0.8 else np.float64
        self.points = self.kind
        rank = int(r.choice([0, 1, 2], p=[0.35, 0.2, 0.45]))
        self.shape = [None, (3, 8), (2, 6, 7)][rank] and [int(r.integers(1, 4)), *r.integers(4, 9, rank).tolist()]
        self.d = math.prod(self.shape) if self.shape else int(r.integers(2, 9))
        X = r.normal(size=(SAMPLES, self.d)) * r.choice([0.5, 1, 2])
        self.X = common.float32s(X.round(1) if r.random() < 0.2 else X)
        self.nodes, self.constants, self.seen = [], {}, []
        self.run = Run(self.model([]), self.X[:BATCH], "file", np.random.default_rng(0), self.shape)
        self.h = "x"

    # ---- writing ----

    @property
    def kind(self):
        return TensorProto.FLOAT if self.dtype == np.float32 else TensorProto.DOUBLE

    def model(self, outputs):
        opsets = [helper.make_opsetid("", self.opset)]
        version = helper.find_min_ir_version_for(opsets, True)
        given = [helper.make_tensor_value_info("x", self.points, ["N", *(self.shape or [self.d])])]
        constants = [numpy_helper.from_array(v, k) for k, v in self.constants.items()]
        if version < 4:  # there they are inputs, too
            given += [helper.make_tensor_value_info(c.name, c.data_type, c.dims) for c in constants]
        graph = helper.make_graph(self.nodes, "drawn", given, outputs, constants)
        return helper.make_model(graph, opset_imports=opsets, ir_version=version)

    def node(self, op, *inputs, outputs=1, masked=False, **attributes):
        if op in SINGLE and self.dtype == np.float64:
            raise Unfit
        names = [f"v{len(self.run.values)}_{i}" for i in range(outputs)]
        one = helper.make_node(op, list(inputs), names, **attributes)
        self.run.step(one)
        for name in names:
            value = self.run.value(name)
            small = np.isfinite(value).all() and np.abs(value).max(initial=0) < LARGEST if is_float(value) else True
            if not small and not masked:
                raise Unfit
        self.nodes.append(one)
        return names[0] if outputs == 1 else names

    def value(self, name=None):
        return self.run.value(name or self.h)

    def chance(self, share):
        return self.r.random() < share

    def stored(self, array, node_share=0.2):
        """A constant: an initializer, or a node."""
        if self.chance(node_share) and (self.opset >= 9 or array.dtype.kind == "f"):  # before, no integers
            value = numpy_helper.from_array(array)
            return self.node("Constant", value=value)
        name = f"c{len(self.run.values)}"
        self.constants[name] = self.run.values[name] = array
        return name

    def integers(self, values):
        return self.stored(np.array(values, np.int64))

    def constant(self, *shape, low=None, high=None):
        """Numbers of the graph's type, maybe those of another place, from another type, or computed."""
        free = low is None
        if free and self.chance(0.3):
            same = [k for k, v in self.run.values.items() if k in self.constants and v.shape == shape
                    and v.dtype == self.dtype]  # fmt: skip
            if same:
                return str(self.r.choice(same))
        if free and self.opset >= 9 and self.chance(0.04):
            fill = numpy_helper.from_array(np.array([0.25], self.dtype))
            return self.node("ConstantOfShape", self.integers(shape), value=fill)
        numbers = self.r.normal(size=shape) if free else self.r.uniform(low, high, shape)
        if free and len(shape) > 1:
            numbers = numbers / math.sqrt(math.prod(shape[1:]))
        if free and self.chance(0.06):
            return self.node("Cast", self.stored(np.rint(2 * numbers).astype(np.int64)), to=self.kind)
        if self.chance(0.06):
            other = np.float64 if self.dtype == np.float32 else np.float32
            return self.node("Cast", self.stored(np.asarray(numbers, other)), to=self.kind)
        name = self.stored(np.asarray(numbers, self.dtype))
        return self.node("Identity", name) if self.chance(0.05) else name

    # ---- steps: each takes self.h to a new tensor, with the samples on axis 0 ----

    def unary(self):
        op = str(self.r.choice(["Relu", "LeakyRelu", "Elu", "Selu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh",
                                "Erf", "Erf", "Gelu", "Gelu", "Softplus", "Mish", "Mish", "Sin", "Neg", "Abs",
                                "Identity"]))  # fmt: skip
        since = {"HardSwish": 14, "Erf": 9, "Gelu": 20, "Mish": 18}
        if self.opset < since.get(op, 0):
            raise Unfit
        attributes = {}
        if op in ("LeakyRelu", "Elu", "HardSigmoid") and self.chance(0.5):
            attributes["alpha"] = float(self.r.uniform(0.01, 0.6))
        if op == "Gelu" and self.chance(0.4):
            attributes["approximate"] = "tanh"
        self.h = self.node(op, self.h, **attributes)

    def clip(self):
        low, high = float(-self.r.uniform(0, 1)), float(self.r.uniform(0.2, 3))
        if self.opset < 11:
            if self.dtype == np.float64:
                raise Unfit
            self.h = self.node("Clip", self.h, min=low, max=high)
        elif self.opset < 12 and self.dtype == np.float64:
            raise Unfit
        else:
            ends = [self.stored(np.array(end, self.dtype)) for end in (low, high)]
            self.h = self.node("Clip", self.h, *(["", ends[1]] if self.chance(0.2) else ends))

    def prelu(self):
        v = self.value()
        slopes = (v.shape[1], *[1] * (v.ndim - 2)) if v.ndim > 1 and self.chance(0.6) else (1,)
        self.h = self.node("PRelu", self.h, self.constant(*slopes, low=-0.5, high=0.9))

    def beside(self):
        """Something to add to: a constant that broadcasts, or an earlier tensor of this shape."""
        v = self.value()
        same = [name for name in self.seen if self.value(name).shape == v.shape and name != self.h]
        if same and self.chance(0.5):
            return str(self.r.choice(same))
        shape = [size if self.chance(0.6) else 1 for size in v.shape[1:]]
        return self.constant(*shape[int(self.r.integers(0, len(shape))) :])

    def arithmetic(self):
        op = str(self.r.choice(["Add", "Add", "Sub", "Mul", "Max", "Min"]))
        if op in ("Max", "Min") and self.dtype == np.float64 and self.opset < 8:
            raise Unfit
        pair = [self.h, self.beside()]
        if op == "Max" and self.chance(0.3):
            pair.append(self.beside())
        if self.chance(0.3):
            pair.reverse()
        self.h = self.node(op, *pair)

    def divide(self):
        v = self.value()
        if self.chance(0.5):
            self.h = self.node("Div", self.h, self.constant(*v.shape[1:], low=0.5, high=2))
        else:  # by what stays away from 0
            one = self.stored(np.array([1.5], self.dtype))
            self.h = self.node("Div", one, self.node("Add", self.node("Abs", self.h), one))

    def power(self):
        v = self.value()
        exponent = int(self.r.choice([2, 3]))
        kind = np.int64 if self.opset >= 12 and self.chance(0.3) else self.dtype
        self.h = self.node("Pow", self.h, self.stored(np.array(exponent, kind)))
        if np.abs(v).max() > 8:
            self.h = self.node("Mul", self.h, self.stored(np.array(0.01, self.dtype)))

    def root(self):
        square = self.node("Mul", self.h, self.h) if self.chance(0.5) else self.node("Abs", self.h)
        self.h = self.node("Sqrt", self.node("Add", square, self.stored(np.array(0.1, self.dtype))))

    def dense(self):
        v = self.value()
        width = int(self.r.integers(2, 9))
        if v.ndim == 2 and self.chance(0.6):
            attributes, h = {}, self.h
            if self.chance(0.3):
                attributes |= {"alpha": float(self.r.uniform(0.5, 1.5)), "beta": float(self.r.uniform(-1, 1))}
            shape = (v.shape[1], width)
            if self.chance(0.5):
                attributes["transB"], shape = 1, shape[::-1]
            if self.chance(0.15):
                attributes["transA"], h = 1, self.node("Transpose", h, perm=[1, 0])
            bias = [(width,), (1, width), (1,), ()][int(self.r.choice(4, p=[0.7, 0.15, 0.1, 0.05]))]
            third = [] if self.opset >= 11 and self.chance(0.15) else [self.constant(*bias)]
            self.h = self.node("Gemm", h, self.constant(*shape), *third, **attributes)
        elif v.ndim >= 3 and self.chance(0.3):  # a constant from the left
            self.h = self.node("MatMul", self.constant(width, v.shape[-2]), self.h)
        else:
            W = self.constant(v.shape[-1], width)
            if self.chance(0.2):
                W = self.node("Transpose", self.constant(width, v.shape[-1]))
            self.h = self.node("MatMul", self.h, W)
            if self.chance(0.7):
                self.h = self.node("Add", self.h, self.constant(width))

    def attend(self):
        """Products of two tensors of the samples: softmax(h h^T) h, or h^T h."""
        v = self.value()
        if v.ndim < 3:
            raise Unfit
        perm = [*range(v.ndim - 2), v.ndim - 1, v.ndim - 2]
        if self.chance(0.2):
            self.h = self.node("MatMul", self.node("Transpose", self.h, perm=perm), self.h)
            return
        one = self.node("MatMul", self.h, self.constant(v.shape[-1], v.shape[-1])) if self.chance(0.5) else self.h
        scores = self.node("MatMul", one, self.node("Transpose", self.h, perm=perm))
        if self.opset >= 13:
            size = self.value(scores).shape[-2:]
            if size[0] == size[1] and self.chance(0.4):  # each looks at those before it, and at itself
                hidden = self.r.choice([-np.inf, np.finfo(self.dtype).min])
                mask = self.stored(np.triu(np.full(size, hidden), 1).astype(self.dtype))
                scores = self.node("Add", scores, mask, masked=True)
            scores = self.node("Softmax", scores, axis=-1)
        else:
            scores = self.node("Tanh", scores)
        self.h = self.node("MatMul", scores, self.h)

    def add_several(self):
        if self.dtype == np.float64 and self.opset < 8:
            raise Unfit
        self.h = self.node("Sum", *self.r.permutation([self.h, *(self.beside() for _ in range(self.r.integers(3)))]))

    def filter(self):
        v = self.value()
        rank = v.ndim - 2
        if rank < 1:
            raise Unfit
        group = int(self.r.choice([1, 1, v.shape[1]]))
        out = group * int(self.r.integers(1, 4))
        kernel = [int(self.r.integers(1, min(4, size) + 1)) for size in v.shape[2:]]
        attributes = {"group": group} if group > 1 or self.chance(0.5) else {}
        if self.chance(0.5):
            attributes["kernel_shape"] = kernel
        W, bias = self.constant(out, v.shape[1] // group, *kernel), [self.constant(out)] if self.chance(0.7) else []
        self.h = self.node("Conv", self.h, W, *bias, **attributes, **self.places(v, kernel, dilate=True))

    def places(self, v, kernel, dilate):
        """Strides, dilations and pads that leave a position."""
        rank, attributes = len(kernel), {}
        if self.chance(0.5):
            attributes["strides"] = self.r.integers(1, 3, rank).tolist()
        if self.chance(0.2):
            attributes["auto_pad"] = str(self.r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
        elif self.chance(0.5):
            attributes["pads"] = [int(self.r.integers(0, k)) for k in kernel * 2]
        if dilate and "auto_pad" not in attributes and self.chance(0.3):
            dilations = self.r.integers(1, 3, rank).tolist()
            if all((k - 1) * d < size for k, d, size in zip(kernel, dilations, v.shape[2:])):
                attributes["dilations"] = dilations
        return attributes

    def pool(self):
        v = self.value()
        if v.ndim < 3:
            raise Unfit
        op = str(self.r.choice(["MaxPool", "AveragePool", "GlobalAveragePool"], p=[0.45, 0.4, 0.15]))
        if op == "GlobalAveragePool":
            self.h = self.node(op, self.h)
            return
        if op == "MaxPool" and self.dtype == np.float64 and self.opset < 8:
            raise Unfit
        kernel = [int(self.r.integers(1, min(3, size) + 1)) for size in v.shape[2:]]
        attributes = self.places(v, kernel, dilate=op == "MaxPool" and self.opset >= 10)
        if op == "AveragePool" and self.chance(0.5):
            attributes["count_include_pad"] = int(self.r.integers(2))
        if self.opset >= 10 and "auto_pad" not in attributes and self.chance(0.15):
            attributes["ceil_mode"] = 1
        self.h = self.node(op, self.h, kernel_shape=kernel, **attributes)

    def normalize(self):
        v = self.value()
        if self.chance(0.6 if v.ndim >= 3 else 0.5):
            c = v.shape[1]
            places = self.constant(c), self.constant(c), self.constant(c), self.constant(c, low=0.3, high=2)
            attributes = {"epsilon": float(self.r.choice([1e-5, 1e-3]))} if self.chance(0.5) else {}
            self.h = self.node("BatchNormalization", self.h, *places, **attributes)
        elif self.opset >= 17:
            axis = int(self.r.integers(1, v.ndim))
            size = v.shape[axis:]
            if math.prod(size) < 2:
                raise Unfit
            scale = [self.constant(*size)] + ([self.constant(*size)] if self.chance(0.7) else [])
            axis = axis - v.ndim if self.chance(0.5) else axis
            epsilon = {"epsilon": float(self.r.choice([1e-3, 1e-5]))} if self.chance(0.6) else {}
            self.h = self.node("LayerNormalization", self.h, *scale, axis=axis, **epsilon)
        else:  # spelt out
            mean = self.reduced("ReduceMean", self.h, [v.ndim - 1], 1)
            centred = self.node("Sub", self.h, mean)
            square = self.reduced("ReduceMean", self.node("Mul", centred, centred), [-1 % v.ndim], 1)
            shifted = self.node("Add", square, self.stored(np.array(0.01, self.dtype)))
            self.h = self.node("Div", centred, self.node("Sqrt", shifted))

    def reduced(self, op, h, axes, keep):
        if self.opset >= (13 if op == "ReduceSum" else 18):
            return self.node(op, h, self.integers(axes), keepdims=keep)
        return self.node(op, h, axes=axes, keepdims=keep)

    def reduce(self):
        v = self.value()
        if v.ndim < 3:
            raise Unfit
        axes = self.r.permutation(np.arange(1, v.ndim))[: int(self.r.integers(1, v.ndim - 1))]
        if self.opset >= 11 and self.chance(0.3):
            axes = axes - v.ndim
        op = str(self.r.choice(["ReduceMean", "ReduceSum", "ReduceMax"]))
        self.h = self.reduced(op, self.h, sorted(axes.tolist()), int(self.r.integers(2)))

    def axis(self, least=2):
        """An axis that is not the samples', with as many entries."""
        v = self.value()
        axes = [a for a in range(1, v.ndim) if v.shape[a] >= least]
        if not axes:
            raise Unfit
        return int(self.r.choice(axes))

    def concat(self):
        v, axis = self.value(), self.axis(1)
        others = [name for name in self.seen if (w := self.value(name)).ndim == v.ndim
                  and all(a == axis or w.shape[a] == v.shape[a] for a in range(v.ndim))]  # fmt: skip
        parts = [self.h, str(self.r.choice(others)) if others else self.h]
        if self.value(parts[1]).shape[axis] + v.shape[axis] > 16:
            raise Unfit
        self.r.shuffle(parts)
        self.h = self.node("Concat", *parts, axis=axis - v.ndim if self.opset >= 11 and self.chance(0.3) else axis)

    def split(self):
        axis = self.axis()
        size = self.value().shape[axis]
        if self.opset >= 18 and self.chance(0.3):
            parts = self.node("Split", self.h, outputs=2, axis=axis, num_outputs=2)
        else:
            first = int(self.r.integers(1, size))
            sizes = [first, size - first]
            if self.opset >= 13:
                parts = self.node("Split", self.h, self.integers(sizes), outputs=2, axis=axis)
            else:
                parts = self.node("Split", self.h, outputs=2, axis=axis, split=sizes)
        self.seen.append(parts[1])
        self.h = parts[0]
        if self.value(parts[0]).shape == self.value(parts[1]).shape:
            self.h = self.node(str(self.r.choice(["Mul", "Add", "Max"])), *parts)

    def slice(self):
        axis = self.axis()
        v = self.value()
        size = v.shape[axis]
        start = int(self.r.integers(0, size - 1))
        end = int(self.r.choice([size, 2**31 - 1, int(self.r.integers(start + 1, size + 1))]))
        start = start - size if self.chance(0.3) else start
        if self.opset < 10:
            self.h = self.node("Slice", self.h, starts=[start], ends=[end], axes=[axis])
            return
        if self.chance(0.15):  # backwards
            ends = [self.integers(k) for k in ([size - 1], [-(2**31)], [axis], [-1])]
        else:
            ends = [self.integers(k) for k in ([start], [end], [axis])]
            ends += [self.integers([2])] if self.chance(0.2) else []
        self.h = self.node("Slice", self.h, *ends)

    def gather(self):
        axis = self.axis()
        size = self.value().shape[axis]
        where = self.r.integers(0, size, int(self.r.integers(1, size + 2)))
        if self.opset >= 11 and self.chance(0.3):
            where = where - size
        self.h = self.node("Gather", self.h, self.integers(where.tolist()), axis=axis)

    def pad(self):
        v = self.value()
        pads = [0 if a % v.ndim == 0 else int(self.r.integers(0, 2)) for a in range(2 * v.ndim)]
        value = float(np.float32(self.r.choice([0.0, 0.5])))
        if self.opset < 11:
            self.h = self.node("Pad", self.h, pads=pads, value=value, mode="constant")
        elif self.opset >= 18 and self.chance(0.4):
            fill = [self.stored(np.array(value, self.dtype)), self.integers([v.ndim - 1])]
            self.h = self.node("Pad", self.h, self.integers([1, 0]), *fill)
        else:
            fill = [self.stored(np.array(value, self.dtype))] if value or self.chance(0.5) else []
            self.h = self.node("Pad", self.h, self.integers(pads), *fill)

    def reshape(self):
        v = self.value()
        inner = math.prod(v.shape[1:])
        form = int(self.r.integers(5))
        if form == 0:
            to = [0, -1]
        elif form == 1:
            to = [-1, inner]
        elif form == 2:
            factor = int(self.r.choice([k for k in range(1, inner + 1) if inner % k == 0]))
            to = [int(self.r.choice([-1, 0])), factor, inner // factor]
        elif form == 3 and v.ndim == 3:
            factor = int(self.r.choice([k for k in range(1, v.shape[2] + 1) if v.shape[2] % k == 0]))
            to = [0, 0, factor, -1]
        else:  # the number of samples from Shape, as PyTorch writes it
            count = self.node("Gather", self.node("Shape", self.h), self.stored(np.array(0, np.int64)), axis=0)
            if self.opset >= 13:
                first = self.node("Unsqueeze", count, self.integers([0]))
            else:
                first = self.node("Unsqueeze", count, axes=[0])
            shape = self.node("Concat", first, self.integers([-1]), axis=0)
            self.h = self.node("Reshape", self.h, shape)
            return
        self.h = self.node("Reshape", self.h, self.integers(to))

    def transpose(self):
        v = self.value()
        perm = [0, *(1 + self.r.permutation(v.ndim - 1)).tolist()]
        self.h = self.node("Transpose", self.h, perm=perm)

    def around(self):
        """The samples to another axis, a function there, and back."""
        v = self.value()
        perm = self.r.permutation(v.ndim)
        h = self.node("Transpose", self.h, perm=perm.tolist())
        h = self.node(str(self.r.choice(["Relu", "Tanh", "Neg"])), h)
        if self.chance(0.5):
            sizes = [1 if axis == 0 else v.shape[axis] for axis in perm]
            h = self.node("Add", h, self.constant(*sizes))
        self.h = self.node("Transpose", h, perm=np.argsort(perm).tolist())

    def unsqueeze(self):
        v = self.value()
        if v.ndim > 4:
            raise Unfit
        axis = int(self.r.integers(1, v.ndim + 1))
        more = [self.integers([axis])] if self.opset >= 13 else []
        self.h = self.node("Unsqueeze", self.h, *more, **({} if more else {"axes": [axis]}))

    def squeeze(self):
        v = self.value()
        ones = [a for a in range(1, v.ndim) if v.shape[a] == 1]
        if not ones or v.ndim < 3:
            raise Unfit
        axis = int(self.r.choice(ones))
        more = [self.integers([axis])] if self.opset >= 13 else []
        self.h = self.node("Squeeze", self.h, *more, **({} if more else {"axes": [axis]}))

    def flatten(self):
        if self.value().ndim < 3:
            raise Unfit
        self.h = self.node("Flatten", self.h, **({"axis": 1} if self.chance(0.5) else {}))

    def dropout(self):
        extra = {"ratio": 0.4} if self.opset < 12 and self.chance(0.5) else {}
        self.h = self.node("Dropout", self.h, **extra)

    def cast(self):
        """To double and back, or, now and then, the rest of the graph in another type."""
        other = TensorProto.DOUBLE if self.dtype == np.float32 else TensorProto.FLOAT
        kind, was = self.kind, self.dtype
        wide = self.node("Cast", self.h, to=other)
        if self.chance(0.4):
            self.h, self.dtype = wide, np.float64 if other == TensorProto.DOUBLE else np.float32
            self.seen.clear()  # of the type before
            return
        assert self.dtype == was
        self.h = self.node("Cast", self.node(str(self.r.choice(["Neg", "Abs", "Tanh"])), wide), to=kind)

    STEPS = {unary: 20, clip: 3, prelu: 2, arithmetic: 8, add_several: 2, divide: 3, power: 2, root: 2, dense: 12,
             attend: 4, filter: 10, pool: 7, normalize: 6, reduce: 6, concat: 4, split: 3, slice: 3, gather: 3, pad: 3,
             reshape: 4, transpose: 4, around: 2, unsqueeze: 2, squeeze: 2, flatten: 2, dropout: 1,
             cast: 1}  # fmt: skip

    # ---- the whole ----

    def attempt(self, step, *arguments):
        """One step; what it wrote is taken back where it does not fit."""
        before = list(self.nodes), dict(self.constants), dict(self.run.values), self.h, self.dtype, list(self.seen)
        try:
            step(self, *arguments)
            if self.value().shape[0] != BATCH or 0 in self.value().shape or self.value().size > 4000:
                raise Unfit
            return True
        except (Unfit, Unknown, ValueError, IndexError):
            self.nodes, self.constants, self.run.values, self.h, self.dtype, self.seen = before
            return False

    def end(self, count):
        """From here to `count` outputs."""
        v = self.value()
        if v.ndim == 4 and self.dtype == np.float32 and self.chance(0.3):
            W = self.constant(count, v.shape[1], 1, 1)
            self.h = self.node("GlobalAveragePool", self.node("Conv", self.h, W))
        if self.value().ndim != 2:
            if self.chance(0.5):
                self.h = self.node("Flatten", self.h)
            else:
                self.h = self.node("Reshape", self.h, self.integers([0, -1]))
        if self.value().shape[1] != count or self.chance(0.3):
            W = self.constant(self.value().shape[1], count)
            if self.chance(0.5):
                self.h = self.node("Gemm", self.h, W, self.constant(count))
            else:
                self.h = self.node("Add", self.node("MatMul", self.h, W), self.constant(count))

    def finish(self):
        """The model, its logits and how many there are."""
        steps, weights = list(self.STEPS), np.array(list(self.STEPS.values()), float)
        wanted, tries = int(self.r.integers(3, 16)), 0
        while wanted and tries < 200:
            tries += 1
            if self.attempt(steps[int(self.r.choice(len(steps), p=weights / weights.sum()))]):
                self.seen.append(self.h)
                wanted -= 1
        count = int(self.r.choice([1, 2, 3, 4, 10], p=[0.1, 0.2, 0.35, 0.2, 0.15]))
        if not self.attempt(type(self).end, count):
            return None
        tie = self.tied(count) if self.chance(TIED) else None
        logits = last = self.h
        outputs = []
        if count > 1 and self.chance(0.3):
            last = self.node(str(self.r.choice(["Softmax", "LogSoftmax"])), self.h, axis=1)
        outputs.append(helper.make_tensor_value_info(last, self.kind, ["N", count]))
        if count > 1 and self.opset >= 8 and self.chance(0.15):
            keep = int(self.r.integers(2))
            top = self.node("ArgMax", last, axis=1, keepdims=keep)
            outputs.append(helper.make_tensor_value_info(top, TensorProto.INT64, ["N", 1] if keep else ["N"]))
        return self.model(outputs), logits, count, tie

    def tied(self, count):
        """Moves one output so that it is another at one sample, or 0, but for a rounding: the sample and both."""
        sample, shift = int(self.r.integers(SAMPLES)), np.zeros(count, self.dtype)
        scores = Run(self.model([]), self.X, "real", None, self.shape).value(self.h)[sample]
        second, first = np.argsort(scores)[-2:] if count > 1 else (0, 0)
        shift[second] = scores[first] - scores[second] if count > 1 else -scores[0]
        if self.dtype == np.float32 and self.chance(0.6):  # what float32 may decide either way, and double cannot
            shift[second] *= 1 + 3e-7 * self.r.normal()
        self.constants["tie"] = self.run.values["tie"] = shift
        self.h = self.node("Add", self.h, "tie")
        return sample, [int(first), int(second)] if count > 1 else [0, 1]


def drawn(seed):
    """A case, or None where the runtimes refuse it: model, points, labels, facts."""
    r = np.random.default_rng(seed)
    draw = Draw(r)
    finished = draw.finish()
    if finished is None:
        return None
    model, logits, count, tie = finished
    try:
        onnx.checker.check_model(model, full_check=True)
        whole = common.session(model)
        scores = common.logits_of(model, logits, draw.X, draw.shape)
        answers = whole.run(None, common.fed(whole, draw.X, draw.shape))
    except Exception as refusal:  # of whatever kind: what they say is the caller's to count
        return str(refusal).strip().splitlines()[0]
    if scores.shape != (SAMPLES, count) or not all(np.isfinite(a).all() for a in [scores, *answers]):
        return "outputs that are not finite"
    facts = {"shape": draw.shape, "logits": logits, "names": list(range(max(2, count))), "opset": draw.opset,
             "kind": "random, tied" if tie else "random", "ops": sorted({n.op_type for n in model.graph.node})}
    y = common.labels(scores, r)
    if tie:
        y[tie[0]] = r.choice(tie[1])
    elif count == 1 and r.random() < 0.5:
        facts |= {"names": None, "kind": "random, numbers"}
        y = scores[:, 0] + r.normal(size=SAMPLES).round(1)
    return model, draw.X, y, facts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    ops, refusals, written, k = collections.Counter(), collections.Counter(), 0, 0
    while written < given.count:
        case = drawn([given.seed, k])
        k += 1
        if case is None or isinstance(case, str):
            refusals[case] += 1
            continue
        model, X, y, facts = case
        common.write(given.out, f"random_{given.seed}_{k - 1:05}", model, X, y, **facts)
        ops.update(facts["ops"])
        written += 1
    print(json.dumps({"written": written, "drawn": k, "graphs with": dict(sorted(ops.items()))}))
    for reason, count in refusals.most_common(8):
        print(f"left out {count}: {reason}")


if __name__ == "__main__":
    main()
