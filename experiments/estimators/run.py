#!/usr/bin/env python3
"""Estimators as they come, beside ours: writes scores/ and table.md next to this file.

    python experiments/estimators/run.py PACKAGES [--only NAME ..] [--seconds] [--mnist FOLDER]      # some ten minutes

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
import json
import time
import warnings
from pathlib import Path

import numpy as np
import sets
import sklearn
from sklearn import datasets
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
LEVEL = 1 + 1e-9  # one standard error, but for rounding: where one fold differs it is just that
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
    others = [k for k in found if k != OURS and (searched or k != SEARCHED)]
    apart = {k: behind(found[OURS]["scores"], found[k]["scores"]) for k in others}
    return max(apart.items(), key=lambda item: item[1])


def study(name, packages):
    """Both runs on a set, kept in scores/NAME.json."""
    X, y = sets.read(name, packages)
    runs = {}
    for scale in (True, False):
        found = cross_validated(X, y, name in sets.REGRESSION, scale)
        runs["standardised" if scale else "raw"] = {k: {"scores": v[0], "cpu_s": v[1]} for k, v in found.items()}
    (HERE / "scores" / f"{name}.json").write_text(json.dumps({"shape": X.shape, **runs}, indent=1) + "\n")


def seconds():
    """Fits of growing n, ours and the searched SVM's, kept in scores/seconds.json: [problem, n, ours, theirs]."""
    rows = []
    for n in (500, 1000, 2000):
        for regression in (False, True):
            X, y = datasets.make_friedman1(n, 20, noise=1, random_state=0) if regression else (
                datasets.make_classification(n, 20, n_informative=10, n_classes=3, random_state=0))  # fmt: skip
            X = StandardScaler().fit_transform(X)
            ready = models(regression, X)
            times = [fitted(ready[name], (X, y), (X[:10], y[:10]))[1] for name in (OURS, SEARCHED)]
            rows.append(["Friedman's regression" if regression else "three classes", n, *times])
            print(*rows[-1], flush=True)
    (HERE / "scores" / "seconds.json").write_text(json.dumps(rows) + "\n")


def row(name, shape, found):
    means = {k: np.mean(v["scores"]) for k, v in found.items()}
    best = max(means.values()) - 1e-12
    cells = [f"**{m:.4f}**" if m >= best else f"{m:.4f}" for m in means.values()]
    name_of, apart = worst(found, searched=True)
    cells.append("level" if apart <= LEVEL else f"{apart:.2f} behind {name_of}")
    cells += [f"{found[k]['cpu_s']:.1f} s" for k in (OURS, SEARCHED)]
    return f"| {name} | {shape[0]:,} x {shape[1]} | " + " | ".join(cells) + " |"


def table(studies, times):
    """table.md of {name: what study found} and the rows of seconds."""
    scaled = [found["standardised"] for found in studies.values()]
    level = {searched: sum(worst(found, searched)[1] <= LEVEL for found in scaled) for searched in (False, True)}
    quicker = sum(found[OURS]["cpu_s"] <= found[SEARCHED]["cpu_s"] for found in scaled)
    rows = []
    for way in ("standardised", "raw"):
        for name, found in studies.items():
            shown = name + (" (R2)" if name in sets.REGRESSION else "") + (", raw" if way == "raw" else "")
            rows.append(row(shown, found["shape"], found[way]))
    lines = [
        f"Made by `experiments/estimators/run.py` with scikit-learn {sklearn.__version__}, one thread; what is",
        "compared is in its first lines. Mean accuracy on folds that were not fitted; processor seconds of all fits.",
        "",
        f"Ours is best or level on {level[False]} of the {len(scaled)} standardised sets, on {level[True]} if the "
        f"searched SVM",
        f"counts too; it takes less time than that one on {quicker}.",
        "",
        f"| data | n x d | {' | '.join(scaled[0])} | {OURS} is | {OURS}, fit | {SEARCHED}, fit |",
        "|---" * (len(scaled[0]) + 5) + "|",
        *rows,
        "",
        f"| generated, d = 20 | n | {OURS}, fit | {SEARCHED}, fit |",
        "|---|---|---|---|",
        *(f"| {problem} | {n:,} | {a:.1f} s | {b:.1f} s |" for problem, n, a, b in times),
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("packages", type=Path, help="folder of downloaded packages")
    parser.add_argument("--only", nargs="*", choices=sets.NAMES, default=sets.NAMES, help="of others, keep the scores")
    parser.add_argument("--seconds", action="store_true", help="measure fits of 500 to 2,000 points too")
    parser.add_argument("--mnist", type=Path, help="folder with MNIST's four files: print what is right of them")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    zeroloss.set_thread_count(1)
    threadpool_limits(1)
    (HERE / "scores").mkdir(exist_ok=True)
    for name in options.only:
        study(name, options.packages)
        print(name, flush=True)
    if options.seconds:
        seconds()
    kept = {name: HERE / "scores" / f"{name}.json" for name in (*sets.NAMES, "seconds")}
    if all(file.exists() for file in kept.values()):
        studies = {name: json.loads(file.read_text()) for name, file in kept.items()}
        text = table(studies, studies.pop("seconds"))
        (HERE / "table.md").write_text(text)
        print(text)
    if options.mnist:
        X, y, X_test, y_test = sets.mnist(options.mnist)
        for name, model in models(False, X, folds=2).items():
            if name != "boosting":  # long, with ten classes of 784 features
                print("{}: {:.4f}, {:.0f} s".format(name, *fitted(model, (X, y), (X_test, y_test))), flush=True)


if __name__ == "__main__":
    main()
