"""What convolutional graphs compute, node by node, in balls."""

import itertools

import numpy as np
from flint import arb

from run_graph import Run


def places(sizes):
    return itertools.product(*map(range, sizes))


def float32(x):
    return arb(float(np.float32(x)))  # an attribute is stored as one


class ConvRun(Run):
    """Values are lists in the order of C, of shape 1 x channels x sizes."""

    def windows(self, a, kernel_shape, strides=None, pads=None, dilations=None):
        """Of each place of the result the places of the input below the window, None for padding."""
        sizes = a[0][2:]
        D = len(sizes)
        strides, pads, dilations = strides or [1] * D, pads or [0] * 2 * D, dilations or [1] * D
        left = [(size + pads[k] + pads[D + k] - dilations[k] * (kernel_shape[k] - 1) - 1) // strides[k] + 1
                for k, size in enumerate(sizes)]  # fmt: skip
        found = []
        for place in places(left):
            below = []
            for offset in places(kernel_shape):
                at = [place[k] * strides[k] - pads[k] + offset[k] * dilations[k] for k in range(D)]
                inside = all(0 <= at[k] < sizes[k] for k in range(D))
                below.append(int(np.ravel_multi_index(at, sizes)) if inside else None)
            found.append(below)
        return left, found

    def Conv(self, kind, a, weight, bias=None, group=1, dilations=None, kernel_shape=None, strides=None, pads=None):
        (shape, values), (wshape, W) = a, weight
        left, windows = self.windows(a, kernel_shape or wshape[2:], strides, pads, dilations)
        area, taps = int(np.prod(shape[2:])), int(np.prod(wshape[2:]))
        made = []
        for m in range(wshape[0]):
            first = m // (wshape[0] // group) * wshape[1]
            for below in windows:
                total = bias[1][m] if bias else arb(0)
                for c in range(wshape[1]):
                    for tap, at in enumerate(below):
                        if at is not None:
                            total += W[(m * wshape[1] + c) * taps + tap] * values[(first + c) * area + at]
                made.append(total)
        return [1, wshape[0], *left], made

    def pooled(self, a, of, **window):
        shape, values = a
        left, windows = self.windows(a, **window)
        area = int(np.prod(shape[2:]))
        made = [of([values[c * area + at] for at in below if at is not None], len(below))
                for c in range(shape[1]) for below in windows]  # fmt: skip
        return [1, shape[1], *left], made

    def MaxPool(self, kind, a, **window):
        def largest(below, _):
            best = below[0]
            for v in below[1:]:
                best = best.max(v)
            return best

        return self.pooled(a, largest, **window)

    def AveragePool(self, kind, a, count_include_pad=0, **window):
        mean = lambda below, taps: sum(below, arb(0)) / (taps if count_include_pad else len(below))
        return self.pooled(a, mean, **window)

    def GlobalAveragePool(self, kind, a):
        shape, values = a
        area = int(np.prod(shape[2:]))
        means = [sum(values[c * area : (c + 1) * area], arb(0)) / area for c in range(shape[1])]
        return [1, shape[1], *[1 for _ in shape[2:]]], means

    def BatchNormalization(self, kind, a, scale, bias, mean, variance, epsilon=1e-5):
        shape, values = a
        area = int(np.prod(shape[2:]))
        by = [s / (v + float32(epsilon)).sqrt() for s, v in zip(scale[1], variance[1])]
        return shape, [(x - mean[1][i // area]) * by[i // area] + bias[1][i // area] for i, x in enumerate(values)]

    def Flatten(self, kind, a):
        return [1, len(a[1])], a[1]

    def Gemm(self, kind, a, b, c, transB=0, alpha=1.0):
        (_, x), ((rows, columns), B) = a, b
        outputs = rows if transB else columns
        products = [sum((v * (B[k * columns + j] if transB else B[j * columns + k]) for j, v in enumerate(x)), arb(0))
                    for k in range(outputs)]  # fmt: skip
        return [1, outputs], [float32(alpha) * p + s for p, s in zip(products, c[1])]

    def LeakyRelu(self, kind, a, alpha=0.01):
        leak = float32(alpha)
        return a[0], [v.max(arb(0)) + leak * v.min(arb(0)) for v in a[1]]

    def Elu(self, kind, a, alpha=1.0):
        return a[0], [v.max(arb(0)) + float32(alpha) * v.min(arb(0)).expm1() for v in a[1]]

    def Softplus(self, kind, a):
        return a[0], [v.max(arb(0)) + (-abs(v)).exp().log1p() for v in a[1]]

    def HardSigmoid(self, kind, a):
        return a[0], [(float32(0.2) * v + float32(0.5)).max(arb(0)).min(arb(1)) for v in a[1]]

    def Clip(self, kind, a, low, high):
        return a[0], [v.max(low[1][0]).min(high[1][0]) for v in a[1]]
