"""What all estimators do with points and seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from .. import _core, kernel
from ..api import frames
from ..api.data import read_dataset
from .pickled import Pickled

Array = npt.NDArray[np.float64]


def seed_of(random_state: Any) -> int:
    """An integer is the seed of the library's own streams, as in zeroloss.fit; anything else draws one."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def learned(
    estimator: Any, X: Any, y: Any, *, one_scale: bool = True, multi_output: bool = False, y_numeric: bool = False,
    images: bool = False
) -> tuple[Array, npt.NDArray[Any]]:  # fmt: skip
    """Points and targets to learn from; with `images` points may have several axes. The columns of a data frame become
    numbers as those of its csv do, which the estimator keeps: with `one_scale` standardised, but for the mean, which it
    subtracts itself."""
    estimator._columns = None
    if not frames.is_frame(X):
        return validate_data(  # type: ignore[no-any-return]
            estimator, X, y, dtype=np.float64, multi_output=multi_output, y_numeric=y_numeric, allow_nd=images
        )
    validate_data(estimator, X, skip_check_array=True)
    data = read_dataset(X, target="none", standardize="yes" if one_scale else "no", bias=0)
    estimator._columns = _core.columns_of(data)
    return check_X_y(data.X * data.scale, y, multi_output=multi_output, y_numeric=y_numeric, estimator=estimator)  # type: ignore[no-any-return]


def seen(estimator: Any, X: Any, *, images: bool = False) -> Array:
    """New points, as `learned` has made numbers of them."""
    check_is_fitted(estimator)
    if getattr(estimator, "_columns", None) is None:
        points: Array = validate_data(estimator, X, dtype=np.float64, reset=False, allow_nd=images)
        return points
    validate_data(estimator, X, skip_check_array=True, reset=False)
    rows = frames.frame(X) if frames.is_frame(X) else frames.rows(X)
    data = _core.table_like(estimator._columns, rows, "X")
    return np.asarray(data.X * data.scale)


class OnSphere(Pickled):
    """Points as unit vectors: centre, append a constant, divide by the length."""

    center: bool
    bias: float

    def _learn_points(self, X: Array, weights: Array | None = None) -> Array:
        """Learns the transformation; returns the points before they are divided by their lengths."""
        self.mean_ = np.average(X, axis=0, weights=weights) if self.center else np.zeros(X.shape[1])
        if not self.bias >= 0:
            raise ValueError(f"bias must be >= 0; got {self.bias!r}")
        length = np.sqrt(np.average(np.sum((X - self.mean_) ** 2, axis=1), weights=weights))
        self.bias_ = self.bias * (float(length) or 1.0)
        return self._points(X)

    def _points(self, X: Array) -> Array:
        Z: Array = X - self.mean_
        return np.column_stack([Z, np.full(len(Z), self.bias_)]) if self.bias_ > 0 else Z

    def _new_points(self, X: npt.ArrayLike) -> Array:
        return kernel.unit_rows(self._points(seen(self, X)))
