#!/usr/bin/env python3
"""Time and memory of `certify --method tail` beside the float32 products that it is made of.

    python3 bench/tail.py ZEROLOSS [--sets mnist,separated:125000,separated:250000] [--passes 1] [--factor]

For each set, in a process of its own: `zeroloss certify SET --method tail`, and NumPy's products of the lower half of
X X^T in float32, in tiles of 2,048 rows that are thrown away. `separated:N` is N random points on the sphere of 128
dimensions. --factor also runs `--method factor`, whose bound the tail's must not exceed: for MNIST's 60,000 points an
hour and 16 GB. Prints a table; exits with 1 where a bound is above the factor's.
"""

import argparse
import json
import os
import subprocess
import sys
import time

TILE = 2048


def products(source, cache):
    """Seconds of NumPy's float32 products of all pairs of rows, the faster of two."""
    import numpy as np

    if source.startswith("separated:"):
        X = np.random.default_rng(1).standard_normal((int(source.split(":")[1]), 128), dtype=np.float32)
    else:
        import gzip

        with gzip.open(os.path.join(cache, "train-images-idx3-ubyte.gz")) as file:
            X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784).astype(np.float32)
    X /= np.linalg.norm(X, axis=1)[:, None]
    best, out = float("inf"), np.empty((TILE, TILE), np.float32)
    for _ in range(2):
        began = time.perf_counter()
        for i in range(0, len(X), TILE):
            for j in range(0, i + 1, TILE):
                a, b = X[i : i + TILE], X[j : j + TILE]
                np.matmul(a, b.T, out=out[: len(a), : len(b)])
        best = min(best, time.perf_counter() - began)
    return best


def certify(command, source, options):
    words = [f"sphere:n={source.split(':')[1]},d=128,y=none"] if source.startswith("separated:") else [source]
    began = time.perf_counter()
    done = subprocess.run([command, "certify", *words, "--json", *options], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout), time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("zeroloss")
    parser.add_argument("--sets", default="mnist,separated:125000,separated:250000")
    parser.add_argument("--mnist", default="", help="folder of MNIST's files, in place of the cache")
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--factor", action="store_true")
    parser.add_argument("--products", help=argparse.SUPPRESS)
    options = parser.parse_args()
    cache = options.mnist or os.path.expanduser("~/.cache/zeroloss/mnist")
    if options.products:
        return print(products(options.products, cache))
    print(f"{'set':20}{'lambda_min >=':>14}{'N':>5}{'pass s':>9}{'products s':>12}{'ratio':>7}{'all s':>8}{'GB':>6}")
    wrong = False
    for source in options.sets.split(","):
        path = os.path.join(cache, "train-images-idx3-ubyte.gz") if source == "mnist" and options.mnist else source
        answer, seconds = certify(options.zeroloss, path, ["--method", "tail", "--passes", str(options.passes)])
        numpy = float(subprocess.run([sys.executable, __file__, options.zeroloss, "--products", source, "--mnist",
                                      options.mnist], stdout=subprocess.PIPE, check=True).stdout)  # fmt: skip
        one, bound = answer["tail"]["passes"][0]["seconds"], answer["lambda_min_verified"]
        print(f"{source:20}{bound or 0:14.6f}{answer['tail']['power']:5}{one:9.1f}{numpy:12.1f}{one / numpy:7.2f}"
              f"{seconds:8.1f}{answer['peak_bytes'] / 1e9:6.2f}", flush=True)  # fmt: skip
        if options.factor:
            factor, seconds = certify(options.zeroloss, path, ["--method", "factor"])
            print(f"{'  factor':20}{factor['lambda_min_verified']:14.6f}{seconds:42.1f}"
                  f"{factor['peak_bytes'] / 1e9:12.2f}", flush=True)  # fmt: skip
            wrong |= (bound or 0) > factor["lambda_min_verified"]
    sys.exit(wrong)


if __name__ == "__main__":
    main()
