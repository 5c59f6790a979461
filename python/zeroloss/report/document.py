"""The whole page: its figures, style and script inside, no address in it."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from .. import figures
from .elements import Content, Html, tag, text
from .maths import worded

HERE = Path(__file__).parent
DATA = "application/json"  # of a script element that holds a figure
ALWAYS = ("tables.js", "pictures.js", "print.js")


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
        tag("figcaption", tag("h3", heading), tag("p", worded(caption or figure.title))),
        tag("div", class_="chart", role="img", aria_label=description),
        tag("script", Html(data), type=DATA),
        class_="square" if square else None,
    )


def document(title: str, body: Content, live: bool = False) -> str:
    """The whole page. A policy in its head allows this one script and no connection, so that nothing in the data can
    run or call home; but a page that is `live` asks its own server for news."""
    content = text(body)
    script = _script(drawn=live or f'type="{DATA}"' in content, walked=live or 'class="walk"' in content, live=live)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy(script, live)),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,") if live else None,
        tag("title", title),
        tag("style", Html(_style())),
    )
    page = tag("body", tag("main", content), tag("div", id="tip", role="tooltip", hidden=True),
               tag("script", Html(script)))
    return "<!doctype html>\n" + tag("html", head, page, lang="en") + "\n"


def policy(script: str, live: bool) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Vega compiles its expressions, which a browser calls eval.
    return (
        f"default-src 'none'; script-src 'sha256-{digest}' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'" + ("; connect-src 'self'" if live else "")
    )


@functools.cache
def _script(drawn: bool, walked: bool, live: bool) -> str:
    """What all pages do; with figures Vega too, which takes a second to put together."""
    names = [*ALWAYS, *["walk.js"] * walked, *["figures.js"] * drawn, *["watch.js"] * live]
    source = "\n".join((HERE / name).read_text(encoding="utf-8") for name in names)
    if not drawn:
        return source
    return str(figures.renderer().javascript_bundle(source, vl_version=figures.vega_lite_version()))


def _style() -> str:
    style = (HERE / "page.css").read_text(encoding="utf-8")
    return style.replace("/*LIGHT*/", _properties(figures.LIGHT)).replace("/*DARK*/", _properties(figures.DARK))


def _properties(colours: dict[str, Any]) -> str:
    named = {key: value for key, value in colours.items() if key != "series"}
    named.update({f"series-{k}": value for k, value in enumerate(colours["series"], 1)})
    return " ".join(f"--{key}: {value};" for key, value in named.items())
