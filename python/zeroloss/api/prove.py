"""The command `prove`: what can be proved of a trained network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import numpy.typing as npt

from .. import _core
from .._core import ProveOptions, ProveResult
from .arrays import class_names_of, columns, one_hot
from .data import Data, Read, dataset
from .networks import Layout, Trained, check_module, is_module, network_of
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
    shape: str | Iterable[int] = "",
    output_name: str = "",
    # keywords of prove
    layers: str | int | Iterable[int] = "auto",
    polish: bool = False,
    max_factorizations: int = 60,
    divide: float = 1.0,
    class_names: Iterable[object] | None = None,
    threshold: float | None = None,
    execution: Literal["exact", "float32", "tf32", "bfloat16", "float16"] = "exact",
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
        traces it), also compiled, parallel, or with parametrised weights, which are read as eval() has them; any other
        module (convolutions, normalisations) as the graph that torch.onnx.export writes of it;
        MLPClassifier or MLPRegressor of scikit-learn, also as the end of a Pipeline, the best of a search or in a
        TransformedTargetRegressor; another estimator as the graph that skl2onnx writes of it; what `fit` trained; or
        a file: .onnx (any graph of one input: where it is no network
        of layers, labels, margins and what its last layer can do alone are proved), .safetensors (a network, or a
        state_dict), or a run folder. A StandardScaler, RobustScaler, MinMaxScaler or MaxAbsScaler right before the MLP
        is part of the network; steps before that scikit-learn applies, and the proof is about the points as it makes
        them. What is behind the last linear map and keeps the largest output the largest is left out. Notes say each of
        these.
    data, y, seed, **read
        As for :func:`read_dataset`: the points as the model takes them, with their labels, be it one; an array of more
        dimensions (n x C x H x W) has a sample in each of its first; arrays or frames X and y where scikit-learn
        applies steps. `y` may be one-hot: n x K of zeros and ones, K >= 2, column k for output k; or n x K numbers,
        targets of K outputs. Output k stands for class k of those that the model names, or else `class_names`; or else
        of all those of the data, sorted, whichever of them are kept, if they are as many: that order is said.
    activation : str
        Of a state_dict: what is between its layers, one of ``zeroloss.kernel.activation_names()`` or identity, or one
        for each with commas between them. Their order is that of the numbers in their names (fc1, fc2; net.0, net.2).
    layout : list, mapping or path
        Of a state_dict whose names do not number its layers one by one: all names in the order of the layers. Of one
        whose layers do not stand one behind the other: ``{"layers": [{"W": "block.0", "U": "block.1",
        "activation": "relu", "residual": True, "scale": 0.5}, ..], "output": "head", "shift": [..], "factor": [..]}``,
        or a JSON file with that. A name is that of a linear layer, NAME.weight and NAME.bias; only W and activation
        have to be there, and leak is leaky_relu's.
    shape : str or iterable of int
        Of an ONNX file or a module: the sizes of a sample, such as (3, 32, 32), where the file or the array of points
        leaves them open.
    output_name : str
        Of an ONNX file with several outputs: the one that the labels are of.
    layers : str, int or iterable of int
        Which may move: all, hidden, lastK (the last K, the output layer being one), numbers from 1, or auto: all, but
        hidden for classes with an output each, where moving the output layer makes J singular.
    polish : bool
        Take Gauss-Newton steps to weights at which the proof holds. Of a graph that is no network of layers the last
        layer alone moves, in closed form, to the least change that gives the targets, rounded to the file's numbers.
    max_factorizations : int
        Most Cholesky factorisations of polishing, >= 1.
    divide : float
        Every number of the points is divided by this first, > 0.
    class_names : iterable
        The classes that the outputs stand for, in their order, of a model that does not name them; of a single output
        that below 0, then that above.
    threshold : float
        Of a single output: the second class is where it exceeds this, -1e15 to 1e15, default 0; where the model ends
        with a sigmoid, where that does, between 0 and 1, default 0.5. ValueError for several outputs, or numbers.
    execution : str
        exact, or also the labels that every runtime gives which rounds to the types of an ONNX file and adds products
        in any order: float32, or with factors of products in tf32, bfloat16 or float16. Smooth activations and pow are
        taken to be within 16 units of 1 + abs(phi) + abs(z).
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.

    Returns
    -------
    ProveResult
        `networks` has the one given and, after polishing, the polished one, which is `polished`; `given` is the network
        itself, a DeepNetwork with outputs, tangent kernel and files, or a GraphNetwork. The matrices have n K
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
    sizes: tuple[int, ...] | None = None  # of a sample, as the model takes it
    if getattr(data, "ndim", 0) > 1 and not hasattr(data, "columns"):
        sizes = tuple(data.shape[1:])  # type: ignore[union-attr]
        if len(sizes) > 1:
            if shape and with_commas(shape) != with_commas(sizes):
                raise ValueError(f"prove: shape is {with_commas(shape)}, and samples are of {with_commas(sizes)}")
            data = data.reshape(len(data), -1)  # type: ignore[union-attr,arg-type]
            shape = shape or sizes
    graph = {"shape": with_commas(shape), "output_name": output_name}
    if shape:
        sizes = tuple(int(size) for size in graph["shape"].split(","))
    network, name, subject = network_of("prove", model, activation, layout, sizes, **graph)
    by_exporter = name != type(model).__name__
    if hasattr(model, "get_params") and not is_module(model) and not by_exporter:
        from .sklearn_network import as_made

        data, y = as_made("prove", model, data, y)
    ones = None if read.get("task") == "regression" else one_hot("prove", y)
    if ones is not None:
        its_own = network.network.class_names if network.network else []
        count = len(network.network.V) if network.network else ones.shape[1]
        names = class_names or its_own or [str(k) for k in range(count)]
        if len(names) != ones.shape[1]:
            raise ValueError(f"prove: y has a column for each of {ones.shape[1]} classes; the outputs are {names}")
        y = [names[k] for k in ones.argmax(axis=1)]
        class_names = class_names or ([] if its_own else names)
    given = {
        # values of prove
        "layers": layers,
        "polish": polish,
        "max_factorizations": max_factorizations,
        "divide": divide,
        "class_names": class_names,
        "threshold": threshold,
        "execution": execution,
        # end
    }
    known = list(getattr(model, "feature_names_in_", ()))
    if known and hasattr(data, "columns") and [column for column in data.columns if column in known] != known:
        raise ValueError("prove: the columns of the data are not those that the model was fitted with, in their order")
    of = network.model()
    of.its_classes = True
    several = columns("prove", y)
    if len(several) == 1:
        source, points = dataset("prove", data, several[0], read, seed, of)
    else:
        if read.get("task", "auto") == "classification":
            raise ValueError("prove: y has several columns, which are numbers; classes are one column, or one-hot")
        read["task"] = "regression"
        source = _core.joined_targets([dataset("prove", data, one, read, seed, of)[0] for one in several])
        points = "X, y"
    if is_module(model):
        # An exporter follows the way that its own point takes through the module, so that all points are looked at.
        some = source.X if by_exporter else source.X[:64]
        check_module("prove", model, network, some / divide if divide > 0 else some, sizes or some.shape[1:])
    options = filled("prove", ProveOptions(), given)
    written = {**changed(options, ProveOptions(), given), **read, **({"seed": seed} if seed else {})}
    text = call(
        "prove",
        f"{subject}, {points}",
        {
            **({"activation": activation} if activation else {}),
            **{key: value for key, value in graph.items() if value},
            **({"layout": layout if isinstance(layout, list) else Written("layout")} if layout is not None else {}),
            **written,
        },
    )
    with limited(threads), shown(progress) as report:
        return _core.prove(network, name, source, options, text, report)
