"""CIFAR-10 images with true and with random labels, trained to zero error by a small all-convolutional residual
network.

    python experiments/conv/memorize.py build/release/bin/zeroloss CIFAR-FOLDER [--n 500] [--threads 0] [OPTION...]

No augmentation, no weight decay, stopped once every image is right. OPTIONs are those of `zeroloss conv train` and come
after the defaults here: --depth 1 --width 32 --batch 25 --epochs 100 --learning-rate 0.1 --schedule cosine --clip-norm
1. Writes, beside this file, memorize.csv (every epoch of both runs: loss, error, norm of each residual block) and
memorize.vl.json, the figure of README.md. Standard library only; some minutes on two cores.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

from run import write_rows

HERE = pathlib.Path(__file__).parent
DEFAULTS = {"depth": 1, "width": 32, "batch": 25, "epochs": 100, "learning-rate": 0.1, "schedule": "cosine",
            "clip-norm": 1}
LABELS = {"given": "true labels", "random": "random labels"}


def train(options, labels, out, more):
    """The rows of one run: metrics.csv, with the norms of norms.csv."""
    words = [word for name, value in DEFAULTS.items() for word in (f"--{name}", str(value)) if f"--{name}" not in more]
    subprocess.run([options.zeroloss, "conv", "train", options.cifar, "--n", str(options.n), "--labels", labels,
                    "--crop", "none", "--flip", "false",
                    "--weight-decay", "0", "--stop", "memorized", "--no-test", "--threads", str(options.threads),
                    "--out", out, *words, *more],
                   check=True)
    with open(out / "metrics.csv") as metrics, open(out / "norms.csv") as norms:
        return [{"labels": LABELS[labels]} | m | n for m, n in zip(csv.DictReader(metrics), csv.DictReader(norms))]


def figure(rows, blocks, n):
    """Error along training, and the norm of every block."""
    colour = {"field": "labels", "type": "nominal", "title": None, "sort": list(LABELS.values()),
              "scale": {"domain": list(LABELS.values()), "range": ["#4c78a8", "#e45756"]}, "legend": {"orient": "top"}}
    epoch = {"field": "epoch", "type": "quantitative", "title": "epoch"}
    error = {"width": 300, "height": 220,
             "data": {"values": [{k: r[k] for k in ("labels", "epoch", "error")} for r in rows]},
             "mark": {"type": "line", "clip": True},
             "encoding": {"x": epoch, "color": colour,
                          "y": {"field": "error", "type": "quantitative",
                                "title": f"error on the {n:,} training images", "axis": {"format": "%"}}}}
    values = [{"labels": r["labels"], "epoch": r["epoch"],
               "block": b.replace(".", ", ").replace("stage", "stage ").replace("block", "block "),
               "norm": r[b]} for r in rows for b in blocks]
    norms = {"width": 300, "height": 220, "data": {"values": values}, "mark": "line",
             "encoding": {"x": epoch, "color": colour,
                          "y": {"field": "norm", "type": "quantitative", "title": "norm of a residual block's weights",
                                "scale": {"zero": True}},
                          "strokeDash": {"field": "block", "type": "nominal", "title": None,
                                         "legend": {"orient": "top"}}}}
    return {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "hconcat": [error, norms],
            "config": {"axis": {"gridOpacity": 0.4, "domain": False}, "view": {"stroke": None}}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("zeroloss", help="the command")
    parser.add_argument("cifar", help="folder of CIFAR-10's binary files")
    parser.add_argument("--n", type=int, default=500, help="images [500]")
    parser.add_argument("--threads", type=int, default=0, help="0 = all [0]")
    options, more = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        rows = [row for labels in LABELS for row in train(options, labels, pathlib.Path(temporary) / labels, more)]
    blocks = [name for name in rows[0] if name.startswith("stage")]
    for row in rows:
        row |= {name: f"{float(row[name]):.4g}" for name in ("epoch", "train_loss", "train_error", *blocks)}
    fields = ["labels", "step", "epoch", "train_loss", "train_error", *blocks]
    write_rows(HERE / "memorize.csv", fields, [{field: row[field] for field in fields} for row in rows])
    numbers = [{"labels": r["labels"], "epoch": float(r["epoch"]),
                "error": float(r["train_error"])} | {b: float(r[b]) for b in blocks} for r in rows]
    (HERE / "memorize.vl.json").write_text(json.dumps(figure(numbers, blocks, options.n), indent=1) + "\n")


if __name__ == "__main__":
    main()
