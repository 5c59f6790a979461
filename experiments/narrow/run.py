"""Narrow networks: which width is too few, found, or proved to be enough, and what training does there.

    python experiments/narrow/run.py build/release/bin/zeroloss [MNIST FOLDER] [--large] [--max-seconds 120]

`zeroloss width` on digits and MNIST (with --large on 10,000 images of it, too), then `zeroloss fit` from the starts
that it names, with true and with random labels: Gauss-Newton at the least widths; gradient descent, with the step that
is proved, at the first width that is proved to need at most 3e5 steps. Fails if a start that is said to be proved is
not, or if a record of gradient descent lies above the rate that is proved of its start. If PyTorch and safetensors are
installed, the first 2,000 steps are taken there, too, in float64 from the same weights.

Writes widths.csv, result.csv and figure.vl.json beside this file, and prints the tables of README.md.
"""

import argparse
import csv
import gzip
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from safetensors.torch import load_file
except ImportError:
    torch = None

HERE = pathlib.Path(__file__).parent
DIGITS = HERE.parents[1] / "data/digits.csv.gz"
PAIR = ["3", "8"]
MOST_STEPS = 3e5  # of gradient descent
RECORD_EVERY = 100
SIMULATED = 2000
PATIENCE = 50  # of Gauss-Newton, as in the search for widths
WIDTHS = ["data", "points", "rank", "too_few", "found", "enough", "these_scale", "any_scale", "step", "steps"]
WIDTHS += ["seconds"]
FITS = ["data", "labels", "optimizer", "start", "width", "output_scale", "status", "steps", "proved_steps"]
FITS += ["relative_misfit", "of_bound", "seconds"]


class Zeroloss:
    """The command; each run has a folder of its own."""

    def __init__(self, command, folder):
        self.command = command
        self.folders = (pathlib.Path(folder) / str(k) for k in itertools.count())

    def __call__(self, *words):
        """The run folder and its result.json."""
        out = next(self.folders)
        subprocess.run([self.command, *map(str, words), "--out", out], check=True, stdout=subprocess.DEVNULL)
        return out, json.loads((out / "result.json").read_text())


def require(holds, what):
    if not holds:
        sys.exit(f"run.py: {what}")


def short(number):
    return "" if number is None else f"{number:.3g}"


def show(row):
    """The row, as one of a table in README.md."""
    print(f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in row.values())} |", flush=True)


def write(name, fields, rows):
    with open(HERE / name, "w", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def rows_of(answer):
    """The rows of an answer of `width` that have a width, by id."""
    return {row["id"]: row for row in answer["rows"] if row["width"] is not None}


def width_row(data, answer):
    rows = rows_of(answer)
    widths = [int(rows[row]["width"]) if row in rows else "" for row in ("too_few", "measured", "any_labels")]
    these, proved = rows.get("these_labels", {}), rows.get("any_labels", {})
    costs = [these.get("output_scale"), *(proved.get(field) for field in ("output_scale", "step", "steps"))]
    cells = [data, answer["n"], answer["rank"], *widths, *map(short, costs), f"{answer['seconds']:.0f}"]
    return dict(zip(WIDTHS, cells))


def start_of(row):
    """The options of the start that a row of `width` is about."""
    words = ["--width", int(row["width"]), "--start-seed", row["seed"]]
    return [*words, "--start", "pairs", "--output-scale", row["output_scale"]] if row["output_scale"] else words


def starts(answer, labels):
    """{name: options} of starts that `width` names, each once. What is proved for these labels is not for others."""
    names = {"any_labels": "proved for any", "these_labels": "proved for these", "measured": "found"}
    if labels != "given":
        del names["these_labels"]
    rows = rows_of(answer)
    found = {tuple(start_of(rows[row])): name for row, name in reversed(names.items()) if row in rows}
    return {name: start for start, name in found.items()}


def fit_row(data, start, result, **more):
    scale = result["options"]["output_scale"]
    row = dict.fromkeys(FITS, "") | {"data": data, "start": start, "output_scale": "" if scale == 1 else short(scale)}
    row |= {"optimizer": result["options"]["optimizer"], "relative_misfit": f"{result['relative_misfit']:.1e}"}
    row |= {field: result[field] for field in ("labels", "width", "status", "steps")} | more
    return row | {"seconds": f"{result['seconds']:.1f}"}


def newton(zeroloss, data, words, answer, seconds):
    """Gauss-Newton from the starts that `width` names."""
    options = ["--optimizer", "gauss_newton", "--patience", PATIENCE, "--max-seconds", seconds]
    for labels in ("given", "random"):
        for name, start in starts(answer, labels).items():
            _, result = zeroloss("fit", *words, *start, "--labels", labels, *options)
            proved = result["status"] == "certified" and result["certified_at"] == 0
            require(proved or name == "found", f"{data}, {labels} labels: not certified at the start {name}")
            yield fit_row(data, name, result)


def few_steps(answer):
    """The first width that is proved to need few steps of gradient descent; none where ten networks are trained."""
    enough = [drawn for drawn in answer["drawn"] if drawn["any_scale"] and drawn["steps"] <= MOST_STEPS]
    return enough[:1] if answer["outputs"] == 1 else []


def records(out):
    """(step, relative misfit) of a run of one output."""
    with open(out / "metrics.csv", newline="") as file:
        return [(int(row["step"]), float(row["relative_misfit"])) for row in csv.DictReader(file)]


def bound(first, certificate, step):
    """What is proved of the relative misfit after k steps, for a start with this certificate (theory 7)."""
    decay = math.log1p(-step * certificate["rate"])
    return lambda k: first * math.exp(k * decay)


def descent(zeroloss, data, words, drawn, labels):
    """Gradient descent with the proved step: its row, and its curve beside what is proved."""
    start = [*words, *start_of(drawn | {"output_scale": drawn["any_scale"]}), "--labels", labels]
    start += ["--step", drawn["step"], "--certify-every", 0, "--record-every", RECORD_EVERY]
    first, at_start = zeroloss("fit", *start, "--max-steps", 0)
    certificate = at_start["certificate"]
    proved = certificate["kind"] == "descent" and drawn["step"] <= certificate["step"]
    require(proved, f"{data}, {labels} labels: descent with this step is not proved at width {drawn['width']}")
    out, result = zeroloss("fit", *start, "--max-steps", int(drawn["steps"]))
    curve = records(out)
    allowed = bound(curve[0][1], certificate, drawn["step"])
    largest = max(misfit / allowed(k) for k, misfit in curve[1:])
    require(largest <= 1, f"{data}, {labels} labels: a misfit is {largest} times what is proved")
    require(result["status"] == "certified", f"{data}, {labels} labels: {result['conclusion']}")
    row = fit_row(data, "proved for any", result, proved_steps=int(drawn["steps"]), of_bound=f"{largest:.2g}")
    if torch and labels == "given":
        short_run, _ = zeroloss("fit", *start, "--max-steps", SIMULATED)
        differences = simulation("--center" in words, first, short_run, drawn["step"])
        print(
            "{}, {:,} steps in PyTorch: misfits differ by {:.1e}, moves by {:.1e}".format(data, SIMULATED, *differences)
        )
    return row, [(k, misfit, allowed(k)) for k, misfit in curve]


def digits(center):
    """The points of unit length and the labels of the two digits."""
    with gzip.open(DIGITS, "rt", newline="") as file:
        rows = [row for row in csv.reader(file) if row[-1] in PAIR]
    X = np.array([row[:-1] for row in rows], dtype=float)
    X -= X.mean(axis=0) if center else 0
    labels = [2.0 * PAIR.index(row[-1]) - 1 for row in rows]
    return torch.from_numpy(X / np.linalg.norm(X, axis=1, keepdims=True)), torch.tensor(labels, dtype=torch.float64)


def simulation(center, first, run, step):
    """How far the misfits, the moves of gradient descent in PyTorch are from those of a run, relatively and at most."""
    X, y = digits(center)
    start, end = (load_file(folder / "model.safetensors") for folder in (first, run))
    W, v = start["W"][0].clone().requires_grad_(), start["v"][0]
    optimizer = torch.optim.SGD([W], lr=step)
    measured, misfits = dict(records(run)), {}
    for k in range(SIMULATED):
        optimizer.zero_grad()
        r = torch.relu(X @ W.T) @ v - y
        misfits[k] = (r.norm() / y.norm()).item()
        (r @ r / 2).backward()
        optimizer.step()
    of_curve = max(abs(misfits[k] / measured[k] - 1) for k in misfits.keys() & measured.keys())
    return of_curve, ((W - end["W"][0]).norm() / (end["W"] - start["W"]).norm()).item()


def axis(field, title, kind="quantitative", **more):
    return {"field": field, "type": kind, "title": title} | more


def panel(values, mark, x, y, color, **more):
    return (
        {"width": 300, "height": 190, "data": {"values": values}, "mark": mark}
        | more
        | {"encoding": {"x": x, "y": y, "color": color}}
    )


def widths_panel(answers):
    titles = {"too_few": "too few below", "measured": "found for these labels", "any_labels": "enough for any labels"}
    values = [
        {"data": data, "width": row["width"], "which": titles[name]}
        for data, answer in answers.items()
        for name, row in rows_of(answer).items()
        if name in titles
    ]
    return panel(
        values,
        {"type": "point", "filled": True, "size": 90, "opacity": 1},
        axis("width", "hidden units", scale={"type": "log", "nice": False, "padding": 12}),
        axis("data", None, "nominal", sort=list(answers), axis={"grid": True}),
        axis("which", None, "nominal", sort=list(titles.values())),
    )


def steps_panel(answers):
    values = [
        {"data": data, "width": drawn["width"], "steps": drawn["steps"]}
        for data, answer in answers.items()
        for drawn in answer["drawn"]
        if drawn["any_scale"]
    ]
    return panel(
        values,
        {"type": "line", "point": True},
        axis("width", "hidden units", scale={"type": "log"}),
        axis("steps", "proved steps to 1e-6", scale={"type": "log"}, axis={"format": ".0e", "tickCount": 6}),
        axis("data", None, "nominal", sort=list(answers)),
    )


def descent_panel(data, width, curves):
    """Curves of true and of random labels beside the bound of both."""
    names = {"given": "true labels", "random": "random labels"}
    values = []
    for labels, curve in curves.items():
        kept = curve[:: max(1, len(curve) // 150)] + curve[-1:]
        values += [{"step": k, "misfit": misfit, "curve": names[labels]} for k, misfit, _ in kept]
    values += [{"step": k, "misfit": allowed, "curve": "proved"} for k, _, allowed in kept]
    return panel(
        values,
        {"type": "line"},
        axis("step", "step", axis={"format": "~s", "tickCount": 6}),
        axis("misfit", "relative misfit", scale={"type": "log"}, axis={"format": ".0e", "tickCount": 6}),
        axis("curve", None, "nominal", sort=[*names.values(), "proved"]),
        title=f"{data}: {width} hidden units",
    )


def figure(answers, descents):
    below = [descent_panel(*key, curves) for key, curves in descents.items()]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "concat": [widths_panel(answers), steps_panel(answers), *below],
        "columns": 2,
        "padding": 30,
        "resolve": {"scale": {"color": "independent"}},
        "config": {"axis": {"gridOpacity": 0.4, "domain": False}, "view": {"stroke": None}},
    }


def data_sets(options):
    """The words of a command for the data, and those that `width` needs beside them."""
    search = ["--no-published", "--max-seconds", options.max_seconds]
    pair = ["digits", "--classes", ",".join(PAIR)]
    sets = {"digits 3 and 8": (pair, search), "digits 3 and 8, centred": ([*pair, "--center"], search)}
    sets["digits, 10 classes"] = (["digits"], search)
    if options.mnist:
        sets["MNIST, 2,000 images"] = ([options.mnist, "--n", 2000], search)
    if options.mnist and options.large:  # one network at each width; Gauss-Newton would take hours
        few = ["--draws", 1, "--restarts", 0]
        sets["MNIST, 10,000 images"] = ([options.mnist, "--n", 10_000], [*search, *few])
    return sets


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", help="the zeroloss to run")
    parser.add_argument("mnist", nargs="?", help="folder with MNIST's files")
    parser.add_argument("--large", action="store_true", help="how wide for 10,000 images of MNIST, too")
    parser.add_argument(
        "--max-seconds", type=int, default=120, help="of a search for widths, and of a run of Gauss-Newton"
    )
    options = parser.parse_args()
    print("" if torch else "PyTorch, NumPy or safetensors is not installed: no step is taken there")
    answers, widths, fits, descents = {}, [], [], {}
    with tempfile.TemporaryDirectory() as temporary:
        zeroloss = Zeroloss(options.command, temporary)
        sets = data_sets(options)
        for data, (words, search) in sets.items():
            _, answers[data] = zeroloss("width", *words, *search)
            widths.append(width_row(data, answers[data]))
            show(widths[-1])
        for data, (words, search) in sets.items():
            if "--restarts" in search:
                continue
            for row in newton(zeroloss, data, words, answers[data], options.max_seconds):
                fits.append(row)
                show(row)
            for drawn in few_steps(answers[data]):
                key = data, drawn["width"]
                descents[key] = {}
                for labels in ("given", "random"):
                    row, descents[key][labels] = descent(zeroloss, data, words, drawn, labels)
                    fits.append(row)
                    show(row)
    write("widths.csv", WIDTHS, widths)
    write("result.csv", FITS, fits)
    (HERE / "figure.vl.json").write_text(json.dumps(figure(answers, descents), indent=1) + "\n")


if __name__ == "__main__":
    main()
