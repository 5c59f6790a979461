"""The command `certify`: what can be proved before training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy.typing as npt

from .. import _core
from .._core import CertifyOptions, CertifyResult
from .data import Data, Read, dataset
from .options import call, changed, filled
from .processes import Communicator, group_of, shared
from .progress import Show, limited, shown
from .seed import Seed, seed_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


@shared
def certify(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    # keywords of certify
    activation: str = "relu",
    depth: int = 1,
    residual: bool = False,
    center: bool = False,
    normalize: bool = True,
    method: Literal["auto", "factor", "tail"] = "auto",
    proof: Literal["auto", "theorem", "residual"] = "auto",
    passes: int = 1,
    failure_probability: float = 0.01,
    accuracy: float = 0.001,
    width: float = 0.0,
    step: float = 0.0,
    all_bounds: bool = False,
    spectrum: bool = False,
    seed: Seed = 0,
    # end
    progress: Show = False,
    threads: int = 0,
    comm: Communicator | None = None,
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
        One of ``zeroloss.kernel.activation_names()``.
    depth : int
        Hidden layers, or blocks of a residual network, 1 to 1,000. More than one: the weights of all layers are
        trained, and what is proved of one hidden layer alone is left out (widths, theorems, complexity).
    residual : bool
        Residual blocks h + U phi(W h) behind an embedding layer.
    center : bool
        Subtract the mean point first.
    normalize : bool
        Rows of any length, which they are divided by; if not, one off 1 by more than 1e-12 is an error.
    method : str
        How lambda_min is bounded. "factor": the kernel is formed and factored, 4 n^2 bytes and some n^3 operations.
        "tail": a bound from its power series with the points alone in memory, n^2 d/2 operations; lower, and without
        forecast, complexity and leave-one-out. "auto": factor for up to 30,000 points where the kernel fits.
    proof : str
        How the factorisation proves its bound. "theorem": what is known of Cholesky factorisation in floating point.
        "residual": K - s I - L L^T is computed and bounded, whoever computed L, for half the operations again. "auto":
        theorem in one process, residual beyond it.
    passes : int
        Of the tail over all pairs of points, >= 1: further ones sharpen its bound.
    failure_probability : float
        Of the a-priori guarantees, in (0, 1).
    accuracy : float
        Relative misfit that step counts refer to, in (0, 1).
    width : float
        Hidden units of a given network; 0 = ask for the sufficient width.
    step : float
        Step of the forecast; 0 = 1.5/lambda_max.
    all_bounds : bool
        More lower bounds, all of them proven, and the theorems that take these (about five times the work).
    spectrum : bool
        All n eigenvalues, too.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.
    comm : mpi4py.MPI.Comm, optional
        Processes that do the work together, in each of which this is called: the data and options of process 0 count,
        and all get its result.

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
    seed = seed_of("certify", seed)
    given = {
        # values of certify
        "activation": activation,
        "depth": depth,
        "residual": residual,
        "center": center,
        "normalize": normalize,
        "method": method,
        "proof": proof,
        "passes": passes,
        "failure_probability": failure_probability,
        "accuracy": accuracy,
        "width": width,
        "step": step,
        "all_bounds": all_bounds,
        "spectrum": spectrum,
        "seed": seed,
        # end
    }
    source, subject = dataset("certify", data, y, read, seed)
    options = filled("certify", CertifyOptions(), given)
    text = call("certify", subject, {**changed(options, CertifyOptions(), given), **read})
    with limited(threads), shown(progress) as report:
        return _core.certify(source, options, text, report, group_of(comm))
