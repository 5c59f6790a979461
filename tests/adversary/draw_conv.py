"""Convolutional networks in files: groups, dilations, strides and pads of any side, normalisation, pooling, sums over a
branch, and a linear map at the end."""

import numpy as np

from onnx_file import Graph, Node

PHI = ["Relu", "Relu", "LeakyRelu", "Tanh", "Sigmoid", "Clip", "Elu", "Softplus", "HardSigmoid"]


class Draw:
    def __init__(self, r):
        self.r, self.kind = r, str(r.choice(["float32", "float64"]))
        self.constants, self.nodes = {}, []
        self.channels = int(r.integers(1, 4))
        self.sizes = [int(size) for size in r.integers(3, 7, size=r.choice([1, 2, 2]))]
        self.input = [self.channels, *self.sizes]

    def says(self, share):
        return self.r.random() < share

    def constant(self, *shape, positive=False):
        values = self.r.normal(size=shape)
        values = np.asarray(abs(values) + 0.125 if positive else values, "float32").astype(float)
        name = f"c{len(self.constants)}"
        self.constants[name] = (self.kind, list(shape), values.ravel().tolist())
        return name

    def node(self, op, *inputs, **attributes):
        self.nodes.append(Node(op, list(inputs), f"v{len(self.nodes)}", attributes))
        return self.nodes[-1].output

    def window(self, dilated):
        """Sizes, steps and pads of a window that fits into what there is, and what it leaves."""
        kernel, dilations, pads, steps, left = [], [], [], [], []
        for size in self.sizes:
            k, dilation = int(self.r.integers(1, 4)), int(self.r.choice([1, 1, 2])) if dilated else 1
            before, after = (int(self.r.integers(0, min(2, k))) for _ in range(2))
            while dilation * (k - 1) + 1 > size + before + after:
                k, dilation = max(1, k - 1), 1
            before, after = min(before, k - 1), min(after, k - 1)
            step = int(self.r.choice([1, 1, 2]))
            kernel.append(k), dilations.append(dilation), steps.append(step), pads.append((before, after))
            left.append((size + before + after - dilation * (k - 1) - 1) // step + 1)
        flat = [before for before, _ in pads] + [after for _, after in pads]
        return {"kernel_shape": kernel, "strides": steps, "pads": flat}, dilations, left

    def convolution(self, h):
        window, dilations, left = self.window(dilated=True)
        groups = int(self.r.choice([g for g in (1, 1, 2, 3) if self.channels % g == 0]))
        channels = groups * int(self.r.integers(1, 3))
        weight = self.constant(channels, self.channels // groups, *window["kernel_shape"])
        bias = [self.constant(channels)] if self.says(0.6) else []
        self.channels, self.sizes = channels, left
        return self.node("Conv", h, weight, *bias, group=groups, dilations=dilations, **window)

    def phi(self, h):
        op = str(self.r.choice(PHI))
        if op == "Clip":
            low, high = sorted(np.float32(self.r.normal(size=2)).astype(float).tolist())
            for name, value in (("low", low), ("high", high)):
                self.constants[name] = (self.kind, [], [value])
            return self.node("Clip", h, "low", "high")
        if op in ("LeakyRelu", "Elu"):
            return self.node(op, h, alpha=float(np.float32(self.r.uniform(0.01, 1.5))))
        return self.node(op, h)

    def block(self, h):
        h = self.convolution(h)
        if self.says(0.4):
            numbers = [self.constant(self.channels) for _ in range(3)]
            h = self.node("BatchNormalization", h, *numbers, self.constant(self.channels, positive=True))
        h = self.phi(h)
        if self.says(0.3):  # a branch that leaves the sizes as they are
            weight = self.constant(self.channels, self.channels, *[1 for _ in self.sizes])
            h = self.node("Add", self.phi(self.node("Conv", h, weight)), h)
        if self.says(0.4):
            window, _, self.sizes = self.window(dilated=False)
            average = self.says(0.5)
            more = {"count_include_pad": int(self.r.integers(2))} if average else {}
            h = self.node("AveragePool" if average else "MaxPool", h, **window, **more)
        return h

    def end(self, h, outputs):
        features = self.channels * int(np.prod(self.sizes))
        if self.says(0.4):
            features, h = self.channels, self.node("GlobalAveragePool", h)
        h = self.node("Flatten", h)
        turned = int(self.r.integers(2))
        weight = self.constant(outputs, features) if turned else self.constant(features, outputs)
        scales = {"alpha": float(self.r.choice([0.5, 2.0]))} if self.says(0.2) else {}
        return h, self.node("Gemm", h, weight, self.constant(outputs), transB=turned, **scales)


def draw_conv(r, outputs):
    """The graph, and what its last linear map takes."""
    d = Draw(r)
    h = "x"
    for _ in range(int(r.integers(1, 3))):
        h = d.block(h)
    features, y = d.end(h, outputs)
    return Graph(d.kind, int(np.prod(d.input)), d.constants, d.nodes, {y: d.kind}, d.input), features
