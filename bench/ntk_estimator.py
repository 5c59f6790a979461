#!/usr/bin/env python3
"""Time to fit the exact predictor of an infinitely wide relu network: zeroloss's NTKRegressor beside neural-tangents.

    bench/setup.sh neural-tangents
    python3 bench/ntk_estimator.py --python PYTHON [--data DATA] [--n 4000]

PYTHON has zeroloss and scikit-learn; DATA is an idx file of images, a .npy file, or sphere. Both programs get the same
unit vectors and ten columns of targets, and learn (K + ridge I)^-1 Y for the kernel Sigma(relu) with ridge = 1e-3 k(1);
their predictions at 100 other points have to agree. One process a program, asked in turn, medians of five rounds after
one to warm up.

neural-tangents runs in two ways and two precisions: `api`, nt.predict.gradient_descent_mse_ensemble as its
documentation shows it, asked for the mean at one point, which makes it factor the kernel; `best`, the compiled kernel
and jax's Cholesky solve, compiled too. Writes results/ntk_estimator.md.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
RIDGE = 1e-3  # in units of the kernel's diagonal
POINTS = 100  # predicted by both
PARTS = ("fit", "gram", "solve")


def problem(path, n):
    """Unit vectors to fit, their targets, and others to predict."""
    import numpy as np

    from peers import read_points

    X = read_points(path, n + POINTS)
    teacher = np.random.default_rng(1).standard_normal((X.shape[1], 10))
    Y = np.sign(X[:n] @ teacher)
    return X[:n], Y - Y.mean(axis=0), X[n:]


class Zeroloss:
    def __init__(self, path, n):
        from zeroloss import blas_info, kernel
        from zeroloss.estimators import NTKRegressor
        from zeroloss.estimators.ridge import cholesky

        self.X, self.Y, self.new = problem(path, n)
        self.model = NTKRegressor(activation="relu", ridge=RIDGE, center=False, bias=0.0)
        self.kernel, self.cholesky, self.blas = kernel, cholesky, blas_info().library

    def fit(self, way, dtype):
        self.model.fit(self.X, self.Y)

    def gram(self, way, dtype):
        self.K = self.kernel.gram(self.X, "relu", normalize=False).K

    def solve(self, way, dtype):
        self.cholesky(self.K, RIDGE * 0.5, self.Y)

    def predictions(self):
        return self.model.predict(self.new)


class NeuralTangents:
    def __init__(self, path, n):
        import types

        import jax

        sys.modules["neural_tangents.experimental"] = types.ModuleType("experimental")  # see peers.py
        import jax.experimental
        import neural_tangents
        from neural_tangents import stax

        self.jax, self.nt = jax, neural_tangents
        self.arrays = {}
        X, Y, new = problem(path, n)
        for dtype in ("float64", "float32"):
            with self.precision(dtype):
                self.arrays[dtype] = [jax.numpy.asarray(a, dtype) for a in (X, Y, new)]
        # It divides inner products by d, and Dense, Relu is Sigma(relu).
        self.scale = X.shape[1]
        kernel = stax.serial(stax.Dense(1, W_std=self.scale**0.5, b_std=None), stax.Relu())[2]
        self.kernel = jax.jit(lambda a, b: kernel(a, b, "ntk"))
        self.api_kernel = kernel
        self.best = jax.jit(self._best)
        self.solved = jax.jit(self._solve)

    def precision(self, dtype):
        return self.jax.experimental.enable_x64(dtype == "float64")

    def _solve(self, K, Y):
        np = self.jax.numpy
        ridge = RIDGE * np.mean(np.diag(K))
        factor = self.jax.scipy.linalg.cho_factor(K + ridge * np.eye(len(K), dtype=K.dtype))
        return self.jax.scipy.linalg.cho_solve(factor, Y)

    def _best(self, X, Y):
        return self._solve(self.kernel(X, None), Y)

    def fit(self, way, dtype):
        with self.precision(dtype):
            X, Y, new = self.arrays[dtype]
            if way == "best":
                self.coefficients = self.best(X, Y).block_until_ready()
            else:
                predict = self.nt.predict.gradient_descent_mse_ensemble(self.api_kernel, X, Y, diag_reg=RIDGE)
                predict(x_test=new[:1], get="ntk", compute_cov=False).block_until_ready()

    def gram(self, way, dtype):
        with self.precision(dtype):
            self.K = self.kernel(self.arrays[dtype][0], None).block_until_ready()

    def solve(self, way, dtype):
        with self.precision(dtype):
            self.solved(self.K, self.arrays[dtype][1]).block_until_ready()

    def predictions(self):
        import numpy as np

        self.fit("best", "float64")
        with self.precision("float64"):
            X, _, new = self.arrays["float64"]
            return np.asarray(self.kernel(new, X) @ self.coefficients)


def serve(name, path, n):
    """One measurement a line from stdin, one JSON line back."""
    program = {"zeroloss": Zeroloss, "neural-tangents": NeuralTangents}[name](path, n)
    for line in sys.stdin:
        part, *words = line.split()
        if part == "predictions":
            answer = program.predictions().tolist()
        elif part == "blas":
            answer = program.blas
        else:
            begun = time.perf_counter()
            getattr(program, part)(*words)
            answer = time.perf_counter() - begun
        print(json.dumps(answer), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="a Python with zeroloss and scikit-learn")
    parser.add_argument("--env", type=pathlib.Path, default=HERE.parent / "build" / "bench-env")
    parser.add_argument("--data", default="sphere")
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", choices=["zeroloss", "neural-tangents"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve, options.data, options.n)
    from run import Program, busy_share, interleave, processor

    with tempfile.TemporaryDirectory() as folder:
        data = options.data
        if data == "sphere":
            data = os.path.join(folder, "sphere.npy")
            subprocess.run([options.python, HERE / "peers.py", "sphere", data, str(options.n + POINTS)], check=True)
        program = lambda python, name: Program(python, __file__, "--serve", name, "--data", data, "--n", options.n)
        busy = busy_share()  # before the programs import what they need
        with (
            program(options.python, "zeroloss") as ours,
            program(options.env / "neural-tangents" / "bin" / "python", "neural-tangents") as theirs,
        ):
            ways = {"zeroloss": (ours, "float64", "fit", "float64")}
            for way in ("best", "api"):
                for dtype in ("float64", "float32"):
                    ways[f"neural-tangents {way} {dtype}"] = (theirs, dtype, way, dtype)
            measurements = {}
            for name, (asked, _, way, dtype) in ways.items():
                for part in PARTS if way != "api" else PARTS[:1]:
                    measurements[name, part] = lambda a=asked, p=part, w=way, t=dtype: a.ask(p, w, t)
            answers = interleave(measurements, options.rounds, 1)
            mine, other = ours.ask("predictions"), theirs.ask("predictions")
            blas = ours.ask("blas")
    farthest = max(abs(a - b) for x, y in zip(mine, other) for a, b in zip(x, y))
    if farthest > 1e-7:
        sys.exit(f"the predictions differ by {farthest:.1e}")
    fit = statistics.median(answers["zeroloss", "fit"])
    lines = [
        f"n = {options.n:,} points of {os.path.basename(options.data)}, 10 targets, ridge 1e-3: seconds, medians of "
        f"{options.rounds} rounds (fastest to slowest).",
        f"{processor()}, {len(os.sched_getaffinity(0))} cores, of which others used {busy:.0%}; BLAS of zeroloss: "
        f"{blas}. "
        f"Predictions at {POINTS} points differ by {farthest:.1e}.",
        "",
        "| program | fit | ratio | of it the kernel | of it the solution |",
        "|---|---|---|---|---|",
    ]
    for name in ways:
        cells = []
        for part in PARTS:
            times = answers.get((name, part))
            cells.append(f"{statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f})" if times else "")
        lines.append(f"| {name} | {cells[0]} | {statistics.median(answers[name, 'fit']) / fit:.1f}x | {cells[1]} | "
                     f"{cells[2]} |")
    text = "\n".join(lines) + "\n"
    print(text)
    (HERE / "results" / "ntk_estimator.md").write_text(text)


if __name__ == "__main__":
    main()
