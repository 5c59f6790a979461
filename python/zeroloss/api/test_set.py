"""Points that are looked at, not fitted."""

from __future__ import annotations

import os

import numpy.typing as npt

from .. import _core
from .._core import Dataset
from .arrays import points, targets
from .options import Written

#: A path or a name, arrays (X, y), or a Dataset; None: no such points.
Tested = str | os.PathLike[str] | tuple[npt.ArrayLike, npt.ArrayLike] | Dataset | None


def test_set(function: str, test: Tested, data: Dataset) -> tuple[_core.TestSet, str | None]:
    """Made as the points of `data` were, and as it is written in a call."""
    if test is None:
        return _core.TestSet(), None
    if isinstance(test, Dataset):
        return _core.test_of(data, test), Written(test.call)
    if isinstance(test, (str, os.PathLike)):
        return _core.read_test(data, os.fspath(test)), os.fspath(test)
    if not isinstance(test, tuple) or len(test) != 2:
        raise TypeError(f"{function}: test has to be a path, a Dataset or (X, y); got {type(test).__name__}")
    X = points(function, test[0], "X of test")
    return _core.test_of(data, X, *targets(function, test[1], len(X))), Written("(X_test, y_test)")
