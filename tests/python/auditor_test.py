"""LabelAuditor: scikit-learn's own checks, and what it finds beside what is known to be wrong."""

import importlib
import pickle
import sys

import numpy as np
import pytest

import zeroloss

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from zeroloss.estimators import LabelAuditor


@parametrize_with_checks([LabelAuditor(), LabelAuditor("relu", "columns", 0.1, task="classification")])
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


def planted(load, count, every=1, seed=0):
    """X, labels of which `count` are wrong, which ones, and the true labels."""
    X, truth = load(return_X_y=True)
    X, truth = X[::every], truth[::every]
    rng = np.random.default_rng(seed)
    wrong = np.sort(rng.choice(len(X), count, replace=False))
    classes, y = truth.max() + 1, truth.copy()
    y[wrong] = (y[wrong] + rng.integers(1, classes, count)) % classes
    return X, y, wrong, truth


def test_planted_labels_of_digits_are_found():
    X, y, wrong, truth = planted(load_digits, 24, every=3)
    model = LabelAuditor().fit(X, y)
    found = np.intersect1d(wrong, model.issues_)
    assert len(found) >= 20 and len(model.issues_) - len(found) <= 4  # some digits can be read as others
    assert (model.predicted_[wrong] == truth[wrong]).mean() > 0.8
    assert model.noise_interval_[0] < 24 / len(y) < model.noise_interval_[1]
    assert model.noise_interval_[0] <= model.noise_rate_ <= model.noise_interval_[1]


def test_attributes_say_what_the_audit_says():
    X, y, _, _ = planted(load_iris, 8)
    model, result = LabelAuditor("erf", reasons=1, bootstrap=40).fit(X, y), zeroloss.audit(
        X, y, activation="erf", reasons=1, bootstrap=40)  # fmt: skip
    np.testing.assert_array_equal(model.scores_, result.scores)
    np.testing.assert_array_equal(model.predicted_.astype(str), result.predicted)
    np.testing.assert_array_equal(model.confidence_, result.confidence)
    np.testing.assert_array_equal(model.issues_, [issue.position for issue in result.issues])
    assert (model.noise_rate_, *model.noise_interval_) == (
        result.noise_rate.value, result.noise_rate.low, result.noise_rate.high)  # fmt: skip
    assert str(model.result_).splitlines()[:9] == str(result).splitlines()[:9]  # up to the seconds
    assert ((model.scores_ >= 0) & (model.scores_ <= 1)).all() and model.predicted_.dtype == y.dtype
    assert (np.diff(model.scores_[model.issues_]) >= 0).all()
    assert (np.flatnonzero(model.is_issue_) == np.sort(model.issues_)).all() and model.is_issue_.dtype == bool
    contradicted = model.predicted_ != y
    expected = max(round((1 - model.scores_).sum()), np.sum(contradicted & (model.scores_ < 0.5)))
    assert len(model.issues_) == min(expected, contradicted.sum()) > 0 and contradicted[model.issues_].all()
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])


def test_each_label_is_judged_without_itself():
    """What `fit` predicts of a sample is what a fit of all others says of it."""
    X, y, _, _ = planted(load_iris, 5, every=3)
    plain = LabelAuditor("relu", "given", 0.1, bootstrap=20)
    predicted = plain.fit(X, y).predicted_.copy()
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        without = clone(plain).fit(X[others], y[others]).audit(X[[i]], y[[i]])
        assert int(without.predicted[0]) == predicted[i]


def test_numbers():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:200], X[:200] @ np.linspace(100, 900, 10)
    y[[3, 50]] += [400, -400]
    model = LabelAuditor().fit(X, y)
    np.testing.assert_array_equal(np.sort(model.issues_)[:2], [3, 50])
    assert model.predicted_.dtype == np.float64 and model.predicted_[3] < y[3] and model.predicted_[50] > y[50]
    assert model.confidence_ is None and model.classes_ is None
    grades = np.round(5 * (y - y.min()) / np.ptp(y))
    assert LabelAuditor().fit(X, grades).classes_.tolist() == sorted(set(grades))
    assert LabelAuditor(task="regression").fit(X, grades).predicted_.dtype == np.float64


def test_other_labels_are_judged_by_those_that_were_fitted():
    X, y, _, _ = planted(load_digits, 20, every=2)
    X_test, y_test = load_digits(return_X_y=True)
    X_test, y_test = X_test[1:200:2], y_test[1:200:2].copy()
    y_test[7] = (y_test[7] + 5) % 10
    X_test[9] = X[44]
    fixed = {"activation": "relu", "scale": "common", "ridge": 0.05}
    model = LabelAuditor(**fixed).fit(X, y)
    result = model.audit(X_test, y_test)
    assert result.n == 100 and result.issues[0].position == 7
    assert [(t.first.record, t.second.record) for t in result.twins if t.distance == 0] == [(9, 44)]
    assert result.scores == zeroloss.audit(X, y, test=(X_test, y_test), **fixed).scores
    again = pickle.loads(pickle.dumps(model))
    assert again.audit(X_test, y_test).scores == result.scores and (again.scores_ == model.scores_).all()
    with pytest.raises(zeroloss.DataError, match="class 'ten' is none of those trained on"):
        model.audit(X_test[:1], ["ten"])
    with pytest.raises(NotFittedError):
        LabelAuditor().audit(X, y)


def test_right_and_wrong_as_outlier_detectors_say_it():
    X, y, _, _ = planted(load_iris, 8)
    pipeline = make_pipeline(StandardScaler(), LabelAuditor())
    said = pipeline.fit_predict(X, y)
    assert set(said) == {-1, 1} and ((said == -1) == pipeline[-1].is_issue_).all()


def test_resampling_leaves_out_what_looks_wrong():
    pandas = pytest.importorskip("pandas")
    X, y, _, _ = planted(load_iris, 8)
    model = LabelAuditor()
    X_kept, y_kept = model.fit_resample(X, y)
    np.testing.assert_array_equal(X_kept, X[~model.is_issue_])
    np.testing.assert_array_equal(y_kept, y[~model.is_issue_])
    frame, labels = pandas.DataFrame(X, columns=list("abcd")), pandas.Series(y, index=np.arange(150) + 7)
    kept, of_them = model.fit_resample(frame, labels)
    pandas.testing.assert_frame_equal(kept, frame[~model.is_issue_])
    pandas.testing.assert_series_equal(of_them, labels[~model.is_issue_])


def test_frames_are_read_as_every_function_reads_them():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame({"size": rng.normal(size=90), "colour": ["red", "blue", "green"] * 30})
    labels = pandas.Series(np.where(frame["colour"] == "red", "warm", "cold"))
    labels[[4, 30]] = ["warm", "cold"]
    frame.loc[10, "size"] = np.nan  # the median
    model = LabelAuditor().fit(frame, labels)
    assert set(model.issues_) == {4, 30} and model.feature_names_in_.tolist() == ["size", "colour"]
    assert model.scores_.tolist() == zeroloss.audit(frame, labels).scores
    assert model.audit(frame[::-1], labels[::-1]).n == 90
    table = model.result_.to_frame("scores")
    assert table.columns.tolist()[:4] == ["given_label", "predicted_label", "label_score", "is_label_issue"]
    np.testing.assert_array_equal(table["predicted_label"], model.predicted_)
    np.testing.assert_array_equal(table["is_label_issue"], model.is_issue_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.audit(frame.rename(columns={"size": "length"}), labels)
    with pytest.raises(ValueError, match="of 90 labels of the data frame 2 read as missing, NA or empty"):
        LabelAuditor().fit(frame, labels.where(labels.index > 1, "NA"))


@pytest.mark.parametrize("labels", [
    [True, False, True], ["b", "a", "b"], [2**60, 3, 5], [1.0, 3.0, 1.0], np.array(["u", "v", "w"], dtype=object),
])  # fmt: skip
def test_labels_keep_their_type(labels):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.tile(labels, 20)
    model = LabelAuditor(bootstrap=20).fit(X, y)
    assert model.predicted_.dtype == y.dtype and set(model.predicted_) <= set(model.classes_) == set(labels)


@pytest.mark.parametrize("parameters, words", [
    ({"activation": "swish2"}, "activation: name must be one of relu, .*swish2"),
    ({"scale": "rows"}, "scale must be one of auto, columns, common, given"),
    ({"ridge": 0.0}, "ridge must be > 0"),
    ({"inducing": -1}, "inducing"),
    ({"reasons": -1}, "reasons must be >= 0"),
    ({"bootstrap": 1}, "bootstrap must be >= 20"),
    ({"task": "ranking"}, "task"),
])  # fmt: skip
def test_parameters_are_checked(parameters, words):
    with pytest.raises(ValueError, match=words):
        LabelAuditor(**parameters).fit(*load_iris(return_X_y=True))


def test_labels_are_checked():
    X, y = load_iris(return_X_y=True)
    for labels, words in (
        (np.where(y == 2, np.nan, y), "Input y contains NaN"),
        (y[:149], "inconsistent numbers"),
        (np.zeros(150), "needs two classes"),
        (["a", None, "b"] * 50, r"y\[1\] is None"),
    ):
        with pytest.raises(ValueError, match=words):
            LabelAuditor().fit(X, labels)
    with pytest.raises(ValueError, match="minimum of 4 is required"):
        LabelAuditor().fit(X[:3], y[[0, 60, 120]])
    assert zeroloss.LabelAuditor is LabelAuditor and "LabelAuditor" in zeroloss.estimators.__all__


def test_random_states():
    X, y, _, _ = planted(load_iris, 8)
    drawn = [LabelAuditor(random_state=s).fit(X, y).result_.confusions for s in (3, 3, np.random.RandomState(3), 4)]
    intervals = [tuple((one.low, one.high) for one in confusions) for confusions in drawn]
    assert intervals[0] == intervals[1] and len(set(intervals)) >= 2


def test_the_issues_of_datalab_say_what_they_need(monkeypatch):
    """With cleanlab, tests/datalab/run.py checks them."""
    monkeypatch.delitem(sys.modules, "zeroloss.datalab", raising=False)
    monkeypatch.setitem(sys.modules, "cleanlab", None)
    with pytest.raises(ImportError, match=r'needs cleanlab\'s Datalab: pip install "cleanlab\[datalab\]"'):
        importlib.import_module("zeroloss.datalab")
