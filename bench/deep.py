#!/usr/bin/env python3
"""Kernels of many layers beside neural-tangents, in one run: their entries, and the time of a Gram matrix.

    bench/setup.sh neural-tangents
    python3 bench/deep.py DATA --bin build/release/bin --env build/bench-env [--n 10000] [--rounds 3]

DATA as for bench/run.sh. Entries: 1,000 x 1,000 of them in double precision, where |rho| <= 1 - 1e-6, for relu, erf
and sin, plain and residual. Times: Theta_L of relu, L = 1, 3, 10, the programs asked in turn, one process each, after
one round to warm up; medians. Writes results/deep.md. Ends with status 1 if an entry differs by more than 1e-12 k(1).
"""

import argparse
import array
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).parent
POINTS = 1000
CASES = [("relu", 1, 0.0), ("relu", 3, 0.0), ("relu", 10, 0.0), ("erf", 3, 0.0), ("erf", 10, 0.0), ("sin", 5, 0.0)]
CASES += [("relu", 10, 1.0), ("relu", 4, 0.5), ("erf", 5, 1.0)]
UNITS = {"relu": 0.5, "erf": 2 / math.pi * math.asin(2 / 3), "sin": math.sinh(1) / math.e}  # E[phi(g)^2]


def parts_of(stax, name):
    """phi, and the layer behind it that makes the mean square a^2."""
    phi = {"relu": stax.Relu, "erf": stax.Erf, "sin": stax.Sin}[name]()
    return phi, lambda a: stax.Dense(1, W_std=a / math.sqrt(UNITS[name]), b_std=None)


def plain(stax, name, layers):
    """Theta_L of docs/theory.md as a function of the points."""
    phi, behind = parts_of(stax, name)
    kernel = stax.serial(stax.Dense(1, W_std=1, b_std=None), *[phi, behind(1)] * layers)[2]
    return lambda X: kernel(X, None, "ntk")


def residual(stax, name, layers, scale):
    """So with blocks (identity + branch)/sqrt(1 + a^2). There is no layer that divides: its kernels are divided."""
    phi, behind = parts_of(stax, name)
    dense = stax.Dense(1, W_std=1, b_std=None)
    branch = stax.serial(dense, phi, behind(scale))
    block = stax.serial(stax.FanOut(2), stax.parallel(branch, stax.Identity()), stax.FanInSum())[2]
    by = 1 / (1 + scale * scale)

    def kernel(X):
        state = stax.serial(dense)[2](X, None)
        for _ in range(layers):
            state = block(state)
            state = state.replace(cov1=state.cov1 * by, nngp=state.nngp * by, ntk=state.ntk * by)
        return dense[2](state).ntk

    return kernel


def peer(path, n):
    import numpy as np

    sys.path.insert(0, str(HERE))
    from peers import NeuralTangents, read_points, timed

    warnings.filterwarnings("ignore", message="`FanIn` layers assume")
    tangents = NeuralTangents(read_points(path, n))
    from neural_tangents import stax

    with tangents.precision("float64"):
        X = tangents.X["float64"] * math.sqrt(tangents.d)  # it divides inner products by d
    compiled = {}
    for line in sys.stdin:
        what, *words = line.split()
        with tangents.precision("float64"):
            if what == "gram":
                layers = int(words[1])
                if layers not in compiled:
                    compiled[layers] = tangents.jax.jit(plain(stax, "relu", layers))
                kernel = compiled[layers]
                answer = {"seconds": timed(lambda kernel=kernel: kernel(X).block_until_ready())[0]}
            else:
                file, m, name, layers, scale = words
                some = X[np.arange(int(m)) * len(X) // int(m)]
                rho = np.asarray(some @ some.T) / tangents.d
                way = (
                    residual(stax, name, int(layers), float(scale)) if float(scale) else plain(stax, name, int(layers))
                )
                K = np.asarray(way(some))
                K = np.where(np.abs(rho) <= 1 - 1e-6, K, np.nan)
                K.astype(np.float64).tofile(file)
                answer = {"written": True}
        print(json.dumps(answer), flush=True)


class Program:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--env", type=pathlib.Path, required=True)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ours = Program([options.bin / "kernel_bench", options.data, str(options.n)])
    python = options.env / "neural-tangents/bin/python"
    theirs = Program([python, __file__, "--peer", options.data, str(options.n)])
    lines, worst = ["| kernel | largest difference over k(1) |", "|---|---|"], 0.0
    for name, layers, scale in CASES:
        values = []
        with tempfile.TemporaryDirectory() as folder:
            for which, program in enumerate((ours, theirs)):
                file = pathlib.Path(folder) / str(which)
                program.ask(f"deep {file} {POINTS} {name} {layers} {scale}")
                numbers = array.array("d")
                numbers.frombytes(file.read_bytes())
                values.append(numbers)
        at_one = values[0][0]  # the first entry is a diagonal one
        difference = max(abs(a - b) for a, b in zip(*values, strict=True) if not math.isnan(b)) / at_one
        worst = max(worst, difference)
        what = f"{layers} layers" if not scale else f"{layers} blocks, a = {scale:g}"
        lines.append(f"| {name}, {what} | {difference:.1e} |")
        print(lines[-1], flush=True)
    lines += ["", "| Gram matrix | zeroloss (s) | neural-tangents (s) | ratio |", "|---|---|---|---|"]
    sigma = statistics.median([ours.ask("gram float64")["seconds"] for _ in range(options.rounds + 1)][1:])
    lines.append(f"| Sigma(relu) | {sigma:.2f} | | |")
    for layers in (1, 3, 10):
        rounds = [
            [p.ask(f"gram float64 {layers}")["seconds"] for p in (ours, theirs)] for _ in range(options.rounds + 1)
        ]
        a, b = (statistics.median(r) for r in zip(*rounds[1:], strict=True))
        lines.append(f"| Theta_{layers}(relu) | {a:.2f} | {b:.2f} | {b / a:.1f}x |")
        print(lines[-1], flush=True)
    (HERE / "results/deep.md").write_text("\n".join(lines) + "\n")
    return int(worst > 1e-12)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main())
