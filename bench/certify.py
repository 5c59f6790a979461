#!/usr/bin/env python3
"""All of certify beside what others need for lambda_min alone: bench/certify.py ZEROLOSS DATA.npz [--before ZEROLOSS]

DATA.npz holds X and y. In turns, each a process of its own: zeroloss certify (a proof of lambda_min, forecast,
leave-one-out and what else it prints), the same of another build, and NumPy's closed form of the kernel of relu with
SciPy's eigh for its smallest eigenvalue alone, which proves nothing. Prints medians in seconds, the fastest and the
slowest round, and ratios. Needs NumPy and SciPy."""

import argparse
import statistics
import subprocess
import sys
import time

PEER = """
import sys, numpy, scipy.linalg
X = numpy.load(sys.argv[1])["X"].astype(float)
X /= numpy.linalg.norm(X, axis=1, keepdims=True)
K = X @ X.T
angle = numpy.clip(K, -1, 1)
numpy.arccos(angle, out=angle)
angle *= -1 / (2 * numpy.pi)
angle += 0.5
K *= angle
print(scipy.linalg.eigh(K, subset_by_index=[0, 0], eigvals_only=True, overwrite_a=True, check_finite=False)[0])
"""


def seconds(command):
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("zeroloss")
    parser.add_argument("data")
    parser.add_argument("--before", help="another build")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    commands = {"certify": [options.zeroloss, "--quiet", "certify", options.data]}
    if options.before:
        commands["certify, before"] = [options.before, "--quiet", "certify", options.data]
    commands["numpy and eigh"] = [sys.executable, "-c", PEER, options.data]
    taken = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            taken[name].append(seconds(command))
    ours = statistics.median(taken["certify"])
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:16} {median:7.1f} s ({min(times):.1f} to {max(times):.1f}), {median / ours:.2f} times certify")


if __name__ == "__main__":
    main()
