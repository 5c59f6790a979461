"""Trained networks of finite width, with what is proved about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin

from .. import kernel
from .._core import FitResult, Network
from ..api.fit import fit as train
from .calibration import probabilities, temperature
from .linearized import left_out
from .points import Array, learned
from .targets import OneVersusRest, real
from .trained import PARAMETERS, TwoLayer

CALIBRATION_POINTS = 2000  # of more, so many decide on probabilities


def _network(run: FitResult) -> Network:
    assert isinstance(run.network, Network)  # of one hidden layer
    return run.network


class Regression(MultiOutputMixin, RegressorMixin, TwoLayer):
    """Targets of mean 0 and variance 1, the size of a fresh network's outputs; a network for each."""

    network_: Network | list[Network]

    def _learn(self, X: Any, y: Any, **options: Any) -> None:
        X, y = learned(self, X, y, multi_output=True, y_numeric=True)
        y = real(y)
        spread = y.std(axis=0)
        self.offset_: Any = y.mean(axis=0)
        self.scale_: Any = np.where(spread > 0, spread, 1.0)[()]
        Y = (y - self.offset_) / self.scale_
        runs = self._train(X, [Y] if Y.ndim == 1 else list(Y.T), "regression", **options)
        networks = [_network(run) for run in runs]
        self.network_ = networks[0] if Y.ndim == 1 else networks

    def predict(self, X: npt.ArrayLike) -> Array:
        """Values at points X: n numbers, or n x c if the targets were."""
        Z = self._new_points(X)
        networks = self.network_
        values = np.hstack([one(Z) for one in networks]) if isinstance(networks, list) else networks(Z)[:, 0]
        predicted: Array = values * self.scale_ + self.offset_
        return predicted


class TwoLayerRegressor(Regression):
    __doc__ = (
        "Regression with a two-layer network trained to zero loss, on targets of mean 0 and variance 1.\n"
        + PARAMETERS.format(
            network="Network, or a list of them",
            networks="One for each of n x c targets: that of column k is what this column alone would give.",
            more="offset_, scale_ : mean and standard deviation of the targets, c of them if there are several.",
        )
    )

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> TwoLayerRegressor:
        """Trains on points X, n x d, and n targets or n x c targets y."""
        self._learn(X, y, **self._options())
        return self


def every_fifth(index: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Which points are every fifth of their class."""
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    rank = np.arange(len(index)) - np.searchsorted(ordered, ordered)
    held = np.zeros(len(index), dtype=bool)
    held[order] = rank % 5 == 4
    return held


class TwoLayerClassifier(OneVersusRest, TwoLayer):
    __doc__ = (
        "Classification with two-layer networks trained to zero loss, one a class (one in all for two classes).\n"
        + PARAMETERS.format(
            network="Network",
            networks="One output a class, of two classes one in all.",
            more="""classes_ : array of the labels.
    leave_one_out_scores_ : array of shape (n,) or (n, classes), or None
        What decision_function would say of each training point without it, by the network that is linear in its weights
        at those trained: an estimate. None for more than 2,000 points, of which as many, evenly spaced, then decide on
        probabilities; and for a network that did not converge, for which one that is trained without every fifth point
        does.""",
        )
    )

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> TwoLayerClassifier:
        """Trains on points X, n x d, and n labels y."""
        data, labels = learned(self, X, y)
        index = self._learn_classes(labels)
        options = self._options()
        (run,) = self._train(data, [index], "classification", **options)
        self.network_ = _network(run)
        self._calibrate(data, index, options)
        return self

    def _calibrate(self, X: Array, index: npt.NDArray[np.intp], options: dict[str, Any]) -> None:
        """Probabilities by left-out points: of a network that converged in closed form, else by training it again."""
        Z = kernel.unit_rows(self._points(X))
        held = every_fifth(index)
        if self.status_ in ("certified", "converged") or not held.any():
            some = np.unique(np.linspace(0, len(Z) - 1, min(len(Z), CALIBRATION_POINTS)).astype(np.intp))
            Z, index = Z[some], index[some]
            scores = left_out(self.network_, self._start(Z, index), Z, self._signs(index))
        else:
            again = _network(train(Z[~held], index[~held], task="classification", **self._common(), **options))
            scores, index = again(Z[held]), index[held]
        scores = scores if len(self.classes_) > 2 else scores[:, 0]
        self.leave_one_out_scores_: Array | None = None if len(scores) < len(X) else scores
        self._temperature = temperature(scores, index, None)

    def _start(self, Z: Array, index: npt.NDArray[np.intp]) -> Network | None:
        """The network that training began with; None if only the output layer was trained."""
        if self.optimizer == "output_layer":
            return None
        unmoved: dict[str, Any] = {"scaling": self.scaling, "optimizer": "gd", "step": 1.0, "max_steps": 0}
        return _network(train(Z, index, task="classification", **self._common(), **unmoved))

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Outputs at points X: one number for two classes, positive for the second; else one a class."""
        Z = self._new_points(X)
        outputs = self.network_(Z)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Probabilities of the classes at points X, m x classes: the softmax of the outputs times a factor for which
        the labels of left-out training points are likeliest."""
        return probabilities(self.decision_function(X), self._temperature)
