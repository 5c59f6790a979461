"""Estimators in scikit-learn's form. They need scikit-learn: ``pip install "zeroloss[sklearn]"``.

Networks see points as unit vectors. Here a point is centred, gets a constant coordinate and is divided by its length, so
that its distance from the mean still counts; scaling of single features is the business of a pipeline.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .. import kernel
from ..api.functions import fit as train
from ..api.functions import memorize

__all__ = ["MemorizingClassifier", "NTKClassifier", "NTKRegressor", "RandomFeatureRegressor", "TwoLayerClassifier",
           "TwoLayerRegressor"]  # fmt: skip

Array = npt.NDArray[np.float64]

AUTO_RIDGE = tuple(float(f"{r:.3g}") for r in np.logspace(-6, 1, 15))


def _seed(random_state: Any) -> int:
    """An integer is the seed of the library's own streams, as in zeroloss.fit; anything else draws one."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _real(y: npt.NDArray[Any]) -> Array:
    """Targets of a regression."""
    if y.dtype.kind not in "buif":
        raise ValueError(f"y must be real numbers; its type is {y.dtype}")
    return y.astype(np.float64)


class _OnSphere(BaseEstimator):
    """Points as unit vectors: centre, append a constant, divide by the length."""

    center: bool
    bias: float

    def _learn_points(self, X: Array) -> Array:
        """Learns the transformation; returns the points before they are divided by their lengths."""
        self.mean_ = X.mean(axis=0) if self.center else np.zeros(X.shape[1])
        if not self.bias >= 0:
            raise ValueError(f"bias must be >= 0; got {self.bias!r}")
        length = np.sqrt(np.mean(np.sum((X - self.mean_) ** 2, axis=1)))
        self.bias_ = self.bias * (float(length) or 1.0)
        return self._points(X)

    def _points(self, X: Array) -> Array:
        Z: Array = X - self.mean_
        return np.column_stack([Z, np.full(len(Z), self.bias_)]) if self.bias_ > 0 else Z

    def _new_points(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        return kernel.unit_rows(self._points(validate_data(self, X, dtype=np.float64, reset=False)))


class _NTK(_OnSphere):
    """f(x) = k(x, X) (K + ridge k(1) I)^-1 y, K the kernel Sigma of an infinitely wide two-layer network."""

    def __init__(self, activation: Any = "relu", ridge: Any = "auto", center: bool = True, bias: float = 1.0):
        self.activation = activation
        self.ridge = ridge
        self.center = center
        self.bias = bias

    def _choices(self) -> tuple[list[Any], list[float]]:
        several = isinstance(self.activation, Iterable) and not isinstance(self.activation, str)
        activations = list(self.activation) if several else [self.activation]
        if not all(isinstance(a, (str, kernel.Activation)) for a in activations):
            raise ValueError(f"activation must be a name, an Activation, or several; got {self.activation!r}")
        if isinstance(self.ridge, str):
            if self.ridge != "auto":
                raise ValueError(f"ridge must be auto, a number >= 0 or several; got {self.ridge!r}")
            ridges = list(AUTO_RIDGE)
        else:
            ridges = np.atleast_1d(np.asarray(self.ridge, dtype=np.float64)).tolist()
        if not activations or not ridges or min(ridges) < 0 or not np.isfinite(ridges).all():
            raise ValueError(f"activation and ridge: one or several, ridges finite and >= 0; got {self.ridge!r}")
        return activations, ridges

    def _loss(self, left_out: Array, Y: Array) -> tuple[float, float]:
        """Of leave-one-out predictions; the second number decides between equal first ones."""
        raise NotImplementedError

    def _solve(self, X: Array, Y: Array) -> None:
        """Learns from targets Y, n x c: the coefficients, and activation and ridge if there is a choice."""
        activations, ridges = self._choices()
        self.X_fit_ = kernel.unit_rows(self._learn_points(X))
        best: tuple[float, float] | None = None
        for activation in activations:
            sigma = kernel.sigma(activation)
            K = kernel.gram(self.X_fit_, sigma, normalize=False).K
            scale = float(sigma(1.0))
            if len(activations) == len(ridges) == 1:
                self._kernel, self.activation_, self.ridge_ = sigma, activation, ridges[0]
                self.dual_coef_, self.leave_one_out_error_ = _cholesky(K, ridges[0] * scale, Y), None
                return
            # Transposed: LAPACK's order of columns, in place.
            values, Q = scipy.linalg.eigh(K.T, overwrite_a=True, check_finite=False, driver="evd")
            del K
            for ridge in ridges:
                coefficients, residuals = _leave_one_out(values, Q, ridge * scale, Y)
                loss = self._loss(Y - residuals, Y)
                if best is None or loss < best:
                    best = loss
                    self._kernel, self.activation_, self.ridge_ = sigma, activation, ridge
                    self.dual_coef_, self.leave_one_out_error_ = coefficients, loss[0]

    def _values(self, X: npt.ArrayLike) -> Array:
        """f at new points, m x c, in pieces of some hundred MB."""
        Z = self._new_points(X)
        rows = max(1, 2**25 // len(self.X_fit_))
        pieces = [
            kernel.cross_gram(Z[i : i + rows], self.X_fit_, self._kernel, normalize=False) @ self.dual_coef_
            for i in range(0, len(Z), rows)
        ]
        return np.concatenate(pieces)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kernel"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "activation_" in state:
            self._kernel = kernel.sigma(self.activation_)


def _inverse(values: Array, ridge: float) -> Array:
    """1/(values + ridge), 0 where that is rounding: then the least-norm solution is meant."""
    shifted = values + ridge
    least = len(values) * np.finfo(float).eps * max(shifted[-1], 0.0)
    return np.where(shifted > least, 1 / np.where(shifted > least, shifted, 1.0), 0.0)


def _leave_one_out(values: Array, Q: Array, ridge: float, Y: Array) -> tuple[Array, Array]:
    """The coefficients c = A^+ Y of A = Q diag(values) Q^T + ridge I, and what each point's target is off from the
    prediction that c of the other points gives.

    With e_i in the range of A that is c_i/(A^+)_ii. Where A is singular and e_i is not, the other points reach no
    exact answer in the direction of N_i, i's row of the null space N, and the residual is N_i N^T Y/||N_i||^2.
    """
    inverse = _inverse(values, ridge)
    coefficients = Q @ (inverse[:, None] * (Q.T @ Y))
    rows = range(0, len(Q), 1024)  # squares of all of Q would be another n^2 doubles
    diagonal = np.concatenate([np.square(Q[i : i + 1024]) @ inverse for i in rows])
    residuals = coefficients / np.maximum(diagonal, np.finfo(float).tiny)[:, None]
    N = Q[:, inverse == 0]
    if N.shape[1] > 0:
        # An entry that should be 0 is off by n eps lambda_max/gap: below 1e-5 wherever the null space is separated by
        # n 2e-11 lambda_max. Entries that matter are of order 1 (repeated points) to 1/sqrt(n).
        free = np.square(N).sum(axis=1)
        outside = free > 1e-10
        residuals[outside] = (N[outside] @ (N.T @ Y)) / free[outside, None]
    return coefficients, residuals


def _cholesky(K: Array, ridge: float, Y: Array) -> Array:
    """(K + ridge I)^-1 Y; of a numerically singular matrix the least-norm solution. Overwrites K."""
    n = len(K)
    K.flat[:: n + 1] += ridge
    diagonal = K.diagonal().copy()
    # Transposed: LAPACK's order of columns, in place, and only the lower triangle is touched.
    factor, info = scipy.linalg.lapack.dpotrf(K.T, lower=1, overwrite_a=1, clean=0)
    if info == 0 and np.min(factor.diagonal()) ** 2 > n * np.finfo(float).eps * np.max(diagonal):
        return scipy.linalg.lapack.dpotrs(factor, Y, lower=1)[0]
    upper = np.triu(K.T, 1)  # what the factorisation left alone
    full = upper + upper.T
    full.flat[:: n + 1] = diagonal
    values, Q = scipy.linalg.eigh(full, overwrite_a=True, check_finite=False, driver="evd")
    return Q @ (_inverse(values, 0.0)[:, None] * (Q.T @ Y))


_NTK_PARAMETERS = """
    Parameters
    ----------
    activation : str, Activation, or several, default="relu"
        Of the hidden units; of several the one with the least leave-one-out error is taken.
    ridge : float, several, or "auto", default="auto"
        In units of the kernel's diagonal k(1): of several the one with the least leave-one-out error, in closed form
        from one eigendecomposition for each activation. 0 interpolates. auto: 15 values from 1e-6 to 10.
    center : bool, default=True
        Subtract the mean point.
    bias : float, default=1.0
        A constant coordinate of every point before it is divided by its length, in units of the points' root mean square
        length; 0 = none, then only directions count.

    Attributes
    ----------
    activation_, ridge_ : the ones in use.
    leave_one_out_error_ : float or None
        {error}; None where there was nothing to choose.
    X_fit_ : array of shape (n, d + 1) or (n, d)
        The training points as unit vectors.
    dual_coef_ : array of shape (n, outputs)
    mean_, bias_ : what points are transformed with.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Notes
    -----
    Memory: 1.5 n^2 doubles with one choice, 3.1 n^2 with several (measured at n = 4,000), and 2 n d. n^3/3 multiply-adds
    with one choice, some 20 times that with several.

    A point is left out with its target. The mean point, the constant's length and a regression's mean target stay those of
    all points, so `leave_one_out_error_` is a little low: measured by up to 16 % at n = 5, 1 % at n = 50.
"""


class NTKRegressor(MultiOutputMixin, RegressorMixin, _NTK):
    __doc__ = (
        """Regression with the exact predictor of the infinitely wide two-layer network.

    It is kernel ridge regression with the neural tangent kernel; the targets' mean is added back.
"""
        + _NTK_PARAMETERS.format(error="Root mean square of the leave-one-out residuals")
    )

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> NTKRegressor:
        """Learns from points X, n x d, and n targets or n x c targets y."""
        data, targets = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        targets = _real(targets)
        self.offset_ = targets.mean(axis=0)
        Y = targets - self.offset_
        self._one = Y.ndim == 1
        self._solve(data, Y.reshape(len(data), -1))
        return self

    def _loss(self, left_out: Array, Y: Array) -> tuple[float, float]:
        return float(np.sqrt(np.mean((left_out - Y) ** 2))), 0.0

    def predict(self, X: npt.ArrayLike) -> Array:
        """Values at points X."""
        values = self._values(X)
        return (values[:, 0] if self._one else values) + self.offset_


class _OneVersusRest(ClassifierMixin):
    """Classes as columns of -1 and +1, and back."""

    def _learn_classes(self, y: Any) -> npt.NDArray[np.intp]:
        check_classification_targets(y)
        self.classes_, index = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"classification needs two classes; got one class, {self.classes_[0]!r}")
        return index

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The class of each point."""
        scores = self.decision_function(X)
        index = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]


class NTKClassifier(_OneVersusRest, _NTK):
    __doc__ = (
        """Classification with the exact predictor of the infinitely wide two-layer network.

    Targets are -1 and +1, one class against the rest; the largest output decides.
"""
        + _NTK_PARAMETERS.format(error="Fraction misclassified by the leave-one-out predictions")
        + """    classes_ : array of the labels.
"""
    )

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> NTKClassifier:
        """Learns from points X, n x d, and n labels y."""
        data, labels = validate_data(self, X, y, dtype=np.float64)
        index = self._learn_classes(labels)
        classes = len(self.classes_)
        Y: Array = 2.0 * np.eye(classes)[index] - 1 if classes > 2 else (2.0 * index - 1)[:, None]
        self._solve(data, Y)
        return self

    def _loss(self, left_out: Array, Y: Array) -> tuple[float, float]:
        wrong = left_out.argmax(axis=1) != Y.argmax(axis=1) if Y.shape[1] > 1 else (left_out >= 0) != (Y > 0)
        return float(np.mean(wrong)), float(np.mean((left_out - Y) ** 2))

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Outputs at points X: one number for two classes, positive for the second; else one a class."""
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else values


class _TwoLayer(_OnSphere):
    """A trained network of finite width, with what is proved about it."""

    def __init__(
        self,
        width: int = 1024,
        activation: str = "relu",
        scaling: str = "ntk",
        optimizer: str = "gauss_newton",
        step: float | str = "auto",
        batch: int = 1,
        max_steps: int = 100_000,
        tolerance: float = 0.0,
        center: bool = True,
        bias: float = 1.0,
        random_state: Any = 0,
    ):
        self.width = width
        self.activation = activation
        self.scaling = scaling
        self.optimizer = optimizer
        self.step = step
        self.batch = batch
        self.max_steps = max_steps
        self.tolerance = tolerance
        self.center = center
        self.bias = bias
        self.random_state = random_state

    def _train(self, X: Array, y: npt.NDArray[Any], task: str, **options: Any) -> None:
        run = train(self._learn_points(X), y, task=task, activation=self.activation, width=self.width,
                    certify_every=0, seed=_seed(self.random_state), **options)  # fmt: skip
        narrow = options.get("optimizer") == "output_layer" and self.width < len(X)  # is not meant to interpolate
        if run.status not in ("certified", "converged") and not narrow:
            warnings.warn(run.conclusion, ConvergenceWarning)
        self.network_ = run.network
        self.status_ = run.status
        self.relative_misfit_ = run.relative_misfit
        self.certified_ = run.certificate.holds
        self.radius_ = run.certificate.radius if run.certificate.holds else None
        self.n_iter_ = max(1, run.steps)

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in
                ("scaling", "optimizer", "step", "batch", "max_steps", "tolerance")}  # fmt: skip

    def _outputs(self, X: npt.ArrayLike) -> Array:
        Z = self._new_points(X)
        return self.network_(Z)


_TWO_LAYER_PARAMETERS = """
    Parameters
    ----------
    width, activation, scaling, optimizer, step, batch, max_steps, tolerance
        As for :func:`zeroloss.fit`, but the optimizer is gauss_newton by default, the quickest to zero loss.
    center : bool, default=True
        Subtract the mean point.
    bias : float, default=1.0
        A constant coordinate of every point before it is divided by its length, in units of the points' root mean square
        length; 0 = none, then only directions count.
    random_state : int, RandomState or None, default=0
        An integer is the seed of :func:`zeroloss.fit`.

    Attributes
    ----------
    network_ : Network
        On points as unit vectors.
    status_ : str
        certified, converged, budget_spent or diverged; of the last two a ConvergenceWarning tells.
    certified_ : bool
        It is proved that an exact solution lies within `radius_` of these weights.
    radius_ : float or None
    relative_misfit_ : float
    n_iter_ : int
        Steps.
    mean_, bias_ : what points are transformed with.
    offset_, scale_ : mean and standard deviation of the targets (regression).
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.
"""


class _Regression(RegressorMixin):
    """Targets of mean 0 and variance 1, the size of a fresh network's outputs."""

    def _learn(self, X: Any, y: Any, **options: Any) -> None:
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = _real(y)
        self.offset_ = float(y.mean())
        self.scale_ = float(y.std()) or 1.0
        self._train(X, (y - self.offset_) / self.scale_, "regression", **options)

    def predict(self, X: npt.ArrayLike) -> Array:
        """Values at points X."""
        return self._outputs(X)[:, 0] * self.scale_ + self.offset_


class TwoLayerRegressor(_Regression, _TwoLayer):
    __doc__ = (
        "Regression with a two-layer network trained to zero loss, on targets of mean 0 and variance 1.\n"
        + _TWO_LAYER_PARAMETERS
    )

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> TwoLayerRegressor:
        """Trains on points X, n x d, and n targets y."""
        self._learn(X, y, **self._options())
        return self


class TwoLayerClassifier(_OneVersusRest, _TwoLayer):
    __doc__ = (
        "Classification with two-layer networks trained to zero loss, one a class (one in all for two classes).\n"
        + _TWO_LAYER_PARAMETERS
        + "    classes_ : array of the labels.\n"
    )

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> TwoLayerClassifier:
        """Trains on points X, n x d, and n labels y."""
        data, labels = validate_data(self, X, y, dtype=np.float64)
        self._train(data, self._learn_classes(labels), "classification", **self._options())
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Outputs at points X: one number for two classes, positive for the second; else one a class."""
        outputs = self._outputs(X)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs


class RandomFeatureRegressor(_Regression, _TwoLayer):
    """Regression with random hidden units: only the output layer is trained, v = Phi^T (Phi Phi^T)^-1 y.

    As wide as there are points, it interpolates them.

    Parameters
    ----------
    width : int, default=1024
        Hidden units.
    activation : str, default="relu"
        A name that :func:`zeroloss.fit` knows.
    center, bias, random_state
        As for TwoLayerRegressor.

    Attributes
    ----------
    As of TwoLayerRegressor; `radius_` is a distance of the output weights.
    """

    def __init__(
        self,
        width: int = 1024,
        activation: str = "relu",
        center: bool = True,
        bias: float = 1.0,
        random_state: Any = 0,
    ):
        self.width = width
        self.activation = activation
        self.center = center
        self.bias = bias
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> RandomFeatureRegressor:
        """Solves for the output layer on points X, n x d, and n targets y."""
        self._learn(X, y, optimizer="output_layer")
        return self


class MemorizingClassifier(_OneVersusRest, BaseEstimator):
    """A residual network that is right at every training point, written down and verified, not trained.

    It knows its points and nothing else: on new ones it guesses. Points that are equal must have equal labels.

    Parameters
    ----------
    construction, hidden, precision, margin
        As for :func:`zeroloss.memorize`.
    random_state : int, RandomState or None, default=0
        An integer is the seed of :func:`zeroloss.memorize`.

    Attributes
    ----------
    network_ : Memorizer
    min_margin_ : float
    classes_ : array of the labels.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.
    """

    def __init__(
        self,
        construction: str = "norm_ordered",
        hidden: int | None = None,
        precision: str = "float64",
        margin: float | None = None,
        random_state: Any = 0,
    ):
        self.construction = construction
        self.hidden = hidden
        self.precision = precision
        self.margin = margin
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> MemorizingClassifier:
        """Builds the network for points X, n x d, and n labels y. ValueError if it is not right at all of them."""
        data, labels = validate_data(self, X, y, dtype=np.float64)
        built = memorize(data, self._learn_classes(labels), task="classification", construction=self.construction,
                         hidden=self.hidden, precision=self.precision, margin=self.margin,
                         seed=_seed(self.random_state))  # fmt: skip
        if built.status != "memorized":
            raise ValueError(built.conclusion)
        self.network_: Any = built.network
        self.min_margin_ = built.min_margin
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Outputs at points X: their difference for two classes, positive for the second; else one a class."""
        check_is_fitted(self)
        outputs = self.network_(validate_data(self, X, dtype=np.float64, reset=False))
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs
