"""What estimators do with targets: numbers, and classes as columns of -1 and +1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .points import Array


def real(y: npt.NDArray[Any]) -> Array:
    """Targets of a regression."""
    if y.dtype.kind not in "buif":
        raise ValueError(f"y must be real numbers; its type is {y.dtype}")
    return y.astype(np.float64)


class OneVersusRest(ClassifierMixin):
    """Classes as columns of -1 and +1, and back."""

    classes_: npt.NDArray[Any]

    def _learn_classes(self, y: Any) -> npt.NDArray[np.intp]:
        check_classification_targets(y)
        self.classes_, index = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"classification needs two classes; got one class, {self.classes_[0]}")
        return index

    def _signs(self, index: npt.NDArray[np.intp]) -> Array:
        """-1 and +1 for class numbers: a column a class, of two classes that of the second."""
        classes = len(self.classes_)
        chosen: Array = np.eye(classes)[index] if classes > 2 else index[:, None].astype(np.float64)
        return 2 * chosen - 1

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The class of each point."""
        return self._decided(self.decision_function(X))

    def _decided(self, scores: Array) -> npt.NDArray[Any]:
        index = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: npt.NDArray[Any] = self.classes_[index]
        return predicted
