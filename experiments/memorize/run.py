"""All 50,000 training images of CIFAR-10 in networks that were written down, with true and with random labels.

    python experiments/memorize/run.py build/release/bin/zeroloss CIFAR-FOLDER

Writes result.csv and margins.vl.json (margins at width 16, true labels) beside this file, and prints the table of
README.md. Standard library only; some minutes.
"""
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
FIELDS = ["precision", "hidden", "labels", "blocks", "parameters", "nonzero", "correct", "proved_exact",
          "proved_any_order", "max_error", "min_margin", "tried", "build_s", "verify_s"]
WIDTHS = {"float32": [None, 2, 4, 16, 64], "float64": [None, 16, "integer"]}


def memorize(command, images, out, precision, hidden, labels):
    """result.json of one run; `hidden` None lets the command choose, "integer" is the other construction."""
    width = [] if hidden is None else ["--construction" if hidden == "integer" else "--hidden", str(hidden)]
    done = subprocess.run([command, "memorize", images, "--precision", precision, "--labels", labels, *width, "--out",
                           out], stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 1):  # 1: some points are wrong, which is an answer
        sys.exit(f"memorize: exit status {done.returncode}")
    return json.loads((out / "result.json").read_text())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for precision, widths in WIDTHS.items():
            for hidden in widths:
                for labels in ("given", "random"):
                    out = pathlib.Path(temporary) / f"{precision}-{hidden}-{labels}"
                    found = memorize(*sys.argv[1:], out, precision, hidden, labels)
                    rows.append({"precision": precision, "hidden": found["hidden"], "labels": labels,
                                 "blocks": found["blocks"], "parameters": found["parameters"],
                                 "nonzero": found["nonzero"], "correct": found["correct"],
                                 "proved_exact": found["proved_exact"],
                                 "proved_any_order": found["proved_any_order"],
                                 "max_error": "overflow" if found["max_error"] is None else f"{found['max_error']:.1e}",
                                 "min_margin": f"{found['min_margin']:.1e}",
                                 "tried": "" if hidden else " ".join(str(t["hidden"]) for t in found["tried"]),
                                 "build_s": f"{found['build_s']:.2f}", "verify_s": f"{found['verify_s']:.2f}"})
                    print(f"| {' | '.join(str(rows[-1][field]) for field in FIELDS)} |", flush=True)
        shutil.copy(pathlib.Path(temporary) / "float32-16-given/margins.vl.json", HERE / "margins.vl.json")
    with open(HERE / "result.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
