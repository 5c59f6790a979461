"""Keywords become the library's structs, and what a user has becomes points and targets."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypedDict, Union

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Dataset

Show = Union[bool, Callable[[_core.ProgressReport], None]]


class Source(TypedDict, total=False):
    """What to read of a source, and what of it to keep, where n and d are axes."""

    target: str | int  # of a table: name or 0-based index of a column; "none"
    task: str  # auto | regression | classification
    split: str  # train | test, of sets that have both
    shuffle: bool  # a random subset of n points, in random order
    classes: Iterable[object]  # keep only these, by name
    labels: str  # given | random | noise:p
    cache: str | os.PathLike[str]  # folder of downloaded sets


class Read(Source, total=False):
    """What to read of a source, and what of it to keep."""

    n: int  # the first n points; 0 = all
    d: int  # project onto a random subspace of d dimensions; 0 = keep the features


def fill(function: str, options: Any, given: Mapping[str, Any]) -> Any:
    """Sets the fields of an options struct. TypeError, naming the keyword, for a value of the wrong kind."""
    for name, value in given.items():
        if isinstance(value, np.generic):
            value = value.item()
        if name == "seed" and isinstance(value, int) and value < 0:
            raise ValueError(f"{function}: seed must be in [0, 2^53); got {value}")
        if not hasattr(options, name):
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
        try:
            setattr(options, name, value)
        except TypeError:
            kind = type(getattr(options, name)).__name__
            raise TypeError(f"{function}: {name} has to be of type {kind}; got {value!r}") from None
    return options


def step_text(function: str, step: float | str) -> str:
    """A step as the library takes it: a number with all its digits, or a word."""
    if isinstance(step, str):
        return step
    if not isinstance(step, numbers.Real):
        raise TypeError(f"{function}: step has to be a number or a word; got {step!r}")
    return repr(float(step))


def default_cache() -> str:
    """The folder of downloaded sets, the command's default too."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "zeroloss")


def read_options(function: str, read: Mapping[str, Any], seed: int) -> _core.ReadOptions:
    given: dict[str, Any] = {"cache": default_cache(), **read, "seed": seed}
    given["cache"] = os.fspath(given["cache"])
    if "target" in given:
        given["target"] = str(given["target"])
    if "classes" in given:
        if isinstance(given["classes"], str):
            raise TypeError(f"{function}: classes has to be a list of names; got {given['classes']!r}")
        given["classes"] = [str(name) for name in given["classes"]]
    return fill(function, _core.ReadOptions(), given)


def _plain(function: str, values: Any, name: str) -> npt.NDArray[Any]:
    """As an array; not what only looks like one."""
    if hasattr(values, "toarray"):
        raise TypeError(f"{function}: {name} is sparse; use .toarray()")
    if np.ma.is_masked(values):
        first = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(values))[0])
        raise _core.DataError(f"{function}: {name}[{', '.join(map(str, first))}] is masked; expected a value")
    return np.asarray(values)


def points(function: str, X: npt.ArrayLike, name: str = "X") -> npt.NDArray[np.float64]:
    """n x d doubles, rows contiguous: the array itself where it is so already."""
    array = _plain(function, X, name)
    if array.ndim != 2:
        raise ValueError(f"{function}: {name} must be an array of two dimensions; its shape is {array.shape}")
    if array.dtype.kind not in "buif":
        raise TypeError(f"{function}: {name} must be real numbers; its type is {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _missing(value: Any) -> bool:
    """None, NaN, NaT, pandas.NA: what is not equal to itself, or will not say."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def targets(function: str, y: npt.ArrayLike, n: int) -> tuple[npt.NDArray[np.float64] | None, list[str]]:
    """n targets as numbers, or as names of classes. DataError naming the first that is missing."""
    array = _plain(function, y, "y")
    if array.shape != (n,):
        raise ValueError(f"{function}: y must be {n} targets; its shape is {array.shape}")
    if array.dtype.kind not in "buifc":
        for i, value in enumerate(array):
            if _missing(value):
                raise _core.DataError(f"{function}: y[{i}] is {value}; expected a number or the name of a class")
        if array.dtype.kind == "O" and all(isinstance(value, (numbers.Complex, np.bool_)) for value in array):
            array = np.array(array.tolist())
    if array.dtype.kind == "c":
        raise TypeError(f"{function}: y must be real numbers or names of classes; its type is {array.dtype}")
    if array.dtype.kind in "buif":
        return np.ascontiguousarray(array, dtype=np.float64), []
    return None, [str(label) for label in array]


def dataset(
    function: str, data: Any, y: npt.ArrayLike | None, read: Mapping[str, Any], seed: int
) -> tuple[Dataset, str]:
    """The data that a call is about, and how they are written in it."""
    if isinstance(data, Dataset):
        if y is not None or read:
            raise TypeError(f"{function}: a Dataset has its targets, and was read already")
        return data, data.call
    options = read_options(function, read, seed)

    def made_by(subject: str) -> str:
        return call("read_dataset", subject, {**read, "seed": seed}, {"seed": 0})

    if isinstance(data, (str, os.PathLike)):
        if y is not None:
            raise TypeError(f"{function}: y goes with an array X; the targets of {os.fspath(data)!r} are its own")
        subject = repr(os.fspath(data))
        return _core.read_dataset(os.fspath(data), options, made_by(subject)), subject
    for name in ("target", "split"):
        if name in read:
            raise TypeError(f"{function}: {name} goes with a file or a name, not with arrays")
    X = points(function, data)
    y_numbers, y_texts = (None, []) if y is None else targets(function, y, len(X))
    subject = "X" if y is None else "X, y"
    return _core.dataset(X, y_numbers, y_texts, options, subject, made_by(subject)), subject


def call(function: str, subject: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """A call as one would write it: what differs from the defaults."""
    words = [subject]
    for name, value in given.items():
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if name not in defaults or value != defaults[name]:
            words.append(f"{name}={value!r}")
    return f"zeroloss.{function}({', '.join(words)})"


@contextmanager
def shown(progress: Show) -> Iterator[Callable[[_core.ProgressReport], None] | None]:
    """Who gets the reports of a call: nobody, bars in the terminal if tqdm is there, or a function of the user's."""
    if callable(progress) or not progress:
        yield progress if callable(progress) else None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    bar: Any = None
    stage = ""

    def close() -> None:
        nonlocal bar
        if bar is not None:
            bar.close()
            bar = None

    def draw(report: _core.ProgressReport) -> None:
        nonlocal bar, stage
        if report.finished or report.stage != stage:
            close()
        if report.finished:
            return
        if bar is None:
            stage = report.stage
            bar = tqdm(total=report.total or None, desc=stage, leave=False)
        bar.n = report.done
        bar.refresh()

    try:
        yield draw
    finally:
        close()
