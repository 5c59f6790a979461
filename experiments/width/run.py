"""Width and training: how fast gradient descent converges, how many patterns change and how far neurons move.

    python experiments/width/run.py build/release/bin/zeroloss

n = 1,000 random points on the unit sphere of R^1000 with standard normal labels, relu, ntk scaling, 100 steps of
gradient descent: the setting of the experiment in the later versions of Du et al. (theirs states neither step nor
widths; both are our choice here). Writes result.csv and figure.vl.json beside this file. Standard library only; some
minutes.
"""
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
WIDTHS = (1000, 2000, 3000, 5000, 7000, 10000)
SEEDS = (0, 1, 2)
STEP, STEPS = 0.3, 100


def run(command, width, seed, folder):
    """The last row of metrics.csv, and the mean contraction of the misfit a step."""
    out = folder / f"{width}-{seed}"
    options = {"--width": width, "--seed": seed, "--step": STEP, "--max-steps": STEPS, "--tolerance": 1e-12,
               "--certify-every": 0, "--out": out}
    words = [str(word) for option in options.items() for word in option]
    subprocess.run([command, "fit", f"sphere:n=1000,d=1000,y=normal,seed={seed}", *words], check=True,
                   stdout=subprocess.DEVNULL)
    with open(out / "metrics.csv", newline="") as file:
        rows = [{key: float(value) for key, value in row.items() if value} for row in csv.DictReader(file)]
    first, last = rows[0], rows[-1]
    rate = 1 - (last["relative_misfit"] / first["relative_misfit"]) ** (1 / last["step"])
    return {"width": width, "seed": seed, "relative_misfit": last["relative_misfit"], "rate": rate,
            "flipped_fraction": last["flipped_fraction"], "max_distance": last["max_distance"],
            "curve": [(row["step"], row["relative_misfit"]) for row in rows if row["step"] > 0]}


def panel(title, field, values, log=True):
    scale = {"type": "log", "nice": False} if log else {"zero": False}
    # A power of the width is a straight line: the dashed one is 1/sqrt(width) from the first point.
    base = {"width": 200, "height": 200, "data": {"values": values},
            "encoding": {"x": {"field": "width", "type": "quantitative", "title": "width m", "scale": {"type": "log"},
                               "axis": {"values": [1000, 2000, 5000, 10000], "format": "~s"}}}}
    y = {"type": "quantitative", "title": title, "scale": scale}
    layers = [{"mark": {"type": "line", "point": True}, "encoding": {"y": {**y, "field": field}}},
              {"mark": {"type": "rule"},
               "encoding": {"y": {**y, "field": field + "_low"}, "y2": {"field": field + "_high"}}}]
    if log:
        layers.append({"mark": {"type": "line", "strokeDash": [4, 4], "color": "gray"},
                       "encoding": {"y": {**y, "field": field + "_root"}}})
    return {**base, "layer": layers}


def figure(results):
    points = []
    for width in WIDTHS:
        runs = [r for r in results if r["width"] == width]
        point = {"width": width}
        for field in ("rate", "flipped_fraction", "max_distance"):
            values = [r[field] for r in runs]
            point |= {field: statistics.mean(values), field + "_low": min(values), field + "_high": max(values)}
            point[field + "_root"] = (points[0] if points else point)[field] * math.sqrt(WIDTHS[0] / width)
        points.append(point)
    curves = [{"width": str(r["width"]), "step": k, "misfit": misfit} for r in results if r["seed"] == SEEDS[0]
              for k, misfit in r["curve"]]
    training = {"width": 200, "height": 200, "data": {"values": curves}, "mark": "line",
                "encoding": {"x": {"field": "step", "type": "quantitative"},
                             "y": {"field": "misfit", "type": "quantitative", "title": "relative misfit",
                                   "scale": {"type": "log"},
                                   "axis": {"format": ".0e", "tickCount": 5}},
                             "color": {"field": "width", "type": "ordinal", "title": "width",
                                       "sort": [str(w) for w in WIDTHS],
                                       "scale": {"scheme": "viridis"}}}}
    return points, {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": f"n = d = 1,000, normal labels, relu, step {STEP}, after {STEPS} steps (gray: 1/sqrt(m))",
                  "anchor": "start"},
        "hconcat": [training, panel("rate: 1 - contraction a step", "rate", points, log=False),
                    panel("fraction of patterns changed", "flipped_fraction", points),
                    panel("max_j ||w_j - w_j(0)||", "max_distance", points)],
        "config": {"axis": {"gridOpacity": 0.4, "domain": False}, "view": {"stroke": None}}}


def main():
    command = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        results = [run(command, width, seed, pathlib.Path(temporary)) for width in WIDTHS for seed in SEEDS]
    fields = ["width", "seed", "rate", "relative_misfit", "flipped_fraction", "max_distance"]
    with open(HERE / "result.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, fields, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)
    points, spec = figure(results)
    (HERE / "figure.vl.json").write_text(json.dumps(spec, indent=1) + "\n")
    print("| width | rate a step | patterns changed | farthest neuron |\n|---|---|---|---|")
    for p in points:
        print(f"| {p['width']:,} | {p['rate']:.4f} | {100 * p['flipped_fraction']:.2f} % | {p['max_distance']:.3f} |")


if __name__ == "__main__":
    main()
