"""peers.py PEER DATA N: the peers' side of kernel_bench, one measurement a line from stdin, one JSON line back.

PEER is numpy or neural-tangents, DATA an idx file of images (.gz or not) or a .npy file. Each peer runs at its best
settings: all cores, compiled and warm, several ways of writing the same thing.

    gram float32|float64 VARIANT       the same Sigma(relu), n x n: rho (1/4 + asin(rho)/(2 pi)), rho = X X^T
    lambda_min eigh|cholesky           numpy: its fastest Gram matrix, then its smallest eigenvalue by scipy
    lambda_min float32|float64         neural-tangents: its Gram matrix, then its smallest eigenvalue by jax
    entries float32|float64 FILE M     writes M x M entries, evenly spaced, as raw doubles
    difference FILE FILE               numpy: the largest difference between two such files
    shape                              numpy: n and d
    info                               versions and BLAS
    peak                               the most memory this process has held, in bytes

peers.py sphere FILE N: writes N points of the unit sphere of R^784 to a .npy file.
"""
import concurrent.futures
import gzip
import json
import math
import os
import resource
import sys
import time

import numpy as np

CORES = len(os.sched_getaffinity(0))
TILE = 512


def read_points(path, n):
    """The first n rows as doubles of unit length."""
    if path.endswith(".npy"):
        X = np.load(path)[:n].astype(np.float64)
    else:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            head = np.frombuffer(file.read(16), ">i4")
            if head[0] != 0x0803:
                sys.exit(f"peers: {path} is not an idx file of images")
            d = int(head[2] * head[3])
            X = np.frombuffer(file.read(n * d), np.uint8).reshape(-1, d).astype(np.float64)
    if len(X) != n:
        sys.exit(f"peers: {path} has {len(X)} points, {n} are wanted")
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def timed(work):
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


class Numpy:
    """The closed form in numpy, and scipy's eigenvalues of it."""

    def __init__(self, X):
        import scipy.linalg
        import scipy.sparse.linalg
        import threadpoolctl

        self.X = {"float64": X, "float32": X.astype(np.float32)}
        self.scipy, self.threadpoolctl = scipy, threadpoolctl

    def plain(self, X):
        """As one writes it."""
        rho = np.clip(X @ X.T, -1, 1)
        K = rho * (np.pi - np.arccos(rho)) / (2 * np.pi)
        np.fill_diagonal(K, 0.5)  # <x, x> = 1 exactly; a rounded one moves lambda_min by 1e-8
        return K

    def in_place(self, X):
        """The same without temporary matrices."""
        K = self.finish(X @ X.T)
        np.fill_diagonal(K, 0.5)
        return K

    def tiles(self, X):
        """In place, in tiles that fit the cache, a thread a core, the lower half only: what zeroloss does, in numpy."""
        n = len(X)
        K = np.empty((n, n), X.dtype)
        starts = range(0, n, TILE)

        def tile(at):
            rows, columns = (slice(start, start + TILE) for start in at)
            K[rows, columns] = self.finish(X[rows] @ X[columns].T)

        with self.threadpoolctl.threadpool_limits(1), concurrent.futures.ThreadPoolExecutor(CORES) as pool:
            list(pool.map(tile, [(i, j) for i in starts for j in starts if j <= i]))
        np.fill_diagonal(K, 0.5)
        return K

    def finish(self, rho):
        np.clip(rho, -1, 1, out=rho)
        h = np.arcsin(rho)
        h *= 0.5 / math.pi
        h += 0.25
        rho *= h
        return rho

    def gram(self, dtype, variant):
        return timed(lambda: getattr(self, variant)(self.X[dtype]))

    def entries(self, dtype):
        return self.plain(self.X[dtype])

    def lambda_min(self, method):
        def work():
            K = self.tiles(self.X["float64"]).T  # column-major and its upper triangle set: LAPACK works in place
            linalg, sparse = self.scipy.linalg, self.scipy.sparse.linalg
            fast = {"overwrite_a": True, "check_finite": False}
            if method == "eigh":
                return linalg.eigh(K, lower=False, eigvals_only=True, subset_by_index=[0, 0], **fast)[0]
            factor = linalg.cho_factor(K, lower=False, **fast)
            inverse = lambda b: linalg.cho_solve(factor, b, check_finite=False)
            solve = sparse.LinearOperator(K.shape, inverse, dtype=K.dtype)
            start = np.random.default_rng(0).standard_normal(len(K))
            return 1 / sparse.eigsh(solve, k=1, tol=1e-7, v0=start, return_eigenvectors=False)[0]

        seconds, value = timed(work)
        return seconds, float(value)

    def info(self):
        blas = [pool for pool in self.threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
        return {
            "numpy": np.__version__,
            "scipy": self.scipy.__version__,
            "blas": sorted({f"{b['internal_api']} {b['version']} {b.get('architecture')}" for b in blas}),
            "threads": CORES,
        }


class NeuralTangents:
    """Dense then Relu: the NTK of that is Sigma(relu) itself. With the readout layer it is Sigma + Sigma~, more
    work."""

    def __init__(self, X):
        import types

        import jax

        # Its experimental part imports tensorflow, hundreds of megabytes that take no part here.
        sys.modules["neural_tangents.experimental"] = types.ModuleType("experimental")
        import jax.experimental
        import neural_tangents
        from neural_tangents import stax

        self.jax = jax
        versions = {"jax": jax.__version__, "neural-tangents": neural_tangents.__version__}
        self.versions = versions | {"devices": str(jax.devices())}
        self.d = X.shape[1]  # the library divides inner products by d
        self.X = {}
        for dtype in ("float64", "float32"):
            with self.precision(dtype):
                self.X[dtype] = jax.numpy.asarray(X, dtype)
        hidden = stax.Dense(1, W_std=1, b_std=None), stax.Relu()
        readout = stax.Dense(1, W_std=1, b_std=None)
        kernels = {"layer": stax.serial(*hidden)[2], "network": stax.serial(*hidden, readout)[2]}
        self.kernels = {name: jax.jit(lambda a, k=kernel: k(a, None, "ntk")) for name, kernel in kernels.items()}

    def precision(self, dtype):
        return self.jax.experimental.enable_x64(dtype == "float64")

    def gram(self, dtype, variant):
        with self.precision(dtype):
            return timed(lambda: self.kernels[variant](self.X[dtype]).block_until_ready())

    def entries(self, dtype):
        return np.asarray(self.gram(dtype, "layer")[1]) * self.d

    def lambda_min(self, dtype):
        with self.precision(dtype):
            eigenvalues = self.jax.jit(self.jax.numpy.linalg.eigvalsh)
            kernel = self.kernels["layer"]
            seconds, values = timed(lambda: eigenvalues(kernel(self.X[dtype])).block_until_ready())
            return seconds, float(values[0]) * self.d

    def info(self):
        return self.versions


def answer(peer, words):
    match words:
        case ["gram", dtype, variant]:
            seconds, K = peer.gram(dtype, variant)
            assert K.dtype == dtype
            return {"seconds": seconds}
        case ["lambda_min", method]:
            seconds, value = peer.lambda_min(method)
            return {"seconds": seconds, "lambda_min": value}
        case ["entries", dtype, path, m]:
            K = peer.entries(dtype)
            points = np.arange(int(m)) * len(K) // int(m)
            K[np.ix_(points, points)].astype(np.float64).tofile(path)
            return {"written": True}
        case ["difference", a, b]:
            return {"largest": float(np.abs(np.fromfile(a) - np.fromfile(b)).max())}
        case ["shape"]:
            n, d = peer.X["float64"].shape
            return {"n": n, "d": d}
        case ["info"]:
            return peer.info()
        case ["peak"]:
            return {"bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    sys.exit(f"peers: not a measurement: {' '.join(words)}")


def main():
    name, path, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if name == "sphere":
        X = np.random.default_rng(0).standard_normal((n, 784))
        np.save(path, X / np.linalg.norm(X, axis=1, keepdims=True))
        return
    peer = {"numpy": Numpy, "neural-tangents": NeuralTangents}[name](read_points(path, n))
    for line in sys.stdin:
        print(json.dumps(answer(peer, line.split())), flush=True)


if __name__ == "__main__":
    main()
