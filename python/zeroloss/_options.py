"""Keywords become the library's structs, and what a user has becomes points and targets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._core import Dataset

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


def step_text(step: float | str) -> str:
    """A step as the library takes it: a number with all its digits, or a word."""
    return step if isinstance(step, str) else repr(float(step))


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


def points(function: str, X: npt.ArrayLike, name: str = "X") -> npt.NDArray[np.float64]:
    """n x d doubles, rows contiguous: the array itself where it is so already."""
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"{function}: {name} must be an array of two dimensions; its shape is {array.shape}")
    if array.dtype.kind not in "buif":
        raise TypeError(f"{function}: {name} must be real numbers; its type is {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def dataset(
    function: str, data: Any, y: npt.ArrayLike | None, read: Mapping[str, Any], seed: int
) -> tuple[Dataset, _core.ReadOptions, str]:
    """The data that a call is about, how they are read, and how they are written in a call."""
    if isinstance(data, Dataset):
        if y is not None or read:
            raise TypeError(f"{function}: a Dataset has its targets, and was read already")
        return data, read_options(function, {}, seed), "data"
    options = read_options(function, read, seed)
    if isinstance(data, (str, os.PathLike)):
        if y is not None:
            raise TypeError(f"{function}: y goes with an array X; the targets of {os.fspath(data)!r} are its own")
        return _core.read_dataset(os.fspath(data), options), options, repr(os.fspath(data))
    for name in ("target", "split"):
        if name in read:
            raise TypeError(f"{function}: {name} goes with a file or a name, not with arrays")
    X = points(function, data)
    numbers, texts = None, []
    if y is not None:
        targets = np.asarray(y)
        if targets.shape != (len(X),):
            raise ValueError(f"{function}: y must be {len(X)} targets; its shape is {targets.shape}")
        if targets.dtype.kind in "buif":
            numbers = np.ascontiguousarray(targets, dtype=np.float64)
        else:
            texts = [str(label) for label in targets]
    made = _core.dataset(X, numbers, texts, options, "X" if y is None else "X, y")
    return made, options, "X" if y is None else "X, y"


def call(function: str, subject: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """A call as one would write it: what differs from the defaults."""
    words = [subject]
    for name, value in given.items():
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if name not in defaults or value != defaults[name]:
            words.append(f"{name}={value!r}")
    return f"zeroloss.{function}({', '.join(words)})"


def show(progress: Show) -> Callable[[_core.ProgressReport], None] | None:
    """Who gets the reports: nobody, bars in the terminal if tqdm is there, or a function of the user's."""
    if callable(progress):
        return progress
    if not progress:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    bar: Any = None

    def draw(report: _core.ProgressReport) -> None:
        nonlocal bar
        if bar is not None and (report.finished or bar.desc != f"{report.stage}: "):
            bar.close()
            bar = None
        if report.finished:
            return
        if bar is None:
            bar = tqdm(total=report.total or None, desc=report.stage, leave=False)
        bar.n = report.done
        bar.refresh()

    return draw
