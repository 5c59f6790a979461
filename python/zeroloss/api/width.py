"""The command `width`: how wide a network has to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy.typing as npt

from .. import _core
from .._core import WidthOptions, WidthResult
from .data import Data, Read, dataset
from .options import call, changed, filled
from .progress import Show, limited, shown
from .seed import Seed, seed_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


def width(
    data: Data,
    y: npt.ArrayLike | None = None,
    *,
    # keywords of width
    activation: str = "relu",
    center: bool = False,
    normalize: bool = True,
    draws: int = 5,
    restarts: int = 3,
    max_width: int = 4096,
    accuracy: float = 1e-6,
    failure_probability: float = 0.01,
    max_seconds: float = 60.0,
    published: bool = True,
    seed: Seed = 0,
    # end
    progress: Show = False,
    threads: int = 0,
    **read: Unpack[Read],
) -> WidthResult:
    """How wide does a two-layer network have to be: which width is too little, which was enough, which must be?

    Parameters
    ----------
    data, y, seed, **read
        As for :func:`read_dataset`; `seed` is that of the first network, too.
    activation : str
        One of ``zeroloss.kernel.activation_names()``.
    center : bool
        Subtract the mean point first.
    normalize : bool
        Rows of any length, which they are divided by; if not, one off 1 by more than 1e-12 is an error.
    draws : int
        Networks of pairs drawn at each width, of which the best is taken, >= 0; 0: nothing is proved.
    restarts : int
        Of Gauss-Newton at each width, >= 0; 0: nothing is measured.
    max_width : int
        Hidden units that either search tries at most, >= 2.
    accuracy : float
        Relative misfit that step counts refer to, in (0, 1).
    failure_probability : float
        Of the published guarantees, in (0, 1).
    max_seconds : float
        Of either search, > 0; what was found until then is the answer.
    published : bool
        Also what the theorems of the papers ask for, at the cost of :func:`certify`.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.

    Returns
    -------
    WidthResult
        Its `rows` go from what cannot do to what must. ``fit(.., start="pairs", width=.., output_scale=.., seed=..)``
        with the numbers of the row any_labels ends certified, for any labels as long that agree on equal points.

    Raises
    ------
    DataError, ValueError, ResourceError
        Data without targets or that cannot be used; an option out of range; memory that does not suffice.
    KeyboardInterrupt
        On Ctrl-C, at the next safe point.
    """
    seed = seed_of("width", seed)
    given = {
        # values of width
        "activation": activation,
        "center": center,
        "normalize": normalize,
        "draws": draws,
        "restarts": restarts,
        "max_width": max_width,
        "accuracy": accuracy,
        "failure_probability": failure_probability,
        "max_seconds": max_seconds,
        "published": published,
        "seed": seed,
        # end
    }
    source, subject = dataset("width", data, y, read, seed)
    options = filled("width", WidthOptions(), given)
    text = call("width", subject, {**changed(options, WidthOptions(), given), **read})
    with limited(threads), shown(progress) as report:
        return _core.width(source, options, text, report)
