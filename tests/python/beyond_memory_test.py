"""NTK estimators beyond memory: conjugate gradients, what is proved of them, and the posterior of the process."""

import pickle

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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_what_two_solvers_say_is_within_their_bounds(weighted, outputs):
    X, y = waves(300)
    y = y if outputs == 1 else np.column_stack([y, y**2])
    weights = np.random.default_rng(1).uniform(0.5, 2, size=300) if weighted else None
    Z, _ = waves(50, seed=3)
    said = {}
    for solver in ("exact", "cg"):
        model = NTKRegressor(activation="relu", ridge=1e-2, solver=solver).fit(X, y, sample_weight=weights)
        assert model.solver_ == solver and model.solution_error_.shape == (outputs, outputs)
        values, bound = model.predict(Z, return_bound=True)
        assert values.shape == bound.shape == y[:50].shape
        off = gamma(300 + 3) * np.abs(model.dual_coef_).sum() + gamma(2) * np.abs(values).max()  # |k| <= 1/2, twice
        np.testing.assert_allclose(model.predict(Z), values, rtol=0, atol=off)
        said[solver] = values, bound
    (exact, near_exact), (steps, near_steps) = said["exact"], said["cg"]
    assert (np.abs(exact - steps) <= near_exact + near_steps).all()
    assert near_exact.max() < near_steps.max() < 1e-5


def test_classes_that_are_proved_are_those_of_the_other_solver():
    X, y = datasets.load_digits(return_X_y=True)
    exact = NTKClassifier(activation="erf", ridge=1e-2, solver="exact").fit(X[:1000], y[:1000])
    steps = NTKClassifier(activation="erf", ridge=1e-2, solver="cg").fit(X[:1000], y[:1000])
    labels, decided = steps.predict(X[1000:], return_bound=True)
    assert decided.mean() > 0.99
    assert (labels == exact.predict(X[1000:]))[decided].all()
    scores, bound = steps.decision_function(X[1000:], return_bound=True)
    others, its = exact.decision_function(X[1000:], return_bound=True)
    assert (np.abs(scores - others) <= bound + its).all()
    two = NTKClassifier(activation="erf", ridge=1e-2, solver="cg").fit(X[:500], y[:500] > 4)
    labels, decided = two.predict(X[500:900], return_bound=True)
    assert (labels == (two.decision_function(X[500:900]) >= 0)).all() and decided.any()


def test_of_many_points_an_even_choice_decides():
    X, y = waves(4500)
    model = NTKRegressor(activation=("relu", "erf"), ridge=(1e-3, 1e-2), solver="cg").fit(X, y)
    rows = np.linspace(0, 4499, 4000).astype(int)
    assert (model.held_out_ == rows).all() and len(model.X_fit_) == 4500
    assert model.leave_one_out_residuals_.shape == (4000,)
    assert (np.abs(model.leave_one_out_predictions_ + model.leave_one_out_residuals_ - y[rows]) <= 1e-12).all()  # 3 ulp
    assert model.leave_one_out_error_ < 0.3


def test_without_a_ridge_the_least_eigenvalue_is_proved_first():
    X, y = waves(60)
    model = NTKRegressor(activation="relu", ridge=0).fit(X, y)
    assert model.solution_error_ is None
    values, bound = model.predict(X, return_bound=True)
    # The exact predictor interpolates.
    assert (np.abs(values - y) <= bound).all() and bound.max() < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_steps_without_a_ridge_are_bounded_where_the_least_eigenvalue_exceeds_one(seed):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(20, 200)), random.normal(size=20)
    model = NTKRegressor(activation="erf", depth=10, ridge=0, solver="cg", center=False, bias=0).fit(X, y)
    values, bound = model.predict(X, return_bound=True)
    assert (np.abs(values - y) <= bound).all()  # the exact predictor interpolates


@pytest.mark.parametrize("weighted", [False, True])
def test_the_posterior_is_that_of_the_gaussian_process(weighted):
    X, y = waves(80)
    weights = np.random.default_rng(1).uniform(0.5, 2, size=80) if weighted else None
    model = NTKRegressor(activation="relu", ridge=1e-2).fit(X, y, sample_weight=weights)
    Z, _ = waves(20, seed=5)
    points = kernel.unit_rows(np.column_stack([Z - model.mean_, np.full(20, model.bias_)]))
    K, k = (kernel.cross_gram(A, model.X_fit_, "relu", normalize=False) for A in (model.X_fit_, points))
    noise = 1e-2 * 0.5 / (np.ones(80) if weights is None else weights)
    variance = 0.5 - np.einsum("ij,ji->i", k, np.linalg.solve(K + np.diag(noise), k.T))
    values, std = model.predict(Z, return_std=True)
    assert (values == model.predict(Z)).all()
    # Cholesky: gamma_{3 n + 1} k(1) |A^-1 k|_1^2, here and in LAPACK.
    off = 2 * gamma(3 * 80 + 1) * np.abs(np.linalg.solve(K + np.diag(noise), k.T)).sum(axis=0).max() ** 2
    np.testing.assert_allclose(std**2, variance, rtol=0, atol=off)
    copied = pickle.loads(pickle.dumps(model))
    assert (copied.predict(Z, return_std=True)[1] == std).all()
    assert len(model.predict(Z, return_bound=True, return_std=True)) == 3


def test_what_is_not_there_is_refused():
    X, y = waves(60)
    with pytest.raises(ValueError, match="solver must be"):
        NTKRegressor(solver="lu").fit(X, y)
    with pytest.raises(ValueError, match="leave out inducing_points"):
        NTKRegressor(solver="cg", inducing_points=10).fit(X, y)
    few = NTKRegressor(inducing_points=10, ridge=1e-2).fit(X, y)
    assert few.solver_ == "inducing"
    with pytest.raises(ValueError, match="another predictor"):
        few.predict(X, return_bound=True)
    with pytest.raises(ValueError, match="return_std is for"):
        few.predict(X, return_std=True)
    own = kernel.Activation("own", np.tanh, lambda z: 1 - np.tanh(z) ** 2, B=1.0, M=1.0)
    with pytest.raises(ValueError, match="not verified"):
        NTKRegressor(activation=own, ridge=1e-2).fit(X, y).predict(X, return_bound=True)
