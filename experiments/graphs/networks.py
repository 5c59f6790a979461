#!/usr/bin/env python3
"""networks.py MNIST OUT: trains two networks on MNIST's training images and exports them, for `zeroloss prove`.

Needs torch. MNIST is a folder with the IDX files; OUT gets mlp.onnx (784-256-256-10, six epochs of Adam) and lenet.onnx
(two convolutions with batch normalisation, which the exporter folds, and maxima; three linear maps; two epochs)."""

import gzip
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

EPOCHS = {"mlp": 6, "lenet": 2}


def idx(file):
    content = gzip.decompress(file.read_bytes())
    return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3])  # behind the sizes of all axes


def networks():
    torch.manual_seed(0)
    yield "mlp", nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    images = [nn.Conv2d(1, 16, 5, padding=2), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)]
    images += [nn.Conv2d(16, 32, 5), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    vectors = [nn.Linear(800, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
    yield "lenet", nn.Sequential(*images, *vectors)


def main(mnist, out):
    X = torch.tensor(idx(mnist / "train-images-idx3-ubyte.gz").reshape(-1, 784).astype(np.float32) / 255)
    y = torch.tensor(idx(mnist / "train-labels-idx1-ubyte.gz").astype(np.int64))
    for name, network in networks():
        points = X if name == "mlp" else X.reshape(-1, 1, 28, 28)
        optimizer = torch.optim.Adam(network.parameters(), 1e-3)
        for _ in range(EPOCHS[name]):
            for batch in torch.randperm(len(points)).split(128):
                optimizer.zero_grad()
                nn.functional.cross_entropy(network(points[batch]), y[batch]).backward()
                optimizer.step()
        names = {"input_names": ["x"], "output_names": ["f"], "dynamic_axes": {"x": {0: "n"}, "f": {0: "n"}}}
        torch.onnx.export(network.eval(), points[:1], out / f"{name}.onnx", dynamo=False, **names)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
