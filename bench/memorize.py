"""Times `zeroloss memorize` on the 50,000 training images of CIFAR-10; prints the table of bench/README.md.

    python3 bench/memorize.py --bin build/release/bin CIFAR-FOLDER

after bench/run.sh has built kernel_bench, which measures the rate of BLAS on the same machine. Standard library only.
"""
import argparse
import json
import pathlib
import statistics
import subprocess

from run import GEMM, Program, processor, use_the_commands_blas

RUNS = [("float32", 16), ("float32", 4), ("float64", 16)]


def memorize(command, images, precision, hidden):
    options = ["--precision", precision, "--hidden", str(hidden), "--json"]
    found = json.loads(subprocess.run([command, "memorize", images, *options], stdout=subprocess.PIPE,
                                      check=True).stdout)
    if found["status"] != "memorized":
        raise SystemExit(f"memorize: {found['conclusion']}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("images", help="the folder with data_batch_1.bin to data_batch_5.bin")
    options = parser.parse_args()
    use_the_commands_blas(options.bin)
    with Program(options.bin / "kernel_bench", "digits", 100) as bench:
        rates = {t: 2 * GEMM**3 / min(bench.ask("gemm", t, GEMM)["seconds"] for _ in range(options.rounds))
                 for t in ("float32", "float64")}
    print(f"{processor()}; dgemm {rates['float64'] / 1e9:.0f}, sgemm {rates['float32'] / 1e9:.0f} GF/s\n")
    print("| precision | width | build | rate, of dgemm | verify | rate, of the precision's gemm "
          "|\n|---|---|---|---|---|---|")
    found = {run: [] for run in RUNS}
    for _ in range(options.rounds):
        for run in RUNS:
            found[run].append(memorize(options.bin / "zeroloss", options.images, *run))
    for (precision, hidden), answers in found.items():
        n, d, k = answers[0]["n"], answers[0]["d"], hidden
        work = {"build_s": n * n * k + 2 * n * d * k, "verify_s": 2 * n * n * k + 2 * n * d * k}
        cells = []
        for phase, peak in (("build_s", rates["float64"]), ("verify_s", rates[precision])):
            seconds = sorted(a[phase] for a in answers)
            rate = work[phase] / seconds[0]
            cells.append(f"{statistics.median(seconds):.2f} s ({seconds[0]:.2f} to {seconds[-1]:.2f}) | "
                         f"{rate / 1e9:.0f} GF/s, {100 * rate / peak:.0f} %")
        print(f"| {precision} | {k} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
