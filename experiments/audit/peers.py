"""cleanlab with four models: out-of-fold probabilities, five stratified folds, standardised columns.

    pip install cleanlab==2.9.0 scikit-learn==1.9.1 pyreadr
    python experiments/audit/peers.py PACKAGES SHARED FOLDER        # some hours; resumes; nothing of it depends on us

Writes FOLDER/SET-KIND-RATE-SEED.npz: the given labels and, of each model, its seconds, both of cleanlab's scores
that can rank labels, self-confidence (its default) and normalised margin, and the labels that find_label_issues lists.
"""

import os
import pathlib
import sys
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small problems; one set of results a core
import numpy as np
import sets
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

MODELS = {"logistic": lambda: LogisticRegression(max_iter=1000),
          "svm": lambda: SVC(probability=True, random_state=0),
          "forest": lambda: RandomForestClassifier(random_state=0),
          "neighbours": lambda: KNeighborsClassifier(10)}  # fmt: skip
SCORES = ("self_confidence", "normalized_margin")


def listed(given, probabilities):
    """Whether each label is named, with cleanlab's defaults; it asks for all classes among the labels."""
    present, labels = np.unique(given, return_inverse=True)
    return find_label_issues(labels, probabilities[:, present], n_jobs=1)


def run(X, given, classes, seed):
    """Scores and seconds of each model."""
    result = {}
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    for name, make in MODELS.items():
        began = time.perf_counter()
        model = make_pipeline(StandardScaler(), make())
        probabilities = cross_val_predict(model, X, given, cv=folds, method="predict_proba")
        present = np.unique(given)
        whole = np.zeros((len(given), classes))
        whole[:, present] = probabilities
        for score in SCORES:
            result[f"{name} {score}"] = get_label_quality_scores(given, whole, method=score)
        result[f"{name} list"] = listed(given, whole)
        result[f"{name} seconds"] = time.perf_counter() - began
    return result


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    packages, shared, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    for seed in sets.SEEDS:
        for name in sets.NAMES:
            X, y = sets.read(name, packages, shared)
            for kind in sets.KINDS:
                for rate in sets.RATES:
                    file = folder / f"{name}-{kind}-{rate:g}-{seed}.npz"
                    if file.exists():
                        continue
                    given = sets.with_wrong_labels(X, y, kind, rate, seed)
                    np.savez(folder / "part.npz", given=given, **run(X, given, y.max() + 1, seed))
                    (folder / "part.npz").rename(file)
            print(seed, name, flush=True)


if __name__ == "__main__":
    main()
