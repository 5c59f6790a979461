"""Figures of several runs in one: a colour for each run. Maps cannot be laid over each other and stand side by side."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from .charts import SCHEMA
from .colours import is_measured
from .run import Json

HUES = 7  # runs beyond have the same colours, dashed
DASHES = ([1, 0], [6, 4], [2, 3], [8, 3, 2, 3])
LOOKS = ("solid", "dashed", "dotted", "dashed and dotted")
STROKES = {"legend": {"symbolType": "stroke", "symbolStrokeWidth": 3}}

Specs = dict[str, Json]  # of each run that has the figure, by the run's name


def together(title: str, specs: Specs) -> Json | None:
    """One figure of all these; None for what cannot be drawn in one."""
    values = {run: (spec.get("data") or {}).get("values") or [] for run, spec in specs.items()}
    if all(v and {"curve", "x", "y"} <= v[0].keys() for v in values.values()):
        return _lines(title, specs, values)
    if all(v and {"name", "value"} <= v[0].keys() for v in values.values()):
        return _dots(title, specs, values)
    if all(v and {"class", "error"} <= v[0].keys() for v in values.values()):
        return _classes(title, specs, values)
    return None


def _lines(title: str, specs: Specs, values: dict[str, list[Json]]) -> Json:
    """Of what was measured; of theory where a figure has nothing else."""
    measured = any(is_measured(v["curve"]) for points in values.values() for v in points)
    points = [{"run": run, "what": v["curve"], "x": v["x"], "y": v["y"]} for run, some in values.items()
              for v in some if is_measured(v["curve"]) or not measured]
    several = len({point["what"] for point in points}) > 1
    for point in points:
        point["curve"] = f"{point['run']}, {point['what']}" if several else point["run"]
    first = next(iter(specs.values()))
    x = first["encoding"]["x"]
    y = next(layer for layer in [*first.get("layer", []), first] if "y" in layer.get("encoding", {}))["encoding"]["y"]
    whats = list(dict.fromkeys(p["what"] for p in points))
    if several:  # a legend would have no colour to draw them in
        title += ": " + ", ".join(f"{what} {LOOKS[k % len(LOOKS)]}" for k, what in enumerate(whats))
        dash = _dashed("what", whats, range(len(whats))) | {"legend": None}
    else:
        dash = _dashed("run", list(specs), [k // HUES for k in range(len(specs))])
    tips = [{"field": "run"}, *[{"field": "what", "title": "curve"}] * several,
            *({**channel, "field": field, "axis": None} for field, channel in (("x", _tip(x)), ("y", _tip(y))))]
    return _frame(title, first) | {
        "data": {"values": points},
        "mark": {"type": "line", "point": {"opacity": 0, "size": 150}, "tooltip": True},
        "encoding": {"x": x, "y": y | {"field": "y"}, "color": _of_names("run") | STROKES, "strokeDash": dash,
                     "detail": {"field": "what", "type": "nominal"}, "tooltip": tips}}


def _tip(channel: Json) -> Json:
    return {"type": "quantitative", "title": channel.get("title") or "value"}


def _dots(title: str, specs: Specs, values: dict[str, list[Json]]) -> Json:
    """Each name once, with a dot of every run."""
    seen: set[str] = set()
    points = []
    for run, some in values.items():
        for v in some:
            points.append({"run": run, "name": v["name"], "value": v["value"], "named": v["name"] not in seen})
            seen.add(v["name"])
    first = copy.deepcopy(next(iter(specs.values())))
    names, dots = first["layer"]
    names["transform"] = [{"filter": "datum.named"}]
    dots["encoding"] = {"color": _of_names("run"), "tooltip": [
        {"field": "run"}, {"field": "name"}, {"field": "value", "type": "quantitative", "format": ".3~g"}]}
    return first | _frame(title, first) | {"data": {"values": points}}


def _classes(title: str, specs: Specs, values: dict[str, list[Json]]) -> Json:
    points = [{"run": run, "class": v["class"], "error": v["error"]} for run, some in values.items() for v in some]
    first = next(iter(specs.values()))
    encoding = {key: first["encoding"][key] for key in "xy"}
    encoding["y"] = {**encoding["y"], "sort": None}
    return _frame(title, first) | {
        "data": {"values": points}, "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
        "encoding": encoding | {"color": _of_names("run"), "tooltip": [
            {"field": "run"}, {"field": "class"}, {"field": "error", "type": "quantitative", "format": ".2%"}]}}


def _of_names(field: str) -> Json:
    return {"field": field, "type": "nominal", "title": None, "sort": None}


def _dashed(field: str, names: list[str], which: Iterable[int]) -> Json:
    scale = {"domain": names, "range": [DASHES[k % len(DASHES)] for k in which]}
    return _of_names(field) | STROKES | {"scale": scale}


def _frame(title: str, like: Json) -> Json:
    return {"$schema": SCHEMA, "title": {"text": title, "anchor": "start"}, "width": like.get("width", 520),
            "height": like.get("height", 300)}
