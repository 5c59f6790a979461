"""The functions of the package: one for each command."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import CertifyResult, Dataset, FitResult, Memorizer, MemorizeResult, Network, SweepResult
from .arrays import Read, Show, Source, call, dataset, fill, points, read_options, shown, step_text, targets

if TYPE_CHECKING:
    from typing_extensions import Unpack

Data = Union[str, os.PathLike[str], npt.ArrayLike, Dataset]


def _given(function: Callable[..., Any], local: dict[str, Any], *without: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keywords of a call but for data, y, progress, read and `without`; and all defaults."""
    parameters = inspect.signature(function).parameters
    given = {
        name: local[name]
        for name, p in parameters.items()
        if p.kind is p.KEYWORD_ONLY and name not in ("progress", *without)
    }
    return given, {name: p.default for name, p in parameters.items()}


def read_dataset(data: Data, y: npt.ArrayLike | None = None, *, seed: int = 0, **read: Unpack[Read]) -> Dataset:
    """Points with their targets, from a file, a name or arrays.

    Parameters
    ----------
    data : path, name, array or Dataset
        A csv, csv.gz, npy, npz or idx file, a CIFAR folder; ``digits``, ``mnist``, ``cifar10``, ``cifar100`` or
        ``sphere:n=..,d=..[,y=normal|sign|none][,seed=..]``; or an array X, n x d.
    y : array, optional
        n targets of an array X: numbers, or names of classes. None may be missing (None, NaN, masked).
    seed : int
        Of shuffle, d, labels and generated data: 0 <= seed < 2^53.
    **read
        target (str or int): of a table, the name or 0-based index of the target column; "none" = no targets.
        task (str): auto (text or few integers are classes), regression or classification.
        split (str): train or test, of sets that have both.
        n (int): keep the first n points; 0 = all.
        d (int): project the points onto a random subspace of d dimensions; 0 = keep the features.
        shuffle (bool): keep a random subset of n points, in random order, instead of the first n.
        classes (list): keep only these, by name.
        labels (str): given, random, or noise:p, each label replaced by another with probability p.
        cache (path): folder of downloaded sets; default XDG_CACHE_HOME/zeroloss.

    Returns
    -------
    Dataset
        Its X is a copy: what happens to the array afterwards does not change an answer.

    Raises
    ------
    DataError
        Anything wrong with the data: the message names file, record and column.
    ValueError, TypeError
        An option that is out of range or of the wrong type.
    """
    return dataset("read_dataset", data, y, read, seed)[0]


def certify(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    activation: str = "relu",
    center: bool = False,
    normalize: bool = True,
    failure_probability: float = 0.01,
    accuracy: float = 1e-3,
    width: float = 0.0,
    step: float = 0.0,
    all_bounds: bool = False,
    spectrum: bool = False,
    seed: int = 0,
    progress: Show = False,
    **read: Unpack[Read],
) -> CertifyResult:
    """Can a wide network fit this data, how wide, with what step, and which samples stand in the way?

    Answered before training, from the kernel of the infinitely wide network. What it says is verified or proved holds
    in exact arithmetic, rounding errors included.

    Parameters
    ----------
    data, y, seed, **read
        As for :func:`read_dataset`.
    activation : str
        relu, softplus, tanh, sigmoid, erf, gelu, silu or quadratic.
    center : bool
        Subtract the mean point first.
    normalize : bool
        Rows of any length, which they are divided by; if not, one off 1 by more than 1e-12 is an error.
    failure_probability : float
        Of the a-priori guarantees, in (0, 1).
    accuracy : float
        Relative misfit that step counts refer to, in (0, 1).
    width : float
        Hidden units of a given network; 0 = ask for the sufficient width.
    step : float
        Step of the forecast; 0 = 1.5/lambda_max.
    all_bounds : bool
        More lower bounds, all of them proven (about three times the work).
    spectrum : bool
        All n eigenvalues, too.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.

    Returns
    -------
    CertifyResult

    Raises
    ------
    DataError, ValueError, ResourceError
        Data that cannot be used; an option out of range; a kernel that does not fit into memory.
    KeyboardInterrupt
        On Ctrl-C, at the next safe point. All eigenvalues (n <= 3,000 with labels, or `spectrum`) are one call
        of LAPACK, which ends first.
    """
    given, defaults = _given(certify, locals())
    source, subject = dataset("certify", data, y, read, seed)
    settings = fill("certify", _core.CertifyOptions(), given)
    text = call("certify", subject, {**given, **read}, defaults)
    with shown(progress) as report:
        return _core.certify(source, settings, text, report)


def fit(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    activation: str = "relu",
    width: int = 1024,
    scaling: str = "ntk",
    optimizer: str = "gd",
    step: float | str = "auto",
    batch: int = 1,
    precision: str = "float64",
    max_steps: int = 100_000,
    tolerance: float = 0.0,
    stop: str = "tolerance",
    certify_every: int = 500,
    record_every: int = 0,
    polish: bool = False,
    flow_tolerance: float = 1e-8,
    space: str = "auto",
    center: bool = False,
    normalize: bool = True,
    failure_probability: float = 0.01,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] = "",
    checkpoint_every_s: float = 60.0,
    resume: bool = False,
    progress: Show = False,
    **read: Unpack[Read],
) -> FitResult:
    """Trains a two-layer network to zero loss, and proves that an exact solution lies next to the weights it ends with.

    Parameters
    ----------
    data, y, **read
        As for :func:`read_dataset`.
    activation : str
        relu, softplus, tanh, sigmoid, erf, gelu, silu or quadratic.
    width : int
        Hidden units of each output, >= 1.
    scaling : str
        Output weights: ntk (+-1/sqrt(m)) or balanced (+-||y||/sqrt(m n)).
    optimizer : str
        gd, sgd, gauss_newton (quickest to zero loss; n^2 memory), flow (gradient flow) or output_layer (random
        features).
    step : float or str
        Of gd and sgd: a number > 0, auto (1.5/||J||^2), or theorem (what the paper allows).
    batch : int
        Points in a step of sgd, 1..n.
    precision : str
        float64, or float32 (gd and sgd only).
    max_steps : int
        Most steps of each output.
    tolerance : float
        Relative misfit to reach; 0 = 1e-6, for gauss_newton 1e-9, for float32 1e-4.
    stop : str
        tolerance, or certificate: go on until one holds.
    certify_every : int
        Passes over the data between certificates; 0 = at the end only.
    record_every : int
        Steps between points of the curve; 0 = about 20 a decade.
    polish : bool
        relu: also construct a network whose misfit is at rounding level.
    flow_tolerance : float
        Error allowed in a step of flow.
    space : str
        Where a step is computed: weights, gram (without touching W), or auto: the cheaper.
    center : bool
        Subtract the mean point first.
    normalize : bool
        Rows of any length, which they are divided by; if not, one off 1 by more than 1e-12 is an error.
    failure_probability : float
        Of the theorems' bounds, in (0, 1).
    seed : int
        Of weights, signs and batches, and as for :func:`read_dataset`: 0 <= seed < 2^53.
    checkpoint : path
        Written every `checkpoint_every_s` seconds and on Ctrl-C.
    resume : bool
        Continue from `checkpoint`; starts anew if there is none. The result is bit for bit that of an
        uninterrupted run.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.

    Returns
    -------
    FitResult
        For one machine and BLAS its numbers do not depend on the number of threads.

    Raises
    ------
    DataError, ValueError, ResourceError
        Data that cannot be used; an option out of range; memory or disk that does not suffice.
    KeyboardInterrupt
        On Ctrl-C, after the checkpoint is written if there is one.
    """
    given, defaults = _given(fit, locals())
    source, subject = dataset("fit", data, y, read, seed)
    settings = fill("fit", _core.FitOptions(), {**given, "step": step_text("fit", step)})
    text = call("fit", subject, {**given, **read}, defaults)
    with shown(progress) as report:
        return _core.fit(source, settings, text, report)


def _values(axis: Any) -> list[Any]:
    """The values of an axis: none, one, or several."""
    if axis is None:
        return []
    several = isinstance(axis, Iterable) and not isinstance(axis, str)
    return [v.item() if isinstance(v, np.generic) else v for v in (axis if several else [axis])]


def sweep(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    n: int | Iterable[int] | None = None,
    d: int | Iterable[int] | None = None,
    width: int | Iterable[int] | None = None,
    activation: str | Iterable[str] | None = None,
    scaling: str | Iterable[str] | None = None,
    step: float | str | Iterable[float | str] | None = None,
    noise: float | Iterable[float] | None = None,
    tolerance: float | Iterable[float] | None = None,
    trials: int = 10,
    adaptive: bool = False,
    max_trials: int = 100,
    certify: bool = False,
    precision: str = "float32",
    center: bool = False,
    normalize: bool = True,
    optimizer: str = "gd",
    batch: int = 1,
    flow_tolerance: float = 1e-8,
    space: str = "auto",
    max_steps: int = 100_000,
    store: str | os.PathLike[str] = "",
    seed: int = 0,
    progress: Show = False,
    **read: Unpack[Source],
) -> SweepResult:
    """Trains many small networks over a grid of options: where does training succeed?

    Every trial is the run of :func:`fit` with the same options and the trial's seed, bit for bit.

    Parameters
    ----------
    data, y
        As for :func:`read_dataset`: a path, a name, arrays or a Dataset. Of ``sphere:..`` without n or d these axes
        give them.
    n, d, width, activation, scaling, step, noise, tolerance : a value or several
        The axes. n: points, of a generated set or of a random subset. d: dimension, of a generated set or of a random
        subspace. noise: probability that a label is replaced. tolerance: relative misfit that is success. The others
        are as for :func:`fit`.
    trials : int
        Of each cell; of an adaptive sweep, of each cell in a round.
    adaptive : bool
        Go on in rounds with the cells where some trials succeeded and some did not ..
    max_trials : int
        .. up to so many of each.
    certify : bool
        Also try to prove each trial's final weights.
    precision, center, normalize, optimizer, batch, flow_tolerance, space, max_steps
        Of each trial, as for :func:`fit`.
    store : path
        SQLite database with a row a trial. If it exists the sweep in it is continued; several processes may work on
        one. Default: in memory.
    seed, **read
        As for :func:`read_dataset`, without n and d; classes, labels and shuffle are those of every trial.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.

    Returns
    -------
    SweepResult
        ``fit(X, y, **result.fit_options(cell))`` is a trial again.

    Raises
    ------
    DataError, ValueError, ResourceError
        As :func:`fit`; a store that is none of ours, or holds another sweep.
    KeyboardInterrupt
        On Ctrl-C. What is in the store stays there, and the same call goes on.
    """
    given, defaults = _given(sweep, locals())
    source: str | Dataset
    if isinstance(data, (str, os.PathLike)) and y is None:
        source, subject = os.fspath(data), repr(os.fspath(data))
    else:
        own = {name: value for name, value in read.items() if name in ("target", "task", "split")}
        source, subject = dataset("sweep", data, y, own, 0)
    options = _core.SweepOptions()
    axes = {name: _values(given.pop(name)) for name in
            ("n", "d", "width", "activation", "scaling", "step", "noise", "tolerance")}  # fmt: skip
    text = call("sweep", subject, {**{k: v for k, v in axes.items() if v}, **given, **read}, defaults)
    axes["step"] = [step_text("sweep", value) for value in axes["step"]]
    fill("sweep", options.axes, axes)
    for name in ("precision", "center", "normalize", "optimizer", "batch", "flow_tolerance", "space", "max_steps"):
        fill("sweep", options.fit, {name: given.pop(name)})
    options.read = read_options("sweep", read, given.pop("seed"))
    fill("sweep", options, given)
    with shown(progress) as report:
        return _core.sweep(source, options, text, report)


def memorize(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    construction: str = "norm_ordered",
    hidden: int | None = None,
    precision: str = "float64",
    margin: float | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    progress: Show = False,
    **read: Unpack[Read],
) -> MemorizeResult:
    """Writes down a residual network that is right at every point, without training, and verifies it by a forward pass.

    Parameters
    ----------
    data, y, **read
        As for :func:`read_dataset`. With an array X, `y` may also be n x r real-valued targets.
    construction : str
        norm_ordered (any points that differ) or paper (Hardt and Ma's, whose conditions are checked).
    hidden : int, optional
        Width, >= 1. Default: the first of 2, 4, 8, .. that keeps `margin` and is right at every point.
    precision : str
        Of the network and its verification: float64 or float32.
    margin : float, optional
        Least relative distance of a neuron's threshold, in (0, 0.25]. Default: 1e-9, for float32 1e-3; where
        `hidden` is given none.
    tolerance : float, optional
        Error at which a real-valued target counts as reached, relative to the largest. Default: 1e-6, for float32 1e-3.
    seed : int
        Of the first layer and the codes, and as for :func:`read_dataset`.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.

    Returns
    -------
    MemorizeResult

    Raises
    ------
    DataError, ValueError, ResourceError
        Data that cannot be used, equal points with different targets among them (they are named); an option out of
        range; memory that does not suffice.
    KeyboardInterrupt
        On Ctrl-C, at the next safe point.
    """
    given, defaults = _given(memorize, locals())
    columns = None
    if y is not None and np.ndim(y) == 2:
        columns = points("memorize", y, "y")
        X = points("memorize", data)  # type: ignore[arg-type]  # it says so if they are none
        if read:
            raise TypeError("memorize: targets of several columns go with all of X: no other keywords to select points")
        subject = "X, Y"
        source = _core.dataset(X, None, [], read_options("memorize", {}, seed), subject, "")
    else:
        source, subject = dataset("memorize", data, y, read, seed)
    settings = fill("memorize", _core.MemorizeOptions(), given)
    text = call("memorize", subject, {**given, **read}, defaults)
    with shown(progress) as report:
        return _core.memorize(source, columns, settings, text, report)


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


def _names(function: str, y: npt.ArrayLike, n: int) -> list[str]:
    """The classes that n targets name, spelled as a Dataset spells them."""
    numbers, texts = targets(function, y, n)
    if numbers is None:
        return texts
    for i in np.flatnonzero(~np.isfinite(numbers)):
        raise _core.DataError(f"{function}: y[{i}] is {numbers[i]}; expected a number")
    return [repr(float(number)).removesuffix(".0") for number in numbers]


def predict(
    model: FitResult | MemorizeResult | Network | Memorizer | str | os.PathLike[str],
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
    network: Any = load(model) if isinstance(model, (str, os.PathLike)) else getattr(model, "network", model)
    if network is None:
        raise ValueError("predict: the result has no network")
    wanted = read.get("task", "auto")
    if network.task != "none" and wanted not in ("auto", network.task):
        raise ValueError(f"predict: task {wanted}: the model was trained for {network.task}")
    labels: list[str] | None = None
    arrays = y is not None and not isinstance(data, (str, os.PathLike, Dataset))
    if arrays and network.task == "classification" and not {"classes", "labels"} & read.keys():
        # The network knows its classes: that two of them are among the labels is not asked for.
        X = points("predict", data)  # type: ignore[arg-type]  # it says so if they are none
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
        raise _core.DataError(
            f"{source.name}: none of its classes ({', '.join(sorted(set(labels)))}) is one of the model's "
            f"({', '.join(network.class_names)})"
        )
    return Prediction(outputs, predictions, float(np.mean(predictions != np.asarray(labels))))
