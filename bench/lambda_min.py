#!/usr/bin/env python3
"""What lambda_min of MNIST's first N images costs: all of certify, and what peers take for lambda_min alone.

    bench/setup.sh numpy neural-tangents
    python3 bench/lambda_min.py build/release/bin/zeroloss IMAGES --env build/bench-env [--sizes 2500,5000,10000]

IMAGES is train-images-idx3-ubyte.gz, beside which train-labels-idx1-ubyte.gz lies. Every answer comes from a process
of its own, one after another, so that its peak of memory is its own: `certify --method tail`, `certify --method
factor`, this once more with labels (forecast, leave-one-out; all with a proof, whole commands), `scipy.linalg.eigh`
of the kernel that peers.py makes in NumPy, SciPy's Cholesky factor of it with Lanczos, and
`jax.numpy.linalg.eigvalsh` of neural-tangents' kernel in float64 and float32 (compiled before the clock starts, no
proof). Medians of --rounds turns.
Standard library only.
"""

import argparse
import gzip
import json
import pathlib
import statistics
import struct
import subprocess
import tempfile
import time

from run import Program

HERE = pathlib.Path(__file__).parent


def first_images(source, n, path):
    with gzip.open(source) as file:
        kind, _, height, width = struct.unpack(">4i", file.read(16))
        path.write_bytes(struct.pack(">4i", kind, n, height, width) + file.read(n * height * width))


def first_labels(source, n, path):
    with gzip.open(source) as file:
        kind, _ = struct.unpack(">2i", file.read(8))
        path.write_bytes(struct.pack(">2i", kind, n) + file.read(n))


def ours(command, images, method):
    began = time.perf_counter()
    words = [command, "certify", images, "--method", method, "--passes", "1", "--json"]
    answer = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    return time.perf_counter() - began, answer["peak_bytes"], answer["lambda_min_verified"]


def theirs(env, peer, images, n, method, warm):
    program = Program(env / peer / "bin/python", HERE / "peers.py", peer, images, n)
    if warm:
        program.ask("lambda_min", method)
    answer = program.ask("lambda_min", method)
    peak = program.ask("peak")["bytes"]
    program.process.stdin.close()
    program.process.wait()
    return answer["seconds"], peak, answer["lambda_min"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("zeroloss")
    parser.add_argument("images", type=pathlib.Path)
    parser.add_argument("--env", type=pathlib.Path, required=True, help="folder of the peers' environments")
    parser.add_argument("--sizes", default="2500,5000,10000")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    print(f"{'n':>6}  {'how':26}{'seconds':>9}{'GB':>7}{'lambda_min':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for n in map(int, options.sizes.split(",")):
            images = pathlib.Path(folder) / f"mnist-{n}-idx3-ubyte"
            first_images(options.images, n, images)
            labelled = pathlib.Path(folder) / f"labelled-{n}"
            labelled.mkdir()
            first_images(options.images, n, labelled / "train-images-idx3-ubyte")
            labels = options.images.with_name("train-labels-idx1-ubyte.gz")
            first_labels(labels, n, labelled / "train-labels-idx1-ubyte")
            ways = {f"certify --method {way}": (ours, options.zeroloss, images, way) for way in ("tail", "factor")}
            ways["certify, with labels"] = (ours, options.zeroloss, labelled, "factor")
            ways["numpy, scipy eigh"] = (theirs, options.env, "numpy", images, n, "eigh", False)
            ways["scipy Cholesky, Lanczos"] = (theirs, options.env, "numpy", images, n, "cholesky", False)
            for dtype in ("float64", "float32"):
                ways[f"neural-tangents {dtype}"] = (theirs, options.env, "neural-tangents", images, n, dtype, n <= 5000)
            answers = {name: [] for name in ways}
            for _ in range(options.rounds):
                for name, (way, *arguments) in ways.items():
                    answers[name].append(way(*arguments))
            for name, found in answers.items():
                seconds, (_, peak, value) = statistics.median(one[0] for one in found), found[0]
                print(f"{n:6}  {name:26}{seconds:9.2f}{peak / 1e9:7.2f}{value:12.6f}", flush=True)


if __name__ == "__main__":
    main()
