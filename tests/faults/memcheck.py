#!/usr/bin/env python3
"""Commands on a few digits under valgrind: no read of what was never written, none beyond an array, no leak.

    memcheck.py ZEROLOSS

Prints a line for each command; exits with 1 where valgrind found something, with 77 where it is absent. Valgrind knows
no AVX-512, so OpenBLAS takes its kernels for AVX2. Nothing is suppressed: no other library needed it so far."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# All that the command would set for itself: it must not start itself again, outside of valgrind.
ENVIRONMENT = {
    **os.environ,
    "OPENBLAS_CORETYPE": "Haswell",
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_THREAD_TIMEOUT": "4",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
FOUND = 99
COMMANDS = (
    ("certify", "digits", "--n", "40"),
    ("fit", "digits", "--classes", "3,8", "--n", "30", "--width", "32", "--max-steps", "30"),
    ("sweep", "sphere:n=10,y=normal", "--d", "4", "--width", "2:6:2", "--trials", "2", "--max-steps", "50"),
    ("memorize", "digits", "--n", "40"),
    ("audit", "digits", "--classes", "3,8", "--n", "30"),
)


def main():
    program = Path(sys.argv[1]).resolve()
    if shutil.which("valgrind") is None:
        print("no valgrind: run scripts/setup.sh lint", file=sys.stderr)
        sys.exit(77)
    valgrind = ["valgrind", "--quiet", f"--error-exitcode={FOUND}", "--leak-check=full",
                "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"]  # fmt: skip
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for words in COMMANDS:
            began = time.monotonic()
            out = ["--out", f"{folder}/{words[0]}"]
            done = subprocess.run([*valgrind, program, *words, *out], env=ENVIRONMENT, text=True, capture_output=True)
            failed += done.returncode != 0
            print("ok  " if done.returncode == 0 else "FAIL", *words, f"({time.monotonic() - began:.0f} s)", flush=True)
            if done.returncode != 0:
                print(f"exit code {done.returncode}\n{done.stderr}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
