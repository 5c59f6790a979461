"""Regression and classification with the exact predictor of the infinitely wide network."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.class_weight import compute_sample_weight

from .. import _core, kernel
from .calibration import probabilities, temperature
from .exact import PARAMETERS, ExactPredictor
from .patches import IMAGE_FEATURES, Images, kinds_of_images
from .points import Array, learned, seen
from .ridge import positive_weights
from .targets import OneVersusRest, real

AUTO_IMAGES = 1000  # of more, an even choice of so many decides how images are seen


class NTKRegressor(MultiOutputMixin, RegressorMixin, ExactPredictor):
    __doc__ = (
        """Regression with the exact predictor of the infinitely wide network.

    It is kernel ridge regression with the neural tangent kernel; the targets' mean is added back.
"""
        + PARAMETERS.format(
            error="Root mean square of the leave-one-out residuals",
            predictions="The value",
            weight="",
            more="""    leave_one_out_residuals_ : array of shape (n,) or (n, outputs)
        Targets minus leave_one_out_predictions_.
    studentized_residuals_ : array of shape (n,) or (n, outputs)
        Residuals in units of what the kernel expects of each point, s/sqrt((K + ridge k(1) I)^-1_ii), their mean square
        1: the largest belong to targets that the other points explain least. One that stands alone may be far off.
""",
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
        residuals = self._solve(data, Y.reshape(len(data), -1), weights)
        # Residual^2 times the inverse's diagonal; of points that were held out there is none, and all count alike.
        squares = np.maximum(self.dual_coef_ * residuals, 0.0) if self.held_out_ is None else residuals**2
        size = np.sqrt(squares.mean(axis=0))
        studentized = np.sign(residuals) * np.sqrt(squares) / np.where(size > 0, size, 1.0)
        self.leave_one_out_residuals_: Array = residuals[:, 0] if self._one else residuals
        self.studentized_residuals_: Array = studentized[:, 0] if self._one else studentized
        self.leave_one_out_predictions_: Array = self._left_out(targets) - self.leave_one_out_residuals_
        of_them = self._left_out(weights)
        self.leave_one_out_error_ = float(np.sqrt(np.mean(np.average(residuals**2, axis=0, weights=of_them))))
        return self

    def predict(self, X: npt.ArrayLike, return_bound: bool = False, return_std: bool = False) -> Any:
        """Values at points X, m or m x c.

        With `return_bound` also what each may be off the exact predictor's, of the same shape: proved, with errors of
        the kernel and all rounding. With `return_std` also the posterior standard deviation of the Gaussian process
        whose covariance is the kernel and whose noise has the variance ridge k(1), m numbers in units of that prior.
        """
        values, rounding = self._bounded(X) if return_bound else (self._values(X), None)
        answer: list[Array] = [(values[:, 0] if self._one else values) + self.offset_]
        if rounding is not None:
            bound = rounding + np.diag(self._solution_error())
            bound = (bound + 2.3e-16 * np.abs(answer[0].reshape(bound.shape))) * (1 + 1e-14)
            answer.append(bound[:, 0] if self._one else bound)
        if return_std:
            answer.append(self._std(X))
        return answer[0] if len(answer) == 1 else tuple(answer)


class NTKClassifier(OneVersusRest, ExactPredictor):
    __doc__ = (
        """Classification with the exact predictor of the infinitely wide network.

    Targets are -1 and +1, one class against the rest; the largest output decides.
"""
        + PARAMETERS.format(
            error="Fraction misclassified by the leave-one-out predictions",
            predictions="The label",
            weight="""    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' squared residuals, which sample weights are multiplied with.
    image_features : {"auto", "pixels", "patches"}, default="auto"
        Of images X, n x height x width [x colours]. patches: :class:`PatchFeatures` of them, or of images and mirror
        images. auto: of pixels and patches what has the least leave-one-out error on 1,000 images.
""",
            more="""    image_features_ : str, pixels, patches or mirrored patches; of images alone.
    leave_one_out_scores_ : array of shape (n,) or (n, classes)
        What decision_function says of each training point without it.
    classes_ : array of the labels.
""",
        )
    )

    def __init__(
        self,
        activation: Any = "auto",
        ridge: Any = "auto",
        center: bool = True,
        bias: float = 1.0,
        inducing_points: Any = "auto",
        class_weight: Any = None,
        depth: Any = 1,
        residual: bool = False,
        image_features: Any = "auto",
        solver: str = "auto",
    ):
        super().__init__(activation, ridge, center, bias, inducing_points, depth, residual, solver)
        self.class_weight = class_weight
        self.image_features = image_features

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> NTKClassifier:
        """Learns from points X, n x d, or images, n x height x width [x colours], and n labels y, with weights of the
        squared residuals."""
        data, labels = learned(self, X, y, images=True)
        weights, kept = positive_weights(sample_weight, len(data))
        data, labels = data[kept], labels[kept]
        self._images = None
        if self.image_features not in IMAGE_FEATURES:
            raise ValueError(f"image_features must be auto, pixels or patches; got {self.image_features!r}")
        self.__dict__.pop("image_features_", None)  # of another fit
        if data.ndim > 2:
            self._images = self._chosen(data, labels)
            self.image_features_ = self._images.name
            data = self._images.rows(data)
        index = self._learn_classes(labels)
        if self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, labels)
            weights, _ = positive_weights(of_class if weights is None else of_class * weights, len(data))
        Y = self._signs(index)
        residuals = self._solve(data, Y, weights)
        left_out = self._left_out(Y) - residuals
        weights, index = self._left_out(weights), self._left_out(index)
        self.leave_one_out_scores_ = left_out if len(self.classes_) > 2 else left_out[:, 0]
        self.leave_one_out_predictions_ = self._decided(self.leave_one_out_scores_)
        wrong = self.leave_one_out_predictions_ != self._left_out(labels)
        self.leave_one_out_error_ = float(np.average(wrong, weights=weights))
        self._temperature = temperature(self.leave_one_out_scores_, index, weights)
        return self

    def _chosen(self, images: Array, labels: npt.NDArray[Any]) -> Images:
        """How images are seen: by the leave-one-out errors of some."""
        kinds = kinds_of_images(images, self.image_features)
        if len(kinds) == 1:
            return kinds[0]
        some = np.linspace(0, len(images) - 1, min(len(images), AUTO_IMAGES)).astype(np.intp)
        if len(np.unique(labels[some])) < 2:
            return kinds[0]

        def error(kind: Images) -> float:
            like = clone(self).set_params(image_features="pixels", class_weight=None)
            return float(like.fit(type(kind)(kind.patches).rows(images[some]), labels[some]).leave_one_out_error_)

        return min(kinds, key=error)

    def _new_points(self, X: npt.ArrayLike) -> Array:
        images: Images | None = getattr(self, "_images", None)
        points = seen(self, X, images=images is not None)
        return kernel.unit_rows(self._points(points if images is None else images.rows(points)))

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Probabilities of the classes at points X, m x classes: the softmax of the outputs times a factor for which
        the left-out training points' labels are likeliest."""
        return probabilities(self.decision_function(X), self._temperature)

    def predict(self, X: npt.ArrayLike, return_bound: bool = False, return_std: bool = False) -> Any:
        """The class of each point X.

        With `return_bound` also whether it is proved to be the class by the exact predictor, m booleans: its output is
        ahead of the others by more than they may be off. With `return_std` also the posterior standard deviation of
        each output, m numbers, as of :meth:`NTKRegressor.predict`.
        """
        answer: list[Any] = []
        if return_bound:
            values, rounding = self._bounded(X)
            answer.append(self._decided(values[:, 0] if len(self.classes_) == 2 else values))
            answer.append(np.array(_core.decided_classes(values, rounding, self._solution_error()), dtype=bool))
        else:
            answer.append(super().predict(X))
        if return_std:
            answer.append(self._std(X))
        return answer[0] if len(answer) == 1 else tuple(answer)

    def decision_function(self, X: npt.ArrayLike, return_bound: bool = False) -> Any:
        """Outputs at points X: one number for two classes, positive for the second; else one a class. With
        `return_bound` also what each may be off the exact predictor's, of the same shape, proved."""
        values, rounding = self._bounded(X) if return_bound else (self._values(X), None)
        one = len(self.classes_) == 2
        scores = values[:, 0] if one else values
        if rounding is None:
            return scores
        bound = (rounding + np.diag(self._solution_error())) * (1 + 1e-14)
        return scores, bound[:, 0] if one else bound
