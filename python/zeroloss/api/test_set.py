"""Points that are looked at, not fitted."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy.typing as npt

from .. import _core
from .._core import DataError, Dataset
from . import frames
from .arrays import samples, targets
from .options import Written

#: A path or a name, arrays or a frame with targets (X, y), a frame whose columns have them, or a Dataset; None: no
#: such points.
Tested = str | os.PathLike[str] | tuple[npt.ArrayLike, npt.ArrayLike] | npt.ArrayLike | Dataset | None


def _target(function: str, frame: Any, data: Dataset) -> str:
    """What to say as target, so that it is the column that the targets of `data` came from."""
    said = re.fullmatch(r"column (\d+)(?: \('(.*)'\))?", data.target_name)
    names = frames.names(frame)
    if said and (said[2] in names if said[2] else int(said[1]) < len(names)):
        return said[2] or said[1]
    raise DataError(f"{function}: test has no column of targets as the data have; give (X_test, y_test)")


def test_set(function: str, test: Tested, data: Dataset) -> tuple[_core.TestSet, str | None]:
    """Made as the points of `data` were, and as it is written in a call."""
    if test is None:
        return _core.TestSet(), None
    if isinstance(test, Dataset):
        return _core.test_of(data, test), Written(test.call)
    if isinstance(test, (str, os.PathLike)):
        path = os.fspath(test)
        if frames.ending(path):
            return _core.test_of(data, frames.read_file(path)[0], path, ""), path
        return _core.read_test(data, path), path
    if frames.is_frame(test):
        return _core.test_of(data, frames.frame(test), "test frame", _target(function, test, data)), Written("test")
    if not isinstance(test, tuple) or len(test) != 2:
        raise TypeError(f"{function}: test has to be a path, a frame, a Dataset or (X, y); got {type(test).__name__}")
    X, y, written = test[0], frames.series(test[1]), Written("(X_test, y_test)")
    if frames.is_frame(X):
        return _core.test_of(data, frames.frame(frames.beside(X, y)), "test frame", "-1"), written
    X, sizes = samples(function, X, "X of test")
    return _core.test_of(data, X, *targets(function, y, len(X)), sizes), written
