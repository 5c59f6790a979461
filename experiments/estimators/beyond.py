#!/usr/bin/env python3
"""The infinitely wide network beyond memory: seconds, points left to doubt, bounds beside true differences.

    python experiments/estimators/beyond.py build/release/bin/zeroloss FOLDER N ..      # 2000 20000 60000: half an hour

FOLDER has MNIST's four files. For each N the program fits N images by conjugate gradients with relu and ridge 0.01 and
predicts the 10,000 test images; with N <= 20,000 scikit-learn's KernelRidge solves the same equations with the same
kernel, made by `zeroloss.kernel.gram`'s formula in NumPy. With N <= 5,000 the difference to the exact predictor is
measured at every test image, from the residual in long double and a Cholesky factorisation, and compared with what is
proved of it.
"""

import argparse
import gzip
import json
import resource
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.linalg import cho_factor, cho_solve

HERE = Path(__file__).parent
RIDGE = 0.01
SAME_AS = 20_000  # points up to which KernelRidge is asked
MEASURED = 5_000  # and up to which the difference is measured


def tensors(path):
    """Of a safetensors file of doubles."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    return {
        name: np.frombuffer(data, "<f8", offset=8 + size + at["data_offsets"][0], count=int(np.prod(at["shape"])))
        .reshape(at["shape"])
        for name, at in header.items()
        if name != "__metadata__"
    }  # fmt: skip


def kernel(X, Z):
    """Sigma of relu: rho (pi - theta)/(2 pi)."""
    rho = np.clip(X @ Z.T, -1, 1)
    return rho * (0.25 + np.arcsin(rho) / (2 * np.pi))


def images(folder, kind, n=None):
    with gzip.open(folder / f"{kind}-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784).astype(float)[:n]
    with gzip.open(folder / f"{kind}-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)[:n]
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(program, *words):
    began = time.perf_counter(), processor_seconds()
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{words}: {done.stderr}")
    return done.stdout, time.perf_counter() - began[0], processor_seconds() - began[1]


def differences(model, X_test, Y):
    """|f - f_hat| at the test points, and what is proved of them, for each output."""
    X, C, error = model["points"], model["coefficients"], model["solution_error"]
    K = kernel(X, X)
    np.fill_diagonal(K, 0.5)
    K[np.diag_indices_from(K)] += RIDGE * 0.5
    R = Y.astype(np.longdouble) - K.astype(np.longdouble) @ C.astype(np.longdouble)
    off = kernel(X_test, X) @ cho_solve(cho_factor(K), R.astype(float))
    return np.abs(off), np.diag(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("sizes", type=int, nargs="+")
    options = parser.parse_args()
    X_test, _ = images(options.folder, "t10k")
    for n in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            _, fit_s, fit_cpu = run(options.program, "fit", options.folder, "--n", n, "--optimizer", "kernel",
                                    "--solver", "cg", "--activation", "relu", "--ridge", RIDGE,
                                    "--out", out)  # fmt: skip
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
            result = json.loads((out / "result.json").read_text())
            said, predict_s, predict_cpu = run(options.program, "predict", out, options.folder, "--split",
                                                "test", "--json")  # fmt: skip
            said = json.loads(said)
            s = result["solution"]
            row = {"n": n, "steps": s["steps"], "residual": s["residual"], "within": s["error"],
                   "wrong": said["error"], "decided": sum(said["decided"]), "fit s": fit_s, "fit processor s": fit_cpu,
                   "predict s": predict_s,
                   "predict processor s": predict_cpu, "peak GB": peak}  # fmt: skip
            model = tensors(out / "model.safetensors")
        print(json.dumps(row), flush=True)
        X, labels = model["points"], np.array(said["outputs"]).argmax(axis=1)
        if n <= MEASURED:
            off, proved = differences(model, X_test, signs(result, options.folder, n))
            assert (off <= proved).all()
            ratio = proved / off
            print(f"bound/difference: median {np.median(ratio):.3g}, least {ratio.min():.3g}", flush=True)
        if n <= SAME_AS:
            from sklearn.kernel_ridge import KernelRidge

            began, used = time.perf_counter(), time.process_time()
            K = kernel(X, X)
            ridge = KernelRidge(alpha=RIDGE * 0.5, kernel="precomputed").fit(K, signs(result, options.folder, n))
            seconds, used = time.perf_counter() - began, time.process_time() - used
            del K
            theirs = np.concatenate([ridge.predict(kernel(X_test[i : i + 1000], X)) for i in range(0, 10_000, 1000)])
            other = (theirs.argmax(axis=1) != labels).sum()
            print(f"KernelRidge: {seconds:.0f} s, {used:.0f} of processors, {other} other classes", flush=True)


def signs(result, folder, n):
    """Targets of the points that were fitted: the program takes the first n."""
    _, y = images(folder, "train")
    return 2 * np.eye(10)[y[: result["n"]]] - 1


if __name__ == "__main__":
    main()
