"""What all estimators do with points and seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import kernel

Array = npt.NDArray[np.float64]


def seed_of(random_state: Any) -> int:
    """An integer is the seed of the library's own streams, as in zeroloss.fit; anything else draws one."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


class OnSphere(BaseEstimator):
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
