#!/usr/bin/env python3
"""What lambda_min of MNIST's first N images costs: certify without the kernel, certify with it, and its peers.

    bench/setup.sh numpy neural-tangents
    python3 bench/lambda_min.py build/release/bin/zeroloss IMAGES --env build/bench-env [--sizes 2500,5000,10000]

IMAGES is train-images-idx3-ubyte.gz. Every answer comes from a process of its own, one after another, so that its peak
of memory is its own: `certify --method tail`, `certify --method factor` (both with a proof, whole commands),
`scipy.linalg.eigh` of the kernel that peers.py makes in NumPy, and `jax.numpy.linalg.eigvalsh` of neural-tangents'
kernel in float64 and float32 (compiled before the clock starts, no proof). Standard library only.
"""

import argparse
import gzip
import json
import pathlib
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
    options = parser.parse_args()
    print(f"{'n':>6}  {'how':26}{'seconds':>9}{'GB':>7}{'lambda_min':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for n in map(int, options.sizes.split(",")):
            images = pathlib.Path(folder) / f"mnist-{n}-idx3-ubyte"
            first_images(options.images, n, images)
            ways = {f"certify --method {way}": (ours, options.zeroloss, images, way) for way in ("tail", "factor")}
            ways["numpy, scipy eigh"] = (theirs, options.env, "numpy", images, n, "eigh", False)
            for dtype in ("float64", "float32"):
                ways[f"neural-tangents {dtype}"] = (theirs, options.env, "neural-tangents", images, n, dtype, n <= 5000)
            for name, (way, *arguments) in ways.items():
                seconds, peak, value = way(*arguments)
                print(f"{n:6}  {name:26}{seconds:9.2f}{peak / 1e9:7.2f}{value:12.6f}", flush=True)


if __name__ == "__main__":
    main()
