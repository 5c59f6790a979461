"""The paper's network on CIFAR-10 or CIFAR-100, a run for each seed, in pieces if need be.

    python experiments/conv/run.py build/release/bin/zeroloss DATA [--recipe small] [--seeds 0,1,2] [--minutes 9] \\
        [OPTION...]

DATA is what `zeroloss conv train` takes: a CIFAR folder, cifar10, cifar100. Further OPTIONs are handed on to it. Run
folders are OUT/RECIPE-SEED. With --minutes the run in work is interrupted after that time, and the same command goes on
where it was: it ends with status 130 while there is more to do. When all runs are complete, it writes OUT/RECIPE.csv,
OUT/RECIPE-curves.csv (errors after every epoch) and OUT/RECIPE.vl.json, their figure, and prints the table of
README.md. Standard library only.
"""
import argparse
import csv
import json
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time

INTERRUPTED = 130
FIELDS = ["recipe", "seed", "test_error", "mirrored_error", "train_wrong", "train_n", "steps", "processor", "device",
          "precision", "images_per_s", "seconds"]
CURVES = ["seed", "epoch", "train_error", "test_error", "images_per_s"]


def train(command, out, options, deadline=None):
    """result.json of a complete run; None if time was up before."""
    partial = out.with_name(out.name + ".partial")
    if not out.exists():
        if partial.exists() and not (partial / "checkpoint.safetensors").exists():
            shutil.rmtree(partial)  # killed before its first checkpoint
        out.parent.mkdir(parents=True, exist_ok=True)
        if deadline is not None and time.monotonic() > deadline:
            return None
        # Away from the terminal's Ctrl-C: a second SIGINT would end it before it has saved what it did.
        process = subprocess.Popen([*command, *options, "--out", out, *(["--resume"] if partial.exists() else [])],
                                   stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            status = process.wait(None if deadline is None else max(0, deadline - time.monotonic()))
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.send_signal(signal.SIGINT)
            status = process.wait()
        if status in (INTERRUPTED, -signal.SIGINT):  # the latter before it had begun
            return None
        if status != 0:
            sys.exit(f"run: {' '.join(map(str, process.args))} ended with {status}")
    return json.loads((out / "result.json").read_text())


def mirrored(options, out):
    """The test error of a run's network that judges every image together with its mirror image."""
    command = [options.zeroloss, "conv", "eval", out, options.data, "--mirror", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["top1_error"]


def row(options, seed, out, result):
    test, fitted = result["test"], result["train"]
    machine = json.loads((out / "manifest.json").read_text())["machine"]
    return {"recipe": options.recipe, "seed": seed, "test_error": test and test["top1_error"],
            "mirrored_error": test and mirrored(options, out), "train_wrong": fitted and fitted["wrong"],
            "train_n": result["n"], "steps": result["steps"],
            "processor": f"{machine['processor']}, {machine['threads']} threads",
            **{field: result[field] for field in FIELDS[8:]}}


def curves(seed, out):
    """The errors of one run, epoch by epoch; those of training are means over the epoch, of varied images."""
    with open(out / "metrics.csv") as metrics:
        return [{"seed": seed} | {field: round(float(metric[field]), 4) for field in CURVES[1:]}
                for metric in csv.DictReader(metrics)]


def figure(rows):
    kinds = {"test_error": "test", "train_error": "training, varied images, mean over the epoch"}
    points = [{"seed": r["seed"], "epoch": r["epoch"], "error": r[field], "of": name}
              for field, name in kinds.items() for r in rows]
    return {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": {"values": points},
            "width": 420, "height": 260, "mark": {"type": "line", "point": {"size": 14}},
            "encoding": {"x": {"field": "epoch", "type": "quantitative", "title": "epoch", "axis": {"format": "d"},
                               "scale": {"nice": False}},
                         "y": {"field": "error", "type": "quantitative", "title": "error",
                               "scale": {"type": "log", "nice": False},
                               "axis": {"format": ".1~%", "values": [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]}},
                         "color": {"field": "of", "type": "nominal", "title": None,
                                   "legend": {"orient": "top", "labelLimit": 400}},
                         "detail": {"field": "seed"}},
            "config": {"axis": {"gridOpacity": 0.4, "domain": False}, "view": {"stroke": None}}}


def write_rows(path, fields, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def percent(fraction):
    return "" if fraction is None else f"{100 * fraction:.2f} %"


def table(rows):
    lines = ["| recipe | seed | test error | with mirror images | training images wrong | steps | device | precision "
             "| images/s | minutes |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        wrong = "" if r["train_wrong"] is None else r["train_wrong"]
        device = r["processor"] if r["device"] == "cpu" else r["device"]
        lines.append(f"| {r['recipe']} | {r['seed']} | {percent(r['test_error'])} | {percent(r['mirrored_error'])} "
                     f"| {wrong} of {r['train_n']:,} | {r['steps']:,} | {device} | {r['precision']} "
                     f"| {r['images_per_s']:,.0f} | {r['seconds'] / 60:.1f} |")
    for field, how in (("test_error", ""), ("mirrored_error", " with mirror images")):
        errors = [r[field] for r in rows if r[field] is not None]
        if len(errors) > 1:
            lines.append(f"\n{len(errors)} seeds{how}: median {percent(statistics.median(errors))}, "
                         f"{percent(min(errors))} to {percent(max(errors))}")
    return "\n".join(lines)


def arguments(description, **more):
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("zeroloss", help="the command; zeroloss-torch will do")
    parser.add_argument("data", help="a CIFAR folder, cifar10 or cifar100")
    parser.add_argument("--seeds", default="0,1,2", help="[0,1,2]")
    parser.add_argument("--minutes", type=float,
                        help="stop after so many, to be continued by the same command [when all is done]")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/conv"),
                        help="folder of the run folders [runs/conv]")
    for name, settings in more.items():
        parser.add_argument(f"--{name}", **settings)
    options, words = parser.parse_known_args()
    options.seeds = [int(seed) for seed in options.seeds.split(",")]
    options.deadline = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    options.command = [options.zeroloss, "conv", "train", options.data]
    return options, words


def main():
    options, words = arguments(__doc__, recipe={"default": "paper", "help": "paper, modern or small [paper]"})
    rows, epochs = [], []
    for seed in options.seeds:
        out = options.out / f"{options.recipe}-{seed}"
        result = train(options.command, out, ["--recipe", options.recipe, "--seed", str(seed), *words],
                       options.deadline)
        if result is None:
            print(f"run: {out} is not complete; the same command goes on", file=sys.stderr)
            sys.exit(INTERRUPTED)
        rows.append(row(options, seed, out, result))
        epochs += curves(seed, out)
    write_rows(options.out / f"{options.recipe}.csv", FIELDS, rows)
    write_rows(options.out / f"{options.recipe}-curves.csv", CURVES, epochs)
    (options.out / f"{options.recipe}.vl.json").write_text(json.dumps(figure(epochs), indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
