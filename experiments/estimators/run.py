#!/usr/bin/env python3
"""Estimators as they come, beside ours: writes table.md next to this file.

    python experiments/estimators/run.py PACKAGES [--only NAME ..] [--mnist FOLDER]

PACKAGES is the folder that sets.py says how to fill. Accuracy (R2 for regressions) of five-fold cross validation, the
same folds for all: shuffled with seed 0, stratified by class, for regressions by tenths of the target. Each set raw and
with standardised features. Everything is as its constructor makes it, on one thread, but for this:

- SVR and Ridge get targets of variance 1, and logistic regression 10,000 iterations.
- SVM, searched: C from 0.1, 1, 10, 100, gamma from 1/3, 1, 3 of "scale", by five-fold cross validation inside the
  training part. It is what our seconds are compared with.

Ours is *best or level* on a set if no other is better by more than one standard error of their paired difference,
s/sqrt(5) with s the standard deviation of the five differences. Seconds are processor time of all five fits, since wall
time says little on a busy machine.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import sets
import sklearn
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

import zeroloss
from zeroloss.estimators import NTKClassifier, NTKRegressor

HERE = Path(__file__).parent
OURS, SEARCHED = "NTK", "SVM, searched"


def models(regression, X, folds=5):
    """{name: an estimator that is ready to fit}."""
    gammas = [g / (X.shape[1] * X.var()) for g in (1 / 3, 1, 3)]
    grid = {"C": [0.1, 1, 10, 100], "gamma": gammas}
    if not regression:
        return {
            OURS: NTKClassifier(),
            "SVM": SVC(),
            "random forest": RandomForestClassifier(random_state=0),
            "boosting": HistGradientBoostingClassifier(random_state=0),
            "linear": LogisticRegression(max_iter=10_000),
            SEARCHED: GridSearchCV(SVC(), grid, cv=folds),
        }
    scaled = lambda model: TransformedTargetRegressor(model, transformer=StandardScaler())
    return {
        OURS: NTKRegressor(),
        "SVM": scaled(SVR()),
        "random forest": RandomForestRegressor(random_state=0),
        "boosting": HistGradientBoostingRegressor(random_state=0),
        "linear": scaled(Ridge()),
        SEARCHED: scaled(GridSearchCV(SVR(), grid, cv=folds)),
    }


def fitted(model, train, test):
    """Score on the test part, and the processor seconds of the fit."""
    begun = time.process_time()
    model.fit(*train)
    return model.score(*test), time.process_time() - begun


def cross_validated(X, y, regression, scale):
    """{name: (five scores, seconds of all fits)}."""
    strata = np.searchsorted(np.quantile(y, np.arange(0.1, 1, 0.1)), y) if regression else y
    found = {}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, strata):
        prepared = StandardScaler().fit_transform(X[train]) if scale else X[train]
        for name, model in models(regression, prepared).items():
            model = make_pipeline(StandardScaler(), model) if scale else model
            score, seconds = fitted(model, (X[train], y[train]), (X[test], y[test]))
            scores, total = found.get(name, ([], 0.0))
            found[name] = ([*scores, score], total + seconds)
    return found


def behind(scores, others):
    """How many standard errors of the paired difference ours is behind, 0 if it is not."""
    difference = np.subtract(others, scores)
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return 0.0 if difference.mean() <= 0 else float(difference.mean() / error) if error > 0 else np.inf


def worst(found, searched):
    """The estimator that ours is farthest behind, and by how many standard errors."""
    others = {k: behind(found[OURS][0], v[0]) for k, v in found.items() if k != OURS and (searched or k != SEARCHED)}
    return max(others.items(), key=lambda item: item[1])


def row(name, shape, found):
    best = max(np.mean(scores) for scores, _ in found.values())
    cells = []
    for scores, _ in found.values():
        text = f"{np.mean(scores):.4f}"
        cells.append(f"**{text}**" if np.mean(scores) == best else text)
    apart = worst(found, searched=True) if len(found[OURS][0]) > 1 else ("", 0.0)
    cells.append("" if len(found[OURS][0]) < 2 else "level" if apart[1] <= 1 else f"{apart[1]:.1f} behind {apart[0]}")
    cells += [f"{found[k][1]:.1f} s" for k in (OURS, SEARCHED)]
    return f"| {name} | {shape[0]:,} x {shape[1]} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("packages", type=Path, help="folder of downloaded packages")
    parser.add_argument("--only", nargs="+", choices=sets.NAMES, help="print these sets, write nothing")
    parser.add_argument("--mnist", type=Path, help="folder with MNIST's four files")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    zeroloss.set_thread_count(1)
    threadpool_limits(1)
    rows, level, quicker = [], {True: 0, False: 0}, 0
    for name in options.only or sets.NAMES:
        X, y = sets.read(name, options.packages)
        for scale in (True, False):
            found = cross_validated(X, y, name in sets.REGRESSION, scale)
            shown = name + (" (R2)" if name in sets.REGRESSION else "") + ("" if scale else ", raw")
            rows.append(row(shown, X.shape, found))
            print(rows[-1], flush=True)
            if scale:
                for searched in level:
                    level[searched] += worst(found, searched)[1] <= 1
                quicker += found[OURS][1] <= found[SEARCHED][1]
    if options.mnist:
        X, y, X_test, y_test = sets.mnist(options.mnist)
        chosen = {k: v for k, v in models(False, X, folds=2).items() if k != "boosting"}
        found = {k: ([score], s) for k, v in chosen.items() for score, s in [fitted(v, (X, y), (X_test, y_test))]}
        print(*(f"{k}: {score[0]:.4f}, {s:.0f} s" for k, (score, s) in found.items()), sep="\n")
    count = len(options.only or sets.NAMES)
    verdict = (
        f"Ours is best or level on {level[False]} of the {count} standardised sets, on {level[True]} if the searched "
        f"SVM counts too; it takes less time than that one on {quicker} of {count}."
    )
    print(verdict)
    if options.only:
        return
    names = list(models(True, X))
    table = [
        f"Made by `experiments/estimators/run.py` with scikit-learn {sklearn.__version__}, one thread; what is",
        "compared is in its first lines. Mean accuracy on five folds that were not fitted; processor seconds of the five fits.",
        "",
        verdict,
        "",
        f"| data | n x d | {' | '.join(names)} | {OURS} is | {OURS}, fit | {SEARCHED}, fit |",
        "|---" * (len(names) + 5) + "|",
        *rows,
    ]
    (HERE / "table.md").write_text("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
