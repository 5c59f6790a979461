"""The command `linear`: deep linear residual networks, exact factorisations with small layers, and gradient descent."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy.typing as npt

from .. import _core
from .._core import LinearOptions, LinearResult, NamedProblem
from .arrays import points
from .options import call, changed, filled, step_text
from .progress import Show, limited, shown
from .seed import Seed, seed_of

Problem = str | os.PathLike[str] | npt.ArrayLike


def _problem(
    function: str, data: Problem, Y: npt.ArrayLike | None, sigma: npt.ArrayLike | None, seed: int
) -> tuple[NamedProblem, str]:
    if isinstance(data, (str, os.PathLike)):
        if Y is not None or sigma is not None:
            raise TypeError(f"{function}: Y and sigma go with arrays")
        return _core.read_linear_problem(os.fspath(data), seed), repr(os.fspath(data))
    X = points(function, data, "R" if Y is None else "X")
    if Y is None:
        covariance = None if sigma is None else points(function, sigma, "sigma")
        return _core.linear_map(X, covariance), "R" if sigma is None else "R, sigma=sigma"
    if sigma is not None:
        raise TypeError(f"{function}: sigma goes with a map R; of data it is X^T X/n")
    return _core.linear_data(X, points(function, Y, "Y")), "X, Y"


def _depths(function: str, layers: Any) -> list[int]:
    """One depth or several."""
    try:
        return [operator.index(depth) for depth in (layers if _several(layers) else [layers])]
    except TypeError:
        raise TypeError(f"{function}: layers has to be an integer or several; got {layers!r}") from None


def _several(layers: Any) -> bool:
    return isinstance(layers, Iterable) and not isinstance(layers, str)


def _run(
    function: str,
    data: Problem,
    Y: npt.ArrayLike | None,
    sigma: npt.ArrayLike | None,
    given: Mapping[str, Any],
    descent: Mapping[str, Any] | None,
    seed: Seed,
    progress: Show,
    threads: int,
) -> LinearResult:
    """`given` and `descent` are the fields of the structs of these names; without `descent` nothing is trained."""
    seed = seed_of(function, seed)
    depths = _depths(function, given["layers"])
    problem, subject = _problem(function, data, Y, sigma, seed)
    options, plain = LinearOptions(), LinearOptions()
    filled(function, options, {**given, "layers": depths, "train": descent is not None})
    trained: Mapping[str, Any] = descent or {}
    filled(function, options.descent, trained)
    shown_layers = depths if _several(given["layers"]) else depths[0]
    text = call(function, subject, {
        **changed(options, plain, {**given, "layers": shown_layers}),
        **changed(options.descent, plain.descent, trained), **({"seed": seed} if seed else {}),
    })  # fmt: skip
    with limited(threads), shown(progress) as report:
        return _core.linear(problem, options, "" if sigma is None else "sigma", seed, text, report)


def factorize(
    data: Problem,
    Y: npt.ArrayLike | None = None,
    *,
    sigma: npt.ArrayLike | None = None,
    # keywords of linear
    layers: int | Iterable[int] = 10,
    reflection: Literal["auto", "flip", "augment"] = "auto",
    # end
    seed: Seed = 0,
    progress: Show = False,
    threads: int = 0,
) -> LinearResult:
    """R = (I + A_l) .. (I + A_1) exactly, with every ||A_i|| of order 1/l, in three ways.

    Parameters
    ----------
    data : array, path or name
        A map R, d x d; with `Y`, points X, n x d, whose least-squares map is taken; an npz file with X and Y; or
        ``gaussian:d=..``, ``rotation:d=..``.
    Y : array, optional
        n x d targets of X.
    sigma : array, optional
        Of a map R: the covariance of x, d x d. Default: I.
    layers : int or several
        Depths l to study, each >= 1.
    reflection : str
        Where det R < 0: flip the labels (odd d), augment x and y by a coordinate, or auto: flip for odd d.
    seed : int, None or generator
        Of a random map, as for :func:`zeroloss.read_dataset`.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.

    Returns
    -------
    LinearResult
        ``depths[k].factorizations`` are the paper's, the polar and the logarithm's; the last depth keeps its networks.
        Their ``max_norm`` is proved: R is exactly a product of layers no larger, next to the stored ones.

    Raises
    ------
    DataError
        R is numerically singular (its rank is named), or the data cannot be used.
    ValueError, ResourceError
        An option out of range; memory that does not suffice.
    KeyboardInterrupt
        On Ctrl-C, at the next safe point.
    """
    given = {
        # values of linear
        "layers": layers,
        "reflection": reflection,
        # end
    }
    return _run("linear.factorize", data, Y, sigma, given, None, seed, progress, threads)


def train(
    data: Problem,
    Y: npt.ArrayLike | None = None,
    *,
    sigma: npt.ArrayLike | None = None,
    # keywords of linear
    layers: int | Iterable[int] = 10,
    reflection: Literal["auto", "flip", "augment"] = "auto",
    # end
    # keywords of descent
    step: float | str = "auto",
    max_steps: int = 10_000,
    tolerance: float = 1e-6,
    record_every: int = 0,
    # end
    seed: Seed = 0,
    progress: Show = False,
    threads: int = 0,
) -> LinearResult:
    """The factorisations, and gradient descent from A = 0 beside the bound of its gradient.

    Parameters
    ----------
    data, Y, sigma, layers, reflection, seed, progress, threads
        As for :func:`factorize`.
    step : float or str
        A number > 0, or auto: 1 over a bound of the Hessian along each step, so that the risk falls, but for
        rounding.
    max_steps : int
        Most steps at each depth, >= 0.
    tolerance : float
        Relative misfit to reach, > 0.
    record_every : int
        Steps between points of the curve; 0 = about 20 a decade.

    Returns
    -------
    LinearResult
        ``depths[k].descent`` is what happened; its curve has the gradient beside its lower bound.

    Raises
    ------
    DataError, ValueError, ResourceError, KeyboardInterrupt
        As :func:`factorize`.
    """
    given = {
        # values of linear
        "layers": layers,
        "reflection": reflection,
        # end
    }
    descent = {
        # values of descent
        "step": step,
        "max_steps": max_steps,
        "tolerance": tolerance,
        "record_every": record_every,
        # end
    }
    descent["step"] = step_text("linear.train", step)
    return _run("linear.train", data, Y, sigma, given, descent, seed, progress, threads)
