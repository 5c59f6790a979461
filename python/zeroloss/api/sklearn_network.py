"""MLPClassifier and MLPRegressor of scikit-learn as networks of layers, also behind other steps of a Pipeline."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import Dataset
from .arrays import targets
from .networks import Linear, NoLayersError, Numbers, Parts, Phi, Step

_PHI = {"identity": "identity", "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}
#: What multiplies each column by a number of its own, after another was taken from it.
_SCALERS = ("StandardScaler", "RobustScaler", "MinMaxScaler", "MaxAbsScaler")


def _numbers(values: Any, d: int, plain: float) -> Numbers:
    """A number a feature; None is `plain` for all."""
    return np.full(d, plain) if values is None else np.ascontiguousarray(values, dtype=np.float64)


def _scaling(scaler: Any) -> tuple[Numbers, Numbers]:
    """shift and factor with (x - shift) factor what the scaler makes of x."""
    kind, d = type(scaler).__name__, scaler.n_features_in_
    scale = _numbers(scaler.scale_, d, 1.0)
    if kind == "StandardScaler":
        return _numbers(scaler.mean_ if scaler.with_mean else None, d, 0.0), 1 / scale
    if kind == "RobustScaler":
        return _numbers(scaler.center_, d, 0.0), 1 / scale
    if kind == "MaxAbsScaler":
        return np.zeros(d), 1 / scale
    return _numbers(scaler.data_min_, d, 0.0) - scaler.feature_range[0] / scale, scale


def _names(classes: Any) -> list[str]:
    """As a Dataset spells them."""
    numbers, texts = targets("prove", classes, len(classes), "classification")
    return texts if numbers is None else [repr(float(number)).removesuffix(".0") for number in numbers]


def _chain(model: Any, of_targets: list[Any]) -> list[Any]:
    """The steps of a model, one behind the other, whatever they are wrapped in; what transforms targets is appended."""
    kind = type(model).__name__
    if kind.endswith("SearchCV"):
        if not hasattr(model, "best_estimator_"):
            raise ValueError(f"the {kind} has no best_estimator_: it is not fitted, or was told refit=False")
        return _chain(model.best_estimator_, of_targets)
    if kind == "TransformedTargetRegressor":
        if not hasattr(model, "regressor_"):
            raise ValueError("it is not fitted")
        of_targets.append(model.transformer_)
        return _chain(model.regressor_, of_targets)
    if not hasattr(model, "steps"):
        return [model]
    steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    return [inner for step in steps for inner in _chain(step, of_targets)]


def _split(model: Any) -> tuple[list[Any], Any, Any, list[Any]]:
    """What scikit-learn does with points, a scaler that the network takes in or None, the network, and what is done
    with targets."""
    of_targets: list[Any] = []
    *before, network = _chain(model, of_targets) or [None]
    if network is None:
        raise ValueError("it is empty")
    scaler = None
    if before and type(before[-1]).__name__ in _SCALERS and not getattr(before[-1], "clip", False):
        scaler = before.pop()
    return before, scaler, network, of_targets


def _kinds(steps: list[Any]) -> str:
    return ", ".join(type(step).__name__ for step in steps)


def parts_of_estimator(model: Any) -> Parts:
    """ValueError for another estimator, or one that is not fitted."""
    before, scaler, model, of_targets = _split(model)
    kind = type(model).__name__
    if type(model).__module__.startswith("sklearn.linear_model"):
        raise NoLayersError(f"a {kind} has no hidden layer")
    if kind not in ("MLPClassifier", "MLPRegressor"):
        raise NoLayersError(f"a {kind} is neither an MLPClassifier nor an MLPRegressor")
    if not hasattr(model, "coefs_"):
        raise ValueError("it is not fitted")
    classes = getattr(model, "classes_", None)
    parts = Parts(_steps(model), task="regression" if classes is None else "classification")
    parts.single = any(W.dtype == np.float32 for W in model.coefs_)
    if classes is not None:
        if not model._label_binarizer.y_type_.startswith(("binary", "multiclass")):
            raise ValueError(f"targets of type {model._label_binarizer.y_type_}: a sample has to have one class")
        parts.class_names = _names(classes)
        parts.notes.append(f"left out behind the outputs: {model.out_activation_}")
    elif model.out_activation_ != "identity":
        raise ValueError(f"its outputs go through {model.out_activation_}")
    if scaler is not None:
        if not hasattr(scaler, "scale_"):
            raise ValueError(f"its {_kinds([scaler])} is not fitted")
        parts.shift, parts.factor = _scaling(scaler)
        parts.notes.append(f"{_kinds([scaler])}: the input times a factor, each rounded once")
    if before:
        parts.notes.append(f"proved for the points as the pipeline made them: {_kinds(before)}")
    if of_targets:
        parts.notes.append(f"proved for the targets as they were transformed: {_kinds(of_targets)}")
    return parts


def as_made(function: str, model: Any, data: Any, y: Any) -> tuple[Any, npt.ArrayLike | None]:
    """The points and targets that the network of `model` takes: scikit-learn applies the steps that are before it.

    TypeError for points that are not given as scikit-learn takes them; ValueError where a step refuses them.
    """
    before, _, _, of_targets = _split(model)
    if not before and not of_targets:
        return data, y
    if isinstance(data, (str, os.PathLike, Dataset)) or y is None:
        kinds = _kinds(before + of_targets)
        raise TypeError(f"{function}: scikit-learn applies {kinds} before the network: give X and y, arrays or frames")
    try:
        for step in before:
            data = step.transform(data)
        if before:
            data = np.asarray(data.toarray() if hasattr(data, "toarray") else data)
        for step in of_targets:
            shape = np.shape(y)
            y = np.asarray(step.transform(np.asarray(y).reshape(shape[0], -1))).reshape(shape)
    except Exception as error:
        raise ValueError(f"{function}: {type(step).__name__} cannot be applied to the data: {error}") from error
    return data, y


def _steps(model: Any) -> list[Step]:
    steps: list[Step] = []
    for W, b in zip(model.coefs_, model.intercepts_):
        if steps:
            steps.append(Phi(_PHI[model.activation]))
        steps.append(Linear(np.ascontiguousarray(W.T, dtype=np.float64), np.ascontiguousarray(b, dtype=np.float64)))
    return steps
