"""The command `influence`: which training samples make predictions what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy.typing as npt

from .. import _core
from .._core import InfluenceOptions, InfluenceResult
from .data import Data, Read, dataset
from .options import call, changed, filled
from .processes import Communicator, group_of, shared
from .progress import Show, limited, shown
from .seed import Seed, seed_of
from .test_set import Tested, test_set

if TYPE_CHECKING:
    from typing_extensions import Unpack


@shared
def influence(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    test: Tested,
    # keywords of influence
    activation: str = "auto",
    scale: Literal["auto", "columns", "common", "given"] = "auto",
    ridge: float | None = None,
    image_features: Literal["auto", "pixels", "patches", "both"] = "auto",
    inducing: int = 0,
    seed: Seed = 0,
    top: int = 5,
    # end
    progress: Show = False,
    threads: int = 0,
    comm: Communicator | None = None,
    **read: Unpack[Read],
) -> InfluenceResult:
    """What would the predictions of other points be without each of the training samples?

    Exact for kernel ridge regression, whose scales, ranks and ridge stay as they are.

    Parameters
    ----------
    data, y, seed, **read
        As for :func:`read_dataset`; `seed` is that of what is drawn, too. `standardize` other than auto means
        ``scale="given"``.
    test : path, tuple, frame or Dataset
        The points whose predictions are explained, with their labels; given as for :func:`fit`.
    activation, scale, image_features, ridge, inducing
        As for :func:`audit`.
    top : int
        Training samples named for and against each prediction, >= 0.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.
    comm : mpi4py.MPI.Comm, optional
        Processes that do the work together, in each of which this is called: the data and options of process 0 count,
        and all get its result.

    Returns
    -------
    InfluenceResult
        ``tests`` in the order of the test points; ``values`` of the training samples in theirs.

    Raises
    ------
    DataError, ValueError, ResourceError
        Data without targets or that cannot be used; an option out of range; memory that does not suffice.
    KeyboardInterrupt
        On Ctrl-C, at the next safe point.
    """
    seed = seed_of("influence", seed)
    given = {
        # values of influence
        "activation": activation,
        "scale": scale,
        "ridge": ridge,
        "image_features": image_features,
        "inducing": inducing,
        "seed": seed,
        "top": top,
        # end
    }
    source, subject = dataset("influence", data, y, read, seed)
    tested, points = test_set("influence", test, source)
    if points is None:
        raise TypeError("influence: test has to be the points whose predictions are explained; got None")
    options = filled("influence", InfluenceOptions(), given)
    if options.scale == "auto" and read.get("standardize", "auto") != "auto":
        options.scale = "given"
    text = call("influence", subject, {"test": points, **changed(options, InfluenceOptions(), given), **read})
    with limited(threads), shown(progress) as report:
        return _core.influence(source, tested, options, text, report, group_of(comm))
