"""Estimators: scikit-learn's own checks, and what they compute beside plain NumPy."""

import pickle
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import zeroloss
from bounds import (
    U,
    backward_error,
    entry_error,
    gamma,
    prediction_error,
    residual_error,
    row_error,
    solution_error,
)
from rounding import two_layers

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from zeroloss import kernel
from zeroloss.estimators import (
    LabelAuditor,
    MemorizingClassifier,
    NTKClassifier,
    NTKRegressor,
    RandomFeatureRegressor,
    TwoLayerClassifier,
    TwoLayerRegressor,
)
from zeroloss.estimators.ridge import leave_one_out

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of small networks, below


def expected_failures(estimator):
    """Leaving out one of two equal points is not leaving out a point of weight two: another choice may be made."""
    chooses = "auto" in (getattr(estimator, "ridge", None), getattr(estimator, "activation", None))
    return {"check_sample_weight_equivalence_on_dense_data": "by leave-one-out"} if chooses else {}


@parametrize_with_checks(
    [
        NTKRegressor(),
        NTKRegressor(activation="relu", ridge=1e-3),
        NTKClassifier(),
        NTKRegressor(activation="relu", ridge=1e-3, depth=3, residual=True),
        NTKClassifier(depth=3),
        RandomFeatureRegressor(width=256),
        TwoLayerRegressor(width=128),
        TwoLayerClassifier(width=128, optimizer="gd", max_steps=100),
        MemorizingClassifier(),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


ALL = [NTKRegressor(), NTKClassifier(), RandomFeatureRegressor(), TwoLayerRegressor(width=64),
       TwoLayerClassifier(width=64), MemorizingClassifier()]  # fmt: skip


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_pipelines_and_pickles(estimator):
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), clone(estimator)).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert type(estimator).__name__ in zeroloss.estimators.__all__
    assert getattr(zeroloss, type(estimator).__name__) is type(estimator)


@pytest.mark.parametrize("estimator", [*ALL, LabelAuditor()], ids=lambda e: type(e).__name__)
def test_pickles_have_a_format(estimator):
    state = estimator.__getstate__()
    assert state["_zeroloss"] == {"format": 1, "version": zeroloss.__version__}
    twin = type(estimator)()
    twin.__setstate__({name: value for name, value in state.items() if name != "_zeroloss"})  # as they once were
    assert twin.get_params() == estimator.get_params() and "_zeroloss" not in vars(twin)
    with pytest.raises(zeroloss.DataError, match=r"by zeroloss 9\.0 has format 7; 1 is known: fit it again"):
        twin.__setstate__({**state, "_zeroloss": {"format": 7, "version": "9.0"}})
    first = next(iter(estimator.get_params()))
    with pytest.raises(zeroloss.DataError, match=f"by zeroloss an earlier version has no {first}"):
        twin.__setstate__({name: value for name, value in state.items() if name not in ("_zeroloss", first)})


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_pickles_of_zeroloss_estimators_load(estimator):
    """Its classes were all of one module once, which pickles name."""
    name = type(estimator).__name__
    assert pickle.loads(b"czeroloss.estimators\n" + name.encode() + b"\n.") is type(estimator)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X)[:150], y[:150]


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_leave_one_out_is_what_leaving_out_gives(activation):
    """With centring off and the targets' mean taken out, n fits without a point are the closed form."""
    X, y = diabetes()
    X, y = X[:60], y[:60] - y[:60].mean()
    model = NTKRegressor(activation=activation, ridge=[1e-3, 1e-1, 10.0], center=False, bias=0.0).fit(X, y)
    K = kernel.gram(X, activation).K
    errors = []
    for ridge in (1e-3, 1e-1, 10.0):
        residuals = []
        for i in range(len(X)):
            rest = np.delete(np.arange(len(X)), i)
            A = K[np.ix_(rest, rest)] + ridge * kernel.sigma(activation)(1.0) * np.eye(len(rest))
            residuals.append(y[i] - K[i, rest] @ np.linalg.solve(A, y[rest]))
        errors.append(np.sqrt(np.mean(np.square(residuals))))
    assert model.ridge_ == [1e-3, 1e-1, 10.0][int(np.argmin(errors))]
    A = K + model.ridge_ * kernel.sigma(activation)(1.0) * np.eye(len(X))
    off = residual_error(A, np.linalg.solve(A, y))
    assert model.leave_one_out_error_ == pytest.approx(min(errors), rel=0, abs=off)


def refitted(K, ridge, Y):
    """Leave-one-out residuals by least-norm solutions without each point."""
    residuals = np.empty_like(Y)
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        A = K[np.ix_(rest, rest)] + ridge * np.eye(len(rest))
        residuals[i] = Y[i] - K[i, rest] @ np.linalg.pinv(A, rcond=len(K) * 2**-52, hermitian=True) @ Y[rest]
    return residuals


@pytest.mark.parametrize("case", ["repeated points", "low rank", "both", "full rank"])
@pytest.mark.parametrize("ridge", [0.0, 1e-2])
def test_leave_one_out_of_a_singular_kernel_is_what_leaving_out_gives(case, ridge):
    """Some points are determined by the others, some are not: repeated ones, and those beyond the kernel's rank."""
    rng = np.random.default_rng(1)
    activation = "relu" if case in ("repeated points", "full rank") else "quadratic"
    X = rng.normal(size=(9 if activation == "relu" else 11, 3))  # quadratic: rank 6
    if case in ("repeated points", "both"):
        X[[4, 7]] = X[2]
    if case == "both":
        X = np.vstack([np.column_stack([X[:, :2], np.zeros(len(X))]), np.eye(3)[2:]])  # rank 3 + 1: one stands alone
    Y = rng.normal(size=(len(X), 2))
    K = kernel.gram(X, activation).K
    values, Q = np.linalg.eigh(K)
    coefficients, residuals = leave_one_out(values, Q, ridge, Y)
    whole = np.linalg.pinv(K + ridge * np.eye(len(K)), rcond=len(K) * 2**-52, hermitian=True)
    condition = (values[-1] + ridge) * np.linalg.norm(whole, 2)
    # Of inverses of equal rank by twice 1.62 times that of solutions (Wedin), of their diagonals by as much again.
    off = 4 * solution_error(len(K), condition) * np.linalg.norm(Y)
    np.testing.assert_allclose(residuals, refitted(K, ridge, Y), rtol=0, atol=condition * off)
    np.testing.assert_allclose(coefficients, whole @ Y, rtol=0, atol=np.linalg.norm(whole, 2) * off)


def test_the_choice_is_the_best_of_its_parts():
    X, y = diabetes()
    every = NTKRegressor(activation=["relu", "gelu", "erf"]).fit(X, y)
    alone = {a: NTKRegressor(activation=a).fit(X, y).leave_one_out_error_ for a in ("relu", "gelu", "erf")}
    assert every.leave_one_out_error_ == min(alone.values()) == alone[every.activation_]


def test_auto_is_the_choice_between_three():
    X, y = diabetes()
    auto, three = NTKRegressor().fit(X, y), NTKRegressor(["relu", "erf", "sigmoid"]).fit(X, y)
    assert auto.activation_ == three.activation_ and auto.ridge_ == three.ridge_
    np.testing.assert_array_equal(auto.predict(X + 0.1), three.predict(X + 0.1))


@pytest.mark.parametrize("weighted", [False, True])
def test_of_many_points_some_choose_the_activation(monkeypatch, weighted):
    """With the one of an even choice all points are fitted as if it had been asked for."""
    X, y = diabetes()
    weights = 1.0 + np.arange(150) % 3 if weighted else None
    monkeypatch.setattr("zeroloss.estimators.exact.AUTO_POINTS", 50)
    auto = NTKRegressor().fit(X, y, sample_weight=weights)
    points = auto.X_fit_[np.linspace(0, 149, 50).astype(int)]
    offset = np.average(y, weights=weights)
    several = NTKRegressor(["relu", "erf", "sigmoid"])
    few = several._best(
        several._networks(), points, (y - offset)[np.linspace(0, 149, 50).astype(int), None],
        weights if weights is None else weights[np.linspace(0, 149, 50).astype(int)])  # fmt: skip
    assert (auto.activation_, auto.depth_) == few.network
    alone = NTKRegressor(few.network.activation).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(auto.predict(X + 0.1), alone.predict(X + 0.1))


@pytest.mark.parametrize("ridge", [0.05, [1e-3, 0.05]])
def test_residuals_rank_the_samples(ridge):
    """Two targets that are wrong have the largest residuals, in units of what the kernel expects too."""
    X, _ = diabetes()
    Y = np.column_stack([X[:, 0] + X[:, 3], X[:, 1]])
    Y[[7, 90], 0] += [3.0, -3.0]
    model = NTKRegressor("erf", ridge=ridge).fit(X, Y)
    residuals = model.leave_one_out_residuals_
    off = gamma(2) * (np.abs(Y) + np.abs(residuals))  # two differences
    assert (np.abs(residuals - (Y - model.leave_one_out_predictions_)) <= off).all()
    np.testing.assert_allclose(np.mean(model.studentized_residuals_**2, axis=0), 1, rtol=0, atol=gamma(2 * 150 + 8))
    for found in (model.leave_one_out_residuals_, model.studentized_residuals_):
        assert set(np.argsort(-np.abs(found[:, 0]))[:2]) == {7, 90} and found[7, 0] > 0 > found[90, 0]
    K = kernel.gram(model.X_fit_, "erf", normalize=False).K
    inverse = np.linalg.inv(K + model.ridge_ * kernel.sigma("erf")(1.0) * np.eye(150))
    diagonal = np.diag(inverse)
    off = 2 * solution_error(150, np.linalg.cond(inverse)) * np.linalg.norm(inverse, 2) / diagonal.min()
    by_numpy = model.leave_one_out_residuals_ * np.sqrt(diagonal)[:, None]
    by_numpy /= np.sqrt(np.mean(by_numpy**2, axis=0))
    np.testing.assert_allclose(model.studentized_residuals_, by_numpy, rtol=off)
    one = NTKRegressor("erf", ridge=ridge).fit(X, Y[:, 0])
    assert one.leave_one_out_residuals_.shape == one.studentized_residuals_.shape == (150,)


@pytest.mark.parametrize("ridge", [0.0, 1e-6, 0.1])
def test_one_ridge_and_several_agree(ridge):
    X, y = diabetes()
    one = NTKRegressor("relu", ridge=ridge).fit(X, y)  # Cholesky
    other = NTKRegressor("relu", ridge=[ridge, ridge]).fit(X, y)  # tridiagonal
    new = X[:50] + 0.1
    sigma = kernel.sigma("relu")
    A = kernel.gram(one.X_fit_, sigma, normalize=False).K + ridge * sigma(1.0) * np.eye(150)
    off = residual_error(A, one.dual_coef_)
    assert one.leave_one_out_error_ == pytest.approx(other.leave_one_out_error_, rel=0, abs=off)
    k = kernel.cross_gram(one._new_points(new), one.X_fit_, sigma, normalize=False)
    off = prediction_error(k, A, one.dual_coef_)
    np.testing.assert_allclose(one.predict(new), other.predict(new), rtol=gamma(2), atol=off)  # the mean is added
    if ridge == 0:
        off = 2 * backward_error(150) * np.linalg.norm(A, 2) * np.linalg.norm(one.dual_coef_)
        np.testing.assert_allclose(one.predict(X), y, rtol=gamma(150), atol=off)


@pytest.mark.parametrize("load", [load_diabetes, load_breast_cancer, load_wine])
def test_fit_with_kernel_is_the_estimator(load, tmp_path):
    X, y = load(return_X_y=True)
    X = kernel.unit_rows(StandardScaler().fit_transform(X))
    X, y, new = X[::3], y[::3], X[1::3]
    regression = load is load_diabetes
    ours = (NTKRegressor if regression else NTKClassifier)(center=False, bias=0).fit(X, y)
    task = "regression" if regression else "classification"
    result = zeroloss.fit(X, y, optimizer="kernel", task=task, standardize="no", bias=0)
    network = result.network
    assert isinstance(network, zeroloss.KernelNetwork)
    assert (network.activation, network.ridge) == (ours.activation_, ours.ridge_)
    sigma, n = kernel.sigma(network.activation), len(X)
    A = kernel.gram(X, sigma, normalize=False).K + network.ridge * sigma(1.0) * np.eye(n)
    k = kernel.cross_gram(new, X, sigma, normalize=False)
    # Points are divided by their lengths once more, which moves the inner products; the diagonal is k(1) for both.
    moved_by = 4 * row_error(X.shape[1]) + gamma(X.shape[1])
    entries = max(entry_error(sigma, rho, moved_by).max() for rho in (X @ X.T - np.eye(n), new @ X.T))
    off = prediction_error(k, A, ours.dual_coef_, n * entries)
    said = zeroloss.predict(result, new).outputs
    beside = ours.predict(new) if regression else ours.decision_function(new)
    np.testing.assert_allclose(said.squeeze(), beside, rtol=gamma(2), atol=off)  # the mean is added
    if not regression:
        assert result.leave_one_out_error == ours.leave_one_out_error_
        assert result.guessing_error == pytest.approx(1 - np.bincount(y).max() / n, rel=2 * U)
    decided = zeroloss.predict(result, new).decided
    assert decided is None if regression else decided.shape == (len(new),) and decided.all()
    assert pickle.loads(pickle.dumps(network)).coefficients.tolist() == network.coefficients.tolist()

    network.export_onnx(tmp_path / "model.onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    by_onnx, *label = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, {"x": new})
    np.testing.assert_allclose(by_onnx, said, rtol=gamma(2), atol=off)
    assert regression or np.array_equal(label[0], y.dtype.type(ours.predict(new)))


def test_a_kernel_that_is_numerically_singular_leaves_no_network():
    X = np.array([[1e18, 1e18 * (1 + k * U)] for k in range(6)])
    result = zeroloss.fit(X, [0, 1, 0, 1, 0, 1], optimizer="kernel", ridge="0", task="regression", standardize="no",
                          bias=0)  # fmt: skip
    assert result.status == "stalled" and result.network is None and "larger `ridge`" in result.conclusion
    with pytest.raises(ValueError, match="predict: the result has no network"):
        zeroloss.predict(result, X)
    with pytest.raises(ValueError, match="prove: the result has no network"):
        zeroloss.prove(result, X)


def test_equal_points_without_a_ridge_get_the_mean_of_their_targets():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [-1.0, 0.5]])
    y = np.array([1.0, 3.0, 7.0, 5.0])
    np.testing.assert_allclose(NTKRegressor(ridge=0.0).fit(X, y).predict(X), [2, 2, 7, 5],
                               rtol=solution_error(4, 10))  # of three points whose kernel has a condition below 10


@pytest.mark.parametrize("ridge", [0.1, [0.1, 0.2]])
def test_weights_are_repeated_points(ridge):
    X, y = diabetes()
    X, times = X[:60], np.arange(60) % 4
    repeated = np.repeat(np.arange(60), times)
    # Left-out predictions differ, for another copy stays: one ridge wins by its weight in the loss, so compare each.
    for one in np.atleast_1d(ridge):
        weighted = NTKRegressor("relu", ridge=one).fit(X, y[:60], sample_weight=times)
        several = NTKRegressor("relu", ridge=one).fit(X[repeated], y[repeated])
        sigma = kernel.sigma("relu")
        A = kernel.gram(several.X_fit_, sigma, normalize=False).K + one * sigma(1.0) * np.eye(len(repeated))
        k = kernel.cross_gram(several._new_points(X), several.X_fit_, sigma, normalize=False)
        entries = len(A) * gamma(4 * len(A))  # of the points, less their mean
        off = prediction_error(k, A, several.dual_coef_, entries)
        np.testing.assert_allclose(weighted.predict(X), several.predict(X), rtol=gamma(2 * 90), atol=off)
    labels = (y[:60] > y[:60].mean()).astype(int)
    of_class = NTKClassifier(ridge=ridge, class_weight={0: 1, 1: 3}).fit(X, labels)
    of_sample = NTKClassifier(ridge=ridge).fit(X, labels, sample_weight=1 + 2 * labels)
    np.testing.assert_array_equal(of_class.decision_function(X), of_sample.decision_function(X))
    for wrong in ([1.0, 2.0], -np.ones(60), np.zeros(60), np.full(60, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            NTKRegressor().fit(X, y[:60], sample_weight=wrong)


def test_leave_one_out_predictions_are_those_of_fits_without_the_point():
    X, labels = load_iris(return_X_y=True)
    X, labels = X[::5], labels[::5]
    model = NTKClassifier("relu", ridge=0.1, center=False, bias=0.0).fit(X, labels)
    assert model.leave_one_out_scores_.shape == (30, 3)
    A = kernel.gram(X, "relu").K + 0.1 * kernel.sigma("relu")(1.0) * np.eye(30)
    for i in (0, 7, 29):
        rest = np.delete(np.arange(30), i)
        without = NTKClassifier("relu", ridge=0.1, center=False, bias=0.0).fit(X[rest], labels[rest])
        np.testing.assert_allclose(without.decision_function(X[[i]])[0], model.leave_one_out_scores_[i], rtol=0,
                                   atol=residual_error(A, model.dual_coef_))  # fmt: skip
        assert without.predict(X[[i]])[0] == model.leave_one_out_predictions_[i]
    assert model.leave_one_out_error_ == np.mean(model.leave_one_out_predictions_ != labels)


@pytest.mark.parametrize("residual", [False, True])
def test_deep_predictors_are_kernel_ridge_regression(residual):
    X, labels = load_iris(return_X_y=True)
    y = X[:, 3]
    model = NTKRegressor("tanh", ridge=1e-2, depth=4, residual=residual).fit(X[::2, :3], y[::2])
    kernel = zeroloss.kernel.deep("tanh", 4, residual=residual)
    K = zeroloss.kernel.gram(model.X_fit_, kernel).K + 1e-2 * kernel(1.0) * np.eye(75)
    off = (2 * backward_error(75) * np.linalg.norm(K, 2) + 75 * kernel.error) * np.linalg.norm(model.dual_coef_)
    np.testing.assert_allclose(K @ model.dual_coef_[:, 0], y[::2] - y[::2].mean(), rtol=0, atol=off)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X[:, :3]), model.predict(X[:, :3]))
    assert model.score(X[1::2, :3], y[1::2]) > 0.9
    assert NTKClassifier(depth=3, residual=residual).fit(X[::2], labels[::2]).score(X[1::2], labels[1::2]) > 0.9
    with pytest.raises(ValueError, match="layers"):
        NTKRegressor("tanh", depth=0).fit(X, y)


def test_depth_is_chosen_by_left_out_points():
    X, labels = load_iris(return_X_y=True)
    one_each = {depth: NTKRegressor("erf", depth=depth).fit(X[:, :3], X[:, 3]) for depth in (1, 2, 6)}
    losses = {depth: np.mean((model.leave_one_out_predictions_ - X[:, 3]) ** 2) for depth, model in one_each.items()}
    best = min(losses, key=losses.get)
    chosen = NTKRegressor("erf", depth=(1, 2, 6)).fit(X[:, :3], X[:, 3])
    assert chosen.depth_ == best
    np.testing.assert_array_equal(chosen.dual_coef_, one_each[best].dual_coef_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(chosen)).predict(X[:, :3]), chosen.predict(X[:, :3]))
    auto = NTKClassifier("relu", depth="auto").fit(X, labels)
    assert auto.depth_ in (1, 2, 3, 5, 10) and auto.leave_one_out_error_ < 0.06
    for wrong, words in (("deep", "auto, a number"), ((), "got none"), (0, "layers"), (1.5, "as an integer")):
        with pytest.raises((ValueError, TypeError), match=words):
            NTKRegressor("erf", depth=wrong).fit(X, labels)


@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_are_as_often_right_as_they_say(classes):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(3000, 3))
    y = np.argmax(X @ rng.normal(size=(3, classes)) + rng.gumbel(size=(3000, classes)), axis=1)
    model = NTKClassifier().fit(X[:500], y[:500])
    said = model.predict_proba(X[500:])
    assert said.shape == (2500, classes)
    np.testing.assert_allclose(said.sum(axis=1), 1, rtol=0, atol=gamma(2 * classes + 2))
    np.testing.assert_array_equal(model.classes_[said.argmax(axis=1)], model.predict(X[500:]))
    right = model.predict(X[500:]) == y[500:]
    # Mean confidence against accuracy: their difference has a deviation of at most 0.01 from 2,500 points, and what
    # 500 points say of the one factor is worth a few hundredths.
    assert abs(said.max(axis=1).mean() - right.mean()) < 0.06


def test_a_wide_network_approaches_the_exact_predictor():
    """A network of width m ends within O(1/sqrt(m)) of the kernel predictor plus what the drawn network itself
    contributes, whose mean over draws is 0."""
    X, y = diabetes()
    X, y, new = X[:20], y[:20], X[20:70]
    exact = NTKRegressor("relu", ridge=0.0).fit(X, y).predict(new)
    draws = [TwoLayerRegressor(width=16384, random_state=s).fit(X, y).predict(new) for s in range(8)]
    spread = np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.mean(np.abs(np.mean(draws, axis=0) - exact) <= 4 * spread) > 0.9


def assert_reached(model, X, y):
    """Up to the misfit of the training, on targets of variance 1."""
    off = model.relative_misfit_ * np.sqrt(len(y)) + two_layers(model.network_, model._new_points(X)) + gamma(len(y))
    assert (np.abs(model.predict(X) - y)[:, None] <= y.std() * off + 4 * U * np.abs(y)[:, None]).all()


def test_random_features_interpolate_and_approach_their_kernel():
    X, y = diabetes()
    model = RandomFeatureRegressor(width=1000).fit(X, y)
    assert_reached(model, X, y)
    assert model.certified_
    unit = kernel.unit_rows(model._points(X[:40]))
    K, new = kernel.gram(unit, kernel.sigma_features("relu"),
                         normalize=False).K, kernel.unit_rows(model._points(X[40:60]))
    y40 = y[:40] - y[:40].mean()
    exact = kernel.cross_gram(new, unit, kernel.sigma_features("relu"), normalize=False) @ np.linalg.solve(K, y40)
    draws = []
    for seed in range(8):
        one = RandomFeatureRegressor(width=4000, random_state=seed, center=False, bias=0.0).fit(unit, y40)
        draws.append(one.predict(new))
    spread = np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.mean(np.abs(np.mean(draws, axis=0) - exact) <= 4 * spread) > 0.9


def test_a_trained_network_says_what_is_proved():
    X, y = diabetes()
    model = TwoLayerRegressor(width=2048).fit(X[:60], y[:60])
    assert model.status_ == "certified" and model.certified_ and model.relative_misfit_ <= 1e-9  # the usual tolerance
    assert model.radius_ < 1e-6  # of a bound: far below any weight
    assert_reached(model, X[:60], y[:60])
    assert TwoLayerRegressor(width=64, max_steps=1, optimizer="gd").fit(X, X[:, 0]).status_ == "budget_spent"


def test_seeds_are_those_of_the_functions():
    X, y = diabetes()
    model = TwoLayerRegressor(width=50, center=False, bias=0.0, optimizer="gd", max_steps=20, random_state=7).fit(X, y)
    run = zeroloss.fit(X, (y - y.mean()) / y.std(), task="regression", width=50, max_steps=20, seed=7, certify_every=0)
    np.testing.assert_array_equal(model.network_.outputs[0].W, run.network.outputs[0].W)
    fits = [TwoLayerRegressor(width=50, random_state=s).fit(X, y).predict(X + 1) for s in (1, 1, 2)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_grid_search_and_accuracy():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:300], y[:300]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), NTKClassifier()),
        {"ntkclassifier__ridge": [1e-3, 1e-1], "ntkclassifier__bias": [0.0, 1.0]}, cv=3
    ).fit(X, y)  # fmt: skip
    assert search.best_score_ > 0.93
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(make_pipeline(StandardScaler(), NTKClassifier()), X, y, cv=5).mean() > 0.93


def test_a_grid_of_activations_of_one_s_own():
    mine = kernel.Activation("mine", np.tanh, lambda z: 1 / np.cosh(z) ** 2, B=1.0, M=0.77, dphi_parity="even")
    X, y = diabetes()
    search = GridSearchCV(NTKRegressor(), {"activation": ["relu", mine]}, cv=2).fit(X[:40], y[:40])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert clone(NTKRegressor(activation=mine)).activation.phi(0.3) == np.tanh(0.3)


def test_fits_that_do_not_reach_zero_loss_say_so():
    X, y = diabetes()
    with pytest.warns(ConvergenceWarning, match="not converged: .* 2 steps are done"):
        TwoLayerRegressor(width=50, max_steps=2, optimizer="gd").fit(X[:40], y[:40])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        TwoLayerRegressor(width=500).fit(X[:40], y[:40])


def test_fewer_random_features_than_points_are_fitted_by_least_squares():
    X, y = diabetes()
    with pytest.warns(ConvergenceWarning, match="50 random features .* least squares"):
        model = RandomFeatureRegressor(width=50, random_state=1).fit(X, y)
    Phi = np.maximum(model._new_points(X) @ model.network_.outputs[0].W.T, 0)
    by_numpy = Phi @ np.linalg.lstsq(Phi, (y - y.mean()) / y.std(), rcond=None)[0]
    off = 2 * solution_error(150, np.linalg.cond(Phi)) * np.linalg.norm(y - y.mean())
    np.testing.assert_allclose(model.predict(X), by_numpy * y.std() + y.mean(), rtol=gamma(2 * 150), atol=off)
    assert 0.5 < model.score(X, y) < 1


def test_columns_of_many_scales_end_soon_and_with_a_hint():
    X, y = load_wine(return_X_y=True)
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="columns differ a hundredfold in scale: put a StandardScaler before"):
        TwoLayerClassifier(width=256).fit(X, y)
    assert time.monotonic() - began < 60
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        TwoLayerClassifier(width=256).fit(StandardScaler().fit_transform(X), y)
    with pytest.warns(ConvergenceWarning, match="its share of 0.01 seconds is over"):
        TwoLayerClassifier(optimizer="gd", max_seconds=0.01).fit(X, y)


def test_targets_of_a_regression_are_numbers():
    X = np.eye(3)
    for model in (NTKRegressor(), TwoLayerRegressor(), RandomFeatureRegressor()):
        with pytest.raises(ValueError, match="y must be real numbers; its type is <U1"):
            model.fit(X, ["a", "b", "c"])
    with pytest.raises(ValueError, match="activation must be a name, an Activation, or several; got <ufunc 'tanh'>"):
        NTKRegressor(activation=np.tanh).fit(X, [1, 2, 3])


def test_memory_of_a_choice_of_ridges():
    """About three matrices of n x n: the kernel, in which its eigenvectors are made, and two of LAPACK's."""
    script = (
        "import resource, numpy as np, zeroloss\n"
        "from zeroloss.estimators import NTKRegressor\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "rng = np.random.default_rng(0)\n"
        "NTKRegressor().fit(rng.normal(size=(100, 5)), rng.normal(size=100))\n"
        "before = peak()\n"
        "NTKRegressor().fit(rng.normal(size=(2000, 5)), rng.normal(size=2000))\n"
        "print((peak() - before) / (8 * 2000**2))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 3.4, done.stdout


def test_memorizers_are_right_and_say_when_they_cannot_be():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 10)), rng.integers(4, size=500)
    assert (MemorizingClassifier().fit(X, y).predict(X) == y).all()
    with pytest.raises(zeroloss.DataError, match="same point"):
        MemorizingClassifier().fit(np.ones((4, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": "some"}, "ridge"),
        ({"activation": []}, "activation"),
        ({"activation": "swish2"}, "swish2"),
        ({"bias": -1.0}, "bias"),
    ],
)
def test_parameters_are_checked(parameters, words):
    with pytest.raises(ValueError, match=words):
        NTKRegressor(**parameters).fit(*diabetes())
