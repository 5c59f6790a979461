"""What an ONNX graph computes, node by node in numpy and without zeroloss or a runtime: in real numbers, nearly (80 bit
floats, all of them), or in the types of the file with every sum in another random order.

`Run(model, X, "real").value(name)`; "rounded" is "real" with numbers rounded where the graph casts them, "gelu" with a
rounded root of 2 that a graph divides by taken for the root; "file" takes a random generator for its orders. Operators
are those that corpus.py and random_graphs.py write."""

import math

import numpy as np
import onnx
from flint import arb, ctx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import helper, numpy_helper
from scipy import special

LONG = np.longdouble
TYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}
BITS = 160  # of balls: more than twice those of an 80 bit float


def is_float(a):
    return np.asarray(a).dtype.kind == "f"


class Unknown(Exception):
    """An operator, or a form of one, that is not written down here."""


def in_balls(function, a):
    """A function of arb, of every number of an array of 80 bit floats."""
    a = np.asarray(a, LONG)
    out = np.empty(a.size, LONG)
    before, ctx.prec = ctx.prec, BITS
    try:
        for i, x in enumerate(a.ravel()):
            high = float(x)
            y = function(arb(high) + arb(float(x - LONG(high))))
            first = float(y.mid())
            out[i] = LONG(first) + LONG(float((y - first).mid()))
    finally:
        ctx.prec = before
    return out.reshape(a.shape)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


class Run:
    """The values of all tensors of a graph at the points X, of shape n x d; `shape` is that of a point."""

    def __init__(self, model, X, arithmetic="real", rng=None, shape=None):
        assert arithmetic in ("real", "rounded", "gelu", "file")
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
        self.arithmetic, self.rng, self.rounds = arithmetic, rng or np.random.default_rng(0), False
        self.opset = {s.domain or "ai.onnx": s.version for s in model.opset_import}.get("ai.onnx", 1)
        self.values = {"": None}
        for one in model.graph.initializer:
            self.values[one.name] = self.kept(numpy_helper.to_array(one))
        (given,) = [i for i in model.graph.input if i.name not in self.values]
        points = np.asarray(X).astype(TYPES[given.type.tensor_type.elem_type])
        self.values[given.name] = self.kept(points.reshape(len(X), *shape) if shape else points)
        for node in model.graph.node:
            self.step(node)

    def value(self, name):
        return self.values[name]

    def kept(self, a):
        """A tensor as this arithmetic holds it."""
        if not is_float(a) or self.arithmetic == "file":
            return np.array(a)
        a = a.astype(LONG)
        if self.arithmetic == "gelu" and a.size == 1:
            for root in (np.sqrt(LONG(2)), np.sqrt(LONG(0.5))):
                a = np.where(a.astype(np.float32) == np.float32(root), root, a)
        return a

    def step(self, node):
        """The outputs of one more node."""
        method = getattr(self, node.op_type, None)
        if method is None or node.op_type[0].islower():
            raise Unknown(node.op_type)
        self.node, self.out = node, len(node.output)
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        with np.errstate(all="ignore"):
            result = method(*(self.values[name] for name in node.input), **attributes)
        results = result if isinstance(result, tuple) else (result,)
        for name, one in zip(node.output, results):
            self.values[name] = np.asarray(one)

    # ---- sums ----

    def product(self, A, B):
        """A @ B of matrices, its sums in a random order: over a random permutation in random pieces."""
        if not is_float(A) or A.shape[-1] == 0:
            return np.matmul(A, B)
        count = A.shape[-1]
        order = self.rng.permutation(count)
        if A.dtype == LONG and A.ndim == B.ndim == 2:  # several times as fast as matmul
            return np.einsum("ik,jk->ij", np.ascontiguousarray(A[:, order]), np.ascontiguousarray(B[order].T))
        pieces, total = int(self.rng.choice([1, min(count, 7), count])), None
        for piece in np.array_split(order, pieces):
            part = np.matmul(A[..., piece], B[..., piece, :])
            total = part if total is None else total + part
        return total

    def total(self, a, axes, keep):
        """A sum over axes, in a random order."""
        axes = tuple(sorted(axis % a.ndim for axis in axes))
        rest = [axis for axis in range(a.ndim) if axis not in axes]
        flat = a.transpose(*rest, *axes).reshape(*(a.shape[axis] for axis in rest), -1)
        flat = flat[..., self.rng.permutation(flat.shape[-1])]
        one_by_one = self.arithmetic == "file" and self.rng.random() < 0.5
        out = flat.cumsum(-1)[..., -1] if one_by_one and flat.shape[-1] else flat.sum(-1)
        return np.expand_dims(out, axes) if keep else out

    def mean(self, a, axes, keep=True):
        count = math.prod(a.shape[axis] for axis in axes)
        return self.total(a, axes, keep) / a.dtype.type(count)

    # ---- functions of one number ----

    def function(self, x, f):
        """In the file's type, or in double and rounded."""
        if self.arithmetic == "file" and x.dtype == np.float32 and self.rng.random() < 0.5:
            return f(x.astype(float)).astype(np.float32)
        return f(x)

    def real(self, value):
        """A float attribute, as a number of float32."""
        return LONG(np.float32(value)) if self.arithmetic != "file" else np.float32(value)

    def like(self, x, *values):
        return [x.dtype.type(self.real(value)) for value in values]

    def Relu(self, x):
        return np.maximum(x, 0)

    def LeakyRelu(self, x, alpha=0.01):
        return np.where(x >= 0, x, x * self.like(x, alpha)[0])

    def PRelu(self, x, slope):
        return np.where(x >= 0, x, x * slope)

    def Elu(self, x, alpha=1.0):
        return np.where(x >= 0, x, self.like(x, alpha)[0] * self.function(np.minimum(x, 0), np.expm1))

    def Selu(self, x, alpha=1.6732632423543772, gamma=1.0507009873554805):
        alpha, gamma = self.like(x, alpha, gamma)
        return gamma * np.where(x >= 0, x, alpha * self.function(np.minimum(x, 0), np.expm1))

    def Celu(self, x, alpha=1.0):
        (alpha,) = self.like(x, alpha)
        return np.where(x >= 0, x, alpha * self.function(np.minimum(x, 0) / alpha, np.expm1))

    def Sigmoid(self, x):
        return self.function(x, sigmoid)

    def HardSigmoid(self, x, alpha=0.2, beta=0.5):
        alpha, beta = self.like(x, alpha, beta)
        return np.clip(alpha * x + beta, 0, 1).astype(x.dtype)

    def HardSwish(self, x):
        return x * np.clip(x / 6 + x.dtype.type(0.5), 0, 1)

    def Tanh(self, x):
        return self.function(x, np.tanh)

    def Erf(self, x):
        return in_balls(arb.erf, x) if x.dtype == LONG else self.function(x, special.erf)

    def Gelu(self, x, approximate=b"none"):
        half = x.dtype.type(0.5)
        if approximate == b"tanh":
            c = x.dtype.type(np.sqrt(2 / LONG(math.pi))) if x.dtype != LONG else np.sqrt(2 / LONG_PI)
            cubed = x.dtype.type(LONG("0.044715")) * x * x * x
            return half * x * (1 + self.Tanh(c * (x + cubed)))
        return half * x * (1 + self.Erf(x / np.sqrt(x.dtype.type(2))))

    def Softplus(self, x):
        return self.function(x, softplus)

    def Softsign(self, x):
        return x / (1 + np.abs(x))

    def Mish(self, x):
        return x * np.tanh(self.Softplus(x))

    def ThresholdedRelu(self, x, alpha=1.0):
        return np.where(x > self.like(x, alpha)[0], x, x.dtype.type(0))

    def Sin(self, x):
        return self.function(x, np.sin)

    def Cos(self, x):
        return self.function(x, np.cos)

    def Exp(self, x):
        return self.function(x, np.exp)

    def Log(self, x):
        return self.function(x, np.log)

    def Sqrt(self, x):
        return np.sqrt(x)

    def Neg(self, x):
        return -x

    def Abs(self, x):
        return np.abs(x)

    def Reciprocal(self, x):
        return 1 / x

    def Identity(self, x):
        return x

    def Dropout(self, x, *_, **__):
        return x

    def Not(self, x):
        return ~x

    def IsNaN(self, x):
        return np.isnan(x)

    def Clip(self, x, low=None, high=None, min=None, max=None):
        low = low if min is None else self.like(x, min)[0]
        high = high if max is None else self.like(x, max)[0]
        x = x if low is None else np.maximum(x, low)
        return x if high is None else np.minimum(x, high)

    # ---- of two and more ----

    def Add(self, a, b):
        return a + b

    def Sub(self, a, b):
        return a - b

    def Mul(self, a, b):
        return a * b

    def Div(self, a, b):
        return a / b if is_float(a) else (np.trunc(a / b)).astype(a.dtype)

    def Pow(self, a, b):
        if is_float(a) and b.ndim == 0 and b == int(b) and 0 < b <= 4:
            return math.prod([a] * int(b))
        return np.power(a, b).astype(a.dtype)

    def Mod(self, a, b, fmod=0):
        return np.fmod(a, b) if fmod else np.mod(a, b)

    def Max(self, *all_):
        return np.maximum.reduce(np.broadcast_arrays(*all_))

    def Min(self, *all_):
        return np.minimum.reduce(np.broadcast_arrays(*all_))

    def Sum(self, *all_):
        total = all_[0]
        for one in all_[1:]:
            total = total + one
        return total

    def Mean(self, *all_):
        return self.Sum(*all_) / all_[0].dtype.type(len(all_))

    def Equal(self, a, b):
        return a == b

    def Greater(self, a, b):
        return a > b

    def Less(self, a, b):
        return a < b

    def And(self, a, b):
        return a & b

    def Where(self, condition, a, b):
        return np.where(condition, a, b)

    # ---- matrices and filters ----

    def MatMul(self, a, b):
        return self.product(a, b)

    def Gemm(self, a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
        alpha, beta = self.like(a, alpha, beta)
        y = alpha * self.product(a.T if transA else a, b.T if transB else b)
        return y if c is None else y + beta * c

    def windows(self, x, kernel, strides, dilations, pads, fill, ceil=0):
        """Padded x as n x C x positions x kernel, and how many positions more than the floor lie after the pads."""
        rank = len(kernel)
        sizes = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
        more = [0] * rank
        if ceil:
            for i, (k, s) in enumerate(zip(sizes, strides)):
                length = x.shape[2 + i] + pads[i] + pads[rank + i]
                count = -(-(length - k) // s) + 1
                if (count - 1) * s >= x.shape[2 + i] + pads[i]:
                    count -= 1
                more[i] = max(0, (count - 1) * s + k - length)
        widths = [(0, 0), (0, 0), *((pads[i], pads[rank + i] + more[i]) for i in range(rank))]
        padded = np.pad(x, widths, constant_values=fill)
        seen = sliding_window_view(padded, sizes, tuple(range(2, 2 + rank)))
        steps = tuple(slice(None, None, s) for s in strides) + tuple(slice(None, None, d) for d in dilations)
        return seen[(slice(None), slice(None), *steps)]

    def placed(self, x, kernel, strides, dilations, pads, auto_pad):
        """Strides, dilations and pads with what is left out."""
        rank = len(kernel)
        strides, dilations = list(strides or [1] * rank), list(dilations or [1] * rank)
        pads = list(pads or [0] * 2 * rank)
        if auto_pad in (b"SAME_UPPER", b"SAME_LOWER"):
            for i, (k, s, d) in enumerate(zip(kernel, strides, dilations)):
                size = x.shape[2 + i]
                need = max(0, (-(-size // s) - 1) * s + (k - 1) * d + 1 - size)
                less, more = need // 2, need - need // 2
                pads[i], pads[rank + i] = (less, more) if auto_pad == b"SAME_UPPER" else (more, less)
        elif auto_pad == b"VALID":
            pads = [0] * 2 * rank
        return strides, dilations, pads

    def Conv(self, x, w, b=None, kernel_shape=None, strides=None, dilations=None, pads=None, group=1,
             auto_pad=b"NOTSET"):  # fmt: skip
        kernel, rank = w.shape[2:], w.ndim - 2
        strides, dilations, pads = self.placed(x, kernel, strides, dilations, pads, auto_pad)
        seen = self.windows(x, kernel, strides, dilations, pads, 0)
        out = []
        for g, filters in enumerate(np.split(w, group)):
            own = seen[:, g * w.shape[1] : (g + 1) * w.shape[1]]
            rows = own.transpose(0, *range(2, 2 + rank), 1, *range(2 + rank, 2 + 2 * rank))
            rows = rows.reshape(math.prod(rows.shape[: 1 + rank]), -1)
            flat = self.product(rows, filters.reshape(len(filters), -1).T)
            shaped = flat.reshape(len(x), *own.shape[2 : 2 + rank], len(filters))
            out.append(np.moveaxis(shaped, -1, 1))
        y = np.concatenate(out, 1)
        return y if b is None else y + b.reshape(1, -1, *[1] * rank)

    def MaxPool(self, x, kernel_shape, strides=None, dilations=None, pads=None, ceil_mode=0, auto_pad=b"NOTSET",
                storage_order=0):  # fmt: skip
        rank = len(kernel_shape)
        strides, dilations, pads = self.placed(x, kernel_shape, strides, dilations, pads, auto_pad)
        seen = self.windows(x, kernel_shape, strides, dilations, pads, -np.inf, ceil_mode)
        return seen.max(tuple(range(2 + rank, 2 + 2 * rank)))

    def AveragePool(self, x, kernel_shape, strides=None, dilations=None, pads=None, ceil_mode=0, auto_pad=b"NOTSET",
                    count_include_pad=0):  # fmt: skip
        rank = len(kernel_shape)
        strides, dilations, pads = self.placed(x, kernel_shape, strides, dilations, pads, auto_pad)
        counted = np.ones((1, 1, *x.shape[2:]))
        around = dilations, pads, 0, ceil_mode
        last = tuple(range(2 + rank, 2 + 2 * rank))
        if count_include_pad:  # what ceil_mode adds behind the pads is not counted
            counted = np.pad(counted, [(0, 0), (0, 0), *((pads[i], pads[rank + i]) for i in range(rank))],
                             constant_values=1)  # fmt: skip
            more = self.windows(x, kernel_shape, strides, *around)
            sizes = [(k - 1) * d + 1 for k, d in zip(kernel_shape, dilations)]
            ends = [(count - 1) * s + k for count, s, k in zip(more.shape[2 : 2 + rank], strides, sizes)]
            extra = [(0, max(0, end - size)) for end, size in zip(ends, counted.shape[2:])]
            counted = np.pad(counted, [(0, 0), (0, 0), *extra])
            count = self.windows(counted, kernel_shape, strides, dilations, [0] * 2 * rank, 0).sum(last)
        else:
            count = self.windows(counted, kernel_shape, strides, *around).sum(last)
        return self.total(self.windows(x, kernel_shape, strides, *around), last, False) / count.astype(x.dtype)

    def GlobalAveragePool(self, x):
        return self.mean(x, tuple(range(2, x.ndim)))

    def GlobalMaxPool(self, x):
        return x.max(tuple(range(2, x.ndim)), keepdims=True)

    def BatchNormalization(self, x, scale, shift, mean, variance, epsilon=1e-5, **_):
        along = [one.reshape(1, -1, *[1] * (x.ndim - 2)) for one in (scale, shift, mean, variance)]
        scale, shift, mean, variance = along
        deviation = np.sqrt(variance + self.like(x, epsilon)[0])
        if self.arithmetic == "file" and self.rng.random() < 0.5:  # as runtimes fold it
            factor = scale / deviation
            return x * factor + (shift - mean * factor)
        return (x - mean) / deviation * scale + shift

    def LayerNormalization(self, x, scale, shift=None, axis=-1, epsilon=1e-5, stash_type=1):
        axes = tuple(range(axis % x.ndim, x.ndim))
        centred = x - self.mean(x, axes)
        y = centred / np.sqrt(self.mean(centred * centred, axes) + self.like(x, epsilon)[0]) * scale
        return y if shift is None else y + shift

    def InstanceNormalization(self, x, scale, shift, epsilon=1e-5):
        axes = tuple(range(2, x.ndim))
        centred = x - self.mean(x, axes)
        y = centred / np.sqrt(self.mean(centred * centred, axes) + self.like(x, epsilon)[0])
        return y * scale.reshape(1, -1, *[1] * len(axes)) + shift.reshape(1, -1, *[1] * len(axes))

    # ---- over axes ----

    def axes_of(self, x, axes, given, noop=0):
        axes = given if axes is None else axes
        if axes is None or len(axes) == 0:
            return () if noop else tuple(range(x.ndim))
        return tuple(int(axis) for axis in axes)

    def ReduceMean(self, x, given=None, axes=None, keepdims=1, noop_with_empty_axes=0):
        axes = self.axes_of(x, axes, given, noop_with_empty_axes)
        return self.mean(x, axes, keepdims) if axes else x

    def ReduceSum(self, x, given=None, axes=None, keepdims=1, noop_with_empty_axes=0):
        axes = self.axes_of(x, axes, given, noop_with_empty_axes)
        return self.total(x, axes, keepdims) if axes else x

    def ReduceMax(self, x, given=None, axes=None, keepdims=1, noop_with_empty_axes=0):
        axes = self.axes_of(x, axes, given, noop_with_empty_axes)
        return x.max(axes, keepdims=bool(keepdims)) if axes else x

    def ReduceMin(self, x, given=None, axes=None, keepdims=1, noop_with_empty_axes=0):
        return -self.ReduceMax(-x, given, axes, keepdims, noop_with_empty_axes)

    def ReduceProd(self, x, given=None, axes=None, keepdims=1, noop_with_empty_axes=0):
        axes = self.axes_of(x, axes, given, noop_with_empty_axes)
        return x.prod(axes, keepdims=bool(keepdims)) if axes else x

    def ReduceL2(self, x, given=None, axes=None, keepdims=1, noop_with_empty_axes=0):
        return np.sqrt(self.ReduceSum(x * x, given, axes, keepdims, noop_with_empty_axes))

    def softmax(self, x, axis, logarithm):
        shape = x.shape
        axis = (1 if self.opset < 13 else -1) if axis is None else axis
        axis %= x.ndim
        if self.opset < 13:
            x, axis = x.reshape(math.prod(shape[:axis]), -1), 1
        x = x - x.max(axis, keepdims=True)
        e = self.function(x, np.exp)
        total = self.total(e, (axis,), True)
        return (x - np.log(total) if logarithm else e / total).reshape(shape)

    def Softmax(self, x, axis=None):
        return self.softmax(x, axis, False)

    def LogSoftmax(self, x, axis=None):
        return self.softmax(x, axis, True)

    def ArgMax(self, x, axis=0, keepdims=1, select_last_index=0):
        out = x.argmax(axis)
        return np.expand_dims(out, axis) if keepdims else out

    # ---- shapes ----

    def Shape(self, x, start=0, end=None):
        return np.array(x.shape[start:end], np.int64)

    def Size(self, x):
        return np.array(x.size, np.int64)

    def Reshape(self, x, to, allowzero=0):
        shape = [x.shape[i] if s == 0 and not allowzero else int(s) for i, s in enumerate(to)]
        return x.reshape(shape)

    def Flatten(self, x, axis=1):
        axis = axis if axis >= 0 else axis + x.ndim
        return x.reshape(math.prod(x.shape[:axis]), -1)

    def Transpose(self, x, perm=None):
        return x.transpose(perm)

    def Squeeze(self, x, given=None, axes=None):
        axes = given if axes is None else axes
        return np.squeeze(x, None if axes is None else tuple(int(a) for a in axes))

    def Unsqueeze(self, x, given=None, axes=None):
        axes = given if axes is None else axes
        return np.expand_dims(x, tuple(int(a) for a in axes))

    def Concat(self, *all_, axis):
        return np.concatenate(all_, axis)

    def Split(self, x, given=None, axis=0, split=None, num_outputs=None):
        split = given if split is None else split
        if split is None:
            size = -(-x.shape[axis] // (num_outputs or self.out))
            return tuple(np.split(x, range(size, x.shape[axis], size), axis))
        return tuple(np.split(x, np.cumsum(split)[:-1], axis))

    def Slice(self, x, first=None, last=None, along=None, steps=None, starts=None, ends=None, axes=None):
        first, last, along = (a if a is not None else b for a, b in ((first, starts), (last, ends), (along, axes)))
        along = range(len(first)) if along is None else along
        steps = [1] * len(first) if steps is None else steps
        cut = [slice(None)] * x.ndim
        for start, end, axis, step in zip(first, last, along, steps):
            size = x.shape[int(axis)]
            start = int(np.clip(start if start >= 0 else start + size, 0, size if step > 0 else size - 1))
            end = int(end) if end >= 0 else int(end) + size
            end = min(max(end, 0), size) if step > 0 else (None if end < 0 else end)
            cut[int(axis)] = slice(start, end, int(step))
        return x[tuple(cut)]

    def Gather(self, x, where, axis=0):
        return np.take(x, where, axis)

    def GatherND(self, x, where, batch_dims=0):
        return x[tuple(np.moveaxis(where, -1, 0))]

    def Pad(self, x, widths=None, fill=None, along=None, mode=b"constant", pads=None, value=0.0):
        widths = [int(p) for p in (widths if pads is None else pads)]
        if mode != b"constant":
            raise Unknown("Pad " + mode.decode())
        along = range(x.ndim) if along is None else [int(a) for a in along]
        before, after = [[0, 0] for _ in range(x.ndim)], len(widths) // 2
        for i, axis in enumerate(along):
            before[axis] = [widths[i], widths[after + i]]
        cut = tuple(slice(max(0, -a), size - max(0, -b)) for (a, b), size in zip(before, x.shape))
        fill = self.real(value) if fill is None else fill
        return np.pad(x[cut], [(max(0, a), max(0, b)) for a, b in before], constant_values=np.ravel(fill)[0])

    def Expand(self, x, to):
        return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(int(s) for s in to)))

    def Tile(self, x, repeats):
        return np.tile(x, [int(r) for r in repeats])

    def Range(self, start, limit, delta):
        return np.arange(start, limit, delta)

    def Constant(self, value=None, value_float=None, value_floats=None, value_int=None, value_ints=None):
        if value is not None:
            return self.kept(numpy_helper.to_array(value))
        if value_int is not None or value_ints is not None:
            return np.array(value_int if value_ints is None else value_ints, np.int64)
        return self.kept(np.array(value_float if value_floats is None else value_floats, np.float32))

    def ConstantOfShape(self, shape, value=None):
        value = np.float32(0) if value is None else numpy_helper.to_array(value).ravel()[0]
        return self.kept(np.full([int(s) for s in shape], value))

    def Cast(self, x, to, **_):
        if to not in TYPES:
            return x  # of names of classes
        if to not in (1, 11):
            return x.astype(TYPES[to])
        if self.arithmetic == "file":
            return x.astype(TYPES[to])
        x = x.astype(LONG)
        rounded = x.astype(TYPES[to]).astype(LONG)
        if not np.array_equal(x, rounded):
            self.rounds = True
        return rounded if self.arithmetic == "rounded" else x

    # ---- ai.onnx.ml ----

    def Scaler(self, x, offset=(0,), scale=(1,)):
        return (self.float(x) - self.numbers(offset)) * self.numbers(scale)

    def numbers(self, values):
        return np.array(values, np.float32).astype(np.float32 if self.arithmetic == "file" else LONG)

    def float(self, x):
        return x if is_float(x) else x.astype(np.float32 if self.arithmetic == "file" else LONG)

    def Imputer(self, x, imputed_value_floats=(), replaced_value_float=math.nan, **_):
        missing = np.isnan(x) if math.isnan(replaced_value_float) else x == self.real(replaced_value_float)
        return np.where(missing, self.numbers(imputed_value_floats), x)

    def ArrayFeatureExtractor(self, x, where):
        return x[..., where.ravel()] if x.ndim > 1 else x[where.ravel()][None]

    def Normalizer(self, x, norm=b"MAX"):
        size = {b"MAX": lambda: np.abs(x).max(-1, keepdims=True), b"L1": lambda: np.abs(x).sum(-1, keepdims=True),
                b"L2": lambda: np.sqrt((x * x).sum(-1, keepdims=True))}[norm]()  # fmt: skip
        return x / np.where(size == 0, 1, size)

    def LinearRegressor(self, x, coefficients=(), intercepts=(), targets=1, post_transform=b"NONE"):
        y = self.product(self.float(x), self.numbers(coefficients).reshape(targets, -1).T)
        return y + self.numbers(intercepts) if intercepts else y

    def LinearClassifier(self, x, coefficients=(), intercepts=(), classlabels_ints=(), classlabels_strings=(),
                         post_transform=b"NONE", multi_class=0):  # fmt: skip
        """What it returns is not needed: what stands before post_transform is the tensor `scores of` its output."""
        scores = self.LinearRegressor(x, coefficients, intercepts, len(intercepts))
        self.values["scores of " + self.node.output[1]] = scores
        return scores.argmax(-1), scores

    def ZipMap(self, x, **_):
        return x

    def LabelEncoder(self, x, **_):
        return x


def long_pi():
    """pi to 80 bits."""
    before, ctx.prec = ctx.prec, BITS
    try:
        high = float(arb.pi().mid())
        return LONG(high) + LONG(float((arb.pi() - high).mid()))
    finally:
        ctx.prec = before


LONG_PI = long_pi()
