#!/usr/bin/env python3
"""Inducing points beside the kernel of all points, and up to a million: writes inducing.md next to this file.

    python experiments/estimators/inducing.py [--most N]

Points of R^10, standard normal, targets y = sin(x_0) + x_1 x_2 + max(x_3, x_4) + noise of deviation 0.1; 10,000 others
to test. NTKRegressor with relu and its choice of ridge, 4,000 inducing points, beside the kernel of all points where
that is quick (up to 8,000). Seconds are of fit, wall clock; memory is the process's largest resident size, each fit in
a process of its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from zeroloss.estimators import NTKRegressor

HERE = Path(__file__).parent
NOISE = 0.1
EXACT = 8000


def data(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    clean = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.maximum(X[:, 3], X[:, 4])
    return X, clean + NOISE * rng.normal(size=n), clean


def one(n, inducing):
    """A row of the table, in this process."""
    X, y, _ = data(n, 0)
    X_test, _, clean = data(10_000, 1)
    begun = time.perf_counter()
    model = NTKRegressor("relu", inducing_points=inducing).fit(X, y)
    seconds = time.perf_counter() - begun
    error = float(np.sqrt(np.mean((model.predict(X_test) - clean) ** 2)))
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"seconds": seconds, "error": error, "ridge": model.ridge_, "GB": size}))


def row(n, inducing):
    words = [sys.executable, __file__, "--one", str(n), str(inducing or 0)]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    line = (f"| {n:,} | {f'{inducing:,}' if inducing else 'all'} | {found['error']:.4f} | {found['ridge']:.2g} "
            f"| {found['seconds']:.1f} s | {found['GB']:.2f} GB |")  # fmt: skip
    print(line, flush=True)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one[0], options.one[1] or None)
        return
    rows = []
    for n in (4_500, 8_000, 20_000, 100_000, 300_000, 1_000_000):
        if n > options.most:
            break
        if n <= EXACT:
            rows.append(row(n, None))
        rows.append(row(n, 4_000))
    table = [
        f"Made by `experiments/estimators/inducing.py` on {os.cpu_count()} cores; what is compared is in its first",
        "lines. Error: root mean square distance from the targets without noise, on points that were not fitted.",
        "",
        "| points | kernels | error | ridge | fit | memory |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    (HERE / "inducing.md").write_text("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
