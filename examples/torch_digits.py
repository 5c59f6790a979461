"""Trains a network of PyTorch on the digits that come with zeroloss and writes it as ONNX:

    python examples/torch_digits.py digits.onnx
    zeroloss prove digits.onnx digits --divide 16 --polish

Needs torch and onnx. examples/digits.onnx is what it wrote.
"""
import csv
import gzip
import pathlib
import sys

import torch
from torch import nn


def digits():
    path = pathlib.Path(__file__).parent.parent / "data/digits.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = [[float(cell) for cell in row] for row in csv.reader(file) if row[0].replace(".", "").isdigit()]
    table = torch.tensor(rows)
    return table[:, :-1] / 16, table[:, -1].long()


def main():
    torch.manual_seed(0)
    X, y = digits()
    network = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(25):
        for batch in torch.randperm(len(X)).split(64):
            loss = nn.functional.cross_entropy(network(X[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        wrong = (network(X).argmax(1) != y).sum().item()
    print(f"{wrong} of {len(X)} labels wrong in float32")
    names = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "batch"}, "y": {0: "batch"}}}
    torch.onnx.export(network, (X[:1],), sys.argv[1], dynamo=False, opset_version=17, **names)


if __name__ == "__main__":
    main()
