"""Networks whose hidden units stay as they are drawn."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from .two_layer import Regression


class RandomFeatureRegressor(Regression):
    """Regression with random hidden units: only the output layer is trained, v = Phi^T (Phi Phi^T)^-1 y. Of several
    targets each has its own.

    As wide as there are points, it interpolates them; below that its weights are those of least squares, the
    shortest, and a ConvergenceWarning says so.

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
        """Solves for the output layer on points X, n x d, and n targets or n x c targets y."""
        self._learn(X, y, optimizer="output_layer")
        return self
