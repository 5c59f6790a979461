"""Writes certify_oracle.json: digits by NumPy and SciPy alone, from the closed forms of relu and erf.

    python3 make_certify_oracle.py        needs numpy and scipy
"""
import gzip
import json
import pathlib

import numpy as np
import scipy.linalg as sl

here = pathlib.Path(__file__).parent
with gzip.open(here / "../../../data/digits.csv.gz", "rt") as file:
    table = np.loadtxt(file, delimiter=",", skiprows=1)
labels = table[:, -1].astype(int)


def relu(rho):
    return rho * (np.pi - np.arccos(np.clip(rho, -1, 1))) / (2 * np.pi)


def erf(rho):
    return rho * (4 / np.pi) / np.sqrt(9 - 4 * rho**2)


answers = []
for name, sigma in (("relu", relu), ("erf", erf)):
    for classes in ((), (3, 8)):
        keep = np.isin(labels, classes) if classes else np.full(len(labels), True)
        X = table[keep, :-1] / np.linalg.norm(table[keep, :-1], axis=1, keepdims=True)
        rho = X @ X.T
        np.fill_diagonal(rho, 1.0)
        H = sigma(rho)
        values = sl.eigvalsh(H)
        distance = np.sqrt(np.maximum(0, 2 - 2 * np.abs(rho - 2 * np.eye(len(X)) * rho)))
        np.fill_diagonal(distance, 9)
        Y = (np.where(labels[keep] == 8, 1.0, -1.0)[:, None] if classes
             else 2 * (labels[:, None] == np.arange(10)) - 1.0)
        inverse = np.linalg.inv(H)
        alpha = inverse @ Y
        predicted = Y - alpha / np.diag(inverse)[:, None]
        wrong = (np.sign(predicted) != Y).any(1) if classes else predicted.argmax(1) != labels
        answers.append({"activation": name, "classes": [str(c) for c in classes], "n": len(X), "lambda_min": values[0],
                        "lambda_max": values[-1], "separation": distance.min(),
                        "complexity": list(np.sqrt(2 * (Y * alpha).sum(0) / len(X))),
                        "suspects": [int(i) for i in np.nonzero(keep)[0][wrong]]})
(here / "certify_oracle.json").write_text(json.dumps(answers, indent=1) + "\n")
