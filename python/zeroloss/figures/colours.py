"""One colour for one thing: what has a name has the same colour in all figures of a run, and theory is dashed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from .run import Json

THEORY = re.compile(r"\b(bound|Thm|theorem)\b")
FORECASTS, THEORIES = 1, 2  # their places among the colours; other things have the rest
OTHERS = (0, 3, 4, 5, 6)
DASHES = ([6, 4], [2, 3])  # of the first theory in a figure, and of others

SYMBOL = 400  # of a stroke in a legend: long enough for its dashes

Slots = dict[str, int]


def is_theory(name: str) -> bool:
    """Whether a curve of this name is a theorem's, not measured."""
    return THEORY.search(name) is not None


def is_measured(name: str) -> bool:
    return not is_theory(name) and not name.startswith("forecast")


def slots(specs: Iterable[Json]) -> Slots:
    """The place among the colours of each thing in these figures."""
    names = list(dict.fromkeys(name for spec in specs for channel in _channels(spec) for name in _names(spec, channel)))
    free = list(OTHERS)
    free += [FORECASTS] * all(not name.startswith("forecast") for name in names)
    free += [THEORIES] * (not any(map(is_theory, names)))
    others = [name for name in names if is_measured(name)]
    return {**{name: free[k % len(free)] for k, name in enumerate(others)},
            **{name: THEORIES if is_theory(name) else FORECASTS for name in names if name not in others}}


def paint(spec: Json, places: Slots, series: list[str]) -> None:
    """Gives what has a name its colour, of these, and theory its dashes."""
    for layer in _layers(spec):
        colour = _encoding(layer).get("color")
        if not _is_of_names(colour):
            continue
        names = _names(spec, colour)
        colour["scale"] = {"domain": names, "range": [series[places[name] % len(series)] for name in names]}
        dashed = layer["encoding"].get("strokeDash")
        for channel in (colour, dashed):
            if channel and (channel.get("legend") or {}).get("symbolType") == "stroke":
                channel["legend"] = {**channel["legend"], "symbolSize": SYMBOL}
        theory = [name for name in names if is_theory(name)]
        if theory and colour.get("field") == "curve" and not dashed:
            dashes = {name: DASHES[min(k, 1)] for k, name in enumerate(theory)}
            scale = {"domain": names, "range": [dashes.get(name, [1, 0]) for name in names]}
            layer["encoding"]["strokeDash"] = {**colour, "scale": scale}


def _layers(spec: Json) -> Iterator[Json]:
    yield spec
    layers = spec.get("layer")
    yield from (layer for layer in (layers if isinstance(layers, list) else []) if isinstance(layer, dict))


def _encoding(layer: Json) -> Json:
    found = layer.get("encoding")
    return found if isinstance(found, dict) else {}


def _channels(spec: Json) -> Iterator[Json]:
    for layer in _layers(spec):
        channel = _encoding(layer).get("color")
        if _is_of_names(channel):
            yield channel


def _is_of_names(channel: object) -> TypeGuard[Json]:
    return isinstance(channel, dict) and channel.get("type") == "nominal" and "scale" not in channel


def _names(spec: Json, channel: Json) -> list[str]:
    data, field = spec.get("data"), channel.get("field")
    values = data.get("values") if isinstance(data, dict) else None
    known = [v for v in values if isinstance(v, dict)] if isinstance(values, list) else []
    return list(dict.fromkeys(str(v[field]) for v in known if isinstance(field, str) and field in v))
