"""The command `audit`: which labels are wrong."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import AuditOptions, AuditResult
from .arrays import columns, points
from .data import Data, Read, dataset
from .options import Written, call, changed, filled
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
    image_features: Literal["auto", "pixels", "patches", "both"] = "auto",
    inducing: int = 0,
    seed: Seed = 0,
    reasons: int = 3,
    bootstrap: int = 100,
    draw: int = 0,
    guarantee: float | None = None,
    # end
    embedding: npt.ArrayLike | None = None,
    probabilities: npt.ArrayLike | None = None,
    test_embedding: npt.ArrayLike | None = None,
    test_probabilities: npt.ArrayLike | None = None,
    checked: str | os.PathLike[str] | npt.ArrayLike | None = None,
    accepted: str | os.PathLike[str] | npt.ArrayLike | None = None,
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
    image_features : {"auto", "pixels", "patches", "both"}
        Of images of 16 x 16 pixels and more. pixels: their numbers. patches: how much of 256 typical patches of 6 x 6
        pixels is where (:class:`zeroloss.PatchFeatures`), of images or of images and mirror images. both: three
        quarters patches. auto: by leave-one-out on 1,000 images.
    ridge : float, optional
        Added to the kernel's diagonal, > 0, where k(x, x) = 1; by default by leave-one-out.
    inducing : int
        Samples that the predictor is a sum over; 0: all where their kernel fits into memory, at most 60,000.
    reasons : int
        Samples named for and against each label that looks wrong, >= 0.
    bootstrap : int
        Draws behind the intervals, fewer for many samples, >= 20.
    embedding : array of shape (records, p), optional
        Features of the samples by any model. They count beside the given ones (three quarters), in their place, or not
        at all: by leave-one-out.
    probabilities : array of shape (records, classes), optional
        Of the classes in the order of the data's `class_names`, by any model that was not shown the sample: classes
        are then softmax(a F + b log(probabilities + 0.001)), F the outputs of the others, a and b the likeliest.
    test_embedding, test_probabilities : arrays, optional
        The same of `test`.
    draw : int
        Samples to draw at random, for people to look at: ``result.drawn``.
    guarantee : float, optional
        Name labels of which at most this share is right, in expectation over the draw of the checked samples; in
        (0, 1), and needs `checked`.
    checked : path or array of bool, optional
        What was found of drawn samples. A path: drawn.csv of a run folder, filled in. An array: for each of the `draw`
        samples that this seed draws, in their order, whether its label is right. Rate and scores are then those that
        these samples support.
    accepted : path or array of int, optional
        Samples whose labels were looked at and left as they are: they are not named again. Their positions among the
        samples that are judged, as `issue.position` has them, or a path: decisions.csv of the page.
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
        "image_features": image_features,
        "inducing": inducing,
        "seed": seed,
        "reasons": reasons,
        "bootstrap": bootstrap,
        "draw": draw,
        "guarantee": guarantee,
        # end
    }
    options = filled("audit", AuditOptions(), given)
    if options.scale == "auto" and read.get("standardize", "auto") != "auto":
        options.scale = "given"
    source, subject = dataset("audit", data, y, read, seed)
    tested, written = test_set("audit", test, source)
    others = {} if test is None else {"test": written}
    known = {"embedding": embedding, "probabilities": probabilities, "test_embedding": test_embedding,
             "test_probabilities": test_probabilities}  # fmt: skip
    if test is None and not (test_embedding is None and test_probabilities is None):
        raise TypeError("audit: test_embedding and test_probabilities go with test")
    arrays = {
        name: points("audit", value, name) if value is not None else np.empty((0, 0))
        for name, value in known.items()
    }
    for name, array in arrays.items():
        if known[name] is not None and array.size == 0:
            raise ValueError(f"audit: {name} is empty; its shape is {array.shape}")
    source = _core.with_known(source, arrays["embedding"], arrays["probabilities"])
    if test is not None:
        tested = _core.with_known(tested, arrays["test_embedding"], arrays["test_probabilities"])
    others |= {name: Written(name) for name, value in known.items() if value is not None}
    others |= _people(options, source, tested, checked, accepted)
    text = call("audit", subject, {**others, **changed(options, AuditOptions(), given), **read})
    with limited(threads), shown(progress) as report:
        return _core.audit(source, tested, options, text, report, group_of(comm))


def audit_each(
    data: Data,
    Y: npt.ArrayLike,
    *,
    progress: Show = False,
    threads: int = 0,
    **options: Any,
) -> list[AuditResult]:
    """Which labels of each of several targets are wrong: of several labels a sample, or of several numbers?

    One kernel and one factorisation serve all columns of Y; activation, scale and ridge are those with the least errors
    of all together.

    Parameters
    ----------
    data : array, frame or path
        The points, as for :func:`read_dataset`.
    Y : array of shape (n, targets), or frame
        Targets side by side: 0 and 1 for each label that a sample may have, names of classes, or numbers.
    progress, threads, **options
        As for :func:`audit`, but for what is about one target (draw, checked, accepted, guarantee, probabilities),
        test and comm.

    Returns
    -------
    list of AuditResult
        One for each column.

    Raises
    ------
    As :func:`audit`.
    """
    if isinstance(data, (str, os.PathLike, _core.Dataset)):
        raise TypeError("audit_each: data has to be an array or a frame; the command has --targets for files")
    if np.ndim(Y) != 2:
        raise ValueError(f"audit_each: Y must be an array of two dimensions; its shape is {np.shape(Y)}")
    seed = seed_of("audit_each", options.pop("seed", 0))
    settings = {name: options.pop(name) for name in list(options) if hasattr(AuditOptions(), name)}
    embedding = options.pop("embedding", None)
    made = filled("audit_each", AuditOptions(), {**settings, "seed": seed})
    if made.scale == "auto" and options.get("standardize", "auto") != "auto":
        made.scale = "given"
    extra = np.empty((0, 0)) if embedding is None else points("audit_each", embedding, "embedding")
    read = [dataset("audit_each", data, y, options, seed)[0] for y in columns("audit_each", Y, "Y")]
    sources = [_core.with_known(one, extra, np.empty((0, 0))) for one in read]
    others = {} if embedding is None else {"embedding": Written("embedding")}
    text = call("audit_each", "X, Y", {**others, **changed(made, AuditOptions(), settings), **options})
    with limited(threads), shown(progress) as report:
        results: list[AuditResult] = _core.audit_each(sources, made, text, report, group_of(None))
    return results


def _people(options: AuditOptions, source: Any, tested: Any, checked: Any, accepted: Any) -> dict[str, Any]:
    """Puts what people said into the options; returns how that is written in a call."""
    right: list[bool] = []
    rows: list[int] = []
    paths = [os.fspath(one) if isinstance(one, (str, os.PathLike)) else "" for one in (checked, accepted)]
    if checked is not None and not paths[0]:
        answers = np.asarray(checked)
        if answers.dtype != bool or answers.shape != (options.draw,) or options.draw == 0:
            raise ValueError(
                f"audit: checked has to be a path, or truth values, one for each of the samples that `draw` asks for: "
                f"draw is {options.draw}"
            )
        right = answers.tolist()
    if accepted is not None and not paths[1]:
        numbers = np.asarray(accepted)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise ValueError("audit: accepted has to be a path, or row numbers")
        rows = numbers.tolist()
    _core.give_people(options, source, tested, paths[0], right, paths[1], rows)
    said = (("checked", checked, paths[0]), ("accepted", accepted, paths[1]))
    return {name: path or Written(name) for name, value, path in said if value is not None}
