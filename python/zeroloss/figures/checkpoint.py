"""Checkpoints of runs in work: the curve that is in them."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

from .run import Json, RunError

#: What a checkpoint of a fit has in the rows of its curves, as metrics.csv names it.
CURVE = ("step", "time", "relative_misfit", "max_distance", "distance", "path_length", "flipped_fraction", "lambda_min",
         "forecast", "bound_misfit", "bound_max_distance", "bound_distance", "bound_path_length", "test_error")
LARGEST_HEADER = 1 << 26


def read_checkpoint(path: Path) -> tuple[str, list[Json], Json]:
    """The kind of run, the rows that its metrics.csv would have, and its options as text. Raises RunError for a file
    that is no checkpoint, or not whole."""
    try:
        with open(path, "rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            if size > LARGEST_HEADER:
                raise ValueError("no safetensors")
            header = json.loads(file.read(size))
            told = header.get("__metadata__") or {}
            if "state" in told:
                return "conv", [_row(row) for row in json.loads(told["state"])["history"]], {}
            return "fit", _curves(header, file.read()), _options(told)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error) as error:
        raise RunError(f"{path}: {error}") from error


def _options(told: Json) -> Json:
    mark = "identity "
    return {key.removeprefix(mark): value for key, value in told.items() if key.startswith(mark)}


def _row(row: Json) -> Json:
    return {key: value if value is None or isinstance(value, list) else float(value) for key, value in row.items()}


def _curves(header: Json, data: bytes) -> list[Json]:
    """Of the outputs that are done, and of the one in work, which comes last."""
    names = [name for name in header if name.endswith("/curve")]
    done = sorted((name for name in names if name != "current/curve"), key=lambda name: int(name.split("/")[0]))
    rows = []
    for output, name in enumerate([*done, *[name for name in names if name == "current/curve"]]):
        columns, count = header[name]["shape"]
        start, end = header[name]["data_offsets"]
        numbers = struct.unpack(f"<{columns * count}d", data[start:end])
        rows += [{"output": output, **_known(numbers[k::count])} for k in range(count)]
    return rows


def _known(numbers: tuple[Any, ...]) -> Json:
    return {key: None if math.isnan(value) else value for key, value in zip(CURVE, numbers)}
