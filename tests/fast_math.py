#!/usr/bin/env python3
"""Flags that give up IEEE arithmetic are refused with a sentence that says so, by a header that proofs include and by
one that programs do: fast_math.py SOURCE_TREE COMPILER EIGEN"""

import os
import subprocess
import sys

SENTENCE = "zeroloss needs IEEE arithmetic"
HEADERS = ["linalg/rounding.hpp", "zeroloss/base/matrix.hpp"]
REFUSED = ["-ffast-math", "-Ofast", "-ffinite-math-only"]
OF_GCC = ["-funsafe-math-optimizations", "-freciprocal-math", "-fno-signed-zeros"]  # clang defines nothing for them
TAKEN = ["-O3", "-fno-math-errno", "-fno-trapping-math"]


def preprocessed(root, compiler, eigen, header, flag):
    paths = ["-I", f"{root}/src", "-I", f"{root}/include", "-isystem", eigen]
    command = [compiler, "-std=c++20", "-E", *paths, flag, "-x", "c++", "-", "-o", os.devnull]
    return subprocess.run(command, input=f'#include "{header}"\n', text=True, stderr=subprocess.PIPE)


def main():
    root, compiler, eigen = sys.argv[1:]
    macros = subprocess.run([compiler, "-dM", "-E", "-x", "c++", "-"], input="", text=True, capture_output=True).stdout
    refused = REFUSED + ([] if "__clang__" in macros else OF_GCC)
    wrong = 0
    for header in HEADERS:
        for flag in [*refused, *TAKEN]:
            ended = preprocessed(root, compiler, eigen, header, flag)
            good = SENTENCE in ended.stderr and ended.returncode != 0 if flag in refused else ended.returncode == 0
            if not good:
                wrong += 1
                print(f"{header} with {flag}: exit status {ended.returncode}\n{ended.stderr}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
