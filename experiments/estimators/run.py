#!/usr/bin/env python3
"""Estimators beside two that everybody uses: writes table.md next to this file.

    python experiments/estimators/run.py [--mnist FOLDER]

Accuracy (R2 for diabetes) of five-fold cross validation, the same folds for all, stratified and shuffled with seed 0;
mean and standard deviation over folds, and the seconds of all five fits. 5,000 points of MNIST: the first 5,000
training images to fit, the 10,000 test images to score. All get standardised features but images, which are divided by
their largest value.

- NTK: NTKClassifier/NTKRegressor as they are: ridge from 15, activation from relu and erf, by closed-form
  leave-one-out.
- SVC/SVR, RBF: C from 0.1, 1, 10, 100 (for targets of variance 1), gamma from 1/3, 1, 3 of "scale", by five-fold cross
  validation inside the training part (two-fold for MNIST).
- random forest: 500 trees, otherwise scikit-learn's defaults.
"""

import argparse
import gzip
import os
import time
from pathlib import Path

import numpy as np
import sklearn
from sklearn import datasets
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from zeroloss.estimators import NTKClassifier, NTKRegressor

HERE = Path(__file__).parent
ACTIVATIONS = ("relu", "erf")


def idx(file):
    """An idx file, gzipped: images as rows, or labels."""
    with gzip.open(file) as f:
        content = f.read()
    dimensions = [int.from_bytes(content[4 + 4 * k : 8 + 4 * k], "big") for k in range(content[3])]
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * len(dimensions))
    return values.reshape(dimensions[0], -1).squeeze()


def models(regression, X, folds):
    """Three estimators that are ready to fit."""
    d, variance = X.shape[1], X.var()
    gammas = [g / (d * variance) for g in (1 / 3, 1, 3)]
    grid = {"C": [0.1, 1, 10, 100], "gamma": gammas}
    if regression:
        return {
            "NTK": NTKRegressor(activation=ACTIVATIONS),
            "SVM, RBF": TransformedTargetRegressor(GridSearchCV(SVR(), grid, cv=folds), transformer=StandardScaler()),
            "random forest": RandomForestRegressor(500, random_state=0, n_jobs=-1),
        }
    return {
        "NTK": NTKClassifier(activation=ACTIVATIONS),
        "SVM, RBF": GridSearchCV(SVC(), grid, cv=folds, n_jobs=-1),
        "random forest": RandomForestClassifier(500, random_state=0, n_jobs=-1),
    }


def cross_validated(X, y, regression, scale):
    """{name: (scores, seconds)} over five folds."""
    split = KFold(5, shuffle=True, random_state=0) if regression else StratifiedKFold(5, shuffle=True, random_state=0)
    found = {}
    for train, test in split.split(X, y):
        prepared = StandardScaler().fit_transform(X[train]) if scale else X[train]
        for name, model in models(regression, prepared, 5).items():
            model = make_pipeline(StandardScaler(), model) if scale else model
            begun = time.perf_counter()
            model.fit(X[train], y[train])
            seconds = time.perf_counter() - begun
            scores, total = found.setdefault(name, ([], []))
            scores.append(model.score(X[test], y[test]))
            total.append(seconds)
    return {name: (scores, sum(seconds)) for name, (scores, seconds) in found.items()}


def held_out(X, y, X_test, y_test):
    found = {}
    for name, model in models(False, X, 2).items():
        begun = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - begun
        found[name] = ([model.score(X_test, y_test)], seconds)
    return found


def row(name, n, d, found):
    cells = []
    for scores, seconds in found.values():
        spread = f" +- {np.std(scores):.3f}" if len(scores) > 1 else ""
        cells.append(f"{np.mean(scores):.4f}{spread} | {seconds:.1f} s")
    line = f"| {name} | {n:,} x {d} | " + " | ".join(cells) + " |"
    print(line, flush=True)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mnist", type=Path, help="folder with MNIST's four files", default=Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zeroloss" / "mnist")  # fmt: skip
    folder = parser.parse_args().mnist
    rows = []
    for name in ("iris", "wine", "breast_cancer", "digits", "diabetes"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        if name == "digits":
            X = X / 16
        found = cross_validated(X, y, regression=name == "diabetes", scale=name != "digits")
        rows.append(row(name + (" (R2)" if name == "diabetes" else ""), *X.shape, found))
    if (folder / "train-images-idx3-ubyte.gz").exists():
        X, y, X_test, y_test = (idx(folder / f"{part}-ubyte.gz") for part in
                                ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3",
                                 "t10k-labels-idx1"))  # fmt: skip
        X, y = X[:5000] / 255, y[:5000]
        rows.append(row("MNIST", *X.shape, held_out(X, y, X_test / 255, y_test)))
    table = [
        f"Made by `experiments/estimators/run.py` with scikit-learn {sklearn.__version__} on {os.cpu_count()} cores; "
        f"what is",
        "compared is in its first lines. Accuracy on points that were not fitted, mean and deviation over five folds; "
        "seconds of all fits.",
        "",
        "| data | n x d | NTK | fit | SVM, RBF | fit | random forest | fit |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
    ]
    (HERE / "table.md").write_text("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
