"""How wide, row by row."""

from __future__ import annotations

from ..figures.run import Json
from .elements import Content, Html, at_most, number, table, tag, text


def widths(rows: list[Json]) -> Content:
    """From what is too little to what is enough; theorems about random weights under one name."""
    if not rows:
        return None
    header = ["", "width", "labels", "output scale", "step", "steps", "", "statement", "source"]
    return [tag("h2", "What is too little, what is enough"), table(header, [
        [_title(row), exact(row.get("width")), text(row.get("about")), at_most(row.get("output_scale")),
         number(row.get("step"), 3, "down"), at_most(row.get("steps")), text(row.get("status")),
         text(row.get("says")), text(row.get("source"))] for row in rows])]


def _title(row: Json) -> str:
    return "a theorem" if row.get("title") == row.get("source") else str(row.get("title"))


def exact(width: float | None) -> Html:
    """A width is what it is: neither more nor less would be true of it."""
    return number(int(width)) if width is not None and width < 10**12 else at_most(width, 4)
