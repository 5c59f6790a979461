"""What the theorems say, of those that a run folder names by their id: with our constants, and the width as printed."""

from __future__ import annotations

from .. import _core
from .elements import Content, tag
from .maths import tex


def statement(theorem: object) -> Content:
    """Its formulas, a line each, and the paper's width; None for an id that is not known."""
    for one in _core.theorems():
        if one.id == theorem:
            lines: list[Content] = [tex(latex, display="block") for latex in one.statement.split("\n")]
            if one.printed:
                lines.append(tag("p", tag("small", "in print: ", tex(one.printed))))
            return tag("div", lines, class_="scroll", tabindex=0, role="region", aria_label=f"theorem {one.number}")
    return None



def theorems(said: dict[str, Content]) -> Content:
    """Statements below the names of their theorems, side by side where there is room."""
    shown = [tag("section", tag("h3", name), lines) for name, lines in said.items() if lines]
    return tag("div", shown, class_="theorems") if shown else None
