"""MLPClassifier and MLPRegressor of scikit-learn as networks of layers, also behind scalers in a Pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import targets
from .networks import Linear, Numbers, Parts, Phi, Step

_PHI = {"identity": "identity", "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}


def _numbers(values: Any, d: int, plain: float) -> Numbers:
    """A number a feature; None is `plain` for all."""
    return np.full(d, plain) if values is None else np.ascontiguousarray(values, dtype=np.float64)


def _scaling(scaler: Any) -> tuple[Numbers, Numbers]:
    """shift and factor with (x - shift) factor what the scaler makes of x."""
    kind, d = type(scaler).__name__, scaler.n_features_in_
    if kind == "StandardScaler":
        scale = _numbers(scaler.scale_ if scaler.with_std else None, d, 1.0)
        return _numbers(scaler.mean_ if scaler.with_mean else None, d, 0.0), 1 / scale
    if kind == "MaxAbsScaler":
        return np.zeros(d), 1 / _numbers(scaler.scale_, d, 1.0)
    if kind == "MinMaxScaler":
        if scaler.clip:
            raise ValueError("a MinMaxScaler that clips is not a scaling")
        scale = _numbers(scaler.scale_, d, 1.0)
        return _numbers(scaler.data_min_, d, 0.0) - scaler.feature_range[0] / scale, scale
    raise ValueError(f"a {kind} before it; only StandardScaler, MinMaxScaler and MaxAbsScaler can be read")


def _names(classes: Any) -> list[str]:
    """As a Dataset spells them."""
    numbers, texts = targets("prove", classes, len(classes), "classification")
    return texts if numbers is None else [repr(float(number)).removesuffix(".0") for number in numbers]


def parts_of_estimator(model: Any) -> Parts:
    """ValueError for another estimator, or one that is not fitted."""
    scalers: Sequence[Any] = ()
    if hasattr(model, "steps"):  # a Pipeline
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        if not steps:
            raise ValueError("it is empty")
        *scalers, model = steps
    if len(scalers) > 1:
        raise ValueError(f"{len(scalers)} steps before it; one scaler can be read")
    if type(model).__name__ not in ("MLPClassifier", "MLPRegressor"):
        raise ValueError(f"a {type(model).__name__}; only MLPClassifier and MLPRegressor are")
    if not hasattr(model, "coefs_"):
        raise ValueError("it is not fitted")
    classes = getattr(model, "classes_", None)
    parts = Parts(_steps(model), task="regression" if classes is None else "classification")
    if classes is not None:
        if not model._label_binarizer.y_type_.startswith(("binary", "multiclass")):
            raise ValueError(f"targets of type {model._label_binarizer.y_type_}: a sample has to have one class")
        parts.class_names = _names(classes)
        parts.notes.append(f"left out behind the outputs: {model.out_activation_}")
    elif model.out_activation_ != "identity":
        raise ValueError(f"its outputs go through {model.out_activation_}")
    elif model.n_outputs_ > 1:
        raise ValueError(f"{model.n_outputs_} numbers a sample; one can be proved")
    for scaler in scalers:
        parts.shift, parts.factor = _scaling(scaler)
        parts.notes.append(f"{type(scaler).__name__}: the input times a factor, each rounded once")
    return parts


def _steps(model: Any) -> list[Step]:
    steps: list[Step] = []
    for W, b in zip(model.coefs_, model.intercepts_):
        if steps:
            steps.append(Phi(_PHI[model.activation]))
        steps.append(Linear(np.ascontiguousarray(W.T, dtype=np.float64), np.ascontiguousarray(b, dtype=np.float64)))
    return steps
