"""Trained networks of finite width, with what is proved about them."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from ..api.fit import fit as train
from .points import Array, OnSphere, learned, seed_of
from .targets import OneVersusRest, real


class TwoLayer(OnSphere):
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
        max_seconds: float = 0.0,
        patience: int | None = None,
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
        self.max_seconds = max_seconds
        self.patience = patience
        self.tolerance = tolerance
        self.center = center
        self.bias = bias
        self.random_state = random_state

    def _train(
        self, X: Array, y: npt.NDArray[Any], task: Literal["regression", "classification"], **options: Any
    ) -> None:
        run = train(self._learn_points(X), y, task=task, activation=self.activation, width=self.width,
                    certify_every=0, seed=seed_of(self.random_state), **options)  # fmt: skip
        if run.status not in ("certified", "converged"):
            warnings.warn(run.conclusion + _hint(X, options), ConvergenceWarning, stacklevel=3)
        self.network_ = run.network
        self.status_ = run.status
        self.relative_misfit_ = run.relative_misfit
        self.certified_ = run.certificate.holds
        self.radius_ = run.certificate.radius if run.certificate.holds else None
        self.n_iter_ = max(1, run.steps)

    def _options(self) -> dict[str, Any]:
        usual = 100 if self.optimizer == "gauss_newton" else 10_000
        return {"scaling": self.scaling, "optimizer": self.optimizer, "step": self.step, "batch": self.batch,
                "max_steps": self.max_steps, "max_seconds": self.max_seconds, "tolerance": self.tolerance,
                "patience": usual if self.patience is None else self.patience}  # fmt: skip

    def _outputs(self, X: npt.ArrayLike) -> Array:
        Z = self._new_points(X)
        return self.network_(Z)


def _hint(X: Array, options: dict[str, Any]) -> str:
    """What may help training that did not converge."""
    spread = np.ptp(X, axis=0)
    if (spread > 0).any() and spread.max() > 100 * spread[spread > 0].min():
        return "\ncolumns differ a hundredfold in scale: put a StandardScaler before it in a pipeline"
    if options["optimizer"] == "output_layer":
        return f"\nmore hidden units than the {len(X)} points are needed: raise width"
    return f"\noptimizer='output_layer' reaches zero loss with more hidden units than the {len(X)} points"


_PARAMETERS = """
    Parameters
    ----------
    width, activation, scaling, optimizer, step, batch, max_steps, max_seconds, tolerance
        As for :func:`zeroloss.fit`, but the optimizer is gauss_newton by default, the quickest to zero loss.
    patience : int or None, default=None
        Training ends as stalled after so many steps without a misfit lower by a hundredth; 0 = it goes on; None = 100
        steps of gauss_newton, 10,000 of others.
    center : bool, default=True
        Subtract the mean point.
    bias : float, default=1.0
        A constant coordinate of every point before it is divided by its length, in units of the points' root mean
        square length; 0 = none, then only directions count.
    random_state : int, RandomState or None, default=0
        An integer is the seed of :func:`zeroloss.fit`.

    Attributes
    ----------
    network_ : Network
        On points as unit vectors.
    status_ : str
        certified, converged, budget_spent, stalled or diverged; of the last three a ConvergenceWarning tells.
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


class Regression(RegressorMixin, TwoLayer):
    """Targets of mean 0 and variance 1, the size of a fresh network's outputs."""

    def _learn(self, X: Any, y: Any, **options: Any) -> None:
        X, y = learned(self, X, y, y_numeric=True)
        y = real(y)
        self.offset_ = float(y.mean())
        self.scale_ = float(y.std()) or 1.0
        self._train(X, (y - self.offset_) / self.scale_, "regression", **options)

    def predict(self, X: npt.ArrayLike) -> Array:
        """Values at points X."""
        return self._outputs(X)[:, 0] * self.scale_ + self.offset_


class TwoLayerRegressor(Regression):
    __doc__ = (
        "Regression with a two-layer network trained to zero loss, on targets of mean 0 and variance 1.\n"
        + _PARAMETERS
    )

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> TwoLayerRegressor:
        """Trains on points X, n x d, and n targets y."""
        self._learn(X, y, **self._options())
        return self


class TwoLayerClassifier(OneVersusRest, TwoLayer):
    __doc__ = (
        "Classification with two-layer networks trained to zero loss, one a class (one in all for two classes).\n"
        + _PARAMETERS
        + "    classes_ : array of the labels.\n"
    )

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> TwoLayerClassifier:
        """Trains on points X, n x d, and n labels y."""
        data, labels = learned(self, X, y)
        self._train(data, self._learn_classes(labels), "classification", **self._options())
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Outputs at points X: one number for two classes, positive for the second; else one a class."""
        outputs = self._outputs(X)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs
