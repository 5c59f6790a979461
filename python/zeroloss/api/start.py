"""Where training begins: drawn weights, those of a file, or arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy.typing as npt

from .. import _core
from .arrays import numbers_of
from .options import Written

#: "gaussian", "pairs", a path, W, or (W, v).
Weights = str | os.PathLike[str] | npt.NDArray[Any] | tuple[npt.ArrayLike, npt.ArrayLike | None]


def start_of(function: str, start: Weights) -> tuple[_core.Start, str]:
    """As the library has it, and as it is written in a call."""
    if isinstance(start, (str, os.PathLike)):
        path = os.fspath(start)
        return _core.read_start(path), path
    if isinstance(start, tuple) and len(start) != 2:
        raise TypeError(f"{function}: start has to be (W, v); got {len(start)} values")
    W_given, v_given = start if isinstance(start, tuple) else (start, None)
    W = numbers_of(function, W_given, "W")
    if W.ndim not in (2, 3) or 0 in W.shape:
        raise ValueError(f"{function}: start: W must be m x d, or K x m x d for K classes; its shape is {W.shape}")
    if v_given is None:
        return _core.start_of(W.reshape(-1, *W.shape[-2:]), None), Written("W")
    v = numbers_of(function, v_given, "v")
    if v.shape != W.shape[:-1]:
        raise ValueError(f"{function}: start: v must have the shape {W.shape[:-1]} for W of {W.shape}; it is {v.shape}")
    return _core.start_of(W.reshape(-1, *W.shape[-2:]), v.reshape(-1, W.shape[-2])), Written("(W, v)")
