"""The phase diagrams of Oymak and Soltanolkotabi (Figure 2): where gradient descent on a small network reaches zero
loss.

    python experiments/phase/run.py build/release/bin/zeroloss

n = 100 and 200, softplus and relu, every d and width in 1..25, 10 trials a cell, 15,000 steps; and softplus at n = 100
with 150,000 steps. Writes a figure for each (NAME.vl.json) and transition.csv beside this file, and prints the table of
README.md. Standard library only; about ten minutes, most of them for the last.
"""
import csv
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
STEPS = {"softplus": "0.15", "relu": "0.1"}


def sweep(command, out, n, activation, max_steps):
    """result.json of one panel."""
    subprocess.run([command, "sweep", f"sphere:n={n},y=normal", "--width", "1:25", "--d", "1:25", "--activation",
                    activation,
                    "--scaling", "balanced", "--step", STEPS[activation], "--max-steps", str(max_steps), "--tolerance",
                    "2.5e-3", "--trials", "10", "--out", out], check=True, stdout=subprocess.DEVNULL)
    return json.loads((out / "result.json").read_text())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    panels = [(n, activation, 15_000) for activation in STEPS for n in (100, 200)] + [(100, "softplus", 150_000)]
    with tempfile.TemporaryDirectory() as temporary, open(HERE / "transition.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["n", "activation", "max_steps", "d", "width", "low", "high"])
        for n, activation, max_steps in panels:
            name = f"{activation}-{n}" + ("" if max_steps == 15_000 else "-long")
            result = sweep(sys.argv[1], pathlib.Path(temporary) / name, n, activation, max_steps)
            shutil.copy(pathlib.Path(temporary) / name / "heat.vl.json", HERE / f"{name}.vl.json")
            curve = [t for t in result["panels"][0]["transition"] if t["y"] is not None]
            ratio = [t["y"] * int(t["x"]) / n for t in curve]
            wide = [r for r, t in zip(ratio, curve) if int(t["x"]) >= t["y"]]
            tall = [r for r, t in zip(ratio, curve) if int(t["x"]) < t["y"]]
            for t in curve:
                writer.writerow([n, activation, max_steps, t["x"],
                                 *(t[key] and round(t[key], 3) for key in ("y", "low", "high"))])
            middle = [f"{statistics.median(part):.2f}" if part else "" for part in (ratio, wide, tall)]
            successes = sum(cell["successes"] for cell in result["cells"])
            print(f"| {activation} | {n} | {max_steps:,} | {' | '.join(middle)} | {successes:,} | "
                  f"{result['seconds']:.0f} s |",
                  flush=True)


if __name__ == "__main__":
    main()
