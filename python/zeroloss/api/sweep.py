"""The command `sweep`: many small networks over a grid."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Dataset, SweepOptions, SweepResult
from .data import Data, Source, dataset, read_options
from .frames import ending, is_frame
from .options import call, changed, filled, step_text
from .processes import Communicator, group_of, shared
from .progress import Show, limited, shown
from .seed import Seed, seed_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


#: What is settled where a table becomes numbers, before a sweep.
_OF_TABLES = ("features", "drop", "id", "one_hot", "missing", "na_values", "spelling", "unknown", "delimiter",
              "decimal", "header", "skip", "skip_end", "verbose", "standardize", "bias")  # fmt: skip


def plain_options() -> SweepOptions:
    """What a sweep does unless it is told otherwise: trials in float32, as the command's."""
    options = SweepOptions()
    options.fit.precision = "float32"
    return options


def _values(axis: Any) -> list[Any]:
    """The values of an axis: none, one, or several."""
    if axis is None:
        return []
    several = isinstance(axis, Iterable) and not isinstance(axis, str)
    return [v.item() if isinstance(v, np.generic) else v for v in (axis if several else [axis])]


@shared
def sweep(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    # keywords of axes
    n: int | Iterable[int] | None = None,
    d: int | Iterable[int] | None = None,
    width: int | Iterable[int] | None = None,
    activation: str | Iterable[str] | None = None,
    scaling: str | Iterable[str] | None = None,
    step: float | str | Iterable[float | str] | None = None,
    noise: float | Iterable[float] | None = None,
    tolerance: float | Iterable[float] | None = None,
    depth: int | Iterable[int] | None = None,
    # end
    # keywords of sweep
    trials: int = 10,
    adaptive: bool = False,
    max_trials: int = 100,
    certify: bool = False,
    store: str | os.PathLike[str] = "",
    # end
    # keywords of trial
    residual: bool = False,
    optimizer: Literal["gd", "sgd", "momentum", "gauss_newton", "flow", "output_layer", "kernel"] = "gd",
    batch: int = 1,
    momentum: float = 0.9,
    precision: Literal["float64", "float32"] = "float32",
    max_steps: int = 100_000,
    flow_tolerance: float = 1e-8,
    space: Literal["auto", "weights", "gram"] = "auto",
    center: bool = False,
    normalize: bool = True,
    failure_probability: float = 0.01,
    # end
    seed: Seed = 0,
    progress: Show = False,
    threads: int = 0,
    comm: Communicator | None = None,
    **read: Unpack[Source],
) -> SweepResult:
    """Trains many small networks over a grid of options: where does training succeed?

    Every trial is the run of :func:`fit` with the same options and the trial's seed, bit for bit.

    Parameters
    ----------
    data, y
        As for :func:`read_dataset`: a path, a name, arrays or a Dataset. Of ``sphere:..`` without n or d these axes
        give them.
    n, d, width, activation, scaling, step, noise, tolerance, depth : a value or several
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
    residual, precision, center, normalize, optimizer, batch, momentum, flow_tolerance, space, max_steps,
    failure_probability
        Of each trial, as for :func:`fit`.
    store : path
        SQLite database with a row a trial. If it exists the sweep in it is continued; several processes may work on
        one. Default: in memory.
    seed, **read
        As for :func:`read_dataset`, without n and d; classes, labels and shuffle are those of every trial.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.
    comm : mpi4py.MPI.Comm, optional
        Processes that do the work together, in each of which this is called: the data and options of process 0 count,
        and all get its result.

    Returns
    -------
    SweepResult
        ``to_arrays()`` has its cells by axis, as numpy arrays; ``fit(X, y, **result.fit_options(cell))`` is a trial
        again.

    Raises
    ------
    DataError, ValueError, ResourceError
        As :func:`fit`; a store that is none of ours, or holds another sweep.
    KeyboardInterrupt
        On Ctrl-C. What is in the store stays there, and the same call goes on.
    """
    seed = seed_of("sweep", seed)
    axes = {
        # values of axes
        "n": n,
        "d": d,
        "width": width,
        "activation": activation,
        "scaling": scaling,
        "step": step,
        "noise": noise,
        "tolerance": tolerance,
        "depth": depth,
        # end
    }
    given = {
        # values of sweep
        "trials": trials,
        "adaptive": adaptive,
        "max_trials": max_trials,
        "certify": certify,
        "store": store,
        # end
    }
    trial = {
        # values of trial
        "residual": residual,
        "optimizer": optimizer,
        "batch": batch,
        "momentum": momentum,
        "precision": precision,
        "max_steps": max_steps,
        "flow_tolerance": flow_tolerance,
        "space": space,
        "center": center,
        "normalize": normalize,
        "failure_probability": failure_probability,
        # end
    }
    source: str | Dataset
    of_trials: Mapping[str, Any] = read
    if isinstance(data, (str, os.PathLike)) and y is None and not ending(data):
        source, subject = os.fspath(data), repr(os.fspath(data))
    else:
        table = _OF_TABLES if is_frame(data) or ending(data) else ()
        own = {name: value for name, value in read.items() if name in ("target", "task", "split", *table)}
        source, subject = dataset("sweep", data, y, own, 0)
        of_trials = {name: value for name, value in read.items() if name not in table}
    options, plain = plain_options(), plain_options()
    grid = {name: _values(axis) for name, axis in axes.items()}
    filled("sweep", options.axes, {**grid, "step": [step_text("sweep", value) for value in grid["step"]]})
    filled("sweep", options.fit, trial)
    options.read = read_options("sweep", of_trials, seed)
    filled("sweep", options, given)
    text = call("sweep", subject, {
        **changed(options.axes, plain.axes, grid), **changed(options, plain, given),
        **changed(options.fit, plain.fit, trial), **changed(options.read, plain.read, {"seed": seed}), **read,
    })  # fmt: skip
    with limited(threads), shown(progress) as report:
        return _core.sweep(source, options, text, report, group_of(comm))
