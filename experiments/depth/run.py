"""Depth: how the size of exact layers and the steps of gradient descent change from 2 to 100 layers.

    python experiments/depth/run.py build/release/bin/zeroloss

R is a random 10 x 10 map with independent N(0, 1/10) entries, Sigma = I, gradient descent from A = 0 with the automatic
step to relative misfit 1e-6. Writes result.csv and figure.vl.json beside this file. Standard library only; about two
minutes.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
DATA, LAYERS = "gaussian:d=10", "2:100"


def panel(folder, name):
    """A figure of the run folder, as one half of the picture."""
    spec = json.loads((folder / f"{name}.vl.json").read_text())
    return {key: value for key, value in spec.items() if key not in ("$schema", "config")} | {"width": 380}


def main():
    command = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "run"
        subprocess.run([command, "linear", DATA, "--layers", LAYERS, "--out", folder], check=True)
        result = json.loads((folder / "result.json").read_text())
        panels = [panel(folder, "norm"), panel(folder, "convergence")]
    norms = {(f["name"], f["layers"]): f for f in result["factorizations"]}
    with open(HERE / "result.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["layers", "theorem", "paper", "polar", "descent", "steps", "relative_misfit", "least_ratio"])
        for t in result["training"]:
            layers = t["layers"]
            theorem = (4 * 3.141592653589793 + 3 * result["gamma"]) / layers
            paper = norms.get(("paper", layers), {}).get("max_norm", "")
            polar = norms["polar", layers]["max_norm"]
            writer.writerow([layers, theorem, paper, polar, t["max_norm"], t["steps"], t["relative_misfit"],
                             t["least_ratio"]])
    figure = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "hconcat": panels,
              "config": {"axis": {"gridOpacity": 0.4, "domain": False}, "view": {"stroke": None}},
              "resolve": {"scale": {"color": "independent"}}}
    (HERE / "figure.vl.json").write_text(json.dumps(figure, indent=1) + "\n")


if __name__ == "__main__":
    main()
