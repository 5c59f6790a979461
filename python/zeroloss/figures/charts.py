"""Vega-Lite specifications: those that are made of the tables of a conv run; and any of them in words."""
from __future__ import annotations

import math
from typing import Any, TypeGuard

from .run import Json, Run

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
MOST_POINTS = 1000  # of a curve; more are not seen and make a page heavy
BRIGHT = 0.19  # a share from which on black is read more easily than white, on the square root of it in viridis
# Powers of ten beyond 0.001 .. 1,000 are written as 1e4, and their lines stand out: as in the figures of the command.
LOG_LABEL = ("datum.label == '' ? '' : datum.value >= 1e4 || datum.value < 1e-3 ? "
             "replace(format(datum.value, '.0e'), '+', '') : format(datum.value, ',~g')")
LOG_AXIS = {"labelExpr": LOG_LABEL, "tickCount": 6, "gridOpacity": {"condition": {
    "test": "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-6", "value": 1}, "value": 0.35}}


def conv(run: Run) -> dict[str, Json]:
    """Of a conv run: loss and learning rate, where it has metrics.csv, errors by class and confusions, where it has
    evaluation.json. The others it writes itself."""
    metrics, evaluation = run.table("metrics.csv"), run.json("evaluation.json")
    name = run.result.get("data") or "conv"
    charts = {"loss": curve(f"{name}: training loss", metrics, "train_loss", "loss", log=True),
              "learning_rate": curve(f"{name}: learning rate", metrics, "learning_rate", "learning rate"),
              "classes": _classes(f"{name}: error by class", evaluation),
              "confusion": _confusion(f"{name}: what is taken for what", evaluation)}
    return {name: chart for name, chart in charts.items() if chart}


def curve(title: str, rows: list[Json], column: str, label: str, log: bool = False) -> Json | None:
    """A column of a table against its column `step`, at MOST_POINTS places or a few more; cells that are empty are left
    out. None if all are."""
    values = [{"curve": label, "x": row["step"], "y": row[column], "epoch": row.get("epoch")}
              for row in rows if _drawable(row.get("step")) and _drawable(row.get(column), log)]
    if not values:
        return None
    every = -(-len(values) // MOST_POINTS)
    tip = [{"field": field, "type": "quantitative", "title": name}
           for field, name in (("x", "step"), ("epoch", "epoch"), ("y", label))]
    return _frame(title) | {
        "data": {"values": values[:-1:every] + values[-1:]},
        "mark": {"type": "line", "point": {"opacity": 0, "size": 150}, "tooltip": True},
        "encoding": {"x": _quantity("x", "step", {"nice": False, "zero": False}),
                     "y": _quantity("y", label, {"type": "log"} if log else {"zero": False}), "tooltip": tip,
                     "color": {"field": "curve", "type": "nominal", "title": None, "sort": None, "legend": None}}}


def lines(title: str, curves: dict[str, list[tuple[Any, Any]]], x: str, y: str) -> Json | None:
    """Curves of points by name, as the command draws them; both axes are logarithmic. None if nothing can be drawn."""
    values = [{"curve": name, "x": a, "y": b} for name, points in curves.items() for a, b in _thinned(
        [(a, b) for a, b in points if _drawable(a, log=True) and _drawable(b, log=True)])]
    if not values:
        return None
    colour: Json = {"field": "curve", "type": "nominal", "title": None, "sort": None,
                    "legend": {"symbolType": "stroke", "symbolStrokeWidth": 3}}
    mark = {"type": "line", "point": {"opacity": 0, "size": 150}, "tooltip": True}
    return _frame(title) | {
        "data": {"values": values},
        "encoding": {"x": _quantity("x", x, {"type": "log", "nice": False}), "color": colour},
        "layer": [{"mark": mark, "encoding": {"y": _quantity("y", y, {"type": "log"})}}]}


def shares(title: str, cells: list[Json], x: str, y: str) -> Json | None:
    """A map of the share of trials that succeed, over the values of x and y that have trials."""
    values = [{x: cell[x], y: cell[y], "share": (cell.get("successes") or 0) / cell["trials"],
               "note": f"{x} {cell[x]}, {y} {cell[y]}: {cell.get('successes') or 0:g} of {cell['trials']:g}"}
              for cell in cells if cell.get("trials")]
    if not values:
        return None
    axes = {channel: {"field": name, "type": "ordinal", "title": name, "axis": {"labelOverlap": True, "labelAngle": 0}}
            for channel, name in (("x", x), ("y", y))}
    axes["y"]["sort"] = "descending"
    fill = {"field": "share", "type": "quantitative", "title": "success", "scale": {"scheme": "viridis",
            "domain": [0, 1]}, "legend": {"orient": "top", "direction": "horizontal", "gradientLength": 160}}
    return _frame(title) | {"width": 360, "height": 360, "data": {"values": values}, "mark": {"type": "rect"},
                            "encoding": {**axes, "fill": fill, "tooltip": {"field": "note"}}}


def _thinned(points: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    every = max(1, -(-len(points) // MOST_POINTS))
    return points[:-1:every] + points[-1:]


def class_names(evaluation: Json, count: int) -> list[str]:
    """The names in `evaluation`, or the numbers 0.. if there are not `count` of them."""
    names = evaluation.get("class_names") or []
    return [str(name) for name in names] if len(names) == count else [str(k) for k in range(count)]


def _classes(title: str, evaluation: Json) -> Json | None:
    errors = evaluation.get("per_class_error") or []
    values = [{"class": name, "error": error}
              for name, error in zip(class_names(evaluation, len(errors)), errors) if _drawable(error)]
    if not values or len(values) > 200:
        return None
    return _frame(title) | {
        "height": {"step": 20}, "data": {"values": values},
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "x": _quantity("error", "error", {"zero": True}, {"format": "~%", "tickCount": 4}),
            "y": {"field": "class", "type": "nominal", "sort": "-x", "title": None, "axis": {"labelLimit": 120}},
            "tooltip": [{"field": "class"}, {"field": "error", "type": "quantitative", "format": ".2%"}]}}


def _confusion(title: str, evaluation: Json) -> Json | None:
    counts = evaluation.get("confusion") or []
    names = class_names(evaluation, len(counts))
    if not counts or any(not isinstance(row, list) or len(row) != len(counts) for row in counts):
        return None
    values = []
    for true, row in zip(names, counts):
        total = sum(row)
        values += [{"true": true, "predicted": predicted, "count": count, "share": count / total if total else 0,
                    "note": f"{true} taken for {predicted}: {count:,} of {total:,}" if true != predicted
                    else f"{true} recognised: {count:,} of {total:,}"}
                   for predicted, count in zip(names, row)]
    few, axis = len(names) <= 12, {"labelLimit": 90, "labelOverlap": True}
    cells = {"mark": {"type": "rect"}, "encoding": {
        "fill": {"field": "share", "type": "quantitative", "title": "share of the true class",
                 "scale": {"scheme": "viridis", "type": "sqrt", "domain": [0, 1]},
                 "legend": {"orient": "top", "direction": "horizontal", "gradientLength": 160, "format": ".0%",
                            "values": [0, 0.1, 0.5, 1]}},
        "tooltip": {"field": "note"}}}
    numbers = {"mark": {"type": "text", "fontSize": 10}, "encoding": {
        "text": {"field": "count", "type": "quantitative", "format": ","},
        "color": {"condition": {"test": f"datum.share > {BRIGHT}", "value": "#000000"}, "value": "#ffffff"},
        "tooltip": {"field": "note"}}}
    return _frame(title) | {
        "width": 360, "height": 360, "data": {"values": values},
        "encoding": {
            "x": {"field": "predicted", "type": "nominal", "sort": None, "title": "predicted", "axis": axis},
            "y": {"field": "true", "type": "nominal", "sort": None, "title": "true", "axis": axis}},
        "layer": [cells, numbers] if few else [cells]}


def _frame(title: str) -> Json:
    return {"$schema": SCHEMA, "title": {"text": title, "anchor": "start"}, "width": 520, "height": 300}


def _quantity(field: str, title: str, scale: Json, axis: Json | None = None) -> Json:
    return {"field": field, "type": "quantitative", "title": title, "scale": scale,
            "axis": LOG_AXIS if scale.get("type") == "log" else {"tickCount": 6, **(axis or {})}}


def _drawable(value: Any, log: bool = False) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and math.isfinite(value) and (not log or value > 0)


# ---- in words ----


def describe(spec: Json, title: str) -> str:
    """The figure in words: what each curve runs from and to, each dot's value, how many cells a map has."""
    layers = spec.get("layer") or [spec]
    main = next((layer for layer in layers if _mark(layer) not in ("area", "text")), layers[0])
    first, shape = _channels(spec, main), _mark(main)
    values = [v for layer in [spec, *layers] for v in (layer.get("data") or {}).get("values") or []
              if isinstance(v, dict)]
    x, y = (_title(first.get(channel)) for channel in "xy")
    if shape == "line":
        return f"{title}. Curves of {y or 'values'} against {x or 'x'}: {_runs(values)}."
    if shape in ("point", "bar"):
        name, value = ("name", "value") if shape == "point" else ("class", "error")
        dots = [f"{v[name]} {_short(v[value])}" for v in values[:12] if name in v and value in v]
        more = f" and {len(values) - 12} more" if len(values) > 12 else ""
        return f"{title}. {x}: {', '.join(dots)}{more}."
    if shape == "rect":
        return f"{title}. A map of {_title(first.get('fill'))} over {x} and {y}."
    return f"{title}."


def _channels(spec: Json, layer: Json) -> Json:
    return {**(spec.get("encoding") or {}), **(layer.get("encoding") or {})}


def _mark(layer: Json) -> Any:
    mark = layer.get("mark")
    return mark.get("type") if isinstance(mark, dict) else mark


def _title(channel: Json | None) -> str:
    return str((channel or {}).get("title") or "")


def _runs(values: list[Json]) -> str:
    ends: dict[str, tuple[Json, Json]] = {}
    for v in values:
        if _drawable(v.get("x")) and _drawable(v.get("y")):
            name = str(v.get("curve", v.get("name", "curve")))
            ends[name] = (ends.get(name, (v,))[0], v)
    runs = [f"{name} from {_short(a['y'])} at {_short(a['x'])} to {_short(b['y'])} at {_short(b['x'])}"
            for name, (a, b) in list(ends.items())[:8]]
    return "; ".join(runs) + (f"; and {len(ends) - 8} more" if len(ends) > 8 else "") if runs else "no data"


def _short(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
