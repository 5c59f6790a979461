#!/usr/bin/env python3
"""The tangent kernel J J^T of a given network beside PyTorch's functional transforms and neural-tangents, in one run.

    bench/setup.sh torch; bench/setup.sh neural-tangents
    python3 bench/tangent.py DATA --python PYTHON --env build/bench-env [--sizes 40,80,2000] [--limit 60]

DATA as for bench/run.sh; PYTHON has zeroloss installed. A network 784-512-512-512-10, tanh, weights drawn once,
float64, all weights; the first n images of MNIST. Peers at their best settings: PyTorch by contraction of Jacobians
(vmap of jacrev) and by products with vectors (jvp of vjp), in blocks of as many points as were quickest;
neural-tangents by each of its implementations. Medians of five rounds up to 10 s each, else of one. A size that would
take a peer more than --limit seconds, going by n^2 from the size before, is left out. Writes results/tangent.md. Ends
with status 1 if a block of entries differs by more than 1e-12 of the largest.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
WIDTHS = (784, 512, 512, 512, 10)


def ours(folder):
    import numpy as np

    import zeroloss

    files = np.load(folder / "network.npz")
    weights = [files[f"arr_{k}"] for k in range(len(WIDTHS) - 1)]
    layers = [zeroloss.Layer(W, None, "tanh") for W in weights[:-1]]
    network = zeroloss.DeepNetwork(layers, weights[-1])
    X = files["X"]
    return {"zeroloss": lambda n: network.tangent_kernel(X[:n])}


def of_torch(folder):
    import numpy as np
    import torch
    from torch.func import functional_call, jacrev, jvp, vjp, vmap

    files = np.load(folder / "network.npz")
    weights = {str(k): torch.from_numpy(files[f"arr_{k}"]) for k in range(len(WIDTHS) - 1)}
    X = torch.from_numpy(files["X"])
    K = WIDTHS[-1]
    assert functional_call is not None

    def f(weights, x):
        h = x
        for k in range(len(weights) - 1):
            h = torch.tanh(weights[str(k)] @ h)
        return weights[str(len(weights) - 1)] @ h

    def contraction(block):
        def jacobian(points):
            return [part.flatten(2) for part in vmap(jacrev(f), (None, 0))(weights, points).values()]

        def kernel(n):
            result = torch.empty(n, n, K, K, dtype=torch.float64)
            for i in range(0, n, block):
                left = jacobian(X[i : min(i + block, n)])
                for j in range(0, i + 1, block):
                    right = left if i == j else jacobian(X[j : min(j + block, n)])
                    part = sum(torch.einsum("iaf,jbf->ijab", a, b) for a, b in zip(left, right))
                    result[i : i + block, j : j + block] = part
                    result[j : j + block, i : i + block] = part.permute(1, 0, 3, 2)
            return result.permute(0, 2, 1, 3).reshape(n * K, n * K)

        return kernel

    def products(block):
        def pair(x, y):
            pulled = vjp(lambda w: f(w, x), weights)[1]

            def column(v):
                return jvp(lambda w: f(w, y), (weights,), pulled(v))[1]

            return vmap(column)(torch.eye(K, dtype=torch.float64))

        def kernel(n):
            rows = [
                vmap(vmap(pair, (None, 0)), (0, None))(X[i : min(i + block, n)], X[:n]) for i in range(0, n, block)
            ]
            return torch.cat(rows).permute(0, 2, 1, 3).reshape(n * K, n * K)

        return kernel

    return {"PyTorch, contraction of 10": contraction(10), "PyTorch, contraction of 40": contraction(40),
            "PyTorch, products": products(4)}  # fmt: skip


def of_tangents(folder):
    import types

    import jax

    jax.config.update("jax_enable_x64", True)
    # Its experimental part imports tensorflow, hundreds of megabytes that take no part here.
    sys.modules["neural_tangents.experimental"] = types.ModuleType("experimental")
    import numpy as np
    from jax import numpy as jnp
    from jax._src import source_info_util
    from jax.interpreters import ad
    from neural_tangents import NtkImplementation, batch, empirical_ntk_fn

    ad.source_info_util = source_info_util  # where its structured derivatives look for them
    ad.config = types.SimpleNamespace(jax_enable_checks=False)
    files = np.load(folder / "network.npz")
    weights = [jnp.asarray(files[f"arr_{k}"]) for k in range(len(WIDTHS) - 1)]
    X = jnp.asarray(files["X"])
    K = WIDTHS[-1]

    def f(weights, x):
        h = x
        for W in weights[:-1]:
            h = jnp.tanh(h @ W.T)
        return h @ weights[-1].T

    def kernel_of(implementation, block):
        kernel = empirical_ntk_fn(f, trace_axes=(), vmap_axes=0, implementation=implementation)

        def of(n):
            size = max(k for k in range(1, min(block, n) + 1) if n % k == 0)
            values = batch(kernel, batch_size=size, store_on_device=True)(X[:n], None, weights)
            return np.asarray(values).transpose(0, 2, 1, 3).reshape(n * K, n * K)

        return of

    return {
        "neural-tangents, structured derivatives": kernel_of(NtkImplementation.STRUCTURED_DERIVATIVES, 50),
        "neural-tangents, contraction": kernel_of(NtkImplementation.JACOBIAN_CONTRACTION, 20),
        "neural-tangents, products": kernel_of(NtkImplementation.NTK_VECTOR_PRODUCTS, 20),
    }


WAYS = {"zeroloss": ours, "torch": of_torch, "neural-tangents": of_tangents}


def work(who, folder):
    """Answers a line `WAY<tab>N` with the seconds; leaves a corner of the kernel in a file."""
    import numpy as np

    ways = WAYS[who](folder)
    print(json.dumps(list(ways)), flush=True)
    for line in sys.stdin:
        way, n = line.rstrip("\n").split("\t")
        began = time.perf_counter()
        kernel = ways[way](int(n))
        seconds = time.perf_counter() - began
        np.save(folder / "corner.npy", np.asarray(kernel[:200, :200]))
        print(seconds, flush=True)


class Peer:
    def __init__(self, python, who, folder):
        self.process = subprocess.Popen([python, __file__, "--work", who, "--folder", folder], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        self.ways = json.loads(self.process.stdout.readline())

    def seconds(self, way, n):
        self.process.stdin.write(f"{way}\t{n}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, nargs="?")
    parser.add_argument("--python")
    parser.add_argument("--env", type=pathlib.Path)
    parser.add_argument("--sizes", default="40,80,2000")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.work, options.folder)
    sizes = [int(n) for n in options.sizes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        make = (
            "import sys, numpy as np; sys.path.insert(0, sys.argv[1]); from peers import read_points\n"
            "rng = np.random.default_rng(0); widths = eval(sys.argv[4])\n"
            "W = [rng.normal(size=(m, p)) / np.sqrt(p) for p, m in zip(widths, widths[1:])]\n"
            "np.savez(sys.argv[5], *W, X=np.asarray(read_points(sys.argv[2], int(sys.argv[3])), dtype=np.float64))"
        )
        subprocess.run([options.env / "numpy/bin/python", "-c", make, HERE, options.data, str(max(sizes)), repr(WIDTHS),
                        f"{folder}/network.npz"], check=True)  # fmt: skip
        return measure(options, sizes, pathlib.Path(folder))


def measure(options, sizes, folder):
    pythons = {"zeroloss": options.python, "torch": options.env / "torch/bin/python",
               "neural-tangents": options.env / "neural-tangents/bin/python"}  # fmt: skip
    peers = {who: Peer(python, who, folder) for who, python in pythons.items()}
    times, wrong = {}, 0.0
    for n in sizes:
        expected = None
        for peer in peers.values():
            for way in peer.ways:
                before = max((size for size in sizes if (way, size) in times), default=0)
                if n != sizes[0] and not before:
                    continue
                if before and times[way, before] * (n / before) ** 2 > options.limit:
                    continue
                peer.seconds(way, min(sizes[0], 50))  # compiles
                first = peer.seconds(way, n)
                more = [peer.seconds(way, n) for _ in range(5 if first < 10 else 0)]
                times[way, n] = statistics.median(more or [first])
                corner = subprocess.check_output(
                    [options.env / "numpy/bin/python", "-c",
                     "import sys, json, numpy as np; print(json.dumps(np.load(sys.argv[1])[:40, :40].tolist()))",
                     folder / "corner.npy"])  # fmt: skip
                values = json.loads(corner)
                expected = expected or values
                largest = max(abs(v) for row in expected for v in row)
                off = max(abs(a - b) for x, y in zip(values, expected) for a, b in zip(x, y)) / largest
                wrong = max(wrong, off)
                print(f"{way}, n = {n}: {times[way, n]:.3g} s, off by {off:.2g}", flush=True)
    ways = list(dict.fromkeys(way for way, _ in times))
    lines = ["| J J^T of 784-512-512-512-10, tanh, float64 | " + " | ".join(f"n = {n:,}" for n in sizes) + " |",
             "|---|" + "---|" * len(sizes)]  # fmt: skip
    for way in ways:
        cells = [f"{times[way, n]:.3g} s" if (way, n) in times else "" for n in sizes]
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    for n in sizes:
        others = [times[way, n] for way in ways if way != "zeroloss" and (way, n) in times]
        if others:
            ratio = min(others) / times["zeroloss", n]
            lines.append(f"\nn = {n:,}: {ratio:.1f} times as fast as the quickest of them.")
    lines.append(f"\nEntries differ by {wrong:.1g} of the largest at most.")
    (HERE / "results" / "tangent.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return int(not wrong <= 1e-12)


if __name__ == "__main__":
    sys.exit(main())
