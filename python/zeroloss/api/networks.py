"""Networks of layers as users have them: modules, estimators, files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import DeepNetwork, FitResult, KernelNetwork, Layer, Network, ReadNetwork
from .options import Written

#: A torch.nn.Module, an estimator of scikit-learn, a FitResult, a network, or a path.
Trained = Any
#: What a state_dict does not say: the names of its layers in their order, a mapping, or a JSON file with one of these.
Layout = list[str] | tuple[str, ...] | Mapping[str, Any] | str | os.PathLike[str] | None
Numbers = npt.NDArray[np.float64]


@dataclass
class Linear:
    """W h + b."""

    W: Numbers
    b: Numbers | None = None


@dataclass
class Phi:
    """An activation, one of _core.layer_activations()."""

    name: str
    leak: float = 0.01


@dataclass
class Residual:
    """h + scale (W_2 phi(W_1 h + b_1) + b_2), without W_2 h + scale phi(W_1 h + b_1)."""

    first: Linear
    phi: Phi
    second: Linear | None = None
    scale: float = 1.0


Step = Linear | Phi | Residual


@dataclass
class Parts:
    """What a network does with points, one behind the other: (x - shift) factor, then the steps."""

    steps: Sequence[Step]
    shift: Numbers | None = None
    factor: Numbers | None = None
    task: str = "none"
    class_names: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    single: bool = False  #: its numbers are float32, to which points and sums are rounded where it runs
    behind: str = ""  # the first thing behind the last step that is left out, for classes alone


class NoLayersError(ValueError):
    """A model of another kind than networks of layers."""


def _layer(linear: Linear, phi: Phi) -> Layer:
    return Layer(linear.W, linear.b, phi.name, phi.leak)


def assembled(parts: Parts) -> ReadNetwork:
    """ValueError for steps that are no network of layers: it has to end with a linear map."""
    layers: list[Layer] = []
    open_: Linear | None = None  # a linear map whose activation has yet to come
    for step in parts.steps:
        if isinstance(step, Linear):
            if open_ is not None:  # two in a row
                layers.append(_layer(open_, Phi("identity")))
            open_ = step
        elif isinstance(step, Phi):
            if open_ is None:
                raise ValueError(f"{step.name} does not stand behind a linear map")
            layers.append(_layer(open_, step))
            open_ = None
        else:
            if open_ is not None:
                layers.append(_layer(open_, Phi("identity")))
                open_ = None
            U, bU = (step.second.W, step.second.b) if step.second else (None, None)
            layers.append(Layer(step.first.W, step.first.b, step.phi.name, step.phi.leak, True, U, bU, step.scale))
    if open_ is None:
        raise ValueError("it does not end with a linear map")
    if not layers:
        raise ValueError("it has no hidden layer")
    network = DeepNetwork(
        layers, open_.W, open_.b, parts.shift, parts.factor, parts.task, parts.class_names, single=parts.single,
        behind=parts.behind,
    )  # fmt: skip
    return ReadNetwork(network, parts.notes)


def is_module(model: object) -> bool:
    """Whether it is a torch.nn.Module."""
    return "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module)


def _description(layout: Layout) -> str:
    """As JSON: of a list, a mapping, or a file."""
    if layout is None:
        return ""
    if isinstance(layout, Mapping):
        return json.dumps({key: np.asarray(value).tolist() if key in ("shift", "factor") else value
                           for key, value in layout.items()})  # fmt: skip
    if isinstance(layout, (str, os.PathLike)):
        return Path(layout).read_text(encoding="utf-8")
    return json.dumps(list(layout))


def network_of(
    function: str,
    model: Trained,
    activation: str = "",
    layout: Layout = None,
    sizes: Sequence[int] | None = None,
    **graph: str,
) -> tuple[ReadNetwork, str, str]:
    """The network, what a result calls it, and how it is written in a call.

    `graph` has shape and output_name, of an ONNX file; `sizes` are those of a sample, where they are known. TypeError
    for what is no model; ValueError, naming the part, for one that is neither a network of layers nor a graph.
    """
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        return _core.read_network(path, activation, _description(layout), **graph), path, repr(path)
    if activation or layout is not None:
        name = "activation" if activation else "layout"
        raise ValueError(f"{function}: {name} is for a file with a state_dict; this model has its own")
    for name, value in graph.items():
        if value and not (is_module(model) or hasattr(model, "get_params")):
            raise ValueError(f"{function}: {name} is for an ONNX file; this model has its own")
    if isinstance(model, FitResult):
        model = model.network
        if model is None:
            raise ValueError(f"{function}: the result has no network")
    if isinstance(model, KernelNetwork):
        raise ValueError(f"{function}: an infinitely wide network, which has no weights")
    if isinstance(model, Network):
        model = _core.layers_of(model)
    if isinstance(model, DeepNetwork):
        return ReadNetwork(model), "network", Written("network")
    kind = type(model).__name__
    try:
        return assembled(_parts(function, model)), kind, Written("model")
    except NoLayersError as error:
        no_layers: ValueError = error
    except Exception as error:
        if not is_module(model):
            if not isinstance(error, ValueError):
                raise
            raise ValueError(f"{function}: {kind} is no network of layers: {error}") from error
        no_layers = ValueError(str(error))
    try:
        from .exported import exported

        return *exported(model, is_module(model), sizes, graph), Written("model")
    except ValueError as error:
        raise ValueError(f"{function}: {kind} is no network of layers: {no_layers}; {error}") from error


def _parts(function: str, model: Any) -> Parts:
    """Of a module or an estimator; ValueError for one that is no network of layers."""
    if is_module(model):
        from .torch_network import parts_of_module

        parts = parts_of_module(model)
        kinds = {str(p.dtype) for p in model.parameters()}
        if others := sorted(kinds - {"torch.float32", "torch.float64"}):
            raise ValueError(
                f"its weights are of {', '.join(others)}; only float32 and float64 are read as real numbers: "
                "call .float() on it"
            )
        parts.single = "torch.float32" in kinds
        return parts
    if hasattr(model, "get_params"):
        from .sklearn_network import parts_of_estimator

        return parts_of_estimator(model)
    raise TypeError(
        f"{function}: model has to be a path, a torch.nn.Module, an estimator of scikit-learn, a FitResult or a "
        f"network; got {type(model).__name__}"
    )


def check_module(function: str, module: Any, read: ReadNetwork, X: Numbers, sizes: Sequence[int]) -> None:
    """ValueError where a torch.nn.Module computes something else at X (n x d) than the network that was read of it. It
    takes samples of these sizes."""
    from .torch_network import check_outputs

    if read.network and X.shape[1:] != (read.network.d,):
        return
    try:
        check_outputs(module, read.network or read.graph, X, sizes)
    except ValueError as error:
        raise ValueError(f"{function}: {type(module).__name__} {error}") from error
