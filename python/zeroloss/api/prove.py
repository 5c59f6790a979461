"""The command `prove`: what can be proved of a trained network."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy.typing as npt

from .. import _core
from .._core import ProveOptions, ProveResult
from .arrays import class_names_of
from .data import Data, Read, dataset
from .networks import Layout, Trained, check_module, network_of
from .options import Written, call, changed, filled, with_commas
from .progress import Show, limited, shown
from .seed import Seed, seed_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


def prove(
    model: Trained,
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    activation: str = "",
    layout: Layout = None,
    # keywords of prove
    layers: str | int | Iterable[int] = "auto",
    polish: bool = False,
    max_factorizations: int = 60,
    divide: float = 1.0,
    class_names: Iterable[object] | None = None,
    # end
    seed: Seed = 0,
    progress: Show = False,
    threads: int = 0,
    **read: Unpack[Read],
) -> ProveResult:
    """What can be proved of a trained network: labels, margins, an exact network beside it, descent that reaches one.

    What is printed as proved holds in exact arithmetic, of the network whose weights are exactly those given.

    Parameters
    ----------
    model : torch.nn.Module, estimator, FitResult, Network, DeepNetwork or path
        A PyTorch module of linear layers, activations and residual sums, however its forward() calls them (torch.fx
        traces it); MLPClassifier or MLPRegressor of scikit-learn, or a Pipeline of StandardScaler, MinMaxScaler or
        MaxAbsScaler and one of those; what `fit` trained; or a file: .onnx, .safetensors (a network, or a state_dict),
        or a run folder. What is behind the last linear map and keeps the largest output the largest is left out, and
        said.
    data, y, seed, **read
        As for :func:`read_dataset`: the points as the model takes them, with their labels, be it one. Output k stands
        for class k of those that the model names, or else `class_names`; or else of all those of the data, sorted,
        whichever of them are kept, if they are as many: that order is said.
    activation : str
        Of a state_dict: what is between its layers, one of ``zeroloss.kernel.activation_names()`` or identity, or one
        for each with commas between them. Their order is that of the numbers in their names (fc1, fc2; net.0, net.2).
    layout : list, mapping or path
        Of a state_dict whose names do not number its layers one by one: all names in the order of the layers. Of one
        whose layers do not stand one behind the other: ``{"layers": [{"W": "block.0", "U": "block.1",
        "activation": "relu", "residual": True, "scale": 0.5}, ..], "output": "head", "shift": [..], "factor": [..]}``,
        or a JSON file with that. A name is that of a linear layer, NAME.weight and NAME.bias; only W and activation
        have to be there, and leak is leaky_relu's.
    layers : str, int or iterable of int
        Which may move: all, hidden, lastK (the last K, the output layer being one), numbers from 1, or auto: all, but
        hidden for classes with an output each, where moving the output layer makes J singular.
    polish : bool
        Take Gauss-Newton steps to weights at which the proof holds.
    max_factorizations : int
        Most Cholesky factorisations of polishing, >= 1.
    divide : float
        Every number of the points is divided by this first, > 0.
    class_names : iterable
        The classes that the outputs stand for, in their order, of a model that does not name them; of a single output
        that below 0, then that above.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.

    Returns
    -------
    ProveResult
        `networks` has the one given and, after polishing, the polished one, which is `polished`. The matrices have n K
        rows, n of them distinct points, K outputs: 16 (n K)^2 bytes and, for each factorisation, (n K)^3/3
        multiplications. What does not fit into memory is left out and said in `remarks`.

    Raises
    ------
    DataError, ValueError, TypeError, ResourceError
        A model that is no such network, naming what is in the way; data that do not fit it; an option out of range;
        memory that does not suffice.
    KeyboardInterrupt
        On Ctrl-C, at the next safe point.
    """
    seed = seed_of("prove", seed)
    layers = with_commas(layers)
    class_names = [] if class_names is None else class_names_of("prove", class_names)
    given = {
        # values of prove
        "layers": layers,
        "polish": polish,
        "max_factorizations": max_factorizations,
        "divide": divide,
        "class_names": class_names,
        # end
    }
    network, name, subject = network_of("prove", model, activation, layout)
    known = list(getattr(model, "feature_names_in_", ()))
    if known and hasattr(data, "columns") and [column for column in data.columns if column in known] != known:
        raise ValueError("prove: the columns of the data are not those that the model was fitted with, in their order")
    of = _core.Model(network.network)
    of.its_classes = True
    source, points = dataset("prove", data, y, read, seed, of)
    if "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
        check_module("prove", model, network.network, source.X[:64] / divide if divide > 0 else source.X[:64])
    options = filled("prove", ProveOptions(), given)
    written = {**changed(options, ProveOptions(), given), **read, **({"seed": seed} if seed else {})}
    text = call(
        "prove",
        f"{subject}, {points}",
        {
            **({"activation": activation} if activation else {}),
            **({"layout": layout if isinstance(layout, list) else Written("layout")} if layout is not None else {}),
            **written,
        },
    )
    with limited(threads), shown(progress) as report:
        return _core.prove(network, name, source, options, text, report)
