"""The exact predictor of the infinitely wide two-layer network: kernel ridge regression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight

from .. import kernel
from .calibration import probabilities, temperature
from .points import Array, OnSphere, learned
from .ridge import RidgePath, positive_weights
from .targets import OneVersusRest, real

AUTO_RIDGE = tuple(float(f"{r:.3g}") for r in np.logspace(-6, 1, 15))


class _NTK(OnSphere):
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

    def _loss(self, left_out: Array, Y: Array, weights: Array | None) -> tuple[float, float]:
        """Of leave-one-out predictions; the second number decides between equal first ones."""
        raise NotImplementedError

    def _solve(self, X: Array, Y: Array, weights: Array | None) -> Array:
        """Learns from targets Y, n x c: the coefficients, and activation and ridge if there is a choice. Returns the
        leave-one-out predictions."""
        activations, ridges = self._choices()
        self.X_fit_ = kernel.unit_rows(self._learn_points(X, weights))
        best: tuple[float, float] | None = None
        for activation in activations:
            sigma = kernel.sigma(activation)
            scale = float(sigma(1.0))
            path = RidgePath(self.X_fit_, sigma, weights, several=len(ridges) > 1)
            for ridge in ridges:
                coefficients, residuals = path.solve(ridge * scale, Y)
                loss = self._loss(Y - residuals, Y, weights)
                if best is None or loss < best:
                    best = loss
                    self._kernel, self.activation_, self.ridge_ = sigma, activation, ridge
                    self.dual_coef_, self.leave_one_out_error_ = coefficients, loss[0]
                    left_out: Array = Y - residuals
        return left_out

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


_PARAMETERS = """
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
        A constant coordinate of every point before it is divided by its length, in units of the points' root mean
        square length; 0 = none, then only directions count.
{weight}
    Attributes
    ----------
    activation_, ridge_ : the ones in use.
    leave_one_out_error_ : float
        {error}.
    leave_one_out_predictions_ : array
        {predictions} at each training point, of all others; what sample_weight leaves out is not among them.
    X_fit_ : array of shape (n, d + 1) or (n, d)
        The training points as unit vectors.
    dual_coef_ : array of shape (n, outputs)
    mean_, bias_ : what points are transformed with.
{more}    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Notes
    -----
    Memory: 0.5 n^2 doubles with one ridge, 1.5 n^2 with several, and 2 n d. 2/3 n^3 multiply-adds with one ridge, four
    times that with several, for each activation; Ctrl-C is heard within a second.

    A point is left out with its target. The mean point, the constant's length and a regression's mean target stay those
    of all points, so `leave_one_out_error_` is a little low: measured by up to 16 % at n = 5, 1 % at n = 50.
"""


class NTKRegressor(MultiOutputMixin, RegressorMixin, _NTK):
    __doc__ = (
        """Regression with the exact predictor of the infinitely wide two-layer network.

    It is kernel ridge regression with the neural tangent kernel; the targets' mean is added back.
"""
        + _PARAMETERS.format(
            error="Root mean square of the leave-one-out residuals", predictions="The value", weight="", more=""
        )
    )

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> NTKRegressor:
        """Learns from points X, n x d, and n targets or n x c targets y, with weights of the squared residuals."""
        data, targets = learned(self, X, y, multi_output=True, y_numeric=True)
        weights, kept = positive_weights(sample_weight, len(data))
        data, targets = data[kept], real(targets)[kept]
        self.offset_: Array = np.average(targets, axis=0, weights=weights)
        Y = targets - self.offset_
        self._one = Y.ndim == 1
        left_out = self._solve(data, Y.reshape(len(data), -1), weights)
        self.leave_one_out_predictions_: Array = (left_out[:, 0] if self._one else left_out) + self.offset_
        return self

    def _loss(self, left_out: Array, Y: Array, weights: Array | None) -> tuple[float, float]:
        return float(np.sqrt(np.mean(np.average((left_out - Y) ** 2, axis=0, weights=weights)))), 0.0

    def predict(self, X: npt.ArrayLike) -> Array:
        """Values at points X."""
        values = self._values(X)
        return (values[:, 0] if self._one else values) + self.offset_


class NTKClassifier(OneVersusRest, _NTK):
    __doc__ = (
        """Classification with the exact predictor of the infinitely wide two-layer network.

    Targets are -1 and +1, one class against the rest; the largest output decides.
"""
        + _PARAMETERS.format(
            error="Fraction misclassified by the leave-one-out predictions",
            predictions="The label",
            weight="""    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' squared residuals, which sample weights are multiplied with.
""",
            more="""    leave_one_out_scores_ : array of shape (n,) or (n, classes)
        What decision_function says of each training point without it.
    classes_ : array of the labels.
""",
        )
    )

    def __init__(
        self,
        activation: Any = "relu",
        ridge: Any = "auto",
        center: bool = True,
        bias: float = 1.0,
        class_weight: Any = None,
    ):
        super().__init__(activation, ridge, center, bias)
        self.class_weight = class_weight

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> NTKClassifier:
        """Learns from points X, n x d, and n labels y, with weights of the squared residuals."""
        data, labels = learned(self, X, y)
        weights, kept = positive_weights(sample_weight, len(data))
        data, labels = data[kept], labels[kept]
        index = self._learn_classes(labels)
        if self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, labels)
            weights, _ = positive_weights(of_class if weights is None else of_class * weights, len(data))
        classes = len(self.classes_)
        chosen: Array = np.eye(classes)[index] if classes > 2 else index[:, None].astype(np.float64)
        left_out = self._solve(data, 2 * chosen - 1, weights)
        self.leave_one_out_scores_ = left_out if classes > 2 else left_out[:, 0]
        self.leave_one_out_predictions_ = self._decided(self.leave_one_out_scores_)
        self._temperature = temperature(self.leave_one_out_scores_, index, weights)
        return self

    def _loss(self, left_out: Array, Y: Array, weights: Array | None) -> tuple[float, float]:
        wrong = left_out.argmax(axis=1) != Y.argmax(axis=1) if Y.shape[1] > 1 else ((left_out >= 0) != (Y > 0))[:, 0]
        squares = np.mean((left_out - Y) ** 2, axis=1)
        return float(np.average(wrong, weights=weights)), float(np.average(squares, weights=weights))

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Probabilities of the classes at points X, m x classes: the softmax of the outputs times a factor for which
        the left-out training points' labels are likeliest."""
        return probabilities(self.decision_function(X), self._temperature)

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Outputs at points X: one number for two classes, positive for the second; else one a class."""
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else values
