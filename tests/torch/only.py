#!/usr/bin/env python3
"""only.py SOURCE WORK COMPILER LAUNCHER TORCH [HEADERS..]: zeroloss-torch and its benchmark build with LibTorch, OpenMP
and other people's headers alone, as experiments/conv/gpu.sh builds them, and train. WORK is a folder of its own, which
is used again; HEADERS are those with Eigen/, fmt/, nlohmann/, CLI/ and Random123/ in them. Exits with 1 where that
fails."""
import os
import re
import subprocess
import sys
from pathlib import Path

NAMES = ("Eigen", "unsupported", "fmt", "nlohmann", "CLI", "Random123")


def run(*command, code=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


def headers_in(folder, wherever):
    """One folder with the headers that the build may use, and no library beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        found = next((place / name for place in wherever if (place / name).is_dir()), None)
        link = folder / name
        if found and not link.is_symlink():
            link.symlink_to(found)


def noise(folder):
    """20 images as CIFAR-10 has them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("data_batch_1.bin", "test_batch.bin"):
        images = (bytes([i % 10]) + bytes((7 * i + k * k) % 256 for k in range(3072)) for i in range(20))
        (folder / name).write_bytes(b"".join(images))


def expect_own_standard_library(program):
    """PyPI's LibTorch brings functions of a libstdc++ of its own, some of which crash when others call them."""
    needed = re.findall(r"\(NEEDED\).*\[(lib(?:stdc\+\+|torch|c10)[^.]*)", run("readelf", "-d", program))
    if not needed or needed[0] != "libstdc++":
        sys.exit(f"{program.name} looks for functions in {needed}, in that order; libstdc++ has to be the first")


def main():
    source, work, compiler, launcher, torch, *places = sys.argv[1:]
    work = Path(work)
    headers_in(work / "headers", [Path(place) for place in [*places, "/usr/include/eigen3", "/usr/include"]])
    run("cmake", "-S", source, "-B", work / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        "-DZEROLOSS_TORCH_ONLY=ON", "-DZEROLOSS_BUILD_TESTS=OFF", "-DZEROLOSS_BUILD_BENCH=ON", f"-DTorch_DIR={torch}",
        f"-DCMAKE_PREFIX_PATH={Path(torch).parents[2]}",  # what it is made of lies beside it
        f"-DCMAKE_INCLUDE_PATH={work / 'headers'}", f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", "-DCMAKE_CXX_FLAGS_RELEASE=-O1")
    run("cmake", "--build", work / "build", "--parallel", str(min(2, os.cpu_count() or 1)))
    bench = subprocess.run([work / "build/bin/conv_bench", "cpu", "1", "small"], input="info\n", capture_output=True,
                           text=True, check=False)
    if '"libtorch"' not in bench.stdout:
        sys.exit(f"conv_bench said:\n{bench.stdout}{bench.stderr}")
    expect_own_standard_library(work / "build/bin/conv_bench")
    program = work / "build/bin/zeroloss-torch"
    noise(work / "cifar")
    trained = run(program, "conv", "train", work / "cifar", "--depth", "1", "--width", "4", "--batch", "8",
                  "--steps", "4", "--device", "cpu")
    if "20 training images" not in trained:
        sys.exit(f"conv train said:\n{trained}")
    refused = run(program, "certify", "digits", "--device", "cpu", code=3)
    if "this build of zeroloss-torch has conv alone" not in refused:
        sys.exit(f"certify said:\n{refused}")


if __name__ == "__main__":
    main()
