"""Parts of results as data frames of pandas: a row a record, a column a field; curves are those of metrics.csv.
Sweeps as arrays, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .. import _core

Row = dict[str, Any]


_INSIDE = {"sample", "first", "second", "cell", "interval", "at", "curve", "certificate"}  # fields that are records


def _fields(kind: type) -> list[str]:
    apart = ("network", "polished")
    return [name for name, field in vars(kind).items() if isinstance(field, property) and name not in apart]


def _columns(kind: type, *first: str) -> list[str]:
    """Of a table without rows."""
    return [*first, *(name for name in _fields(kind) if name not in _INSIDE)]


def _row(record: object, **first: object) -> Row:
    """The fields that are one value, those of records inside it after them, as far as they are not its own already."""
    cells, inside = dict(first), []
    unknown = record._unknown() if hasattr(record, "_unknown") else ()
    for name in _fields(type(record)):
        value = getattr(record, name)
        if type(value).__module__ == _core.__name__:
            inside.append((name, _row(value)))
        elif not isinstance(value, list):
            cells[name] = math.nan if value is None or name in unknown else value
    for name, inner in inside:
        if not inner.keys() <= cells.keys():
            cells.update({f"{name}_{key}": value for key, value in inner.items()})
    return cells


def _forecast(result: _core.CertifyResult) -> Iterator[Row]:
    said = result.forecast
    for step, misfit, error in zip(said.at_step, said.misfit, said.standard_error) if said else ():
        yield {"step": step, "misfit": misfit, "standard_error": error}


def _curve(result: _core.FitResult) -> Iterator[Row]:
    return (_row(point, output=k) for k, output in enumerate(result.outputs) for point in output.curve)


def _descent(result: _core.LinearResult) -> Iterator[tuple[int, _core.DescentResult]]:
    return ((depth.layers, depth.descent) for depth in result.depths if depth.descent is not None)


_SCORES = ["given_label", "predicted_label", "label_score", "is_label_issue", "confidence", "record", "id"]


def _scores(result: _core.AuditResult) -> Iterator[Row]:
    """With the names of cleanlab's columns."""
    wrong = {issue.position for issue in result.issues}
    confidence = result.confidence or [math.nan] * result.n
    rows = zip(result.given, result.predicted, result.scores, confidence, *_who(result))
    for i, (given, predicted, score, sure, record, name) in enumerate(rows):
        yield dict(zip(_SCORES, (given, predicted, score, i in wrong, sure, record, name)))


def _who(result: Any) -> tuple[list[int], list[str]]:
    """The samples that rows are about: their records and names."""
    records = result.records
    return records, result.ids or [""] * len(records)


def _values(result: _core.InfluenceResult) -> Iterator[Row]:
    for value, record, name in zip(result.values, *_who(result)):
        yield {"value": value, "record": record, "id": name}


def _index(result: Any) -> Any:
    """Of a table with a row for each sample: the labels that the user's frame has for its rows, else their records."""
    import pandas

    if not result._index:
        return pandas.Index(result.records)
    if result._index == "bool":  # to which any text but "" would be true
        return pandas.Index([name == "True" for name in result.ids])
    try:
        return pandas.Index(result.ids).astype(result._index)
    except (TypeError, ValueError):  # labels of pairs, say
        return pandas.Index(result.ids)


#: What each result has: the columns of an empty table, and the rows. The first is what to_frame() gives.
_Parts = dict[str, tuple[list[str], Callable[[Any], Iterable[Row]]]]
_PARTS: dict[type, _Parts] = {
    _core.CertifyResult: {
        "suspects": (_columns(_core.Suspect), lambda r: map(_row, r.suspects)),
        "guarantees": (_columns(_core.Guarantee), lambda r: map(_row, r.guarantees)),
        "bottleneck": (_columns(_core.Bottleneck), lambda r: map(_row, r.bottleneck)),
        "closest": (_columns(_core.SamplePair), lambda r: map(_row, r.closest)),
        "forecast": (["step", "misfit", "standard_error"], _forecast),
        "widths": (_columns(_core.WidthRow), lambda r: map(_row, r.widths)),
    },
    _core.FitResult: {
        "curve": (_columns(_core.CurvePoint, "output"), _curve),
        "outputs": ([], lambda r: (_row(one, output=k) for k, one in enumerate(r.outputs))),
    },
    _core.MemorizeResult: {
        "blocks": (["block", "margin"], lambda r: (dict(block=k, margin=m) for k, m in enumerate(r.block_margins))),
        "tried": (_columns(_core.MemorizeAttempt), lambda r: map(_row, r.tried)),
    },
    _core.SweepResult: {"cells": (_columns(_core.CellResult), lambda r: map(_row, r.cells))},
    _core.WidthResult: {
        "rows": (_columns(_core.WidthRow), lambda r: map(_row, r.rows)),
        "drawn": (_columns(_core.DrawnWidth), lambda r: map(_row, r.drawn)),
        "measured": (_columns(_core.MeasuredWidth), lambda r: map(_row, r.measured)),
    },
    _core.AuditResult: {
        "issues": (_columns(_core.LabelIssue), lambda r: map(_row, r.issues)),
        "scores": (_SCORES, _scores),
        "confusions": (_columns(_core.Confusion), lambda r: map(_row, r.confusions)),
        "twins": (_columns(_core.Twins), lambda r: map(_row, r.twins)),
        "outliers": (_columns(_core.Outlier), lambda r: map(_row, r.outliers)),
    },
    _core.ProveResult: {"networks": (_columns(_core.ProvedNetwork), lambda r: map(_row, r.networks))},
    _core.InfluenceResult: {
        "tests": (_columns(_core.Explained), lambda r: map(_row, r.tests)),
        "values": (["value", "record", "id"], _values),
    },
    _core.LinearResult: {
        "factorizations": ([], lambda r: (_row(one, layers=at.layers) for at in r.depths for one in at.factorizations)),
        "descent": (
            _columns(_core.DescentResult, "layers"),
            lambda r: (_row(one, layers=layers) for layers, one in _descent(r)),
        ),
        "curve": (
            _columns(_core.DescentPoint, "layers"),
            lambda r: (_row(point, layers=layers) for layers, one in _descent(r) for point in one.curve),
        ),
    },
}


def parts_of(kind: type) -> list[str]:
    """What to_frame() of such a result takes, the default first."""
    return list(_PARTS[kind])


def frame_of(result: object, part: str = "") -> Any:
    """A part of a result as a pandas.DataFrame; what is not known is NaN.

    ValueError naming the parts for another word; ImportError without pandas.
    """
    parts = _PARTS[type(result)]
    if part and part not in parts:
        raise ValueError(f"to_frame: part must be one of {', '.join(parts)}; got {part!r}")
    try:
        import pandas
    except ImportError as error:
        raise ImportError('to_frame needs pandas: pip install pandas') from error
    columns, rows = parts[part or next(iter(parts))]
    if not (table := list(rows(result))):
        return pandas.DataFrame(columns=columns)
    return pandas.DataFrame.from_records(table, index=_index(result) if rows in (_scores, _values) else None)


def arrays_of(result: _core.SweepResult) -> dict[str, np.ndarray[Any, Any]]:
    """The cells of a sweep as numpy arrays with a dimension for each axis of several values, in the order n, d, width,
    activation, scaling, step, noise, tolerance, depth. First the values of each of these axes, under its name, in the
    order in which they were given (texts where one of them is no number); then of every cell

    ``trials``, ``successes``, ``diverged``, ``certified``
        numbers of trials (integers)
    ``probability``, ``low``, ``high``
        successes/trials, and Wilson's interval of 95 % around the probability, in [0, 1]
    ``mean_steps``
        steps of a trial
    ``median_misfit``
        of the trials' relative misfits at the end; those of diverged ones are infinite, and NaN without trials

    so that ``arrays["probability"][i, j]`` is at ``arrays["d"][i]`` and ``arrays["width"][j]`` where d and width vary.
    Of a single cell they have no dimension. ``numpy.savez("sweep.npz", **arrays)`` keeps them.
    """
    axes = {name: _axis([getattr(cell.cell, name) for cell in result.cells]) for name in _fields(_core.Cell)}
    axes = {name: values for name, values in axes.items() if len(values) > 1}
    table = [_row(cell) for cell in result.cells]
    shape = [len(values) for values in axes.values()]
    names = [name for name in _columns(_core.CellResult) if name not in _fields(_core.Cell)]
    return axes | {name: np.array([row[name] for row in table]).reshape(shape) for name in names}


def _axis(values: list[Any]) -> np.ndarray[Any, Any]:
    """The different ones, in their order; numbers where all are."""
    kept = list(dict.fromkeys(values))
    try:
        return np.array([float(value) if isinstance(value, str) else value for value in kept])
    except ValueError:
        return np.array(kept)
