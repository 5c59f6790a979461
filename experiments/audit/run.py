"""Wrong labels found by zeroloss.audit and by cleanlab with four models, on fourteen data sets.

    python experiments/audit/peers.py PACKAGES SHARED PEERS      # first: cleanlab's scores
    python experiments/audit/run.py PACKAGES SHARED PEERS OURS   # some minutes; resumes

Of every set, kind of noise, rate and seed: average precision of the scores, wrong labels missed among as many as there
are, recall, precision and F1 of the list of labels that are named, seconds (ours of one core, with OMP_NUM_THREADS=1);
of ours also the noise rate with its interval and the calibration error. Both of cleanlab's scores are taken; of each
model the one that is better on average over all cells. Its list is that of find_label_issues.
Writes result.csv, rates.csv and table.md beside this file.
"""

import csv
import pathlib
import sys
import time

import numpy as np
import sets
from sklearn.metrics import average_precision_score

import zeroloss

HERE = pathlib.Path(__file__).parent
MODELS = ("logistic", "svm", "forest", "neighbours")
SCORES = ("self_confidence", "normalized_margin")


def calibration_error(confidence, right, bins=15):
    """Expected: |confidence - frequency| of bins of equal width, weighted by their samples."""
    of = np.minimum((confidence * bins).astype(int), bins - 1)
    return sum(abs((confidence[of == k] - right[of == k]).sum()) for k in range(bins)) / len(right)


def ours(X, given):
    began = time.process_time()
    answer = zeroloss.audit(X, [f"c{label:02}" for label in given], reasons=0)
    predicted = np.array([int(name[1:]) for name in answer.predicted])
    rate = answer.noise_rate
    return {"scores": np.array(answer.scores), "seconds": time.process_time() - began, "rate": rate.value,
            "low": rate.low, "high": rate.high, "list": np.array([i.position for i in answer.issues], dtype=int),
            "error": answer.error,
            "calibration": calibration_error(np.array(answer.confidence), predicted == given)}  # fmt: skip


def measured(wrong, scores):
    """Average precision, and the fraction of wrong labels that is not among as many of the lowest scores."""
    first = np.argsort(scores, kind="stable")[: wrong.sum()]
    return average_precision_score(wrong, -scores), 1 - wrong[first].mean()


def listed(wrong, named):
    """Labels named, wrong ones among them, and F1."""
    hits = wrong[named].sum()
    count = len(wrong[named])
    return count, hits, 2 * hits / (count + wrong.sum())


def cells(packages, shared, peers, folder):
    for name in sets.NAMES:
        X, y = sets.read(name, packages, shared)
        for kind in sets.KINDS:
            for rate in sets.RATES:
                for seed in sets.SEEDS:
                    of_peers = peers / f"{name}-{kind}-{rate:g}-{seed}.npz"
                    if not of_peers.exists():
                        continue
                    theirs, file = np.load(of_peers), folder / of_peers.name
                    given = theirs["given"]
                    if not file.exists():
                        np.savez(folder / "part.npz", **ours(X, given))
                        (folder / "part.npz").rename(file)
                    wrong = given != y
                    if wrong.any():
                        yield (name, kind, rate, seed), wrong, np.load(file), theirs
        print(name, flush=True)


def gather(packages, shared, peers, folder):
    """A row of every cell and method, and one of every cell on the noise rate."""
    rows, rates, lists = [], [], []
    for cell, wrong, mine, theirs in cells(packages, shared, peers, folder):
        scores = {"zeroloss": (mine["scores"], mine["seconds"])}
        scores |= {f"{model} {score}": (theirs[f"{model} {score}"], theirs[f"{model} seconds"])
                   for model in MODELS for score in SCORES}  # fmt: skip
        for method, (values, seconds) in scores.items():
            rows.append((*cell, method, *measured(wrong, values), float(seconds)))
        lists += [(*cell, m, int(wrong.sum()), *listed(wrong, list_)) for m, list_ in
                  [("zeroloss", mine["list"]), *((model, theirs[f"{model} list"]) for model in MODELS)]]
        said = (float(mine[key]) for key in ("rate", "low", "high", "calibration"))
        rates.append((*cell, len(wrong), wrong.mean(), *said))
    return rows, rates, lists


def mean(values):
    return sum(values) / len(values)


def compare(rows):
    """Of every model: the score it is better with, and our differences by cell (set, kind, rate), over seeds."""
    of = {}
    for name, kind, rate, seed, method, precision, missed, seconds in rows:
        of.setdefault(method, {})[name, kind, rate, seed] = (precision, missed, seconds)
    best = {m: max((f"{m} {s}" for s in SCORES), key=lambda k: mean([v[0] for v in of[k].values()])) for m in MODELS}
    result = {}
    for model, method in best.items():
        differences = {}
        for key, (precision, missed, _) in of["zeroloss"].items():
            theirs = of[method][key]
            differences.setdefault(key[:3], []).append((precision - theirs[0], theirs[1] - missed))
        result[model] = method, {cell: np.array(d) for cell, d in differences.items()}
    return of, result


def summary(of, compared):
    ours_mean = [mean([v[k] for v in of["zeroloss"].values()]) for k in range(3)]
    lines = ["| method | average precision | missed | seconds | ours less it | ours best or tied | worst cell |",
             "|---|---|---|---|---|---|---|",
             "| zeroloss | {:.4f} | {:.4f} | {:.2f} | | | |".format(*ours_mean)]
    lost = []
    for model, (method, differences) in compared.items():
        theirs = [mean([v[k] for v in of[method].values()]) for k in range(3)]
        d = {cell: (x[:, 0].mean(), x[:, 0].std(ddof=1) / np.sqrt(len(x)) if len(x) > 1 else 0)
             for cell, x in differences.items()}
        tied = mean([m >= -e for m, e in d.values()])
        worst = min(d, key=lambda cell: d[cell][0])
        name = method.replace(" ", ", ").replace("_", " ")
        lines.append(f"| {name} | {theirs[0]:.4f} | {theirs[1]:.4f} | {theirs[2]:.2f} | "
                     f"{mean([m for m, _ in d.values()]):+.4f} | {tied:.1%} of {len(d)} | "
                     f"{d[worst][0]:+.3f} ± {d[worst][1]:.3f} ({worst[0]}, {worst[1]} {worst[2]:.0%}) |")
        lost += [(model, *cell, m, e) for cell, (m, e) in d.items() if m < -0.02 - 2 * e]
    lines += ["", f"Cells that are worse by 0.02 beyond two standard errors: {len(lost)}"]
    lines += [f"- {model}: {name}, {kind} {rate:.0%}: {m:+.3f} ± {e:.3f}" for model, name, kind, rate, m, e in lost]
    return lines


def by_set(of, compared):
    names = ["zeroloss", *(method for method, _ in compared.values())]
    lines = ["", "| set | " + " | ".join(n.split()[0] for n in names) + " |", "|---" * (len(names) + 1) + "|"]
    for name in sets.NAMES:
        values = [mean([v[0] for k, v in of[m].items() if k[0] == name]) for m in names]
        cells = (f"**{v:.3f}**" if v == max(values) else f"{v:.3f}" for v in values)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "| noise | " + " | ".join(n.split()[0] for n in names) + " |", "|---" * (len(names) + 1) + "|"]
    for kind in sets.KINDS:
        for rate in sets.RATES:
            values = [mean([v[0] for k, v in of[m].items() if k[1:3] == (kind, rate)]) for m in names]
            lines.append(f"| {kind}, {rate:.0%} | " + " | ".join(f"{v:.3f}" for v in values) + " |")
    return lines


def on_lists(lists):
    """Recall and precision of all runs together, and the mean of F1 over runs."""
    heads = ("list", "listed", "wrong", "of them wrong", "recall", "precision", "F1, mean of runs", "worst set")
    lines = ["", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for method in ("zeroloss", *MODELS):
        its = [r for r in lists if r[4] == method]
        wrong, count, hits = (sum(r[k] for r in its) for k in (5, 6, 7))
        f1 = {n: mean([r[8] for r in its if r[0] == n]) for n in sets.NAMES if any(r[0] == n for r in its)}
        worst = min(f1, key=f1.get)
        figures = hits / wrong, hits / max(count, 1), mean([r[8] for r in its])
        lines.append(f"| {method} | {count:,} | {wrong:,} | {hits:,} | " + " | ".join(f"{v:.3f}" for v in figures)
                     + f" | {worst} {f1[worst]:.3f} |")
    return lines


def on_rates(rates):
    asked = [r for r in rates if r[1] != "instance" and r[2] <= 0.2]
    held = [r[7] <= r[5] <= r[8] for r in asked]
    large = [r for r in rates if r[4] >= 500]
    lines = ["", f"Noise rate within its 95 % interval: {mean(held):.1%} of {len(held)} runs with symmetric or "
             "asymmetric noise of at most 20 %; by set "
             + ", ".join(f"{n} {mean([h for r, h in zip(asked, held) if r[0] == n]):.0%}" for n in sets.NAMES
                         if any(r[0] == n for r in asked)) + "."]
    errors = {n: [r[9] for r in large if r[0] == n] for n in sets.NAMES}
    lines += ["", "Expected calibration error (15 bins), mean and largest of a run: "
              + ", ".join(f"{n} {mean(e):.3f} ({max(e):.3f})" for n, e in errors.items() if e) + "."]
    return lines


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    packages, shared, peers, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    rows, rates, lists = gather(packages, shared, peers, folder)
    of, compared = compare(rows)
    text = "\n".join([*summary(of, compared), *by_set(of, compared), *on_lists(lists), *on_rates(rates)]) + "\n"
    print(text)
    (HERE / "table.md").write_text(text)
    with open(HERE / "result.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["set", "noise", "rate", "seed", "method", "average_precision", "missed", "seconds"])
        writer.writerows([*r[:5], *(f"{v:.5g}" for v in r[5:])] for r in rows)
    with open(HERE / "lists.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["set", "noise", "rate", "seed", "method", "wrong", "listed", "wrong_listed", "f1"])
        writer.writerows([*r[:8], f"{r[8]:.5g}"] for r in lists)
    with open(HERE / "rates.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["set", "noise", "rate", "seed", "samples", "wrong", "estimate", "low", "high", "calibration"])
        writer.writerows([*r[:5], *(f"{v:.5g}" for v in r[5:])] for r in rates)


if __name__ == "__main__":
    main()
