"""The command `predict`: what a network says about data."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import DeepNetwork, FitResult, GraphNetwork, KernelNetwork, Memorizer, MemorizeResult, Network, ProveResult
from .arrays import class_names_of
from .data import Data, Read, dataset
from .networks import Layout, network_of
from .options import with_commas
from .seed import Seed, seed_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Loaded = Network | KernelNetwork | Memorizer | DeepNetwork | GraphNetwork
Model = FitResult | MemorizeResult | ProveResult | Loaded | str | os.PathLike[str]


@dataclass(frozen=True)
class Prediction:
    """What a network says about points.

    Attributes
    ----------
    outputs : array, n x outputs
        As the network computes them, in double.
    predictions : array of n, or None
        Names of classes, or numbers; None for a network without a task, of data without targets that fit it.
    decided : array of n, or None
        Of each class whether it is proved to be that of the exact predictor which a kernel model is near; None of
        other models.
    error : float or None
        Fraction wrong, or relative misfit; None without targets to compare with.
    records : array of n
        The 0-based rows of the data that these are of: records without a target, say, are left out.
    notes : list of str
        On how a file of other programs was read, and what its outputs were taken for, a line each.
    """

    outputs: npt.NDArray[np.float64]
    predictions: npt.NDArray[Any] | None
    decided: npt.NDArray[np.bool_] | None
    error: float | None
    records: npt.NDArray[np.int64]
    notes: list[str]

    def __repr__(self) -> str:
        n, outputs = self.outputs.shape
        return f"<Prediction: {n} x {outputs} outputs{'' if self.error is None else f', error {self.error:.4g}'}>"


def load(
    path: str | os.PathLike[str],
    *,
    activation: str = "",
    layout: Layout = None,
    shape: str | Iterable[int] = "",
    output_name: str = "",
) -> Loaded:
    """The network in a file.

    Parameters
    ----------
    path : str or path
        A run folder, a .safetensors file (a network, or a state_dict), or an .onnx file.
    activation, layout, shape, output_name
        As for :func:`prove`: of a state_dict what is between its layers, or how they stand; of an ONNX file the sizes
        of a sample, and which output.

    Returns
    -------
    Network, KernelNetwork, Memorizer, DeepNetwork or GraphNetwork
        What `fit` and `memorize` saved, as it was; else a network of layers, whose outputs are those before what
        `behind` says (a softmax, a sigmoid); or a graph, where an ONNX file is no network of layers, or a run has a
        convolutional network.

    Raises
    ------
    DataError, ValueError
        A file that is none of these, a pickle among them, with what is wrong with it; a state_dict of which nobody
        says what is between its layers.
    """
    graph = {"shape": with_commas(shape), "output_name": output_name}
    if not (activation or layout is not None or any(graph.values())):
        found: Loaded | None = _core.Model(os.fspath(path)).network
        if found is not None:
            return found
    read = network_of("load", path, activation, layout, **graph)[0]
    return read.network or read.graph


def model_of(model: Model) -> _core.Model:
    if isinstance(model, (str, os.PathLike)):
        return _core.Model(os.fspath(model))
    if isinstance(model, ProveResult):
        network: Any = model.polished
        if network is None:
            raise ValueError("predict: the answer has no polished network; its `given` is the one that was asked about")
    else:
        network = model.network if isinstance(model, (FitResult, MemorizeResult)) else model
    if network is None:
        raise ValueError("predict: the result has no network")
    if not isinstance(network, (Network, KernelNetwork, Memorizer, DeepNetwork, GraphNetwork)):
        raise TypeError(f"predict: model has to be a result, a network or a path; got {model!r}")
    return _core.Model(network)


def predict(
    model: Model,
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    class_names: Iterable[object] | None = None,
    seed: Seed = 0,
    **read: Unpack[Read],
) -> Prediction:
    """What a network says about data, and how often it is right.

    Parameters
    ----------
    model : FitResult, MemorizeResult, ProveResult, Network, KernelNetwork, Memorizer, DeepNetwork, GraphNetwork or path
        Of a ProveResult the polished network. A path is a run folder, a .safetensors file or an .onnx file.
    data, y, seed, **read
        As for :func:`read_dataset`. Targets are compared with if there are any: classes by name, be it a single one.
    class_names : iterable
        The classes that the outputs stand for, in their order, of a model that does not name them; of a single output
        that below 0, then that above. Default: those of the data, if they are as many; `notes` say so.

    Returns
    -------
    Prediction

    Raises
    ------
    DataError
        Another number of features than the network has, values that are not finite, classes none of which the
        network knows, and what :func:`read_dataset` raises.
    ValueError
        A task, or a Dataset with targets of a task, that is not the network's; `class_names` that do not fit it.
    """
    seed = seed_of("predict", seed)
    asked = model_of(model)
    source = dataset("predict", data, y, read, seed, asked)[0]
    names = [] if class_names is None else class_names_of("predict", class_names)
    asked = asked.with_task_of(source, names)
    said = asked.predict(source)
    records = np.asarray(source.records, np.int64)
    if asked.task == "none":
        return Prediction(said.outputs, None, None, None, records, asked.notes)
    numbers = asked.task == "regression"
    predictions = said.outputs[:, 0] if numbers else np.asarray(said.predicted)
    decided = np.asarray(said.decided, np.bool_) if said.decided else None
    return Prediction(said.outputs, predictions, decided, said.error, records, asked.notes)
