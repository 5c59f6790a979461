"""Axes that show what was measured: a theorem's line far from it does not stretch them, but is said to be beyond."""

from __future__ import annotations

import math
from collections.abc import Callable

from .colours import is_measured
from .run import Json

ROOM = 0.3  # for theory beyond what was measured: this share of its range, at least a decade of a log axis
DECADE = 1.0
MARGIN = 0.05  # below the least of what was measured, and above the most


def fit_axis(spec: Json) -> None:
    """Clips the vertical axis of a line chart to what was measured, with some room for theory."""
    values = (spec.get("data") or {}).get("values") or []
    lines = [layer for layer in spec.get("layer") or [] if "y" in (layer.get("encoding") or {})]
    if not lines or not all(_is_point(v) for v in values):
        return
    log = ((lines[0]["encoding"]["y"].get("scale")) or {}).get("type") == "log"
    scaled: Callable[[float], float] = math.log10 if log else float
    measured = [scaled(v["y"]) for v in values if is_measured(v["curve"])]
    everything = [scaled(v["y"]) for v in values]
    if not measured or len(measured) == len(everything):
        return
    low, high = min(measured), max(measured)
    room = max(ROOM * (high - low), DECADE if log else 0)
    least, most = max(low - room, min(everything)), min(high + room, max(everything))
    if least <= min(everything) and most >= max(everything):
        return
    margin = MARGIN * (most - least)
    least, most = least - margin * (least in (low, min(everything))), most + margin * (most in (high, max(everything)))
    domain = [10**least, 10**most] if log else [least, most]
    _clip(spec, lines, domain)
    beyond = {v["curve"] for v in values} - {v["curve"] for v in values if domain[0] <= v["y"] <= domain[1]}
    _mark(spec, lines[0], domain, sorted(beyond))


def whole_ticks(spec: Json) -> None:
    """The axes of a map over whole numbers name these, and nothing between."""
    for layer in spec.get("layer") or []:
        values = (layer.get("data") or {}).get("values") or []
        for key in "xy":
            ends = [(v.get(key), v.get(f"{key}_end")) for v in values if f"{key}_end" in v]
            channel = (layer.get("encoding") or {}).get(key) or {}
            middles = sorted({(a + b) / 2 for a, b in ends}) if len(ends) == len(values) > 0 else []
            # Without a title it is no axis, but whiskers. (The least step is lost where Vega-Lite joins layers' axes.)
            if middles and "title" in channel and all(one == round(one) for one in middles):
                channel["axis"] = {**(channel.get("axis") or {}), "values": middles}


def _is_point(value: Json) -> bool:
    return isinstance(value.get("curve"), str) and all(isinstance(value.get(key), (int, float)) for key in "xy")


def _clip(spec: Json, lines: list[Json], domain: list[float]) -> None:
    for layer in lines:
        y = layer["encoding"]["y"]
        y["scale"] = {**(y.get("scale") or {}), "domain": domain, "nice": False}
        mark = layer["mark"] if isinstance(layer["mark"], dict) else {"type": layer["mark"]}
        layer["mark"] = {**mark, "clip": True}


def _mark(spec: Json, line: Json, domain: list[float], beyond: list[str]) -> None:
    """What lies wholly beyond the axis is drawn at its edge and named there."""
    values = spec["data"]["values"]
    edges = []
    for name in beyond:
        own = [v["y"] for v in values if v["curve"] == name]
        above = own[0] > domain[1]
        said = _said(own[0]) if min(own) == max(own) else f"{_said(min(own))} to {_said(max(own))}"
        edges.append({"curve": name, "y": domain[1] if above else domain[0], "above": above,
                      "note": f"{'↑' if above else '↓'} beyond this axis: {said} ({name})"})
    spec["data"] = {"values": [v for v in values if v["curve"] not in beyond]}
    for above in (True, False):
        here = [edge for edge in edges if edge["above"] is above]
        for k, edge in enumerate(here):
            spec["layer"] += _edge(line, {**edge, "row": k})


def _said(value: float) -> str:
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:,.4g}"


def _edge(line: Json, edge: Json) -> list[Json]:
    data = {"values": [edge]}
    y = {**line["encoding"]["y"], "field": "y"}
    rule = {"data": data, "mark": {"type": "rule", "strokeWidth": 2.5, "clip": True},
            "encoding": {"x": {"value": 0}, "x2": {"value": "width"}, "y": y}}
    offset = (8 + 14 * edge["row"]) * (1 if edge["above"] else -1)
    text = {"data": data, "mark": {"type": "text", "align": "left", "dy": offset, "dx": 4, "fontSize": 11,
                                   "baseline": "middle", "limit": {"expr": "width - 8"}},
            "encoding": {"x": {"value": 0}, "y": y, "text": {"field": "note"}}}
    return [rule, text]
