"""Zero loss on real data: gradient descent beside forecast and theorem, Gauss-Newton to a certificate.

    python experiments/real-data/run.py build/release/bin/zeroloss [MNIST FOLDER]

Writes descent.vl.json (measured curve, forecast and bound on digits 3 and 8) and result.csv beside this file, and
prints the table of README.md. Standard library only; about three minutes with MNIST.
"""
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
FIELDS = ["data", "labels", "optimizer", "status", "proved", "steps", "relative_misfit", "forecast", "radius",
          "seconds"]


def fit(command, folder, name, *options):
    """(result.json, the last row of metrics.csv) of one run."""
    out = folder / name
    subprocess.run([command, "fit", *options, "--out", out], check=True, stdout=subprocess.DEVNULL)
    with open(out / "metrics.csv", newline="") as file:
        return json.loads((out / "result.json").read_text()), list(csv.DictReader(file))[-1]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    command, mnist = sys.argv[1], sys.argv[2:]
    descent, newton = ("--max-steps", "10000"), ("--optimizer", "gauss_newton", "--center")
    runs = {"digits 3 and 8, centred": ("digits", "--classes", "3,8", "--center", *descent),
            "digits 3 and 8": ("digits", "--classes", "3,8", *descent)}
    for labels in ("given", "random"):
        runs |= {f"digits 3 and 8, centred {labels}": ("digits", "--classes", "3,8", *newton, "--labels", labels),
                 f"digits, centred {labels}": ("digits", *newton, "--labels", labels)}
        if mnist:
            runs[f"MNIST, 2,000 images, centred {labels}"] = (*mnist, "--n", "2000", *newton, "--labels", labels)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, options in runs.items():
            result, last = fit(command, pathlib.Path(temporary), name.replace(" ", "-"), *options)
            rows.append({"data": name.removesuffix(" given").removesuffix(" random"), "labels": result["labels"],
                         "optimizer": result["options"]["optimizer"], "status": result["status"],
                         "proved": result["certificate"]["kind"], "steps": result["steps"],
                         "relative_misfit": f"{result['relative_misfit']:.2g}",
                         "forecast": last["forecast"] and f"{float(last['forecast']):.2g}",
                         "radius": result["certificate"]["radius"] and f"{result['certificate']['radius']:.2g}",
                         "seconds": f"{result['seconds']:.1f}"})
            print(f"| {' | '.join(str(rows[-1][field] or '') for field in FIELDS)} |", flush=True)
        shutil.copy(pathlib.Path(temporary) / "digits-3-and-8,-centred/curve.vl.json", HERE / "descent.vl.json")
    with open(HERE / "result.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
