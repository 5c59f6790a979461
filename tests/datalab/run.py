#!/usr/bin/env python3
"""Checks zeroloss.datalab with the real package, which the tests do not install. By hand, in an environment of its own:

    python3 -m venv /tmp/datalab && /tmp/datalab/bin/pip install "cleanlab[datalab]==2.9.0" .
    /tmp/datalab/bin/python tests/datalab/run.py
"""

import contextlib
import io
import subprocess
import sys
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
from cleanlab import Datalab
from sklearn.datasets import load_diabetes, load_digits

import zeroloss
import zeroloss.datalab

NAME = "zeroloss"


def quietly(function, *arguments, **options):
    """What it returns, and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        value = function(*arguments, **options)
    return value, out.getvalue()


def digits(count=30):
    """Features, labels of which some are wrong, which ones, and the true labels."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[::2], truth[::2]
    rng = np.random.default_rng(0)
    wrong = np.sort(rng.choice(len(X), count, replace=False))
    y = truth.copy()
    y[wrong] = (y[wrong] + rng.integers(1, 10, count)) % 10
    return X, y, wrong, truth


def check_classes(folder):
    X, y, wrong, truth = digits()
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
    lab = Datalab({"image": list(range(len(y))), "label": names[y].tolist()}, label_name="label")
    _, said = quietly(lab.find_issues, features=X, issue_types={NAME: {"bootstrap": 50}, "label": {}})
    assert f"Finding {NAME} issues" in said and "Error" not in said, said

    result = zeroloss.audit(X, names[y], bootstrap=50)
    issues = lab.get_issues(NAME)
    assert list(issues.columns) == [f"is_{NAME}_issue", f"{NAME}_score"], issues.columns
    assert list(issues.index) == list(range(len(y)))
    np.testing.assert_array_equal(issues[f"{NAME}_score"], result.scores)
    found = np.flatnonzero(issues[f"is_{NAME}_issue"])
    assert list(found) == sorted(issue.position for issue in result.issues)
    assert len(np.intersect1d(found, wrong)) >= 25 and len(found) <= 35, (found, wrong)

    summary = lab.get_issue_summary(NAME)
    assert summary["num_issues"][0] == len(found) and summary["score"][0] == 1 - result.noise_rate.value
    info = lab.get_info(NAME)
    assert info["given_label"] == names[y].tolist() and info["predicted_label"] == result.predicted
    assert (np.array(info["predicted_label"])[wrong] == names[truth[wrong]]).mean() > 0.8
    assert info["noise_rate"]["low"] < len(wrong) / len(y) < info["noise_rate"]["high"]
    assert info["conclusion"] == result.conclusion and info["confidence"] == result.confidence
    assert list(info["confusions"]["given"]) == [confusion.given for confusion in result.confusions]
    both = lab.get_issues()
    print("is an issue to zeroloss (rows) and to cleanlab (columns):")
    print(pd.crosstab(both[f"is_{NAME}_issue"], both["is_label_issue"]))

    shown = ["given_label predicted_label", "noise_rate:", "confusions:", "predictor:", "conclusion:", "no such line"]
    for verbosity, (there, absent) in enumerate(pairwise(shown)):
        section = quietly(lab.report, verbosity=verbosity)[1].split(f" {NAME} issues ")[1]
        section = section.partition(" label issues ")[0]
        assert there in section and absent not in section, section
    print("\n".join(section.splitlines()[2:16]))

    quietly(lab.save, folder, force=True)
    loaded, _ = quietly(Datalab.load, folder)
    assert loaded.get_issues(NAME).equals(issues)
    assert quietly(loaded.report, verbosity=4)[1] == quietly(lab.report, verbosity=4)[1]
    _, said = quietly(loaded.find_issues, features=X, issue_types={NAME: {"bootstrap": 20}})
    assert "Error" not in said and loaded.get_info(NAME)["noise_rate"] != info["noise_rate"]


def check_numbers():
    X, _ = load_diabetes(return_X_y=True)
    X, y = X[:200], X[:200] @ np.linspace(100, 900, 10)
    y[[3, 50]] += [400, -400]
    lab = Datalab({"y": y}, label_name="y", task="regression")
    _, said = quietly(lab.find_issues, features=X, issue_types={NAME: {}})
    assert "Error" not in said, said
    assert {3, 50} <= set(np.flatnonzero(lab.get_issues(NAME)[f"is_{NAME}_issue"]))
    info = lab.get_info(NAME)
    assert info["given_label"] == y.tolist() and info["predicted_label"][3] < y[3] and info["confidence"] == []
    assert NAME in quietly(lab.report)[1]


def check_what_it_leaves_alone():
    """Nothing runs that was not asked for, and mistakes are said."""
    X, y, _, _ = digits()
    lab = Datalab({"label": y}, label_name="label")
    quietly(lab.find_issues, features=X)
    assert NAME not in lab.issue_summary["issue_type"].values and NAME in lab.list_possible_issue_types()
    for arguments, words in (
        ({"issue_types": {NAME: {}}}, "features are needed"),
        ({"features": X, "issue_types": {NAME: {"ridges": 1}}}, "unexpected keyword argument 'ridges'"),
        ({"features": X, "issue_types": {NAME: {"ridge": -1}}}, "ridge must be > 0"),
        ({"features": X[:5], "issue_types": {NAME: {}}}, "y must be 5 targets"),
    ):
        said = quietly(lab.find_issues, **arguments)[1]
        assert f"Error in {NAME}" in said and words in said, said
    others = {NAME: {"features": pd.DataFrame(X), "activation": "relu", "scale": "common", "ridge": 0.1}}
    quietly(lab.find_issues, issue_types=others)
    assert lab.get_info(NAME)["predictor"] == {"activation": "relu", "scale": "common", "ridge": 0.1}
    without = Datalab({"image": list(range(len(X)))})
    assert "labels are needed" in quietly(without.find_issues, features=X, issue_types={NAME: {}})[1]


def check_import_error():
    code = "import sys; sys.modules['datasets'] = None\nimport zeroloss.datalab"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'needs cleanlab\'s Datalab: pip install "cleanlab[datalab]"' in done.stderr, done.stderr


if __name__ == "__main__":
    datasets.disable_progress_bars()
    warnings.filterwarnings("ignore", message="Overwriting")  # of issues that are looked for again
    with tempfile.TemporaryDirectory() as made:
        check_classes(str(Path(made) / "lab"))
    check_numbers()
    check_what_it_leaves_alone()
    check_import_error()
    print("zeroloss.datalab: all checks passed")
