"""Depth and width: how many weights do networks of several layers need to fit n random points?

    python experiments/layers/run.py build/release/bin/zeroloss

`zeroloss sweep` over width and depth, points and targets drawn anew in every trial, Gauss-Newton to a relative misfit
of 1e-6. Success over the number of weights that are trained: m d of one layer, whose output weights stay, and m d +
(L - 1) m^2 + m of L layers, all of them trained. Writes result.csv and figure.vl.json beside this file and prints the
table of README.md.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SETTINGS = [(100, 5, "2:44"), (200, 10, "2:44"), (200, 5, "2:80:2")]  # n, d, widths
DEPTHS = [1, 2, 3, 4, 5]
TRIALS = 10


def weights(width, d, depth):
    return width * d if depth == 1 else width * d + (depth - 1) * width**2 + width


def sweep(command, n, d, widths):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        depths = ",".join(map(str, DEPTHS))
        line = [command, "sweep", f"sphere:n={n},y=normal,d={d}", "--width", widths, "--depth", depths, "--activation",
                "tanh", "--optimizer", "gauss_newton", "--precision", "float64", "--max-steps", "200", "--tolerance",
                "1e-6", "--trials", str(TRIALS), "--out", out]  # fmt: skip
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        return json.loads((out / "result.json").read_text())["cells"]


def half(rows):
    """The ratio weights/n where the share of successes, made monotone by pooling neighbours, passes one half."""
    pools = []
    for row in sorted(rows, key=lambda row: row["ratio"]):
        pools.append([row["ratio"], row["successes"] / row["trials"], 1, row["ratio"]])
        while len(pools) > 1 and pools[-2][1] > pools[-1][1]:
            later, earlier = pools.pop(), pools.pop()
            count = later[2] + earlier[2]
            share = (later[1] * later[2] + earlier[1] * earlier[2]) / count
            pools.append([earlier[0], share, count, later[3]])
    below = [pool for pool in pools if pool[1] < 0.5]
    above = [pool for pool in pools if pool[1] >= 0.5]
    return (below[-1][3] + above[0][0]) / 2 if below and above else None


def main():
    rows = []
    for n, d, widths in SETTINGS:
        for cell in sweep(sys.argv[1], n, d, widths):
            trained = weights(cell["width"], d, cell["depth"])
            rows.append({"n": n, "d": d, "width": cell["width"], "depth": cell["depth"], "weights": trained,
                         "ratio": trained / n, "trials": cell["trials"], "successes": cell["successes"]})  # fmt: skip
    with (HERE / "result.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    print("| n | d | " + " | ".join(f"L = {depth}" for depth in DEPTHS) + " |\n|---|---|" + "---|" * len(DEPTHS))
    for n, d, _ in SETTINGS:
        found = [half([row for row in rows if (row["n"], row["d"], row["depth"]) == (n, d, depth)]) for depth in DEPTHS]
        print(f"| {n} | {d} | " + " | ".join("" if value is None else f"{value:.2f}" for value in found) + " |")
    shown = [{"depth": str(row["depth"]), "ratio": row["ratio"], "success": row["successes"] / row["trials"],
              "points": f"n = {row['n']}, d = {row['d']}"} for row in rows if row["ratio"] <= 3]  # fmt: skip
    scale = {"type": "quantitative", "scale": {"domain": [0, 3]}}
    figure = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": "tanh, all weights trained by Gauss-Newton: success over weights/n", "anchor": "start"},
        "data": {"values": shown},
        "facet": {"column": {"field": "points", "title": None}},
        "spec": {
            "width": 260, "height": 220,
            "layer": [
                {"mark": {"type": "line", "point": True},
                 "encoding": {"x": {"field": "ratio", "title": "weights/n", **scale},
                              "y": {"field": "success", "type": "quantitative", "title": "success"},
                              "color": {"field": "depth", "title": "hidden layers"}}},
                {"mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"x": {"datum": 1}}},
            ],
        },
    }  # fmt: skip
    (HERE / "figure.vl.json").write_text(json.dumps(figure, indent=1) + "\n")


if __name__ == "__main__":
    main()
