"""The command `audit`: which labels are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy.typing as npt

from .. import _core
from .._core import AuditOptions, AuditResult
from .data import Data, Read, dataset
from .options import call, changed, filled
from .processes import Communicator, group_of, shared
from .progress import Show, limited, shown
from .seed import Seed, seed_of
from .test_set import Tested, test_set

if TYPE_CHECKING:
    from typing_extensions import Unpack


@shared
def audit(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    test: Tested = None,
    # keywords of audit
    activation: str = "auto",
    scale: Literal["auto", "columns", "common", "given"] = "auto",
    ridge: float | None = None,
    inducing: int = 0,
    seed: Seed = 0,
    reasons: int = 3,
    bootstrap: int = 100,
    # end
    progress: Show = False,
    threads: int = 0,
    comm: Communicator | None = None,
    **read: Unpack[Read],
) -> AuditResult:
    """Which labels are wrong, how many of them, and which samples say so?

    Every sample is predicted by kernel ridge regression of all others, in closed form, and the labels' noise is
    estimated from these predictions: P(right | sample, label) is its score.

    Parameters
    ----------
    data, y, seed, **read
        As for :func:`read_dataset`; `seed` is that of what is drawn, too. `standardize` other than auto means
        ``scale="given"``.
    test : path, tuple, frame or Dataset
        Audit the labels of these instead, by a predictor of `data`; given as for :func:`fit`. Correct labels of test
        samples that are wrong, never drop samples because a model contradicts them.
    activation : str
        Of the kernel's network half: one of ``zeroloss.kernel.activation_names()``, or auto: by leave-one-out.
    scale : str
        Of the features. columns: each to mean 0 and deviation 1, and its ranks beside it. common: one number for all,
        as for pixels. given: as `standardize` made them. auto: columns or common by leave-one-out.
    ridge : float, optional
        Added to the kernel's diagonal, > 0, where k(x, x) = 1; by default by leave-one-out.
    inducing : int
        Samples that the predictor is a sum over; 0: all where their kernel fits into memory, at most 60,000.
    reasons : int
        Samples named for and against each label that looks wrong, >= 0.
    bootstrap : int
        Draws behind the intervals, fewer for many samples, >= 20.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.
    comm : mpi4py.MPI.Comm, optional
        Processes that do the work together, in each of which this is called: the data and options of process 0 count,
        and all get its result.

    Returns
    -------
    AuditResult
        ``scores`` in the order of the samples, ``issues`` worst first, ``noise_rate`` with its 95 % interval.

    Raises
    ------
    DataError, ValueError, ResourceError
        Data without targets or that cannot be used; an option out of range; memory that does not suffice.
    KeyboardInterrupt
        On Ctrl-C, at the next safe point.
    """
    seed = seed_of("audit", seed)
    given = {
        # values of audit
        "activation": activation,
        "scale": scale,
        "ridge": ridge,
        "inducing": inducing,
        "seed": seed,
        "reasons": reasons,
        "bootstrap": bootstrap,
        # end
    }
    source, subject = dataset("audit", data, y, read, seed)
    tested, points = test_set("audit", test, source)
    options = filled("audit", AuditOptions(), given)
    if options.scale == "auto" and read.get("standardize", "auto") != "auto":
        options.scale = "given"
    others = {} if test is None else {"test": points}
    text = call("audit", subject, {**others, **changed(options, AuditOptions(), given), **read})
    with limited(threads), shown(progress) as report:
        return _core.audit(source, tested, options, text, report, group_of(comm))
