"""The parts of a page: elements that escape what they hold, tables, numbers for people, pictures.

Html marks text that is markup; everything else that goes into an element is escaped.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import math
import struct
import zlib
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from .. import figures

HERE = Path(__file__).parent
EMPTY_ELEMENTS = {"br", "img", "meta"}
ROUNDING = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}


class Html(str):
    """Markup. `numeric` cells of tables are flush right."""

    numeric = False


class Number(Html):
    numeric = True


#: What an element holds: Html as it is, anything else escaped, a list its items, None nothing.
Content: TypeAlias = Any
#: What a page says before and after its figures.
Parts: TypeAlias = tuple[list[Content], list[Content]]


def text(value: Content) -> Html:
    """What is not Html is escaped; None is nothing, a list its items one after the other."""
    if isinstance(value, Html):
        return value
    if isinstance(value, (list, tuple)):
        return Html("".join(map(text, value)))
    return Html("" if value is None else html.escape(str(value)))


def tag(name: str, /, *children: Content, **attributes: object) -> Html:
    """<name attributes>children</name>. class_ is class, aria_label aria-label; None leaves an attribute out,
    True gives it no value."""
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{given}>" + ("" if name in EMPTY_ELEMENTS else f"{text(children)}</{name}>"))


def number(value: Any, digits: int = 4, rounding: str = "nearest") -> Html:
    """A number as people read it: 1,797; 0.01346; 1.08 x 10^41 (with a real exponent). `digits` significant ones;
    digits before the point are never dropped. `rounding`: nearest, down or up, for bounds. None is a dash."""
    if value is None or isinstance(value, (str, Html)):
        return text(value) if value not in (None, "") else Number("–")
    if isinstance(value, bool):
        return Html("yes" if value else "no")
    if isinstance(value, int) and abs(value) < 10**12:
        return Number(f"{value:,}")
    if not math.isfinite(value):
        return Number({math.inf: "∞", -math.inf: "−∞"}.get(value, "not a number"))
    exact = Decimal(repr(float(value)))  # the shortest decimal that is this double: 0.01 is 0.01
    if exact == 0:
        return Number("0")
    exponent = exact.adjusted()
    plain = -4 <= exponent < 7
    digits = max(digits, exponent + 1) if plain else min(digits, 3)
    rounded = exact.quantize(Decimal(1).scaleb(exponent - digits + 1), rounding=ROUNDING[rounding])
    if plain:
        shown = f"{rounded:,f}"
        return Number((shown.rstrip("0").rstrip(".") if "." in shown else shown).replace("-", "−"))
    mantissa = f"{rounded.scaleb(-rounded.adjusted()):f}".rstrip("0").rstrip(".").replace("-", "−")
    power = str(rounded.adjusted()).replace("-", "−")
    return Number(f"{mantissa} × 10<sup>{power}</sup>" if mantissa != "1" else f"10<sup>{power}</sup>")


def percent(fraction: float | None) -> Html:
    return Number("–") if fraction is None else Number(f"{number(100 * fraction, 3)} %")


def record(sample: Content) -> Number:
    """The number of a sample: a name, so without commas."""
    return Number(text(sample))


def at_least(value: float | None, digits: int = 4) -> Html:
    """A lower bound that is positive, rounded down; a dash for none."""
    return Number(f"≥ {number(value, digits, 'down')}") if value else Number("–")


def at_most(value: float | None, digits: int = 3) -> Html:
    """An upper bound, rounded up."""
    return number(value, digits, "up")


def table(header: list[str], rows: list[list[Content]], caption: str | None = None) -> Html:
    """A table that scrolls inside its box; columns of numbers are flush right, empty ones are left out."""
    cells = [[number(cell) for cell in row] for row in rows]
    kept = [k for k in range(len(header)) if any(row[k] not in ("", "–") for row in cells)]
    right = {k for k in kept if all(row[k].numeric for row in cells)}

    def line(row: list[Any], name: str, **scope: str) -> Html:
        return tag("tr", [tag(name, row[k], class_="n" if k in right else None, **scope) for k in kept])

    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption) if caption else None,
            tag("thead", line(header, "th", scope="col")),
            tag("tbody", [line(row, "td") for row in cells]),
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption or f"table of {', '.join(header[k] for k in kept)}",
    )


def facts(pairs: list[tuple[str, Content]]) -> Html:
    """Names and values; what has no value (None, no text, a dash) is left out."""
    known = [(name, number(value)) for name, value in pairs if value is not None]
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in known if value not in ("", "–")]
    return tag("dl", rows, class_="facts")


def details(summary: str, *children: Content) -> Html:
    return tag("details", tag("summary", summary), *children)


def picture(pictures: dict[str, Any], record: object, label: str) -> Html | None:
    """The image of a sample, of the object in pictures.json; None if it is not there. Raises RunError if it is not
    as large as it says."""
    pixels = (pictures.get("samples") or {}).get(str(record))
    if pixels is None:
        return None
    try:
        height, width, channels = (int(pictures[key]) for key in ("height", "width", "channels"))
        image = png(bytes.fromhex(pixels), height, width, channels)
    except (KeyError, TypeError, ValueError) as error:
        raise figures.RunError(f"pictures.json: sample {record}: {error}") from error
    source = "data:image/png;base64," + base64.b64encode(image).decode()
    return tag("img", src=source, alt=label, title=label, width=64, height=round(64 * height / width))


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


def chart(figure: figures.Figure, heading: str, caption: str) -> Html:
    """A figure that the page's script draws. What cannot be compiled says so in its place."""
    try:
        description = figure.description
        compiled = {**figure.vega(), "description": description}
        data = json.dumps(compiled, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return tag(
            "figure",
            tag("figcaption", tag("h3", heading)),
            tag("p", f"{figure.name}.vl.json cannot be drawn: {error}", class_="problem"),
        )
    square = figure.spec.get("width") == figure.spec.get("height")
    return tag(
        "figure",
        tag("figcaption", tag("h3", heading), tag("p", caption or figure.title)),
        tag("div", class_="chart", role="img", aria_label=description),
        tag("script", Html(data), type="application/json"),
        class_="square" if square else None,
    )


def document(title: str, body: Content, drawn: bool) -> str:
    """The whole page: style and script inside, no address in it. A policy in its head allows this one script and no
    connection, so that nothing in the data can run or call home. `drawn`: it has figures."""
    script = _script(figures.renderer()) if drawn else ""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Vega compiles its expressions, which a browser calls eval.
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    style = (
        (HERE / "page.css")
        .read_text(encoding="utf-8")
        .replace("/*LIGHT*/", _properties(figures.LIGHT))
        .replace("/*DARK*/", _properties(figures.DARK))
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(style)),
    )
    scripts = [tag("div", id="tip", role="tooltip", hidden=True), tag("script", Html(script))] if drawn else []
    return "<!doctype html>\n" + tag("html", head, tag("body", tag("main", body), scripts), lang="en") + "\n"


@functools.cache
def _script(renderer: ModuleType) -> str:
    """Vega and what draws with it: a second of work, the same for every page."""
    source = (HERE / "page.js").read_text(encoding="utf-8")
    return str(renderer.javascript_bundle(source, vl_version=figures.vega_lite_version()))


def _properties(colours: dict[str, Any]) -> str:
    named = {key: value for key, value in colours.items() if key != "series"}
    named.update({f"series-{k}": value for k, value in enumerate(colours["series"], 1)})
    return " ".join(f"--{key}: {value};" for key, value in named.items())
