"""The command `memorize`: networks that are written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import MemorizeOptions, MemorizeResult
from .arrays import points, samples
from .data import Data, Read, dataset, read_options
from .frames import frame, is_frame, series
from .options import call, changed, filled
from .progress import Show, limited, shown
from .seed import Seed, seed_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


def memorize(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    # keywords of memorize
    construction: Literal["norm_ordered", "paper", "integer"] = "norm_ordered",
    hidden: int | None = None,
    precision: Literal["float64", "float32"] = "float64",
    margin: float | None = None,
    tolerance: float | None = None,
    seed: Seed = 0,
    # end
    progress: Show = False,
    threads: int = 0,
    **read: Unpack[Read],
) -> MemorizeResult:
    """Writes down a residual network that is right at every point, without training, and proves it.

    Parameters
    ----------
    data, y, **read
        As for :func:`read_dataset`. With an array X, `y` may also be n x r real-valued targets.
    construction : str
        norm_ordered (any points that differ), paper (Hardt and Ma's, whose conditions are checked) or integer (points
        of whole numbers; every sum is exact).
    hidden : int, optional
        Width, >= 1. Default: the first of 2, 4, 8, .. that keeps `margin` and is right at every point.
    precision : str
        Of the network and its check: float64 or float32.
    margin : float, optional
        Least relative distance of a neuron's threshold, in (0, 0.25]. Default: 1e-9, for float32 1e-3; where
        `hidden` is given none.
    tolerance : float, optional
        Error at which a real-valued target counts as reached, relative to the largest. Default: 1e-6, for float32 1e-3.
    seed : int, None or generator
        Of the first layer and the codes, and as for :func:`read_dataset`.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.

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
    seed = seed_of("memorize", seed)
    given = {
        # values of memorize
        "construction": construction,
        "hidden": hidden,
        "precision": precision,
        "margin": margin,
        "tolerance": tolerance,
        "seed": seed,
        # end
    }
    columns, y = None, series(y)
    if y is not None and np.ndim(y) == 2:
        remarks: list[str] = []
        columns = points("memorize", y, "y", None if is_frame(data) else remarks)
        if read:
            raise TypeError("memorize: targets of several columns go with all of X: no other keywords to select points")
        subject = "X, Y"
        options_of_X = read_options("memorize", {"target": "none"} if is_frame(data) else {}, seed)
        if is_frame(data):
            source = _core.table(frame(data), options_of_X, subject, "")
        else:
            X, sizes = samples("memorize", data, remarks=remarks)
            source = _core.dataset(X, None, [], options_of_X, subject, "", remarks, sizes)
    else:
        source, subject = dataset("memorize", data, y, read, seed)
    options = filled("memorize", MemorizeOptions(), given)
    text = call("memorize", subject, {**changed(options, MemorizeOptions(), given), **read})
    with limited(threads), shown(progress) as report:
        return _core.memorize(source, columns, options, text, report)
