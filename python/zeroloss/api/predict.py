"""The command `predict`: what a network says about data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import DataError, Dataset, FitResult, Memorizer, MemorizeResult, Network
from .arrays import points, targets
from .data import Data, Read, dataset

if TYPE_CHECKING:
    from typing_extensions import Unpack

Model = FitResult | MemorizeResult | Network | Memorizer | str | os.PathLike[str]


@dataclass(frozen=True)
class Prediction:
    """What a network says about points.

    Attributes
    ----------
    outputs : array, n x outputs
        As the network computes them, in double.
    predictions : array of n, or None
        Names of classes, or numbers; None for a network without a task.
    error : float or None
        Fraction wrong, or relative misfit; None without targets to compare with.
    """

    outputs: npt.NDArray[np.float64]
    predictions: npt.NDArray[Any] | None
    error: float | None


def load(path: str | os.PathLike[str]) -> Network | Memorizer:
    """The network of a run folder, or of a .safetensors file. DataError if it is neither."""
    file = os.path.join(path, "model.safetensors") if os.path.isdir(path) else os.fspath(path)
    return _core.load_memorizer(file) if _core.model_kind(file) == "memorizer" else _core.load_model(file)


def _network(model: Model) -> Network | Memorizer:
    if isinstance(model, (str, os.PathLike)):
        return load(model)
    network = model.network if isinstance(model, (FitResult, MemorizeResult)) else model
    if network is None:
        raise ValueError("predict: the result has no network")
    return network


def _names(function: str, y: npt.ArrayLike, n: int) -> list[str]:
    """The classes that n targets name, spelled as a Dataset spells them."""
    numbers, texts = targets(function, y, n)
    if numbers is None:
        return texts
    for i in np.flatnonzero(~np.isfinite(numbers)):
        raise DataError(f"{function}: y[{i}] is {numbers[i]}; expected a number")
    return [repr(float(number)).removesuffix(".0") for number in numbers]


def predict(
    model: Model,
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    seed: int = 0,
    **read: Unpack[Read],
) -> Prediction:
    """What a network says about data, and how often it is right.

    Parameters
    ----------
    model : FitResult, MemorizeResult, Network, Memorizer or path
        A path is a run folder or a .safetensors file.
    data, y, seed, **read
        As for :func:`read_dataset`. Targets are compared with if there are any: classes by name, be it a single one.

    Returns
    -------
    Prediction

    Raises
    ------
    DataError
        Another number of features than the network has, values that are not finite, classes none of which the
        network knows, and what :func:`read_dataset` raises.
    ValueError
        A task, or a Dataset with targets of a task, that is not the network's.
    """
    network = _network(model)
    wanted = read.get("task", "auto")
    if network.task != "none" and wanted not in ("auto", network.task):
        raise ValueError(f"predict: task {wanted}: the model was trained for {network.task}")
    labels: list[str] | None = None
    names_known = network.task == "classification" and not {"classes", "labels"} & read.keys()
    if y is not None and names_known and not isinstance(data, (str, os.PathLike, Dataset)):
        # The network knows its classes: that two of them are among the labels is not asked for.
        X = points("predict", data)
        names = _names("predict", y, len(X))
        source = dataset("predict", X, None, {k: v for k, v in read.items() if k != "task"}, seed)[0]
        labels = [names[i] for i in source.records]
    else:
        source = dataset("predict", data, y, read, seed)[0]
        if "none" not in (source.task, network.task) and source.task != network.task:
            if isinstance(data, Dataset):
                raise ValueError(
                    f"predict: the Dataset has targets of {source.task}; the model was trained for {network.task}: "
                    f"read it with task={network.task!r}"
                )
            source = dataset("predict", data, y, {**read, "task": network.task}, seed)[0]
        if source.task == network.task == "classification":
            labels = [source.class_names[int(k)] for k in source.y]
    outputs = network(source.X)
    if network.task == "none":
        return Prediction(outputs, None, None)
    if network.task == "regression":
        if source.task == "none":
            return Prediction(outputs, outputs[:, 0], None)
        misfit, norm = np.linalg.norm(outputs[:, 0] - source.y), np.linalg.norm(source.y)
        return Prediction(outputs, outputs[:, 0], float(misfit / norm if norm > 0 else misfit))
    predictions = np.asarray(network.class_names)[network.classes(outputs)]
    if labels is None:
        return Prediction(outputs, predictions, None)
    if not set(labels) & set(network.class_names):
        raise DataError(
            f"{source.name}: none of its classes ({', '.join(sorted(set(labels)))}) is one of the model's "
            f"({', '.join(network.class_names)})"
        )
    return Prediction(outputs, predictions, float(np.mean(predictions != np.asarray(labels))))
