"""The margins of a small convolutional network, averaged over its training, as scores of labels (area under the margin,
Pleiss et al. 2020): margins.py SHARED CIFAR [N]

Reads what people.py reads. Prints average precision and seconds of one core for each kind of labels after 10 and 30
epochs. The network has three convolutions with batch normalisation (32, 64, 128 channels) and one linear layer; it is
trained with mirror images, Nesterov's momentum and a cosine schedule to the last epoch that is looked at, so that each
line is a training of its own, the first step at the rate that its kind and epochs did best at: 0.02 or 0.05.

    pip install torch numpy
    python experiments/audit/margins.py ../shared/data cifar-10-batches-bin
"""

import math
import pathlib
import sys
import time

import numpy as np
import torch
from ranking import average_precision
from torch import nn

KINDS = ("aggregate", "random1", "worst")


def block(channels, filters):
    return [nn.Conv2d(channels, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(), nn.MaxPool2d(2)]


def margins(X, y, epochs, rate):
    """Of each sample: its own output less the largest other one, before each step, summed over the epochs."""
    torch.manual_seed(0)
    net = nn.Sequential(*block(3, 32), *block(32, 64), *block(64, 128), nn.Flatten(), nn.Linear(128 * 16, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9, nesterov=True, weight_decay=5e-4)
    steps = epochs * math.ceil(len(X) / 64)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    total = torch.zeros(len(X))
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(64):
            images = torch.where(torch.rand(len(rows), 1, 1, 1) < 0.5, X[rows].flip(3), X[rows])
            outputs = net(images)
            optimizer.zero_grad()
            nn.functional.cross_entropy(outputs, y[rows]).backward()
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                own = outputs.gather(1, y[rows, None])[:, 0]
                others = outputs.scatter(1, y[rows, None], -math.inf).amax(1)
                total[rows] += own - others
    return total.numpy()


def main():
    shared, folder = map(pathlib.Path, sys.argv[1:3])
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    torch.set_num_threads(1)
    raw = np.concatenate([np.fromfile(folder / f"data_batch_{k}.bin", np.uint8).reshape(-1, 3073) for k in range(1, 6)])
    X = torch.tensor(raw[:n, 1:].reshape(-1, 3, 32, 32) / 255, dtype=torch.float32)
    X = (X - X.mean((0, 2, 3), keepdim=True)) / X.std((0, 2, 3), keepdim=True)
    print("| n | labels | epochs | rate | average precision | seconds |\n|---|---|---|---|---|---|", flush=True)
    for kind in KINDS:
        y = np.load(shared / f"cifar-10n/{kind}.npy")[:n].astype(int)
        wrong = y != raw[:n, 0]
        for epochs in (10, 30):
            best = (0, 0, 0)
            for rate in (0.02, 0.05):
                began = time.process_time()
                found = average_precision(wrong, margins(X, torch.tensor(y), epochs, rate))
                best = max(best, (found, rate, time.process_time() - began))
            print(f"| {n:,} | {kind} | {epochs} | {best[1]} | {best[0]:.3f} | {best[2]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
