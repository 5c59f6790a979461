"""Samples of a data set: their names, and their pictures where a run folder has them."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from .. import figures
from ..figures.run import Json
from .elements import Content, Html, Number, label, number, record, table, tag

SIDE = 96  # of a picture on the page, in its pixels
SURE = 1e-6  # distances from which on rounding does not matter


def named(sample: Json) -> str:
    """Its number, and its label where it has one."""
    # Folders of an earlier version spell it `record`.
    name, said = sample.get("sample", sample.get("record")), sample.get("label")
    return f"{name}" + (f" ({said})" if said is not None else "")


def both(pair: Json) -> list[Json]:
    """The two samples of a pair."""
    samples, labels = pair.get("samples") or [], pair.get("labels") or []
    return [{"sample": sample, "label": label} for sample, label in zip(samples, labels)]


def image(pictures: Json, sample: Json) -> Html | None:
    return picture(pictures, sample.get("sample"), f"sample {named(sample)}")


def gallery(items: Sequence[tuple[list[Json], Content]], pictures: Json) -> Html:
    """Samples that belong together side by side, and below them what there is to say."""
    cards = [tag("li", tag("div", [image(pictures, s) for s in some]), tag("p", said)) for some, said in items]
    return tag("ul", cards, class_="samples")


def listed(samples: list[Json]) -> Html:
    """A table of samples without more to say of them."""
    return table(["sample", "label"], [[record(s.get("sample", s.get("record"))), label(s.get("label"))]
                                       for s in samples])


def pairs(found: list[Json], d: int, pictures: Json, caption: str) -> Html:
    """Pairs of different samples of `d` features and how far apart they are."""
    def opposite(pair: Json) -> str:
        return "to minus the other" if pair.get("antipodal") else ""

    if pictures:
        return gallery([(both(pair), [" and ".join(map(named, both(pair))), tag("br"), "distance ",
                                      distance(pair, d), " " * bool(opposite(pair)), opposite(pair)])
                        for pair in found], pictures)
    rows = [[", ".join(map(named, both(pair))), distance(pair, d), opposite(pair)] for pair in found]
    return table(["samples", "distance", "note"], rows, caption)


def distance(pair: Json, d: int) -> Html:
    """Of different points, which are never 0 apart: where it may be all rounding, what it is at most."""
    computed = pair.get("distance")
    if computed is None or computed >= SURE:
        return number(computed)
    errors = 2.1 * (1.25 * 2**-53 + (d + 1) * 2**-64)  # unit_row_error of both points; a constant may be appended
    return Number(f"≤ {number((computed + errors) * (1 + 2**-20), 2, 'up')}", computed)


def picture(pictures: dict[str, Any], record: object, label: str) -> Html | None:
    """The image of a sample, of the object in pictures.json, in a button that enlarges it; None if it is not there.
    Raises RunError if it is not as large as it says."""
    pixels = (pictures.get("samples") or {}).get(str(record))
    if pixels is None:
        return None
    try:
        height, width, channels = (int(pictures[key]) for key in ("height", "width", "channels"))
        file = png(bytes.fromhex(pixels), height, width, channels)
    except (KeyError, TypeError, ValueError) as error:
        raise figures.RunError(f"pictures.json: sample {record}: {error}") from error
    source = "data:image/png;base64," + base64.b64encode(file).decode()
    shown = tag("img", src=source, alt=label, width=SIDE, height=round(SIDE * height / width))
    return tag("button", shown, type="button", class_="picture", title=f"Enlarge {label}")


def png(pixels: bytes, height: int, width: int, channels: int) -> bytes:
    """A PNG file of 1 (grey) or 3 (red, green, blue) bytes a pixel, row by row."""
    if channels not in (1, 3) or height < 1 or width < 1 or len(pixels) != height * width * channels:
        raise ValueError(f"{len(pixels)} bytes are no {height} x {width} image with {channels} channels")
    stride = width * channels
    rows = b"".join(b"\0" + pixels[k : k + stride] for k in range(0, len(pixels), stride))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
