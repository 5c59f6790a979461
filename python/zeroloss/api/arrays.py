"""What a user has becomes points and targets."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import DataError
from . import frames


def _plain(function: str, values: Any, name: str) -> npt.NDArray[Any]:
    """As an array; not what only looks like one."""
    if hasattr(values, "toarray"):
        raise TypeError(f"{function}: {name} is sparse; use .toarray()")
    if np.ma.is_masked(values):
        first = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(values))[0])
        raise DataError(f"{function}: {name}[{', '.join(map(str, first))}] is masked; expected a value")
    try:
        return np.asarray(values)
    except ValueError as error:  # of rows of several lengths
        raise ValueError(f"{function}: {name} must be an array; its rows are not alike") from error


def unicode(function: str, text: str, what: str) -> str:
    """A text that can be written; DataError where it holds halves of characters, as bytes read wrongly do."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"{function}: {what} is {text!a}, which is no valid Unicode") from None
    return text


def _missing(value: Any) -> bool:
    """None, NaN, NaT, pandas.NA: what is not equal to itself, or will not say."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def _rounded(values: Any, array: npt.NDArray[Any], doubles: npt.NDArray[np.float64]) -> int:
    """How many numbers are not the doubles that they became."""
    kind, wide = array.dtype.kind, array.dtype.itemsize >= 8
    if kind == "O":
        return sum(bool(value != float(value)) for value in array.flat)
    if kind == "f" and array.dtype.itemsize > 8:
        return int(np.count_nonzero((array != doubles) & ~np.isnan(doubles)))
    listed = kind == "f" and not hasattr(values, "dtype")  # NumPy rounded what integers there were
    if not (listed or (kind in "iu" and wide)):
        return 0
    large = np.abs(doubles) >= 2.0**53
    if not large.any():
        return 0
    if listed:
        given = np.asarray(values, dtype=object)[large]
        return sum(isinstance(value, numbers.Integral) and int(value) != float(value) for value in given)
    bits = array[large].astype(np.uint64)  # of negative ones, the complement
    size = np.where(array[large] < 0, ~bits + np.uint64(1), bits)
    return int(np.count_nonzero(size // (size & (~size + np.uint64(1))) >= 2**53))  # without the zeros at its end


def _doubles(
    function: str, values: Any, array: npt.NDArray[Any], name: str, remarks: list[str] | None
) -> npt.NDArray[np.float64]:
    """Contiguous; what is rounded is said, in a remark or else in a warning."""
    try:
        doubles = np.ascontiguousarray(array, dtype=np.float64)
    except OverflowError:
        raise DataError(f"{function}: {name} holds an integer beyond the range of float64") from None
    if count := _rounded(values, array, doubles):
        said = (
            f"rounded: {count} {'number' if count == 1 else 'numbers'} of {name} to the nearest double: what differs "
            "in later digits alone is the same"
        )
        if remarks is None:
            warnings.warn(f"{function}: {said}", stacklevel=4)
        else:
            remarks.append(said)
    return doubles


def numbers_of(function: str, values: object, name: str, remarks: list[str] | None = None) -> npt.NDArray[np.float64]:
    """Doubles of any shape, contiguous: the array itself where it is so already. What is rounded is a remark."""
    array = _plain(function, values, name)
    if array.dtype.kind == "O":  # of a frame, whose columns differ in type
        for place, value in np.ndenumerate(array):
            if _missing(value):
                where = f"[{', '.join(map(str, place))}]" if place else ""
                raise DataError(f"{function}: {name}{where} is {value}; expected a number")
        if all(isinstance(value, (numbers.Real, np.bool_)) for value in array.flat):
            return _doubles(function, values, array, name, remarks)
    if array.dtype.kind not in "buif":
        raise TypeError(f"{function}: {name} must be real numbers; its type is {array.dtype}")
    return _doubles(function, values, array, name, remarks)


def points(function: str, X: object, name: str = "X", remarks: list[str] | None = None) -> npt.NDArray[np.float64]:
    """n x d doubles, rows contiguous: the array itself where it is so already."""
    array = _plain(function, X, name)
    if array.ndim != 2:
        raise ValueError(f"{function}: {name} must be an array of two dimensions; its shape is {array.shape}")
    return numbers_of(function, X, name, remarks)


def samples(
    function: str, X: object, name: str = "X", remarks: list[str] | None = None
) -> tuple[npt.NDArray[np.float64], list[int]]:
    """Points as above, and the sizes of one; of images, n x height x width [x colours], rows of their numbers."""
    array = _plain(function, X, name)
    sizes = list(array.shape[1:])
    if array.ndim in (3, 4) and 0 not in sizes:
        X = array.reshape(len(array), -1)
        if remarks is not None:
            what = " x ".join(map(str, sizes))
            remarks.append(f"each point is a row of {name}, {what} numbers one after the other")
    return points(function, X, name, remarks), sizes


def targets(
    function: str, y: npt.ArrayLike, n: int, task: str = "auto", remarks: list[str] | None = None
) -> tuple[npt.NDArray[np.float64] | None, list[str]]:
    """n targets as numbers, or as names of classes, which integers beyond 2^53 are unless the task is regression.

    DataError naming the first that is missing.
    """
    array = _plain(function, y, "y")
    if array.shape == (n, 1):
        y = array = array[:, 0]
    if array.shape != (n,):
        raise ValueError(f"{function}: y must be {n} targets, or one-hot; its shape is {array.shape}")
    if array.dtype.kind not in "buifc":
        for i, value in enumerate(array):
            if _missing(value):
                raise DataError(f"{function}: y[{i}] is {value}; expected a number or the name of a class")
        if array.dtype.kind == "O" and all(isinstance(value, (numbers.Complex, np.bool_)) for value in array):
            whole = all(isinstance(value, numbers.Integral) for value in array)
            if whole and task != "regression" and any(abs(int(value)) >= 2**53 for value in array):
                return None, [str(int(value)) for value in array]
            if (task == "regression" or not whole) and all(
                isinstance(value, (numbers.Real, np.bool_)) for value in array
            ):
                return _doubles(function, y, array, "y", remarks), []
            array = np.array(array.tolist())
    if array.dtype.kind == "c":
        raise TypeError(f"{function}: y must be real numbers or names of classes; its type is {array.dtype}")
    ends = [array.min(initial=0), array.max(initial=0)] if array.dtype.kind in "iu" else []
    if task != "regression" and any(abs(int(end)) >= 2**53 for end in ends):
        return None, [str(value) for value in array.tolist()]
    if array.dtype.kind in "buif":
        return _doubles(function, y, array, "y", remarks), []
    return None, [unicode(function, str(label), f"y[{i}]") for i, label in enumerate(array)]


def columns(function: str, y: Any, name: str = "y") -> list[Any]:
    """The columns of an array or frame of two dimensions, one at least; anything else itself."""
    if y is None or isinstance(y, str):
        return [y]
    if frames.is_frame(y):
        each = [y[column] for column in frames.names(y)]
    else:
        array = _plain(function, y, name)
        if array.ndim != 2:
            return [y]
        each = list((y if np.ma.isMaskedArray(y) else array).T)
    if not each:
        raise ValueError(f"{function}: {name} has no columns; its shape is {np.shape(y)}")
    return each


def one_hot(function: str, y: object) -> npt.NDArray[Any] | None:
    """Targets as an array, if it is n x K with K >= 2, a single one in each row and zeros; None for others."""
    array = np.empty(0) if y is None else _plain(function, y, "y")
    if array.ndim != 2 or array.shape[1] < 2 or array.dtype.kind not in "buif":
        return None
    return array if np.isin(array, (0, 1)).all() and (array.sum(axis=1) == 1).all() else None


def class_names_of(function: str, names: Any) -> list[str]:
    """Names of classes, numbers spelled as a Dataset spells them."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"{function}: class_names has to be a list of names; got {names!r}")
    return [
        repr(float(name)).removesuffix(".0") if isinstance(name, (float, np.floating)) else str(name) for name in names
    ]
