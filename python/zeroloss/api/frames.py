"""Data frames, and the files that hold them, as the csv that they are: one meaning for a table, wherever it comes from.

Nothing is imported for it but what made the frame, or what reads the file."""

from __future__ import annotations

import csv
import importlib
import io
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import _core
from .arrays import unicode

# What reads a file, the first that is there.
READERS = {
    ".parquet": [("pyarrow.parquet", "read_table"), ("polars", "read_parquet"), ("pandas", "read_parquet")],
    ".feather": [("pyarrow.feather", "read_table"), ("polars", "read_ipc"), ("pandas", "read_feather")],
    ".arrow": [("pyarrow.feather", "read_table"), ("polars", "read_ipc"), ("pandas", "read_feather")],
    ".xlsx": [("openpyxl", "load_workbook")],
}


def _maker(data: object) -> str:
    """pandas, polars or pyarrow; empty of what is no frame of theirs."""
    for kind in type(data).__mro__:
        root = kind.__module__.partition(".")[0]
        if (root in ("pandas", "polars") and kind.__name__ == "DataFrame") or (
            root == "pyarrow" and kind.__name__ == "Table"
        ):
            return root
    return ""


def is_frame(data: object) -> bool:
    return _maker(data) != ""


def names(data: Any) -> list[str]:
    """What the columns of a frame are called, as its csv has it."""
    return [str(name) for name in (data.column_names if _maker(data) == "pyarrow" else data.columns)]


def categories(data: Any) -> list[str]:
    """The columns whose type says that their numbers are categories."""
    taken = names(data)
    if _maker(data) == "pandas":
        kinds = [getattr(getattr(kind, "categories", None), "dtype", None) for kind in data.dtypes]
        found = [name for name, kind in zip(taken, kinds) if getattr(kind, "kind", "") in set("iuf")]
    elif _maker(data) == "pyarrow":
        columns = (data.schema.pandas_metadata or {}).get("columns", [])
        meant = {column["name"] for column in columns if column["pandas_type"] == "categorical"}
        numbers = re.compile("(dictionary<values=)?(u?int|double|float)")
        stored = [(field.name, numbers.match(str(field.type))) for field in data.schema]
        found = [name for name, kind in stored if kind and (kind[1] or name in meant)]
    else:
        found = []  # those of polars are texts
    return [name for name in found if taken.count(name) == 1]


def series(y: Any) -> Any:
    """The column of a frame that has one; anything else as it is."""
    maker = _maker(y)
    if not maker or y.shape[1] != 1:
        return y
    return y.iloc[:, 0] if maker == "pandas" else y.to_series() if maker == "polars" else y.column(0)


def _written(rows: Iterable[Sequence[Any]]) -> str:
    """Cells as Python writes them, all in quotes: no name is mistaken for separators."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
        ["NA" if cell is None else cell for cell in row] for row in rows
    )
    return text.getvalue()


def _checked(text: str, named: bool, labels: Sequence[str] = (), kind: str = "") -> _core.Frame:
    text = unicode("read_dataset", text, "a name or a cell of the frame")
    return _core.Frame(text, named, [unicode("read_dataset", label, "a label of the index") for label in labels], kind)


def _labels(index: Any) -> tuple[list[str], str]:
    """The labels of an index of pandas and what they are; none where they are the rows' numbers."""
    if len(index) == 0 or list(index) == list(range(len(index))):
        return [], ""
    return [str(label) for label in index], str(index.dtype)


def _plain(cell: Any) -> Any:
    return cell.total_seconds() / 3600 if hasattr(cell, "total_seconds") else cell


def frame(data: Any) -> _core.Frame:
    """A data frame as the library reads it: the csv that its own library writes, missing cells as NA."""
    maker = _maker(data)
    if maker == "pandas":
        named = list(data.columns) != list(range(len(data.columns)))  # what pandas says of columns without names
        plain = data.set_axis([str(name) for name in data.columns], axis=1)
        for place, kind in enumerate(data.dtypes):
            if getattr(kind, "kind", "") == "m":  # how long something took, in hours
                plain.isetitem(place, data.iloc[:, place].dt.total_seconds() / 3600)
        text = plain.to_csv(index=False, header=named, na_rep="NA", lineterminator="\n")
        if "\r" in text:  # which pandas leaves without quotes, and ends a line
            text = plain.to_csv(index=False, header=named, na_rep="NA", lineterminator="\n", quoting=csv.QUOTE_ALL)
        return _checked(text, named, *_labels(data.index))
    if maker == "polars":
        import polars.selectors

        hours = polars.selectors.duration().dt.total_microseconds() / 3.6e9
        return _checked(data.with_columns(hours).write_csv(null_value="NA"), True)
    index = [name for name in (data.schema.pandas_metadata or {}).get("index_columns", []) if isinstance(name, str)]
    index += [name for name in data.column_names if re.fullmatch(r"__index_level_\d+__", name)]
    kept = [name for name in data.column_names if name not in index]  # but pandas's index
    columns = [map(_plain, data.column(name).to_pylist()) for name in kept]
    return _checked(_written([kept, *zip(*columns)]), True)


def rows(array: Any) -> _core.Frame:
    """An array as a frame without names."""
    return _checked(_written(np.asarray(array).tolist()), False)


def beside(data: Any, y: Any) -> Any:
    """The frame with one more column at its end, of targets."""
    maker = _maker(data)
    taken = names(data)
    values = np.asarray(y)
    if values.shape != (len(data),):
        raise ValueError(f"y must be {len(data)} targets; its shape is {values.shape}")
    name = getattr(y, "name", None)
    name = name if isinstance(name, str) and name else "y"
    while name in taken:
        name += "_"
    ours = type(y).__module__.partition(".")[0] == maker
    if maker == "pandas":
        return data.assign(**{name: getattr(y, "array", values) if ours else values})
    if maker == "polars":
        plain = values.tolist() if values.dtype.kind == "O" else values
        return data.with_columns((y if ours else importlib.import_module("polars").Series(plain)).alias(name))
    return data.append_column(name, [values.tolist()])


def ending(data: object) -> str:
    """How the path of a file that READERS read ends; empty of anything else."""
    if not isinstance(data, (str, os.PathLike)):
        return ""
    end = os.path.splitext(os.fspath(data))[1].lower()
    return end if end in READERS and os.path.isfile(data) else ""


def read_file(path: str) -> tuple[_core.Frame, list[str]]:
    """A .parquet, .feather, .arrow or .xlsx file, and its categories(). ImportError, saying what to install, if nothing
    reads it."""
    end = ending(path)
    for module, function in READERS[end]:
        try:
            read = getattr(importlib.import_module(module), function)
            if end != ".xlsx":
                table = read(path)
                return frame(table), categories(table)
            book = read(path, read_only=True, data_only=True)
            cells = book.worksheets[0].iter_rows(values_only=True)
            try:
                return _core.Frame(_written(row for row in cells if any(cell is not None for cell in row)), None), []
            finally:
                book.close()
        except ImportError:
            continue
        except Exception as error:
            raise _core.DataError(f"{path}: {module} cannot read it: {error}") from error
    needed = [module.partition(".")[0] for module, _ in READERS[end]]
    raise ImportError(f"{path}: to read {end} files install {' or '.join(needed)}: pip install {needed[0]}")
