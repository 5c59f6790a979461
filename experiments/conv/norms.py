"""How far residual blocks go from the identity along training, at depths 1, 3 and 5 of about equally many weights.

    python experiments/conv/norms.py build/release/bin/zeroloss cifar10 [--out runs/norms] [--minutes 9] [OPTION...]

The recipe `small` with six epochs from the paper's start, where all blocks are next to 0, and widths at which the
number of weights is about the same. [HM, section 2] proves of *linear* residual networks that exact ones exist whose
blocks have norms of order 1/l, l their number; here is what training finds. Further OPTIONs are handed on to `zeroloss
conv train`. Run folders, --minutes and the status are those of run.py. Writes, beside this file, norms.csv (depth,
epoch, test error, the largest and the mean norm of all blocks, and that of all together) and norms.vl.json, the figure
of README.md. Standard library only.
"""
import csv
import json
import math
import pathlib
import statistics
import sys

from run import INTERRUPTED, arguments, train, write_rows

HERE = pathlib.Path(__file__).parent
WIDTHS = {1: 60, 3: 32, 5: 24}  # 1,021,410, 1,064,880 and 1,034,532 weights
FIELDS = ["depth", "blocks", "weights", "epoch", "test_error", "largest", "mean", "together"]


def rows_of(depth, out):
    """The rows of one run: metrics.csv, with the norms of norms.csv."""
    weights = json.loads((out / "result.json").read_text())["weights"]
    with open(out / "metrics.csv") as metrics, open(out / "norms.csv") as norms:
        for metric, norm in zip(csv.DictReader(metrics), csv.DictReader(norms)):
            blocks = [float(value) for name, value in norm.items() if name.startswith("stage")]
            yield {"depth": depth, "blocks": len(blocks), "weights": weights, "epoch": round(float(metric["epoch"]), 2),
                   "test_error": float(metric["test_error"]), "largest": round(max(blocks), 4),
                   "mean": round(statistics.mean(blocks), 4), "together": round(math.hypot(*blocks), 4)}


def figure(rows):
    depth = {"field": "depth", "type": "ordinal", "title": "blocks a stage", "legend": {"orient": "top"}}
    epoch = {"field": "epoch", "type": "quantitative", "title": "epoch", "axis": {"tickMinStep": 1, "format": "d"}}
    panel = lambda field, title, **axis: {
        "width": 300, "height": 220, "mark": {"type": "line", "point": True},
        "encoding": {"x": epoch, "color": depth,
                     "y": {"field": field, "type": "quantitative", "title": title, "axis": axis}}}
    return {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": {"values": rows},
            "hconcat": [panel("mean", "norm of a residual block's weights, mean"),
                        panel("test_error", "test error", format="%")],
            "config": {"axis": {"gridOpacity": 0.4, "domain": False}, "view": {"stroke": None}}}


def main():
    options, words = arguments(__doc__)
    rows = []
    for depth, width in WIDTHS.items():
        out = options.out / f"depth-{depth}"
        if train(options.command, out, ["--recipe", "small", "--epochs", "6", "--start", "paper",
                                        "--depth", str(depth), "--width", str(width), *words],
                 options.deadline) is None:
            print(f"norms: {out} is not complete; the same command goes on", file=sys.stderr)
            sys.exit(INTERRUPTED)
        rows += rows_of(depth, out)
    write_rows(HERE / "norms.csv", FIELDS, rows)
    (HERE / "norms.vl.json").write_text(json.dumps(figure(rows), indent=1) + "\n")


if __name__ == "__main__":
    main()
