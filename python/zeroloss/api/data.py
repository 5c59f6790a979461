"""Reading data: from a file, a name or arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy.typing as npt

from .. import _core
from .._core import Dataset
from . import frames
from .arrays import one_hot, samples, targets
from .options import call, filled
from .seed import Seed, seed_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Data = str | os.PathLike[str] | npt.ArrayLike | Dataset


class Source(TypedDict, total=False):
    """What to read of a source, and what of it to keep, where n and d are axes."""

    # fields of source
    target: str | int
    features: str | Iterable[object]
    drop: Iterable[object]
    id: str | int
    one_hot: Iterable[object]
    missing: Literal["median", "drop", "error"]
    na_values: Iterable[object]
    spelling: Literal["as_written", "joined"]
    unknown: Literal["error", "missing"]
    delimiter: str
    decimal: Literal["auto", ".", ","]
    header: Literal["auto", "yes", "no"]
    skip: int | None
    skip_end: int | None
    standardize: Literal["auto", "no", "yes", "robust", "min-max"]
    bias: float | None
    resize: int
    task: Literal["auto", "regression", "classification"]
    split: Literal["train", "test"]
    shuffle: bool
    classes: Iterable[object]
    labels: str
    verbose: bool
    cache: str | os.PathLike[str]
    # end


class Read(Source, total=False):
    """What to read of a source, and what of it to keep."""

    # fields of read
    n: int
    d: int
    # end


def default_cache() -> str:
    """The folder of downloaded sets, the command's default too."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "zeroloss")


def read_options(function: str, read: Mapping[str, Any], seed: int) -> _core.ReadOptions:
    given: dict[str, Any] = {"cache": default_cache(), **read, "seed": seed}
    if not isinstance(given["cache"], (str, os.PathLike)):
        raise TypeError(f"{function}: cache has to be a path; got {given['cache']!r}")
    given["cache"] = os.fspath(given["cache"])
    for name in ("target", "id"):
        if name in given:
            given[name] = str(given[name])
    if not isinstance(given.get("features", ""), Iterable):
        raise TypeError(f"{function}: features has to be a name or a list of names; got {given['features']!r}")
    if not isinstance(given.get("features", ""), str):
        columns = [str(column) for column in given["features"]]
        if apart := [name for name in columns if "," in name]:
            raise ValueError(
                f"{function}: features are separated by commas, and {apart[0]!r} has one: give its number, from 0"
            )
        given["features"] = ",".join(columns)
    for name in ("classes", "drop", "one_hot", "na_values"):
        if isinstance(given.get(name, []), str) or not isinstance(given.get(name, []), Iterable):
            raise TypeError(f"{function}: {name} has to be a list of names; got {given[name]!r}")
        if name in given:
            given[name] = [str(one) for one in given[name]]
    return filled(function, _core.ReadOptions(), given)


def dataset(
    function: str, data: Any, y: npt.ArrayLike | None, read: Mapping[str, Any], seed: int, model: Any = _core
) -> tuple[Dataset, str]:
    """The data that a call is about, and how they are written in it. Of a _core.Model: with targets of its task."""
    if isinstance(data, Dataset):
        if y is not None or read:
            raise TypeError(f"{function}: a Dataset has its targets, and was read already")
        return data, data.call
    options = read_options(function, read, seed)
    y = frames.series(y)

    def made_by(subject: str) -> str:
        return call("read_dataset", subject, {**read, "seed": seed} if seed else read)

    if isinstance(data, (str, os.PathLike)):
        if y is not None:
            raise TypeError(f"{function}: y goes with an array X; the targets of {os.fspath(data)!r} are its own")
        path = os.fspath(data)
        subject = repr(path)
        if frames.ending(path):
            table, categories = frames.read_file(path)
            options.one_hot = [*options.one_hot, *categories]
            return model.table(table, options, path, made_by(subject)), subject
        return model.read_dataset(path, options, made_by(subject)), subject
    for name in ("target", "split"):
        if name in read and (name == "split" or y is not None or not frames.is_frame(data)):
            raise TypeError(f"{function}: {name} goes with a file or a name, not with arrays")
    if frames.is_frame(data):
        subject = "X" if y is None else "X, y"
        if y is not None:
            data = frames.beside(data, y)
            options.target = "-1"
        options.one_hot = [*options.one_hot, *frames.categories(data)]
        return model.table(frames.frame(data), options, subject, made_by(subject)), subject
    remarks: list[str] = []
    X, sizes = samples(function, data, remarks=remarks)
    if y is not None and options.task != "regression" and (ones := one_hot(function, y)) is not None:
        remarks.append(f"one-hot: a row of y is the number of its 1, 0 to {ones.shape[1] - 1}")
        y = ones.argmax(axis=1)
        if options.task == "auto":
            options.task = "classification"
    y_numbers, y_texts = (None, []) if y is None else targets(function, y, len(X), options.task, remarks)
    subject = "X" if y is None else "X, y"
    return model.dataset(X, y_numbers, y_texts, options, subject, made_by(subject), remarks, sizes), subject


def read_dataset(
    data: Data, y: npt.ArrayLike | None = None, *, model: Any = None, seed: Seed = 0, **read: Unpack[Read]
) -> Dataset:
    """Points with their targets, from a file, a name or arrays.

    Parameters
    ----------
    data : path, name, array or Dataset
        A csv, csv.gz, npy, npz or idx file, a CIFAR folder; ``digits``, ``mnist``, ``cifar10``, ``cifar100`` or
        ``sphere:n=..,d=..[,y=normal|sign|none][,seed=..]``; an array X, n x d, or of images, n x height x width or
        with 1, 3 or 4 colours behind or before these two; or a data frame of pandas, polars or
        pyarrow, which is read as the csv that it writes. Files .parquet, .feather, .arrow and .xlsx are read by
        pyarrow, polars, pandas or openpyxl, whichever is there.
    y : array, Series or frame of one column, optional
        n targets of X: numbers, or names of classes; of shape (n,), (n, 1) or one-hot, n x classes. Beside an array
        none may be missing (None, NaN, masked); beside a frame they are its last column. A Series
        goes by position, whatever its index.
    model : FitResult, Network, .. or path, optional
        As for :func:`predict`: rows become the numbers that this model, and its ONNX file, takes, by the columns of
        the table that it was trained on. Scale and constant are inside the model.
    seed : int, None or generator
        Of shuffle, d, labels and generated data: 0 <= seed < 2^53; None: a fresh one. Of NumPy's generators (Generator,
        BitGenerator, RandomState) the next integer is taken, of a SeedSequence always the same. The integer stands in
        the `call` of the dataset, and among the options of a result's `to_dict()`.
    **read
        target (str or int): of a table, the name or 0-based number of the target column, -1 the last (where columns
        are called by integers, a name first); of an npz file, the array of targets; "none" = no targets.
        features (str or list): of a table, the columns of a point; "all" = even those that look like identifiers.
        drop (list): of a table, columns to leave out.
        id (str or int): of a table, the column that names samples.
        one_hot (list): of a table, columns of numbers that are categories; columns of text are, and those that
        a data frame has a categorical type for.
        missing (str): of a table, what becomes of missing cells: median (and a column of flags), drop (the record) or
        error.
        na_values (list): of a table, words and numbers that mean a missing cell, beside NA and the like.
        spelling (str): of a table, classes and categories: as_written, or joined: names that differ in case, blanks
        or a final period alone are one.
        unknown (str): of a table for a model, a category that it has not seen: error, or missing: as a missing cell.
        delimiter (str): of a csv, what separates cells: one character, tab or blank; default: told from its lines.
        decimal (str): of a csv, what begins a fraction: ".", "," or auto: told from the cells.
        header (str): of a csv, whether its first line is names: yes, no or auto: told from the lines.
        skip, skip_end (int): of a csv, lines above the table and records at its end that are none; default: told from
        the lines; a row that begins with Total or the like.
        standardize (str): columns of one scale, by powers of two: no, yes, robust, min-max, or auto: yes for a table.
        bias (float): a constant to append, in root mean square lengths of a point; default 1 for a table, else 0.
        resize (int): of a folder of images, pixels each way that every image is brought to; 0 = as they are.
        task (str): auto (text or few integers are classes), regression or classification.
        split (str): train or test, of sets that have both.
        n (int): keep the first n points; 0 = all.
        d (int): project the points onto a random subspace of d dimensions; 0 = keep the features.
        shuffle (bool): keep a random subset of n points, in random order, instead of the first n.
        classes (list): keep only these, by name.
        labels (str): given, random, or noise:p, each label replaced by another with probability p.
        cache (path): folder of downloaded sets; default XDG_CACHE_HOME/zeroloss.

    Returns
    -------
    Dataset
        Its X is a copy: what happens to the array afterwards does not change an answer.

    Raises
    ------
    DataError
        Anything wrong with the data: the message names file, record and column.
    ValueError, TypeError
        An option that is out of range or of the wrong type.
    """
    from .predict import model_of  # which reads data

    by = _core if model is None else model_of(model)
    return dataset("read_dataset", data, y, read, seed_of("read_dataset", seed), by)[0]
