"""Estimators of trained networks: several targets, and probabilities."""

import numpy as np
import pytest

import zeroloss
from bounds import U, gamma, residual_error
from rounding import two_layers

pytest.importorskip("sklearn")
from sklearn.datasets import load_diabetes, load_wine
from sklearn.preprocessing import StandardScaler

from zeroloss import kernel
from zeroloss.estimators import RandomFeatureRegressor, TwoLayerClassifier, TwoLayerRegressor
from zeroloss.estimators.linearized import left_out, moved, tangent_kernel
from zeroloss.estimators.two_layer import every_fifth

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of noisy labels, below


@pytest.mark.parametrize("kind", [TwoLayerRegressor, RandomFeatureRegressor])
def test_of_several_targets_each_has_the_network_that_it_alone_would_have(kind):
    X, y = load_diabetes(return_X_y=True)
    X, Y = StandardScaler().fit_transform(X)[:60], np.column_stack([y[:60], np.arange(60) % 7, np.full(60, 3.0)])
    model = kind(width=2048, random_state=3).fit(X, Y)
    assert len(model.network_) == 3 and model.predict(X + 0.1).shape == (60, 3)
    alone = [kind(width=2048, random_state=3).fit(X, Y[:, k]) for k in range(3)]
    points, spread = model._new_points(X), np.where(Y.std(axis=0) > 0, Y.std(axis=0), 1.0)
    relu = kernel.activation("relu")
    off = np.empty(3)
    for k in range(3):
        network, theirs = model.network_[k], alone[k].network_
        W, v = network.outputs[0].W, network.outputs[0].v
        features = relu.phi(points @ W.T)
        K = tangent_kernel(points, W, v, relu) if kind is TwoLayerRegressor else features @ features.T
        # Both end with a misfit, of a size that rounding has too, at weights within twice that over s_min(J).
        off[k] = 2 * (model.relative_misfit_ * np.sqrt(60) + np.linalg.norm(two_layers(network, points)))
        weights = off[k] / np.sqrt(np.linalg.eigvalsh(K)[0])
        slope = np.linalg.norm(v) if kind is TwoLayerRegressor else np.linalg.norm(W)  # of the outputs of unit rows
        np.testing.assert_allclose(model.predict(X + 0.1)[:, k], alone[k].predict(X + 0.1), rtol=4 * U,
                                   atol=spread[k] * weights * slope)  # fmt: skip
        np.testing.assert_allclose(W, theirs.outputs[0].W, rtol=0, atol=weights)
        np.testing.assert_allclose(v, theirs.outputs[0].v, rtol=0, atol=weights)
    np.testing.assert_allclose(model.predict(X), Y, rtol=4 * U, atol=(spread * off).max())
    assert model.certified_ == all(one.certified_ for one in alone)
    worst = max(one.relative_misfit_ for one in alone)
    assert model.relative_misfit_ == pytest.approx(worst, rel=0, abs=off.max())
    assert model.n_iter_ == max(one.n_iter_ for one in alone)
    column = kind(width=2048, random_state=3).fit(X, Y[:, :1])
    np.testing.assert_allclose(column.predict(X), model.predict(X)[:, :1], rtol=4 * U, atol=spread[0] * off[0])


def trained(classes, activation="gelu"):
    rng = np.random.default_rng(classes)
    X = kernel.unit_rows(rng.normal(size=(20, 6)))
    y = np.arange(20) % classes
    options = {"task": "classification", "width": 300, "activation": activation, "seed": 1, "certify_every": 0}
    done = zeroloss.fit(X, y, optimizer="gauss_newton", **options).network
    return X, y, done, zeroloss.fit(X, y, max_steps=0, **options).network


def test_the_linear_network_is_the_derivative_of_the_trained_one():
    X, _, done, start = trained(2)
    W, v, phi = done.outputs[0].W, done.outputs[0].v, kernel.activation("gelu")
    J = np.stack([(phi.dphi(W @ x) * v)[:, None] * x for x in X]).reshape(len(X), -1)
    lengths = np.linalg.norm(W, axis=1)
    slope = 21 * U + phi.M * gamma(2 * 6) * lengths.max()  # of phi', whose argument is a sum of 6
    off = (gamma(2 * (300 + 6)) * phi.B**2 + 2 * phi.B * slope) * (v @ v)
    np.testing.assert_allclose(tangent_kernel(X, W, v, phi), J @ J.T, rtol=0, atol=off)
    change = W - start.outputs[0].W
    by = np.linalg.norm(change, axis=1)
    np.testing.assert_allclose(moved(X, W, start.outputs[0].W, v, phi), J @ change.ravel(), rtol=0,
                               atol=(gamma(2 * (300 + 6)) * phi.B + slope) * (np.abs(v) @ by))  # fmt: skip
    h = 1e-6
    there = phi.phi(X @ (W + h * change).T) @ v
    # The second derivative is cut off; an output is a sum of 300 such of 6, with 16 u of phi.
    off = h / 2 * phi.M * (np.abs(v) @ by**2) + 2 * gamma(300 + 6 + 16) * phi.B * (np.abs(v) @ lengths) / h
    np.testing.assert_allclose((there - phi.phi(X @ W.T) @ v) / h, J @ change.ravel(), rtol=0, atol=off)


@pytest.mark.parametrize("repeated", [False, True])
def test_left_out_outputs_are_those_of_the_linear_network_without_the_point(repeated):
    X, y, done, start = trained(3)
    if repeated:
        X[5] = X[2]
    Y = 2 * np.eye(3)[y] - 1
    found = left_out(done, start, X, Y)
    phi = kernel.activation("gelu")
    for k in range(3):
        W, v = done.outputs[k].W, done.outputs[k].v
        J = np.stack([(phi.dphi(W @ x) * v)[:, None] * x for x in X]).reshape(len(X), -1)
        before = done(X)[:, k] - J @ (W - start.outputs[k].W).ravel()
        K = J @ J.T
        off = residual_error(K, np.linalg.pinv(K, rcond=40 * U, hermitian=True) @ (Y[:, k] - before))
        for i in (0, 2, 11):
            rest = np.delete(np.arange(20), i)
            step = np.linalg.lstsq(J[rest], (Y[:, k] - before)[rest], rcond=1e-10)[0]  # 0, but of rounding, is repeated
            assert found[i, k] == pytest.approx(before[i] + J[i] @ step, rel=0, abs=off)


def test_random_features_leave_points_out_exactly():
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[::3], (y[::3] > 0).astype(int)
    options = {"width": 256, "optimizer": "output_layer", "center": False, "bias": 0.0}
    model = TwoLayerClassifier(**options).fit(X, y)
    features = np.maximum(model._new_points(X) @ model.network_.outputs[0].W.T, 0)
    K = features @ features.T
    off = residual_error(K, np.linalg.solve(K, 2.0 * y - 1))
    for i in (0, 20, 50):
        rest = np.delete(np.arange(len(X)), i)
        without = TwoLayerClassifier(**options).fit(X[rest], y[rest])
        assert without.decision_function(X[[i]])[0] == pytest.approx(model.leave_one_out_scores_[i], rel=0, abs=off)


def test_every_fifth_of_its_class():
    index = np.array([0, 1, 0, 0, 2, 0, 0, 0, 1, 1, 1, 1])
    assert np.flatnonzero(every_fifth(index)).tolist() == [6, 11]


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_a_network_that_fits(classes):
    """As good as the best factor of the test points would make them, up to what so few points can say."""
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.minimum(y, classes - 1)
    model = TwoLayerClassifier(width=1024).fit(X[::2], y[::2])
    assert model.status_ in ("certified", "converged")
    said = model.predict_proba(X[1::2])
    assert said.shape == (89, classes)
    np.testing.assert_allclose(said.sum(axis=1), 1, rtol=0, atol=gamma(2 * classes + 2))
    np.testing.assert_array_equal(model.classes_[said.argmax(axis=1)], model.predict(X[1::2]))
    assert model.leave_one_out_scores_.shape == ((89,) if classes == 2 else (89, 3))
    assert -np.log(said[np.arange(89), y[1::2]]).mean() < 0.2


def test_probabilities_of_a_network_that_does_not_fit_are_not_certainties():
    """Noisy labels in three dimensions: a network of 128 units does not reach them, so held-out points decide."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2300, 3))
    y = np.argmax(3 * X @ rng.normal(size=(3, 2)) + rng.gumbel(size=(2300, 2)), axis=1)
    model = TwoLayerClassifier(width=128, max_steps=300).fit(X[:300], y[:300])
    assert model.status_ not in ("certified", "converged") and model.leave_one_out_scores_ is None
    said = model.predict_proba(X[300:])
    right = model.predict(X[300:]) == y[300:]
    assert abs(said.max(axis=1).mean() - right.mean()) < 0.06  # 60 held-out points: 0.04, and 0.01 of 2,000


def test_of_many_points_some_decide_on_probabilities(monkeypatch):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    monkeypatch.setattr("zeroloss.estimators.two_layer.CALIBRATION_POINTS", 60)
    model = TwoLayerClassifier(width=1024).fit(X, y)
    assert model.leave_one_out_scores_ is None
    assert -np.log(model.predict_proba(X)[np.arange(178), y]).mean() < 0.3


def test_the_worst_of_several_runs_is_what_fit_calls_the_worst():
    """Of statuses the order is that of fit: a budget that is spent is better than no progress."""
    from zeroloss._core import STATUSES

    ranked = ("certified", "converged", "solved", "budget_spent", "stalled", "diverged", "interrupted")
    assert ranked == STATUSES


def test_nothing_is_advised_where_zero_loss_is_impossible():
    X = np.array([[1.0, 0], [0, 1], [1, 1], [1, 0]])
    with pytest.warns(UserWarning) as said:
        TwoLayerClassifier(width=32, max_steps=5).fit(X, ["a", "b", "a", "b"])
    text = str(said[0].message)
    assert "zero loss is impossible" in text and "output_layer" not in text and "raise width" not in text
