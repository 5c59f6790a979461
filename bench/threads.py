#!/usr/bin/env python3
"""Whether threads help where they are taken and stay out of the way elsewhere: bench/threads.py ZEROLOSS [--rounds 9]

Times commands with the number of threads that zeroloss takes by itself, with one and with all, in turns, on n = 10 to
3,000 points; alone, and beside one process that keeps a processor busy. Prints medians in seconds and the factor by
which the own choice is slower than the best count; exits with 1 where that is above 1.5."""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import time

SIZES = (10, 30, 100, 300, 1000, 3000)
COMMANDS = {
    "certify": lambda n: ["certify", f"sphere:n={n},d=20"],
    "fit gd": lambda n: ["fit", f"sphere:n={n},d=20", "--width", "256", "--max-steps", "200", "--certify-every", "0"],
    "fit gauss_newton": lambda n: ["fit", f"sphere:n={n},d=20", "--width", "256", "--optimizer", "gauss_newton",
                                   "--max-steps", "3"],
}  # fmt: skip
MOST_GAUSS_NEWTON = 1000  # a step takes n^3/3


def seconds(command):
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


@contextlib.contextmanager
def busy(processes):
    """So many processes that never wait."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("zeroloss")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    counts = {"own": [], "1": ["--threads", "1"], "all": ["--threads", str(os.cpu_count())]}
    worst = 0.0
    for beside in (0, 1):
        print("beside a busy process" if beside else "alone")
        print(f"{'':18}{'n':>6}" + "".join(f"{name:>9}" for name in counts) + f"{'factor':>9}")
        for name, command in COMMANDS.items():
            for n in SIZES:
                if "newton" in name and n > MOST_GAUSS_NEWTON:
                    continue
                taken = {count: [] for count in counts}
                with busy(beside):
                    for _ in range(options.rounds):
                        for count, flags in counts.items():
                            taken[count].append(seconds([options.zeroloss, *command(n), *flags]))
                medians = {count: statistics.median(times) for count, times in taken.items()}
                factor = medians["own"] / min(medians.values())
                worst = max(worst, factor)
                row = "".join(f"{seconds:9.3f}" for seconds in medians.values())
                print(f"{name:18}{n:6}{row}{factor:9.2f}", flush=True)
    print(f"worst factor {worst:.2f}")
    sys.exit(worst > 1.5)


if __name__ == "__main__":
    main()
