"""NTK estimators on inducing points."""

import numpy as np
import pytest

from bounds import gamma
from zeroloss import kernel
from zeroloss.estimators import NTKClassifier, NTKRegressor

datasets = pytest.importorskip("sklearn.datasets")


def waves(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def test_it_is_the_least_squares_of_the_kernels_at_the_inducing_points():
    X, y = waves(700)
    weights = np.random.default_rng(1).uniform(0.5, 2, size=700)
    model = NTKRegressor(activation="relu", ridge=1e-2, inducing_points=60).fit(X, y, sample_weight=weights)
    assert model.X_fit_.shape == (60, 4) and len(model.held_out_) == 128
    fitted = np.delete(np.arange(700), model.held_out_)
    sigma = kernel.sigma("relu")
    points = kernel.unit_rows(np.column_stack([X - model.mean_, np.full(700, model.bias_)]))
    K = kernel.cross_gram(points[fitted], model.X_fit_, sigma, normalize=False) * np.sqrt(weights[fitted])[:, None]
    root = np.linalg.cholesky(kernel.cross_gram(model.X_fit_, model.X_fit_, sigma, normalize=False))
    target = (y[fitted] - model.offset_) * np.sqrt(weights[fitted])
    ridge = 1e-2 * sigma(1.0)
    A = np.linalg.lstsq(np.vstack([K, np.sqrt(ridge) * root.T]), np.append(target, np.zeros(60)), rcond=None)[0]
    values = kernel.cross_gram(points, model.X_fit_, sigma, normalize=False) @ A + model.offset_
    M, k = root @ root.T, kernel.cross_gram(points, model.X_fit_, sigma, normalize=False)
    like = np.linalg.cholesky(weights[fitted].sum() / 60 * M @ M + ridge * M)  # of the preconditioner
    least = np.linalg.svd(np.linalg.solve(like, np.hstack([K.T, np.sqrt(ridge) * root])))[1][-1] ** 2
    # Conjugate gradients end where the preconditioned residual is 1e-6 of the first.
    missed = 1e-6 * np.linalg.norm(np.linalg.solve(like, K.T @ target)) / least
    off = missed * np.linalg.norm(np.linalg.solve(like, k.T), axis=0).max()
    np.testing.assert_allclose(model.predict(X), values, rtol=0, atol=off)
    left_out = model.predict(X[model.held_out_])
    off = gamma(2 * 60 + 4) * (np.abs(k) @ np.abs(model.dual_coef_))[model.held_out_, 0] + gamma(4) * np.abs(y).max()
    assert (np.abs(model.leave_one_out_predictions_ - left_out) <= off).all()
    assert (np.abs(model.leave_one_out_residuals_ - (y[model.held_out_] - left_out)) <= off).all()


def test_it_comes_close_to_the_exact_predictor():
    X, y = waves(1500)
    X_test, y_test = waves(500, seed=9)
    exact = NTKRegressor().fit(X, y).score(X_test, y_test)
    some = NTKRegressor(inducing_points=400).fit(X, y).score(X_test, y_test)
    assert exact > 0.97
    assert some > exact - 0.01


def test_classes_and_their_probabilities():
    X, y = datasets.load_digits(return_X_y=True)
    model = NTKClassifier(inducing_points=400).fit(X[:1300], y[:1300])
    assert model.score(X[1300:], y[1300:]) > 0.93
    chances = model.predict_proba(X[1300:])
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=0, atol=gamma(2 * 10 + 2))
    right = chances.max(axis=1)[model.predict(X[1300:]) == y[1300:]]
    assert right.mean() > 0.5
    assert model.leave_one_out_scores_.shape == (len(model.held_out_), 10)
    assert model.leave_one_out_error_ < 0.1


def test_the_kernel_of_all_points_is_taken_where_it_fits():
    X, y = waves(100)
    for wanted in ("auto", None, 100, 500):
        model = NTKRegressor(inducing_points=wanted).fit(X, y)
        assert model.held_out_ is None and len(model.X_fit_) == 100


@pytest.mark.parametrize("wanted", [0, -1, 2.5, "many", True])
def test_other_numbers_are_refused(wanted):
    X, y = waves(50)
    with pytest.raises(ValueError, match="inducing_points must be"):
        NTKRegressor(inducing_points=wanted).fit(X, y)


def test_no_ridge_is_refused():
    X, y = waves(50)
    with pytest.raises(ValueError, match="ridge > 0"):
        NTKRegressor(ridge=0, inducing_points=10).fit(X, y)
