"""Labels that people gave to CIFAR-10's images: which of them are wrong? people.py SHARED CIFAR [N ..]

SHARED has cifar-10n/*.npy (CIFAR-N, Wei et al. 2022, CC BY-NC 4.0; not part of this project), CIFAR the binary files of
CIFAR-10. Prints a row a method and kind: average precision of the scores, labels listed, wrong ones among them, F1 of
the list, the estimated rate, seconds of one core. Others see the features that zeroloss made: cleanlab 2.9.0 with
out-of-fold probabilities (five folds) of an RBF support vector machine and of logistic regression, its default list and
self confidence; and the vote of ten nearest neighbours by cosine (SimiFeat, Zhu et al. 2022, on these features).

    pip install cleanlab==2.9.0 scikit-learn dist/zeroloss-*.whl
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/audit/people.py ../shared/data cifar-10-batches-bin
"""

import pathlib
import sys
import time

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from ranking import average_precision
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import zeroloss

KINDS = ("aggregate", "random1", "worst")


def row(n, kind, method, wrong, scores, listed, rate, seconds):
    hits = int(wrong[listed].sum())
    f1 = 2 * hits / (len(listed) + wrong.sum())
    cells = (f"{n:,}", kind, method, f"{average_precision(wrong, scores):.3f}", f"{len(listed):,}", f"{hits:,}",
             f"{f1:.3f}", rate, f"{seconds:.1f}")  # fmt: skip
    print("|", " | ".join(cells), "|", flush=True)


def main():
    shared, folder = map(pathlib.Path, sys.argv[1:3])
    sizes = [int(n) for n in sys.argv[3:]] or [3000]
    raw = np.concatenate([np.fromfile(folder / f"data_batch_{k}.bin", np.uint8).reshape(-1, 3073) for k in range(1, 6)])
    images = raw[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    print("| n | labels | method | average precision | listed | wrong of these | F1 | rate | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in sizes:
        X, clean = images[:n], raw[:n, 0]
        features = StandardScaler().fit_transform(zeroloss.PatchFeatures(mirror=True).fit_transform(X))
        for kind in KINDS:
            y = np.load(shared / f"cifar-10n/{kind}.npy")[:n].astype(int)
            wrong = y != clean
            for how in ("auto", "pixels"):
                began = time.process_time()
                found = zeroloss.audit(X, y, image_features=how, threads=1)
                rate = f"{found.noise_rate.value:.3f} ({found.noise_rate.low:.3f} to {found.noise_rate.high:.3f})"
                row(n, kind, f"zeroloss, {found.image_features}", wrong, np.array(found.scores),
                    [issue.position for issue in found.issues], rate, time.process_time() - began)  # fmt: skip
            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            models = {"support vector machine": SVC(probability=True, random_state=0),
                      "logistic regression": LogisticRegression(C=0.01, max_iter=1000)}  # fmt: skip
            if n > 5000:  # three quarters of an hour a kind
                del models["support vector machine"]
            for name, model in models.items():
                began = time.process_time()
                p = cross_val_predict(model, features, y, cv=folds, method="predict_proba")
                listed = find_label_issues(y, p, return_indices_ranked_by="self_confidence")
                row(n, kind, f"cleanlab, {name}", wrong, get_label_quality_scores(y, p), listed,
                    f"{len(listed) / n:.3f}", time.process_time() - began)  # fmt: skip
            began = time.process_time()
            unit = features / np.linalg.norm(features, axis=1, keepdims=True)
            near = unit @ unit.T
            np.fill_diagonal(near, -np.inf)
            votes = np.eye(10)[y[np.argpartition(-near, 10, axis=1)[:, :10]]].sum(axis=1)
            listed = np.flatnonzero(votes.argmax(axis=1) != y)
            row(n, kind, "vote of neighbours", wrong, votes[np.arange(n), y] - votes.max(axis=1), listed,
                f"{len(listed) / n:.3f}", time.process_time() - began)  # fmt: skip


if __name__ == "__main__":
    main()
