"""The command `fit`: training to zero loss, and the proof of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import numpy.typing as npt

from .. import _core
from .._core import FitOptions, FitResult
from .data import Data, Read, dataset
from .options import call, changed, filled, step_text, with_commas
from .processes import Communicator, group_of, shared
from .progress import Show, limited, shown
from .seed import Seed, seed_of
from .start import Weights, start_of
from .test_set import Tested, test_set

if TYPE_CHECKING:
    from typing_extensions import Unpack


@shared
def fit(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    # keywords of fit
    activation: str = "auto",
    width: int = 0,
    depth: int = 1,
    residual: bool = False,
    widths: str | Iterable[int] = "",
    layers: str | int | Iterable[int] = "auto",
    separate: bool = False,
    scaling: Literal["ntk", "balanced"] = "ntk",
    output_scale: float = 1.0,
    optimizer: Literal["gd", "sgd", "momentum", "gauss_newton", "flow", "output_layer", "kernel"] = "gd",
    step: float | str = "auto",
    ridge: float | str = "auto",
    solver: Literal["auto", "exact", "cg"] = "auto",
    batch: int = 1,
    momentum: float = 0.9,
    precision: Literal["float64", "float32"] = "float64",
    max_steps: int = 100_000,
    max_seconds: float = 0.0,
    patience: int = 0,
    tolerance: float = 0.0,
    stop: Literal["tolerance", "certificate"] = "tolerance",
    certify_every: int = 500,
    record_every: int = 0,
    flow_tolerance: float = 1e-8,
    space: Literal["auto", "weights", "gram"] = "auto",
    polish: bool = False,
    center: bool = False,
    normalize: bool = True,
    failure_probability: float = 0.01,
    seed: Seed = 0,
    start: Weights = "gaussian",
    test: Tested = None,
    checkpoint: str | os.PathLike[str] = "",
    checkpoint_every_s: float = 60.0,
    resume: bool = False,
    # end
    progress: Show = False,
    threads: int = 0,
    comm: Communicator | None = None,
    **read: Unpack[Read],
) -> FitResult:
    """Trains a network to zero loss, and proves that an exact solution lies next to the weights it ends with.

    Parameters
    ----------
    data, y, **read
        As for :func:`read_dataset`.
    activation : str
        One of ``zeroloss.kernel.activation_names()``, or auto: relu, of kernel that of relu, erf and sigmoid which
        predicts points left out best.
    width : int
        Hidden units of each output, or of each layer of many; 0 = those of `start`, else 1,024, or twice the points for
        output_layer, and 256 for many layers.
    depth : int
        Hidden layers, or blocks of a residual network. More than one: all weights are trained, from normal ones in ntk
        scaling; a network has an output a class, and the proof is that of :func:`prove`.
    residual : bool
        Residual blocks h + U phi(W h)/sqrt(depth) behind an embedding layer.
    widths : str or iterable of int
        Hidden units of each layer, (512, 256) or "512,256"; default: `width` of all, or 256.
    layers : str, int or iterable of int
        Of many layers which are trained: all, hidden, lastK, numbers from 1, or auto: all, hidden for one network with
        an output a class.
    separate : bool
        Of many layers: a network a class, in place of one with an output each.
    scaling : str
        Output weights: ntk (+-1/sqrt(m)) or balanced (+-||y||/sqrt(m n)).
    output_scale : float
        What drawn output weights are multiplied with, > 0.
    optimizer : str
        gd, sgd, momentum (the heavy ball), gauss_newton (quickest to zero loss; n^2 memory), flow (gradient flow),
        output_layer (random features) or kernel: the infinitely wide network with a ridge, for points that are not
        fitted. It takes `activation`, `ridge`, `solver`, `center`, `normalize` and `test` alone, and is
        :class:`~zeroloss.estimators.NTKClassifier` (NTKRegressor) on the points as they are read.
    step : float or str
        Of gd, sgd and momentum: a number > 0, auto (1.5/||J||^2), or theorem (what the paper allows).
    ridge : float or str
        Of kernel: what is added to its diagonal, in units of that, >= 0; 0 interpolates. auto: the best of 15 from 1e-6
        to 10 on points left out.
    solver : str
        Of kernel: exact (a factor of the kernel, up to 20,000 points), cg (conjugate gradients, with a proved bound of
        what they are off; activation and ridge are chosen on 4,000 evenly spaced points) or auto: exact where it can.
    batch : int
        Points in a step of sgd, 1..n.
    momentum : float
        Of momentum: the part of the last step that is taken again, in [0, 1).
    precision : str
        float64, or float32 (gd, sgd and momentum only).
    max_steps : int
        Most steps of each output.
    max_seconds : float
        Most seconds of training, all outputs together, after which it ends with the step in work; 0 = no limit.
    patience : int
        Steps without a misfit lower by a hundredth, after which it ends as stalled; 0 = it goes on.
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
    seed : int, None or generator
        Of weights, signs and batches, and as for :func:`read_dataset`.
    start : str, path, array or tuple
        Where training begins: gaussian (drawn by `seed`); pairs (drawn so that outputs cancel: with an `output_scale`
        that is large enough descent is proved at step 0, for any labels); or weights of your own: (W, v), W alone (v is
        then drawn), or a file of them: a model of fit, a run folder, .safetensors or .npz with W and v, .npy with W. W
        is m x d and v m numbers; for K > 2 classes K x m x d and K x m. d is that of the points as trained, the
        appended constant included. No theorem holds then: all ask for random weights.
    test : path, tuple, frame or Dataset
        Points that are not fitted: a path or name, (X, y) of arrays or a data frame, a frame with the column of targets
        that the data have, or a Dataset. They are read, encoded and standardised as the data are; columns and classes
        go by name. Their error stands in every point of the curve, and in `result.test`; no bit of training depends on
        them.
    checkpoint : path
        Written every `checkpoint_every_s` seconds and on Ctrl-C.
    checkpoint_every_s : float
        Seconds, > 0.
    resume : bool
        Continue from `checkpoint`; starts anew if there is none. The result is bit for bit that of an
        uninterrupted run.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.
    comm : mpi4py.MPI.Comm, optional
        Processes that do the work together, in each of which this is called: the data and options of process 0 count,
        and all get its result.

    Returns
    -------
    FitResult
        For one machine and BLAS its numbers do not depend on the number of threads.

    Raises
    ------
    DataError, ValueError, ResourceError
        Data that cannot be used, weights that do not fit them, test points of other features or classes; an option out
        of range; memory or disk that does not suffice.
    KeyboardInterrupt
        On Ctrl-C, after the checkpoint is written if there is one.
    """
    seed = seed_of("fit", seed)
    widths, layers = with_commas(widths), with_commas(layers)
    given = {
        # values of fit
        "activation": activation,
        "width": width,
        "depth": depth,
        "residual": residual,
        "widths": widths,
        "layers": layers,
        "separate": separate,
        "scaling": scaling,
        "output_scale": output_scale,
        "optimizer": optimizer,
        "step": step,
        "ridge": ridge,
        "solver": solver,
        "batch": batch,
        "momentum": momentum,
        "precision": precision,
        "max_steps": max_steps,
        "max_seconds": max_seconds,
        "patience": patience,
        "tolerance": tolerance,
        "stop": stop,
        "certify_every": certify_every,
        "record_every": record_every,
        "flow_tolerance": flow_tolerance,
        "space": space,
        "polish": polish,
        "center": center,
        "normalize": normalize,
        "failure_probability": failure_probability,
        "seed": seed,
        "start": start,
        "test": test,
        "checkpoint": checkpoint,
        "checkpoint_every_s": checkpoint_every_s,
        "resume": resume,
        # end
    }
    source, subject = dataset("fit", data, y, read, seed)
    begin, weights = start_of("fit", start)
    tested, points = test_set("fit", test, source)
    texts = {"step": step_text("fit", step), "ridge": step_text("fit", ridge, "ridge")}
    options = filled("fit", FitOptions(), {**given, **texts, "start": begin, "test": tested})
    written = changed(options, FitOptions(), {**given, "start": weights, "test": points})
    text = call("fit", subject, {**written, **read})
    with limited(threads), shown(progress) as report:
        return _core.fit(source, options, text, report, group_of(comm))
