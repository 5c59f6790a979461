"""Seconds and memory of `zeroloss audit`: sizes.py ZEROLOSS [OLD] [--most SECONDS] [--sizes N ..] [--classes K ..]

Draws tables of 20 numbers a sample, K classes around centres of their own, 5 % of the labels replaced by another class,
and audits each once, the programs in turn; prints a markdown table with seconds of the clock, gigabytes, and the labels
that are listed with the wrong ones among them. A program that needs more than SECONDS (600) is ended, and gets no
larger table of as many classes. OLD is the program of another revision. The tables are drawn from seed 0.

    python experiments/audit/sizes.py build/release/bin/zeroloss ../before/build/release/bin/zeroloss
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

import numpy as np

SIZES = (1000, 4000, 10_000, 20_000, 60_000, 500_000)
CLASSES = (2, 10, 100, 1000)


def draw(path, n, classes):
    rng = np.random.default_rng(0)
    true = rng.integers(classes, size=n)
    given = np.where(rng.random(n) < 0.05, (true + rng.integers(1, classes, size=n)) % classes, true)
    points = rng.normal(size=(classes, 20))[true] * 1.5 + rng.normal(size=(n, 20)) * 0.7
    with open(path, "w") as file:
        print(*(f"x{k}" for k in range(20)), "y", sep=",", file=file)
        for point, label in zip(points, given, strict=True):
            print(*(f"{value:.4f}" for value in point), f"c{label}", sep=",", file=file)
    return given != true


def run(program, path, most):
    """(seconds, gigabytes, listed samples) and no problem, or nothing and what stood in the way."""
    began = time.monotonic()
    with open(path + ".json", "w+") as out, open(path + ".err", "w+") as err:
        process = subprocess.Popen([program, "--quiet", "audit", path, "--json"], stdout=out, stderr=err)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                break
            if time.monotonic() - began > most:
                process.kill()
                os.wait4(process.pid, 0)
                return None, f"more than {most:.0f} s"
            time.sleep(0.02)
        seconds = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        if status != 0:
            return None, err.read().strip().splitlines()[-1]
        listed = [issue["sample"] for issue in json.load(out)["issues"]]
    return (seconds, usage.ru_maxrss / 1e6, listed), ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("now")
    parser.add_argument("before", nargs="?")
    parser.add_argument("--most", type=float, default=600)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--classes", type=int, nargs="+", default=CLASSES)
    options = parser.parse_args()
    print("| n | classes | program | seconds | GB | wrong | listed | of them wrong |\n" + "|---" * 8 + "|", flush=True)
    ended = set()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        for n in options.sizes:
            for classes in options.classes:
                if 4 * classes > n:
                    continue
                wrong = draw(path, n, classes)
                for which in ("now", "before"):
                    program = getattr(options, which)
                    if program is None or (which, classes) in ended:
                        continue
                    found, problem = run(program, path, options.most)
                    if found is None:
                        ended.add((which, classes))
                        print(f"| {n:,} | {classes:,} | {which} | {problem} | | {wrong.sum():,} | | |", flush=True)
                        continue
                    seconds, memory, listed = found
                    print(f"| {n:,} | {classes:,} | {which} | {seconds:.1f} | {memory:.2f} | {wrong.sum():,} | "
                          f"{len(listed):,} | {int(wrong[listed].sum()):,} |", flush=True)  # fmt: skip


main()
